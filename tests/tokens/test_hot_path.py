from __future__ import annotations

from typing import Any

import pytest

from shaping import Shaper
from shaping.tokens import TokenCount, counters


class Recorder:
    """Counts words, and records what it is asked to count."""

    name = "recorder"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> TokenCount:
        self.asked.append(text)
        return TokenCount(len(text.split()))

    def exact(self, text: str) -> int:
        return int(self.count(text))


class Broken(Recorder):
    def count(self, text: str) -> TokenCount:
        raise RuntimeError(text)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Add a tokenizer that records what it is asked to count, and one that fails."""
    recorder = Recorder()
    monkeypatch.setattr(counters, "_OWN", {**counters._OWN, "recorder": recorder, "broken": Broken()})
    return recorder.asked


ANSWER: dict[str, Any] = {"items": [{"name": f"item {number}", "note": None} for number in range(100)]}


def test_an_answer_within_its_budget_by_its_bytes_is_not_counted(asked: list[str]) -> None:
    shaped = Shaper({"tokenizer": "recorder"}).shape(ANSWER, tool="search")
    assert (shaped.plan.profile, "item 99" in shaped.text) == ("minimal", True)
    assert asked == []


def test_each_text_is_counted_once_when_it_is_asked_for(asked: list[str]) -> None:
    tokens = Shaper({"tokenizer": "recorder"}).shape(ANSWER, tool="search").tokens
    assert asked == []
    assert [tokens.saved, tokens.ratio, tokens.before, tokens.after] == [
        tokens.saved,
        tokens.ratio,
        *map(len_of, asked),
    ]
    assert len(asked) == 2


def len_of(text: str) -> int:
    return len(text.split())


@pytest.mark.usefixtures("asked")
def test_a_call_whose_counting_fails_still_answers() -> None:
    shaped = Shaper({"tokenizer": "broken"}).shape(ANSWER, tool="search")
    assert "item 99" in shaped.text
    assert shaped.tokens.method == "chars"
