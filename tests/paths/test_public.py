from __future__ import annotations

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
