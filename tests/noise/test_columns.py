"""What is asked of many values at once is answered as if each had been asked by itself."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, strategies as st

from shaping.noise.records import all_codes, all_http, all_match, longest
from shaping.noise.unwrap import may_be_wrapped, unwrap

CODE = re.compile(r"[\w+/=.:\"@-]{8,}")

words = st.sampled_from(
    [
        *("", "http", "http://a", "https://a.b/c", "httq", "htt", "HTTP://a", "git://a", "\0http", "http\0", "hé"),
        *("0123456789", "MDQ6VXNlcjE=", 'W/"abc-123"', "short", "two words", "abcdefgh\n", "abcd\0efgh", "Größe1234"),
        *(
            "<p>a</p>",
            "a <b",
            "x\0<p>y",
            "<br",
            "https://x.dev/?utm_source=a&b=1",
            "a&gclid=1",
            "data:image/png;base64,",
        ),
        "data:image/png;base64," + "QUJD" * 20,
    ]
)
strings = st.lists(words | st.text(max_size=12), min_size=1, max_size=8)
values = st.lists(words | st.sampled_from([None, 1, 2.5, [1, 2, 3], {"a": 1}]), min_size=1, max_size=8)


@given(values)
def test_links_are_told_together_as_they_are_one_by_one(column: list[Any]) -> None:
    assert all_http(column) == all(type(value) is str and value.startswith("http") for value in column)


@given(strings)
def test_codes_are_told_together_as_they_are_one_by_one(column: list[str]) -> None:
    expected = all(not value or CODE.fullmatch(value.replace("\n", "")) for value in column)
    assert all_codes(column) == all_match(CODE, column) == expected


@given(values)
def test_the_longest_counts_strings_alone_where_something_has_no_length(column: list[Any]) -> None:
    sized = all(hasattr(value, "__len__") for value in column)
    counted = [len(value) for value in column if sized or type(value) is str]
    assert longest(column) == max(counted, default=0)


@given(strings)
def test_no_wrapping_is_missed_by_looking_at_all_strings_together(column: list[str]) -> None:
    assert may_be_wrapped(column) or [unwrap(value) for value in column] == column
