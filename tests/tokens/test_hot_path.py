from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from shaping import Shaper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDER = """
from shaping.tokens import TokenCount

asked = []

class Recorder:
    name = "recorder"
    def count(self, text):
        asked.append(text)
        return TokenCount(len(text.split()))
    def exact(self, text):
        return int(self.count(text))

class Broken:
    name = "broken"
    def count(self, text):
        raise RuntimeError("broken")
    exact = count
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Install a tokenizer that records what it is asked to count."""
    (tmp_path / "planted_recorder.py").write_text(RECORDER)
    info = tmp_path / "planted_recorder-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted-recorder\nVersion: 1.0\n")
    entries = "recorder = planted_recorder:Recorder\nbroken = planted_recorder:Broken\n"
    (info / "entry_points.txt").write_text(f"[shaping.tokenizers]\n{entries}")
    monkeypatch.syspath_prepend(str(tmp_path))
    from shaping.tokens.registry import _installed

    _installed.cache_clear()
    import planted_recorder  # type: ignore[import-not-found]  # planted above

    yield planted_recorder.asked
    sys.modules.pop("planted_recorder", None)
    _installed.cache_clear()


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
