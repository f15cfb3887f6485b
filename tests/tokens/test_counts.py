from __future__ import annotations

import copy
import pickle

import orjson
import pytest

from shaping.tokens import CountingError, TokenCount
from shaping.tokens.counters import CharCounter


def test_a_count_is_a_number_that_knows_how_it_was_found() -> None:
    count = TokenCount(1200, "sampled", 1.44)
    assert (count + 1, count.method, count.error_bound, count.label) == (1201, "sampled", 1.44, "sampled ±1.4%")


def test_a_count_is_exact_unless_said_otherwise() -> None:
    assert (TokenCount(3).label, TokenCount(3).error_bound) == ("exact", 0.0)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda count: pickle.loads(pickle.dumps(count))])  # noqa: S301 - our own
def test_a_copy_keeps_the_label(again: object) -> None:
    made = again(TokenCount(7, "chars", 66.0))  # type: ignore[operator]  # parametrized
    assert (int(made), made.method, made.error_bound) == (7, "chars", 66.0)


def test_a_count_is_a_number_in_json() -> None:
    assert orjson.dumps({"tokens": TokenCount(7, "sampled", 1.0)}) == b'{"tokens":7}'


def test_characters_are_the_last_resort_and_say_so() -> None:
    counter = CharCounter()
    assert (int(counter.count("12345")), counter.count("12345").label) == (2, "chars ±66.0%")
    with pytest.raises(CountingError, match="cannot count exactly"):
        counter.exact("12345")
