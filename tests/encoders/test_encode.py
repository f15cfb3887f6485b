"""The choice of an encoding."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from shaping import tokens
from shaping.encoders import Encoded, UnknownEncodingError, decode, encode

RECORDS: list[Any] = [{"name": f"package-{i}", "version": f"1.{i}.0", "licence": "MIT"} for i in range(20)]


def test_auto_takes_a_table_for_records() -> None:
    encoded = encode(RECORDS)
    assert encoded.encoding == "table"
    assert encoded.text.startswith("[20], all with licence=MIT:\nname,version\npackage-0,1.0.0\n")


def test_auto_leaves_small_and_shapeless_values_as_json() -> None:
    assert encode({"a": 1}) == Encoded('{"a":1}', "json")
    shapeless: Any = {"rows": [[i, [i * i], {"a": i**3}] for i in range(100)]}
    assert encode(shapeless).encoding == "json"


def test_auto_is_never_longer_than_compact_json() -> None:
    mixed: Any = [{chr(97 + i): i, chr(98 + i): [i]} for i in range(24)]
    assert len(encode(mixed).text) <= len(encode(mixed, "json").text)


def test_a_table_that_is_hardly_shorter_is_weighed_by_tokens() -> None:
    value: Any = {"page": "\n".join("a line of ordinary words" for _ in range(12)), "n": 1}
    assert encode(value).encoding == "json"


def test_a_table_that_is_hardly_shorter_than_compact_json_is_counted_too() -> None:
    item = {
        "owner": "user deploy",
        "flags": {"on": False},
        "open": True,
        "count": 38,
        "share": 0.486356645822525,
        "steps": [[4, None], [0, "748fe2b2-08c4-5570-aad9-ad1d9fbb9fe2"]],
        "at": "2026-02-12T21:02:44+02:00",
    }
    value: Any = {"total": 1, "items": [item], "next": None}
    assert tokens.exact(encode(value).text) <= tokens.exact(encode(value, "json").text)


def test_repeats_and_constants_are_said_in_every_row_where_they_are_off() -> None:
    text = encode(RECORDS, "table", repeats=False, constants=False).text
    assert text.count("MIT") == 20


def test_rows_are_only_for_records() -> None:
    for encoding in ("csv", "markdown"):
        assert encode({"a": 1}, encoding).encoding == "json"
        assert encode([{}, {}], encoding).encoding == "json"


def test_csv_and_markdown_look_as_everyone_knows_them() -> None:
    value: Any = [{"id": 1, "tags": ["a|b"]}, {"id": "2", "note": 'say "x"'}]
    assert encode(value, "csv").text == 'id,tags,note\n1,"[""a|b""]",\n"""2""",,"say ""x"""'
    assert encode(value, "markdown").text == (
        '| id | tags | note |\n|---|---|---|\n| 1 | ["a\\u007cb"] |  |\n| "2" |  | say "x" |'
    )


def test_an_unknown_encoding_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        UnknownEncodingError, match="encoding is 'xml'; expected auto, csv, json, markdown, table, toon"
    ):
        encode(1, "xml")
    with pytest.raises(UnknownEncodingError):
        decode("", "auto")


def test_toon_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toon_format", None)
    with pytest.raises(ImportError, match=r'pip install "shaping\[toon\]"'):
        encode(RECORDS, "toon")


def test_a_page_of_lines_is_written_as_lines() -> None:
    page = "\n".join(f"line {n} of a page" for n in range(120))
    value: Any = {"path": "notes.txt", "content": page}
    text = "path: notes.txt\ncontent, 120 lines:\n " + page.replace("\n", "\n ")
    assert 0.93 * len(json.dumps(value)) < len(text)
    assert encode(value) == Encoded(text, "table")
