"""Sentences that differ in a few words, and JSON in strings: written short, and read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from shaping.encoders.table import decode, encode


def test_what_sentences_share_is_written_once() -> None:
    rows: Any = [{"id": n, "said": f"user u{n} logged in from 10.0.0.{n}"} for n in range(48)]
    text = encode(rows)
    assert " #1=user {} logged in from {}" in text
    assert "\n4,#1 u4 10.0.0.4\n" in text
    assert decode(text) == rows


def test_a_word_that_a_sentence_says_twice_and_its_wide_gaps_are_written_once() -> None:
    rows: Any = [{"id": n, "said": f"eth{n}  link of eth{n} is up after {n * 3} ms"} for n in range(48)]
    text = encode(rows)
    assert " #1={}  link of {1} is up after {} ms" in text
    assert "\n4,#1 eth4 12\n" in text
    assert decode(text) == rows


def test_sentences_of_several_kinds_have_a_line_each_and_the_others_stay() -> None:
    said = [
        f"job {n} failed after {n * 7} seconds" if n % 2 else f"job {n} was started by the scheduler" for n in range(40)
    ]
    rows: Any = [{"id": n, "said": each} for n, each in enumerate([*said, "the machine was restarted"])]
    text = encode(rows)
    assert text.count("={}") == 0
    assert text.count("job {}") == 2
    assert "40,the machine was restarted" in text
    assert decode(text) == rows


def test_long_sentences_stand_in_their_rows_too() -> None:
    rows: Any = [
        {"id": n, "said": f'{n} "GET /a/b/{n} HTTP/1.1" was answered by the third server of the second rack in {n} ms,'
         f" which is more than the {n * 3} ms that were promised"}
        for n in range(45)
    ]  # fmt: skip
    text = encode(rows)
    assert "below" not in text
    assert decode(text) == rows


def test_a_string_that_looks_like_a_tag_with_words_is_quoted() -> None:
    rows: Any = [
        {"id": n, "title": f"#{n} fix the bug", "mark": f"#{n}=x", "colour": f"#00496{n}"} for n in range(1, 4)
    ]
    text = encode(rows)
    assert '"#1 fix the bug"' in text
    assert '"#004961"' not in text
    assert decode(text) == rows


def test_a_sentence_with_a_placeholder_of_its_own_is_no_template() -> None:
    rows: Any = [{"id": n, "said": f"a format of {{}} and then it went on {n} as before"} for n in range(48)]
    assert decode(encode(rows)) == rows


words = st.sampled_from(
    ["a", "user", "10.0.0.7", "x=1", "(one)", "it,", "{", "{}", "[1", "2]", '"q"', "#1", "", " ", "\n", "é", "-"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(words, min_size=3, max_size=7), min_size=1, max_size=3), st.integers(40, 44))
def test_sentences_of_any_words_read_back(templates: list[list[str]], rows: int) -> None:
    for differs in ("{}x", "'{}'", "n={},"):
        value: Any = [
            {"id": n, "said": f"{' '.join(template)} and then it went on {differs.format(n)} as before"}
            for n in range(rows)
            for template in templates
        ]
        assert decode(encode(value)) == value


@pytest.mark.parametrize("layout", [{"separators": (",", ":")}, {}, {"indent": 2}])
def test_json_in_strings_is_written_as_what_it_holds_and_read_back_as_strings(layout: dict[str, Any]) -> None:
    inner = [{"level": "info", "path": f"/api/{n}", "took": n * 7, "tags": ["a", "b"]} for n in range(9)]
    rows: Any = [{"id": n, "message": json.dumps(each, **layout)} for n, each in enumerate(inner)]
    text = encode(rows, lossless=False)
    assert "JSON in a string" in text
    assert '\\"' not in text
    assert _opened(decode(text)) == _opened(rows)
    assert decode(encode(rows)) == rows  # where order must be kept, a string is a string


def _opened(value: Any) -> Any:
    """Return a value with its strings of JSON read, since the members of these come back in any order."""
    if isinstance(value, dict):
        return {key: _opened(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_opened(each) for each in value]
    return ["string", json.loads(value)] if isinstance(value, str) and value[:1] in "{[" and value else value


def test_lists_of_names_and_values_are_rows() -> None:
    value: Any = {
        "results": [
            [{"field": "@timestamp", "value": f"10:0{n}"}, {"field": "@message", "value": "x" * n}] for n in range(9)
        ]
    }
    for row in value["results"]:
        row.append({"field": "status", "value": 200})
    text = encode(value)
    assert "results[9] lists of {field,value} for {@timestamp,@message,status}" in text
    assert decode(text) == value


def test_a_long_text_or_a_list_that_another_member_has_too_is_a_copy_of_it() -> None:
    rows: Any = [
        {"id": n, "body": f"{n} lines\n" * 20, "frames": [{"at": n, "of": "a file"}] * 9}
        | {"raw": {"body": f"{n} lines\n" * 20}}
        for n in range(4)
    ]
    for row in rows:
        row["raw"]["frames"] = row["frames"]
    text = encode(rows)
    assert " raw.body={body}" in text
    assert " raw.frames={frames}" in text
    assert decode(text) == rows


def test_days_of_one_month_are_written_without_it() -> None:
    rows: Any = [{"id": n, "at": f"2026-11-{10 + n} 10:0{n % 7}:00", "on": f"2026-11-{10 + n}"} for n in range(9)]
    text = encode(rows)
    assert "id,at=2026-11-{},on=2026-11-{}" in text
    assert decode(text) == rows
