from __future__ import annotations

import csv
import io
import json
from random import Random

import pytest

from benchmarks import texts
from shaping.tokens import cheap, exact, upper_bound


@pytest.mark.parametrize("kind", texts.KINDS)
def test_no_text_costs_more_than_its_bound(kind: str) -> None:
    text = texts.make(kind, 6, 1_500)
    assert upper_bound(text) >= exact(text)
    assert upper_bound(text.encode("utf-8", "surrogatepass")) == upper_bound(text)


def test_bytes_cost_what_their_text_costs() -> None:
    text = texts.make("chinese", 7, 3_000)
    assert cheap(text) == cheap(text.encode())


def test_nothing_costs_nothing_and_something_something() -> None:
    assert (cheap(""), cheap(b""), cheap(" ")) == (0, 0, 1)


@pytest.mark.parametrize("make", [texts.point, texts.pod, texts.issue])
def test_the_cheap_guess_picks_the_cheaper_writing(make: object) -> None:
    rng = Random(8)  # noqa: S311 - nobody's secret
    rows = [make(rng) for _ in range(40)]  # type: ignore[operator]  # parametrized
    table = io.StringIO()
    csv.writer(table).writerows([list(rows[0]), *(row.values() for row in rows)])
    writings = [json.dumps(rows, indent=2), json.dumps(rows), json.dumps(rows, separators=(",", ":")), table.getvalue()]
    assert sorted(writings, key=cheap) == sorted(writings, key=exact)


@pytest.mark.parametrize("whole", [texts.make("issues", 9, 400_000), texts.make("issues", 9, 400_000).encode()])
def test_a_long_text_is_guessed_from_parts_of_it(whole: str | bytes) -> None:
    assert cheap(whole) == pytest.approx(cheap(whole[:32_768]) * len(whole) / 32_768, rel=0.05)
