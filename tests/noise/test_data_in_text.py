"""Data with a sentence around it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shaping import Shaper
from shaping.noise import reduce
from shaping.response import Omission

ALL = ("links", "opaque", "bulk", "boilerplate", "repeats", "constants")
RECORDS: Any = [{"id": n, "name": f"package {n}", "kind": "library", "etag": f"abcdef012345{n}"} for n in range(20)]
ROWS = "[20], all with kind=library:\nid,name\n" + "\n".join(f"{n},package {n}" for n in range(20))


@pytest.mark.parametrize(
    ("before", "after"),
    [("Found 20 packages:\n", ""), ("Here they are:\n\n```json\n", "\n```\nAnything else?"), ("```\n", "\n```")],
)
def test_data_is_written_as_data_and_the_sentence_stays(before: str, after: str) -> None:
    text = f"{before}{json.dumps(RECORDS, indent=2)}{after}"
    assert reduce(text, ALL) == (f"{before}{ROWS}{after}", [Omission("", 20, "opaque")])


def test_an_example_in_a_page_stays() -> None:
    page = f"{'How to call it. ' * 400}.\n```json\n{json.dumps(RECORDS)}\n```\n"
    assert reduce(page, ALL) == (page, [])
    two = f"```json\n{json.dumps(RECORDS)}\n```\n```json\n{json.dumps(RECORDS)}\n```"
    assert reduce(two, ALL) == (two, [])


def test_what_only_looks_like_data_or_is_no_shorter_stays() -> None:
    odd = "Found:\n[" + "not json " * 100
    assert reduce(odd, ALL) == (odd, [])
    numbers = "Found:\n" + json.dumps([n * n * 7919 for n in range(300)], separators=(",", ":"))
    assert reduce(numbers, ALL) == (numbers, [])


def test_data_that_only_gets_shorter_is_no_omission() -> None:
    text = "Found:\n" + json.dumps(list(range(1000, 1400)))
    assert reduce(text, ALL)[1] == []


def test_rows_of_one_value_a_line_are_a_table_and_the_words_below_them_stay() -> None:
    rows = "\n\n".join(f"{n}. row\nCustomerId: {n}\nCompany: NULL\nCountry: Land {n}" for n in range(1, 20))
    text, omissions = reduce(f"{rows}\n\nResult: showing first 19 rows (output truncated)", ["repeats", "constants"])
    assert isinstance(text, str)
    assert text.startswith("[19], all with Company=NULL:\nCustomerId,Country\n1,Land 1\n")
    assert text.endswith("\n\nResult: showing first 19 rows (output truncated)")
    assert not omissions


def test_a_body_that_follows_its_headers_is_data() -> None:
    headers = "".join(f"< x-header-{n}: value number {n} of the answer\n" for n in range(30))
    body = json.dumps([{"id": n, "name": f"order {n}", "state": "open"} for n in range(40)], indent=1)
    text = f"Calling it.\n{headers}{{ [2 bytes data]\n{body}"
    shaped = Shaper({}).shape_result({"content": [{"type": "text", "text": text}]}, tool="request")
    written = shaped["content"][0]["text"]
    assert written.startswith("Calling it.\n")
    assert "\n34,order 34" in written
    assert '"id"' not in written
