from __future__ import annotations

import json

import pytest
from hypothesis import given, settings, strategies as st

from shaping.settings.jsonc import JsoncError, insert, read, replace

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_every_json_text_is_read_as_json_reads_it(value: object, indent: int | str | None, ascii_only: bool) -> None:
    assert read(json.dumps(value, indent=indent, ensure_ascii=ascii_only)).value == value


def test_comments_and_trailing_commas_are_read_over() -> None:
    text = '\ufeff// first\n{"a": [1, /* two */ 2,], "url": "http://x/*y*/", // last\n}\n'
    assert read(text).value == {"a": [1, 2], "url": "http://x/*y*/"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected a value"),
        ('{\n"a" 1}', "line 2: expected ':' after the key"),
        ('{"a": 1\n\n"b": 2}', "line 3: expected ',' or '}'"),
        ("[1 2]", "line 1: expected ',' or ']'"),
        ('{"a": tru}', "line 1: expected a value"),
        ("{a: 1}", "line 1: expected a key in double quotes"),
        ('"open', "line 1: expected a double quote"),
        ("{} {}", "line 1: expected the end of the file"),
    ],
)
def test_what_is_not_json_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(JsoncError) as caught:
        read(text)
    assert str(caught.value).startswith(message)


def test_a_replaced_value_leaves_every_other_byte() -> None:
    text = '{\r\n\t// kept\r\n\t"a": {\r\n\t\t"b": 1\r\n\t},\r\n\t"c": {"d": 2},\r\n}'
    node = read(text)
    changed = replace(text, [(node.members["a"], {"new": [1]}), (node.members["c"], {"é": True})])
    assert changed == (
        '{\r\n\t// kept\r\n\t"a": {\r\n\t\t"new": [\r\n\t\t\t1\r\n\t\t]\r\n\t},\r\n\t"c": {"é": true},\r\n}'
    )


def test_a_member_is_inserted_behind_the_last_one_where_a_key_stands_twice() -> None:
    text = '{\n  "a": 1,\n  "b": 2,\n  "a": 3 // last\n}\n'
    assert insert(text, read(text), '"c": 4') == '{\n  "a": 1,\n  "b": 2,\n  "a": 3, // last\n  "c": 4\n}\n'
    text = '{"b": {"a": 1}, "c": 2, "b": {"a": 3}}'
    assert read(insert(text, read(text), '"d": 4')).value == {"b": {"a": 3}, "c": 2, "d": 4}


def test_what_is_inserted_into_an_empty_object_is_indented_below_it() -> None:
    text = '{\n  "a": {}\n}\n'
    node = read(text).members["a"]
    assert insert(text, node, '"b": {\n  "c": 1\n}') == '{\n  "a": {\n    "b": {\n      "c": 1\n    }\n  }\n}\n'
