from __future__ import annotations

import re

from hypothesis import given, settings, strategies as st

from shaping.budget.cut_text import Cutter, CutText, NumberedLines, Rules
from shaping.tokens import counter

COUNTER = counter("o200k_base")
NONE = Rules()


def cutter(lines: list[str], rules: Rules = NONE) -> Cutter:
    return Cutter(NumberedLines(lines), rules, COUNTER.exact)


def cut(lines: list[str], room: int | None, rules: Rules = NONE) -> CutText:
    return cutter(lines, rules).to(room)


def test_what_fits_is_left_alone() -> None:
    assert cut(["a", "b", ""], 50) == CutText("a\nb\n", 4)
    assert cut(["a", "b", ""], None).text == "a\nb\n"


def test_the_middle_goes_and_both_ends_and_every_error_stay() -> None:
    lines = [f"line number {n} of a long report" for n in range(500)]
    lines[200] = "error: the disk is full"
    lines[340] = "error: the other disk is full, too"
    found = cut(lines, 200)
    shown = found.text.split("\n")
    assert (shown[0], shown[-1]) == (lines[0], lines[-1])
    assert {lines[200], lines[340]} <= set(shown)
    gaps = [int(gap.replace(",", "")) for gap in re.findall(r"… ([\d,]+) lines? …", found.text)]
    assert sum(gaps) == found.missing == 500 - (len(shown) - len(gaps))
    assert (found.tokens <= 200, found.missing_errors) == (True, 0)


def test_an_error_outlives_the_last_line() -> None:
    lines = [f"line number {n} of a long report" for n in range(500)]
    lines[200] = "error: the disk is full"
    told = "line number 0 of a long report\n… 199 lines …\nerror: the disk is full\n… 299 lines …"
    assert cut(lines, 50) == CutText(told, 26, False, 2, 498)


def test_errors_that_do_not_fit_are_counted() -> None:
    found = cut([f"error {n}: something went wrong" for n in range(300)], 120)
    assert found.missing_errors == found.missing > 200
    assert found.text.startswith("error 0:")


def test_long_lines_lose_their_middle_only_where_something_must_go() -> None:
    long = "a " * 4000
    assert cut([long], 9000).text == long
    found = cut(["first", long, "error: last"], 300)
    assert "characters …" in found.text
    assert found.text.endswith("error: last")


def test_a_config_keeps_and_drops_lines_and_keeping_wins() -> None:
    rules = Rules((re.compile("^KEEP"),), (re.compile("noise"),))
    assert rules.split(["noise", "KEEP noise", "x"]) == (["KEEP noise", "x"], ("noise",))
    lines = ["start", *["filler words here"] * 1, *[f"filler {n}" for n in range(300)]]
    lines[150] = "KEEP me"
    assert "KEEP me" in cut(lines, 60, rules).text


def test_no_room_at_all_still_says_how_much_there_is() -> None:
    assert cut([f"line {n}" for n in range(100)], 0).text == "… 100 lines …"


def test_the_end_of_the_last_line_is_not_counted_as_a_line() -> None:
    lines = [*(str(n) for n in range(1, 1001)), ""]
    nothing, some = cut(lines, 0), cut(lines, 40)
    assert (nothing.text, nothing.missing) == ("… 1,000 lines …", 1000)
    shown = [line for line in some.text.splitlines() if not line.startswith("…")]
    assert (shown[0], shown[-1], some.text[-1], some.missing) == ("1", "1000", "\n", 1000 - len(shown))
    assert f"… {some.missing:,} lines …" in some.text


@given(st.lists(st.text(alphabet='aé "\\\t{}error:0', max_size=40), min_size=1, max_size=60), st.integers(12, 80))
@settings(max_examples=60, deadline=None)
def test_the_room_is_kept(lines: list[str], room: int) -> None:
    found = cut(lines, room)
    assert COUNTER.exact(found.text) <= room


def test_a_long_error_that_does_not_fit_makes_way_for_short_ones() -> None:
    lines = ["start", *[f"line {n}" for n in range(200)], "end"]
    lines[50] = "error: " + "very long words " * 60
    lines[100], lines[150] = "error: short", "error: also short"
    found = cut(lines, 70)
    assert {"error: short", "error: also short"} <= set(found.text.split("\n"))
    assert found.missing_errors == 1
