from __future__ import annotations

import subprocess
import sys

import pytest

import shaping.paths


def test_the_public_names_are_all_there_and_no_others() -> None:
    assert shaping.paths.__all__ == [
        "FieldPlan",
        "Path",
        "PathError",
        "Unprojectable",
        "compile_fields",
        "join",
        "open_plainly",
        "open_schema",
        "parse",
        "select",
    ]
    assert all(getattr(shaping.paths, name).__name__ == name for name in shaping.paths.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'shaping\.paths' has no attribute 'nothing'"):
        _ = shaping.paths.nothing


def test_naming_a_place_loads_no_compiler() -> None:
    seen = (
        "import sys; import shaping.paths; print([name for name in sys.modules if name.startswith('shaping.paths.')])"
    )
    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['shaping.paths.grammar']"
