"""Rows that passed beside a few that did not keep what only they say."""

from __future__ import annotations

from typing import Any

import pytest

from shaping.noise import reduce


def rows(detail: Any) -> Any:
    """Return twenty rows that passed with this in them, and one that failed."""
    passed = [{"name": f"tests/unit/test_{n}", "outcome": "passed", "detail": detail} for n in range(20)]
    return [*passed, {"name": "tests/unit/test_x", "outcome": "failed", "detail": {"why": "it broke"}}]


@pytest.mark.parametrize(
    "dull",
    [
        {"seconds": 0.1, "outcome": "passed"},
        [1, "short", [{"seconds": 2}]],
        {"steps": [{"name": "setup"}, {"name": "run"}], "of": "tests/unit/test_"},
    ],
)
def test_times_verdicts_and_pieces_of_a_rows_own_name_go_where_it_passed(dull: Any) -> None:
    reduced, omissions = reduce(rows(dull), ("bulk",))
    short = [{"name": f"tests/unit/test_{n}", "outcome": "passed"} for n in range(20)]
    assert reduced == [*short, {"name": "tests/unit/test_x", "outcome": "failed", "detail": {"why": "it broke"}}]
    assert [(omission.path, omission.count, omission.reason) for omission in omissions] == [("[].detail", 20, "bulk")]


@pytest.mark.parametrize(
    "telling",
    [
        {"note": "a sentence that nobody else says"},
        ["a sentence that nobody else says"],
        {"inner": {"note": "a sentence that nobody else says"}},
    ],
)
def test_what_only_a_row_that_passed_says_stays(telling: Any) -> None:
    value = rows(telling)
    assert reduce(value, ("bulk",)) == (value, [])


def test_a_sentence_in_the_place_of_times_stays_where_most_rows_have_times() -> None:
    value = rows({"seconds": 1})
    value[3]["detail"] = "a sentence that nobody else says"
    reduced: Any = reduce(value, ("bulk",))[0]
    assert [row["detail"] for row in reduced if "detail" in row] == [value[3]["detail"], {"why": "it broke"}]
