from __future__ import annotations

import json
import math

import orjson
import pytest
from hypothesis import given, strategies as st

from shaping.parsers.json import parse_json, parse_lines, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_every_value_is_read_as_it_was_written(value: object) -> None:
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize("text", ["", "NaN", "1e999", "[1,]", "{'a': 1}", "01", b"\xff", '"\\ud800"'])
def test_what_is_not_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        read_json(text)


def test_deep_nests_are_read() -> None:
    assert read_json("[" * 900 + "]" * 900) == orjson.loads("[" * 900 + "]" * 900)


def test_what_python_writes_of_numbers_that_json_lacks_is_words() -> None:
    text = json.dumps([{"a": math.nan, "b": [math.inf, -math.inf]}] * 9)
    assert parse_json(text) == [{"a": "NaN", "b": ["Infinity", "-Infinity"]}] * 9
    assert parse_json(json.dumps(text)) == parse_json(text)
    assert parse_json(text[:-1]) is None
    assert parse_json('[{"a": NaN}]') is None  # quotes would cost more than anything saves
    assert parse_lines('{"a": NaN}\n{"a": 1}') == [{"a": "NaN"}, {"a": 1}]
