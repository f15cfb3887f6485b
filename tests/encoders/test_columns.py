"""Whole columns are written as their values would be one by one."""

from __future__ import annotations

import re
import tracemalloc
from typing import TYPE_CHECKING, Any

import orjson
from hypothesis import given, settings, strategies as st

from shaping.encoders.table import decode, encode
from shaping.encoders.table.cells import MISSING, Members, cell, cells, texts

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

LITERAL = r"true|false|null|None|True|False|NaN|below|#\d+|[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
ODD = re.compile(rf"[,{{}}\x00-\x1f\x7f]|^[ =\"\[…]|^-$| $|^$|^(?:{LITERAL})$", re.ASCII)
# Columns of one kind are what is taken whole: dates, versions, numbers as text, words, paths.
LIKE = ("2026-10-0{}T10:00:00Z", "1.{}.0", "{}", "-{}", "{}e5", "word {}", "C:\\dir{}", "t{}", "10.0.0.{}", "é{}")

TRICKY = (
    "", " ", "-", "--", "1", "-0", "1.0", "1e5", "007", "true", "null", "a,b", '"', "[", "{", "}", " lead", "trail ",
    "tab\t", "two\nlines", "\r", "=", "a=b", "\x7f", "\\", "日本", "😀", "1٣",
)  # fmt: skip

sampled = settings(max_examples=60, deadline=None)
any_text = st.sampled_from(TRICKY) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | any_text
names = st.sampled_from("abcdef")
alike = st.builds(lambda form, count: [form.format(n) for n in range(count)], st.sampled_from(LIKE), st.integers(1, 9))


def one_by_one(value: Any) -> str:
    """Write one value as a cell, by the definition of what is odd."""
    if value is MISSING:
        return ""
    return value if type(value) is str and not ODD.search(value) else orjson.dumps(value).decode()


def mixed(strings: SearchStrategy[list[str]]) -> SearchStrategy[list[str]]:
    """Put a few other strings into a column."""
    return st.builds(lambda one, other: [*one, *other], strings, st.lists(any_text, max_size=2))


@sampled
@given(mixed(alike) | st.lists(any_text, min_size=1))
def test_a_column_of_strings_is_quoted_where_a_single_one_would_be(column: list[str]) -> None:
    expected = [one_by_one(text) for text in column]
    assert texts(column) == expected
    assert list(map(cell, column)) == expected


@sampled
@given(st.lists(scalars | st.just(MISSING) | st.just([1, "a"]) | st.just({"a": "b"}), min_size=1))
def test_a_column_of_anything_is_written_value_by_value(column: list[Any]) -> None:
    assert cells(column, set(map(type, column))) == [one_by_one(value) for value in column]


@sampled
@given(st.lists(st.dictionaries(names, st.integers(0, 3), max_size=4), min_size=1))
def test_records_are_turned_member_by_member(rows: list[dict[str, Any]]) -> None:
    keys = dict.fromkeys(key for row in rows for key in row)
    assert Members(rows).columns() == {key: [row.get(key, MISSING) for row in rows] for key in keys}


def test_a_wide_table_with_few_members_a_row_takes_the_memory_of_its_members() -> None:
    rows: Any = [{"id": n, **{f"c{(n * 7 + m * 631) % 5000}": m for m in range(5)}} for n in range(5000)]
    tracemalloc.start()
    try:
        assert decode(encode(rows)) == rows
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * 2**20


def test_records_with_many_members_are_no_maps() -> None:
    value: Any = [{"n": n, "o": {f"member{i}": n * i for i in range(12)}} for n in range(4)]
    text = encode(value)
    assert "o{member0=0,member1" not in text
    assert text.splitlines()[1].startswith("n,o{member1,")
    assert decode(text) == value


def test_long_cells_that_come_back_are_written_once_also_where_some_records_have_none() -> None:
    self = ["https://api.example.com/users/PQYACO3", "https://api.example.com/services/PIKL83L"]
    value: Any = [{"n": n, "agent": {"id": n % 3, "self": self[n % 2]} if n % 4 else {"id": n}} for n in range(30)]
    text = encode(value)
    assert [text.count(link) for link in self] == [1, 1]
    assert decode(text) == value
