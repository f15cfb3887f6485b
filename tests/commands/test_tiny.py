"""Budgets with room for next to nothing: a line is shown, or it is said that none is."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from shaping import tokens
from shaping.budget.cut_text import Cutter, NumberedLines, Rules
from shaping.commands.rendering import least_cut

if TYPE_CHECKING:
    from shaping.shaper import Shaper

LINES = "".join(f"line {n}\n" for n in range(2000))
DATA = json.dumps([{"id": n, "name": f"thing {n}"} for n in range(500)])
COUNTER = tokens.counter("o200k_base")


def plain(text: str) -> int:
    return COUNTER.exact(text)


def cutter(*lines: str) -> Cutter:
    return Cutter(NumberedLines(lines), Rules(), COUNTER.exact)


@pytest.mark.parametrize("limit", [1, 20, 40])
def test_below_the_price_of_the_envelope_the_last_line_is_shown(limit: int, shaper: Shaper, replay: Any) -> None:
    wire = replay(shaper, ["x"], LINES, max_tokens=limit).render("invariant")
    assert wire["data"] == {"stdout": "… 1,999 lines …\nline 1999\n"}
    assert wire["warnings"] == []
    assert (wire["meta"]["truncated"], "cursor" in wire["meta"], wire["meta"]["ref"][:2]) == (True, False, "r_")


@pytest.mark.parametrize("limit", range(60, 160, 7))
def test_from_the_price_of_the_envelope_on_the_budget_holds_and_a_line_is_shown(
    limit: int, shaper: Shaper, replay: Any
) -> None:
    wire = replay(shaper, ["x"], LINES, max_tokens=limit).render("invariant")
    assert tokens.exact(json.dumps(wire, ensure_ascii=False, separators=(",", ":"))) <= limit
    assert ("line " in wire["data"]["stdout"], wire["warnings"]) == (True, [])


def test_of_one_line_the_first_that_tells_of_an_error_is_shown(shaper: Shaper, replay: Any) -> None:
    said = replay(shaper, ["x"], LINES + "ERROR: the disk is full\n" + LINES, max_tokens=1).render("invariant")
    assert said["data"]["stdout"] == "… 2,000 lines …\nERROR: the disk is full\n… 2,000 lines …"


def test_a_failure_whose_message_tells_its_only_line_does_not_tell_it_again_or_as_lost(
    shaper: Shaper, replay: Any
) -> None:
    for limit in (1, 100, 20_000):
        wire = replay(shaper, ["x"], LINES, "error: boom\n", 3, max_tokens=limit).render("invariant")
        assert wire["error"]["message"] == "x exited with 3: error: boom"
        assert "detail" not in wire["error"]
        assert not any("did not fit" in warning for warning in wire["warnings"])


def test_a_failure_that_said_more_shows_the_line_of_its_error(shaper: Shaper, replay: Any) -> None:
    wire = replay(shaper, ["x"], LINES, LINES + "error: boom\n", 3, max_tokens=1).render("invariant")
    assert wire["error"]["detail"] == "… 2,000 lines …\nerror: boom\n"
    assert wire["error"]["details"] == {"stdout": "… 2,000 lines …"}


@pytest.mark.parametrize("limit", [1, 30])
def test_data_that_is_not_shown_at_all_is_marked_as_cut(limit: int, shaper: Shaper, replay: Any) -> None:
    wire = replay(shaper, ["x"], DATA, max_tokens=limit).render("invariant")
    assert (wire["data"], wire["meta"]["truncated"], wire["meta"]["ref"][:2]) == ([], True, "r_")


def test_what_goes_over_a_small_budget_is_the_envelope_alone(shaper: Shaper, replay: Any) -> None:
    for limit in range(50, 90):
        wire = replay(shaper, ["x"], DATA, max_tokens=limit).render("invariant")
        cost = tokens.exact(json.dumps(wire, separators=(",", ":")))
        assert cost <= limit or wire["data"] == []


def test_plain_text_is_not_over_a_budget_that_holds_no_line(shaper: Shaper, respond_to: Any) -> None:
    response = respond_to(shaper, ["x"], LINES, max_tokens=5, dialect="none")
    assert (response.stdout, response.stderr) == ("", "(cut)\n")
    assert plain(response.printed) <= 5


def test_data_that_is_empty_itself_is_nothing_to_warn_of(shaper: Shaper, replay: Any) -> None:
    assert replay(shaper, ["x"], "[]", max_tokens=1).render("invariant")["warnings"] == []


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize("limit", [20, 40, 80, 160])
def test_plain_text_is_cut_to_its_own_price_and_says_so(limit: int, code: int, shaper: Shaper, respond_to: Any) -> None:
    response = respond_to(shaper, ["x"], LINES, "note\n", code, max_tokens=limit, dialect="none")
    assert plain(response.stdout + response.stderr) <= limit
    assert "line 1999" in response.stdout
    assert re.search(r"cut|left out", response.stderr)
    assert limit < 160 or plain(response.printed) >= 0.85 * limit


def test_plain_text_is_what_the_command_printed_and_one_line_of_facts_where_there_are_any(
    shaper: Shaper, respond_to: Any
) -> None:
    def printed(*words: Any) -> tuple[str, str]:
        response = respond_to(shaper, ["x"], *words, dialect="none")
        return response.stdout, response.stderr

    assert printed("a\n", "b\n") == ("a\n", "b\n")
    assert printed("a\n", "", 2) == ("a\n", "(exit code 2)\n")
    assert printed("", "b\nc\n", 2) == ("", "b\nc\n(exit code 2)\n")
    assert printed("key ghp_" + "a1B2" * 9) == ("key [redacted:github-token]", "(secrets redacted)\n")


def test_the_one_line_is_as_long_as_the_room_allows() -> None:
    long = cutter("x", " ".join(f"word{n}" for n in range(100)), "")
    shown = [long.to(room).text for room in (4, 12, 30, 60)]
    assert [len(text) for text in shown] == sorted(len(text) for text in shown)
    assert (shown[0], shown[1]) == ("… 2 lines …", "word0 word1 word2 w…")
    assert cutter("", "  ", "").least().text == "\n  \n"


def test_the_least_of_two_outputs_is_a_line_of_the_one_that_has_any() -> None:
    quiet = least_cut(cutter("", ""), cutter("only this", ""), failed=False)
    assert (quiet.out.text, quiet.err.text) == ("\n", "only this\n")
