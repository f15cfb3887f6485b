from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from shaping.settings.jsonc import ConfigDocument, ConfigError, ConfigProblem, read_file, read_mapping, read_text

if TYPE_CHECKING:
    from pathlib import Path

COMMENTED = """\
// what applies everywhere
{
  /* the profile
     of every tool */
  "global": {"profile": "minimal"}, // not standard
  "list": [
    1,
    -2.5e3, /* , */
    "a // b /* c */",
  ],
  "flags": {"yes": true, "no": false, "nothing": null,},
}
// the end
"""


A_TEXT = r"a double quote at the end of the text, on the same line, and escapes such as \n, \\ or \u00e9"


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read_text(text, "config.json")
    return str(caught.value)


def test_comments_and_trailing_commas_are_read_and_every_value_knows_its_place() -> None:
    document = read_text(COMMENTED, "c.json")
    assert document.data == {
        "global": {"profile": "minimal"},
        "list": [1, -2500.0, "a // b /* c */"],
        "flags": {"yes": True, "no": False, "nothing": None},
    }
    lines = {
        (): 2,
        ("global",): 5,
        ("global", "profile"): 5,
        ("list",): 6,
        ("list", 0): 7,
        ("list", 2): 9,
        ("flags", "nothing"): 11,
    }
    assert {keys: document.line(keys) for keys in lines} == lines
    assert document.problems == ()


def test_a_place_that_is_not_there_has_the_line_of_what_is_around_it() -> None:
    document = read_text('{\n"a": {\n"b": 1}}', "c.json")
    assert [document.line(keys) for keys in ((), ("a", "b"), ("a", "x", "y"), ("z",))] == [1, 3, 2, 1]
    assert ConfigDocument("given", {}).line(("a",)) is None


def test_a_key_that_stands_twice_is_a_problem_and_reading_goes_on() -> None:
    document = read_text('{"a": 1,\n"b": {"c": 1,\n"c": 2}, "a": 3}', "c.json")
    assert [str(problem) for problem in document.problems] == [
        "$.b.c stands twice (first on line 2); expected each key once. (line 3)",
        "$.a stands twice (first on line 1); expected each key once. (line 3)",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "$ is empty; expected an object, such as {}."),
        ("  // nothing\n", "$ is empty; expected an object, such as {}."),
        ("[1]", "$ is [1]; expected an object, such as {}. (line 1)"),
    ],
)
def test_a_document_must_be_an_object(text: str, expected: str) -> None:
    assert refusal(text) == f"config.json has 1 problem:\n  {expected}"


@pytest.mark.parametrize(
    ("text", "found", "place", "expected"),
    [
        ('{"a" 1}', "'1'", (1, 6), "':' after the key"),
        ('{"a": 1 "b": 2}', "'\"'", (1, 9), "',' or '}'"),
        ("{a: 1}", "'a'", (1, 2), "a key in double quotes, or '}'"),
        ("{,}", "','", (1, 2), "a key in double quotes, or '}'"),
        ('{\n"a": [1, 2', "the end of the file", (2, 11), "',' or ']'"),
        ('{\n"a": [1,', "the end of the file", (2, 9), "']' for what was opened on line 2"),
        ("{} x", "'x'", (1, 4), "the end of the file"),
        ('{"a": "b\n"}', r"'\n'", (1, 9), A_TEXT),
        (r'{"a": "\x"}', r"'\\'", (1, 8), A_TEXT),
        (r'{"a": "\ud800"}', "'\"'", (1, 7), r"whole characters: half of a \u surrogate pair is missing"),
        ("/* open", "'/'", (1, 1), "'*/' at the end of the comment"),
        ('{"a": 1e999}', "'1'", (1, 7), "a number of a usual size"),
        ("[" * 102, "'['", (1, 102), "at most 100 levels"),
    ],
)
def test_what_is_not_json_is_named_by_line_column_and_expectation(
    text: str, found: str, place: tuple[int, int], expected: str
) -> None:
    line, column = place
    says = f"$ is not JSON: {found} at line {line}, column {column}; expected {expected}. (line {line})"
    assert refusal(text) == f"config.json has 1 problem:\n  {says}"


@pytest.mark.parametrize("value", ["NaN", "Infinity", "+1", "tru", "'a'", "undefined"])
def test_a_value_that_json_does_not_know_is_refused(value: str) -> None:
    assert "expected a value: an object, a list, text in double quotes" in refusal(f'{{"a": {value}}}')


def test_a_file_may_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": "\xc3\xa9"}')
    assert read_file(path).data == {"a": "é"}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ('{"a": 1}'.encode("utf-16"), "is not UTF-8 (byte 0xff on line 1)"),
        (b'{\n"a": "\xe9"}', "is not UTF-8 (byte 0xe9 on line 2)"),
    ],
)
def test_a_file_that_is_not_utf8_is_said_to_be_so(tmp_path: Path, raw: bytes, says: str) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(raw)
    with pytest.raises(ConfigError) as caught:
        read_file(path)
    assert caught.value.problems == (ConfigProblem(str(path), "$", None, None, "UTF-8 text", says=says),)


def test_a_file_that_cannot_be_opened_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\); expected a file that can be read"):
        read_file(tmp_path)


def test_a_mapping_is_copied_into_plain_data() -> None:
    given = {"global": MappingProxyType({"private": ("a",)}), "tools": {"x": {"names": {"b", "a"}}}}
    document = read_mapping(given, "given")
    assert document.data == {"global": {"private": ["a"]}, "tools": {"x": {"names": ["a", "b"]}}}


def test_a_mapping_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ConfigError, match="not JSON serializable: object"):
        read_mapping({"global": object()}, "given")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.sampled_from([None, 2]))
@settings(max_examples=150, deadline=None)
def test_whatever_json_writes_is_read_back(data: dict[str, Any], indent: int | None) -> None:
    assert read_text(json.dumps(data, indent=indent, ensure_ascii=False), "c.json").data == data


@given(st.text(alphabet='{}[]":,/* \n1a\\', max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused_with_a_config_error(text: str) -> None:
    try:
        assert isinstance(read_text(text, "c.json").data, dict)
    except ConfigError as error:
        assert len(error.problems) == 1  # noqa: PT017 (both outcomes are right; neither is expected of a given text)
