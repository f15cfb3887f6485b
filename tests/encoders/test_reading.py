"""The reading test asks what the shaped text can answer, and counts a right answer as right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import corpus, reading
from shaping.encoders import decode, encode

if TYPE_CHECKING:
    from pathlib import Path

JOBS: Any = {
    "total": 2,
    "jobs": [
        {"id": 71, "name": "build", "log": "short", "steps": [{"name": f"s{n}", "ok": True} for n in range(9)]},
        {"id": 72, "name": "test", "log": "first\nsecond\nthird\n" * 9, "by": "ada", "steps": [{"name": "x"}] * 9},
    ],
}  # fmt: skip


def test_questions_of_every_kind_are_answered_by_the_decoded_text() -> None:
    value = decode(encode(JOBS).text, "table")
    asked = reading.questions(value, "jobs", 60)
    assert {question.kind for question in asked} == set(reading.KINDS)
    for question in (each for each in asked if each.kind == "path"):
        assert reading.answer(JOBS, question.text.split("`")[1]) == question.answer


@pytest.mark.parametrize(
    ("given", "expected", "right"),
    [
        ("7", 7, True),
        (7.0, 7, True),
        ('"7"', "7", True),
        (" a ", "a", True),
        ("True", True, False),
        ("true", True, True),
        (None, "absent", False),
        ("absent", "absent", True),
        ("b", "a", False),
        (None, 7, False),
    ],
)
def test_an_answer_is_compared_as_a_teacher_would(given: Any, expected: Any, right: bool) -> None:
    assert reading.is_right(given, expected) is right


@pytest.mark.skipif(not corpus.PAYLOADS.exists(), reason="there is no corpus beside this checkout")
def test_packets_are_written_and_answers_scored(tmp_path: Path) -> None:
    reading.write(tmp_path, "standard", 2, 6)
    key = json.loads((tmp_path / "key.json").read_text())["packets"]
    assert len(key) == 2
    for name, packet in key.items():
        answers = {str(number): one["answer"] for number, one in enumerate(packet["questions"], 1)}
        (tmp_path / f"{name}.raw.json").write_text(json.dumps(answers))
        (tmp_path / f"{name}.shaped.json").write_text(json.dumps(answers | {"1": "no"}))
    table, wrong = reading.score(tmp_path, tmp_path)
    assert "| **all** | 10 of 12 | 12 of 12 |" in table
    assert len(wrong) == 2
