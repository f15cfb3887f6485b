from __future__ import annotations

import subprocess
import sys

import pytest

import shaping.settings


def test_every_public_name_is_there() -> None:
    assert [name for name in shaping.settings.__all__ if not hasattr(shaping.settings, name)] == []


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'shaping.settings' has no attribute 'nothing'"):
        _ = shaping.settings.nothing


def test_importing_settings_loads_neither_the_model_nor_the_watcher() -> None:
    heavy = "shaping.settings.model", "pydantic", "watchfiles", "regex"
    program = f"import sys, shaping.settings.context; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
