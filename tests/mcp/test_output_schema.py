from __future__ import annotations

import sys

import pytest

from shaping.mcp.output_schema import _compiled, is_valid, usable

SCHEMA = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/A"}},
    "required": ["a"],
    "$defs": {"A": {"type": "integer"}},
}


def test_a_value_is_checked_against_a_schema_that_is_compiled_once() -> None:
    _compiled.cache_clear()
    assert [is_valid(SCHEMA, {"a": 1}), is_valid(SCHEMA, {"a": "x"}), is_valid(SCHEMA, None)] == [True, False, False]
    assert _compiled.cache_info().misses == 1


def test_a_schema_that_cannot_be_compiled_is_not_usable() -> None:
    assert usable(SCHEMA)
    assert not usable({"type": "no such type"})


def test_the_missing_extra_is_an_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    _compiled.cache_clear()
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(ImportError, match=r'pip install "shaping\[mcp\]"'):
        is_valid({"type": "string"}, "x")
