from __future__ import annotations

import pytest

from benchmarks import texts
from shaping.tokens.counters import BpeCounter
from shaping.tokens.encoding import NAMES
from shaping.tokens.sampling import costs_at_most, estimate


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_near_the_exact_count_on_kinds_they_were_not_fitted_on(name: str) -> None:
    counter = BpeCounter(name)
    errors = {}
    outside = 0
    for kind in texts.CHECKED:
        for seed, size in enumerate((16_400, 60_000)):
            text = texts.make(kind, 100 + seed, size)
            exact, count = counter.exact(text), counter.count(text)
            errors[kind, size] = 100 * abs(count - exact) / exact
            outside += errors[kind, size] > count.error_bound
    ordered = sorted(errors.values())
    assert ordered[int(0.95 * len(ordered))] <= 2.0
    assert {key: error for key, error in errors.items() if error > 5.0} == {}
    assert outside <= len(errors) // 20


def test_the_same_text_gets_the_same_number() -> None:
    text = texts.make("mixed", 5, 300_000)
    first, again = BpeCounter("o200k_base"), BpeCounter("o200k_base")
    assert first.count(text).__getnewargs__() == again.count(text).__getnewargs__()


def test_a_text_forty_times_as_long_is_not_counted_more() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text) // 4

    spent = []
    for size in (50_000, 2_000_000):
        counted.clear()
        estimate(texts.make("issues", 1, size), count)
        spent.append(sum(counted))
    assert spent[1] <= spent[0] * 1.5
    assert max(spent) < 40_000


@pytest.mark.parametrize(
    "text",
    ["a" * 100_000, " " * 100_000, "=" * 30_000 + "\n", "服务" * 40_000, "😀" * 30_000, "0" * 90_000, "[" * 50_000],
    ids=["letters", "spaces", "rule", "cjk", "emoji", "digits", "brackets"],
)
def test_a_text_without_safe_cuts_is_sampled_as_well(text: str) -> None:
    counter = BpeCounter("o200k_base")
    assert counter.count(text) == pytest.approx(counter.exact(text), rel=0.02)


def test_a_text_of_many_megabytes_is_sampled_as_well() -> None:
    part = texts.make("log", 1, 100_000)
    counter = BpeCounter("o200k_base")
    assert counter.count(part * 300) == pytest.approx(300 * counter.exact(part), rel=0.03)


@pytest.mark.parametrize("period", [13, 37, 64, 97, 211])
def test_records_of_one_length_do_not_fall_into_step_with_the_samples(period: int) -> None:
    record = (texts.make("uuids", period, period)[: period - 8] + " ,\n.;:!").ljust(period, "~")[:period]
    text = record * (400_000 // period)
    counter = BpeCounter("o200k_base")
    assert counter.count(text) == pytest.approx(counter.exact(text), rel=0.03)


def test_a_text_that_must_be_cheaper_by_a_part_is_not_taken_by_a_guess_that_is_sure_of_less() -> None:
    text, other = "word " * 100, "word " * 140
    costs = {text: 90, other: 100}
    assert costs_at_most(text, other, costs.__getitem__)
    assert not costs_at_most(text, other, costs.__getitem__, part=0.85)
