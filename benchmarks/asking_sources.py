"""Where the questions of `asking` come from: every list of records of both corpora, and 5,000 made records."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.corpus import CORPUS
from shaping.parsers import parse
from shaping.store.sql import Database

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST = 10  # records that a list must have to be worth a question


@dataclass(frozen=True)
class Source:
    """One answer of a tool, a list of records in it, and the table that it is."""

    name: str
    data: Any
    table: str
    rows: list[dict[str, Any]]


def made() -> Any:
    """Make 5,000 records as an issue tracker has them."""
    draw = random.Random(5)  # noqa: S311 (records, not secrets)
    return [
        {
            "id": number,
            "state": draw.choice(["open", "closed", "merged"]),
            "author": {"login": f"user{draw.randrange(40)}"},
            "comments": draw.randrange(60),
            "created_at": f"2026-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}T08:00:00Z",
            "labels": [{"name": draw.choice(["bug", "docs", "infra", "ui"])} for _ in range(draw.randrange(3))],
            "title": f"Issue {number} about {draw.choice(['login', 'search', 'export'])}",
        }
        for number in range(1, 5001)
    ]


def sources() -> Iterator[Source]:
    """Find every list of records of the corpora, and the made one."""
    answers = {"5,000 made records": made()}
    for path in sorted([*CORPUS.glob("payloads/p*.json"), *CORPUS.glob("more/k*.json")]):
        if (value := _data(json.loads(path.read_text()))) is not None:
            answers[path.stem] = value
    for name, value in answers.items():
        for table in Database(value).tables:
            rows = [row for row in table.rows if isinstance(row, dict)]
            if len(rows) >= LEAST and table.parent is None and len(rows) == len(table.rows):
                yield Source(name, value, table.name, rows)


def _data(result: dict[str, Any]) -> Any:
    texts = [block["text"] for block in result.get("content", ()) if block.get("type") == "text"]
    parsed = parse(texts[0]) if len(texts) == 1 else None
    return None if parsed is None else parsed.value
