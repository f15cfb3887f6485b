from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from shaping import Shaper
from shaping.budget.cut import gone, shorten
from shaping.budget.fit import Budget, fit_value
from shaping.tokens import counter

COUNTER = counter("o200k_base")

CSV = "".join(f"{n:05},2026-06-{n % 28 + 1:02},{n * 13.37:.2f},EUR,late\n" for n in range(80))
PROSE = "The invoice of the second quarter was paid late, as the ones before it had been. " * 40
MARK = re.compile(r"…\[([\d,]+) characters left out\]…")


def edges(text: str, room: int) -> tuple[str, str]:
    head, _, tail = MARK.split(shorten(text, room))
    return head, tail


def test_a_table_is_cut_between_its_lines_where_one_begins_nearby() -> None:
    head, tail = edges(CSV, 290)
    assert (head, tail) == (CSV[: len(head)], CSV[len(CSV) - len(tail) :])
    assert {*head.splitlines(), *tail.splitlines()} <= {*CSV.splitlines()}
    assert head.endswith("\n")


@pytest.mark.parametrize("text", [CSV, PROSE, CSV.replace("\n", ";"), PROSE.replace(" ", "\t")])
@pytest.mark.parametrize("room", range(20, 700, 7))
def test_no_word_and_no_number_is_cut(text: str, room: int) -> None:
    apart = re.compile(r"[\s,;]+")
    shown = {*apart.split(MARK.sub(" ", shorten(text, room)).removesuffix("…"))}
    assert shown - {""} <= {*apart.split(text)}


def test_a_line_that_begins_far_away_is_not_waited_for() -> None:
    text = "a line\n" + "word " * 2000
    head, tail = edges(text, 1000)
    assert (head[-5:], tail[:5]) == ("word ", " word")
    assert len(head) + len(tail) > 1000 - 48


def test_a_string_without_any_edge_is_cut_where_the_room_ends() -> None:
    assert shorten("x" * 500, 100) == "x" * 49 + "…[427 characters left out]…" + "x" * 24


def test_where_only_the_beginning_fits_it_ends_with_a_word_too() -> None:
    assert shorten("order 00059 is late again and again and again", 12) == "order 00059…"
    assert shorten("order 00059 is late again and again and again", 10) == "order …"
    assert shorten("order 00059", 0) == "…"


class Recording:
    """The exact tokenizer, and how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def exact(self, text: str) -> int:
        self.asked += 1
        return COUNTER.exact(text)


@pytest.mark.parametrize("size", [10, 100, 1000])
def test_the_tokenizer_is_asked_a_logarithmic_number_of_times_about_a_text_too(size: int) -> None:
    recording = Recording()
    fitted = fit_value(CSV * size, Budget(500), lambda fitted: str(fitted.value), recording.exact)
    assert 450 < COUNTER.exact(str(fitted.value)) <= 500
    assert recording.asked <= 12


TEXT = st.lists(st.sampled_from(["ab1", "00059", "-", ".", ",", " ", "\n", "é", "x" * 30]), max_size=90).map("".join)


@settings(max_examples=150, deadline=None)
@given(TEXT, st.integers(60, 300))
def test_more_room_never_shows_less_and_the_count_is_exact(text: str, room: int) -> None:
    less, more = shorten(text, room), shorten(text, room + 1)
    assert len(less) <= room
    if more == text:
        return
    before, after = edges(text, room), edges(text, room + 1)
    assert (text.startswith(after[0]), text.endswith(after[1])) == (True, True)
    assert (after[0].startswith(before[0]), after[1].endswith(before[1])) == (True, True)
    assert gone(text, more) == (len(after[0]), len(text) - len(after[0]) - len(after[1]))
    assert f"…[{gone(text, more)[1]:,} characters left out]…" in more


def test_what_a_budget_took_from_a_text_comes_back_exactly() -> None:
    shaper = Shaper({"global": {"max_tokens": 100}}, expandable=True)
    shaped = shaper.shape({"report": CSV}, tool="t")
    assert isinstance(shaped.data, dict)
    head, count, tail = MARK.split(shaped.data["report"])
    assert int(count.replace(",", "")) == len(CSV) - len(head) - len(tail)
    found, cursor = "", None
    while not found or cursor:
        page = shaper.expand(shaped.ref or "", None if cursor else "report", cursor)
        found, cursor = found + str(page.data), page.cursor
    assert found == CSV
