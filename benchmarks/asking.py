"""Questions about long lists, answered by one query each: exact, and at what price against reading all pages.

`python -m benchmarks.asking`: lists of records of both corpora and 5,000 made ones. Questions that count, filter,
group, sort, join a child list, ask for distinct values and ranges are made from the data, and Python answers them too.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.results import markdown_table, write_section
from shaping import Shaper
from shaping.parsers import parse
from shaping.store.sql import Database
from shaping.tokens import exact

if TYPE_CHECKING:
    from collections.abc import Iterator

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
WANTED = 200
LEAST = 10  # records that a list must have to be worth a question


@dataclass(frozen=True)
class Question:
    """What is asked, in SQL, and what Python finds."""

    kind: str
    sql: str
    expected: Any


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


def questions(source: Source) -> Iterator[Question]:
    """Ask of each column what its values allow."""
    table, rows = f"`{source.table}`", source.rows
    yield Question("count", f"SELECT count(*) AS n FROM {table}", [{"n": len(rows)}])
    for column, values in _columns(rows).items():
        quoted = f"`{column}`"
        present = [value for value in values if value is not None]
        if all(isinstance(value, str) for value in present) and 2 <= len(set(present)) <= len(rows) // 2:
            yield from _of_words(table, quoted, present)
        if all(isinstance(value, int) and not isinstance(value, bool) for value in present) and len(set(present)) > 3:
            yield from _of_numbers(table, quoted, present)
    yield from _of_children(source)


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = [name for name in rows[0] if name.isidentifier()]
    columns = {name: [row.get(name) for row in rows] for name in names}
    return {
        name: values
        for name, values in columns.items()
        if any(value is not None for value in values)
        and all(isinstance(value, str | int | float | None) for value in values)
    }


def _of_words(table: str, column: str, values: list[str]) -> Iterator[Question]:
    word, count = Counter(values).most_common(1)[0]
    literal = "'" + word.replace("'", "''") + "'"
    yield Question("filter", f"SELECT count(*) AS n FROM {table} WHERE {column} = {literal}", [{"n": count}])
    yield Question("distinct", f"SELECT count(DISTINCT {column}) AS n FROM {table}", [{"n": len(set(values))}])
    groups = sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))[:5]
    yield Question(
        "group",
        f"SELECT {column} AS v, count(*) AS n FROM {table} WHERE {column} IS NOT NULL "
        "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5",
        [{"v": value, "n": number} for value, number in groups],
    )


def _of_numbers(table: str, column: str, values: list[int]) -> Iterator[Question]:
    middle = int(median(values))
    yield Question(
        "range", f"SELECT min({column}) AS a, max({column}) AS b FROM {table}", [{"a": min(values), "b": max(values)}]
    )
    yield Question("sum", f"SELECT sum({column}) AS n FROM {table}", [{"n": sum(values)}])
    above = sum(value > middle for value in values)
    yield Question("filter", f"SELECT count(*) AS n FROM {table} WHERE {column} > {middle}", [{"n": above}])
    top = [{"v": value} for value in sorted(values, reverse=True)[:3]]
    yield Question("top-k", f"SELECT {column} AS v FROM {table} ORDER BY 1 DESC LIMIT 3", top)


def _of_children(source: Source) -> Iterator[Question]:
    for table in Database(source.data).tables:
        if table.parent is None or not table.parent.startswith(f"{source.table}_"):
            continue
        key = table.parent.removeprefix(f"{source.table}_")
        if key not in {"rowid", *source.rows[0]}:
            continue
        with_child = len(set(table.owners))
        sql = (
            f"SELECT count(DISTINCT p.{key}) AS n FROM `{source.table}` p "
            f"JOIN `{table.name}` c ON c.`{table.parent}` = p.{key}"
        )
        yield Question("join", sql, [{"n": with_child}])


def main() -> None:
    draw = random.Random(8)  # noqa: S311 (a sample, not a secret)
    asked = [(source, question) for source in sources() for question in questions(source)]
    chosen = draw.sample(asked, min(WANTED, len(asked)))
    shaper = Shaper({}, expandable=True)
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    price = reading = 0
    pages: dict[str, int] = {}
    refs: dict[str, str | None] = {}
    for source, question in chosen:
        total[question.kind] += 1
        if source.name not in pages:
            shaped = shaper.shape(source.data, tool=source.name, surface="mcp")
            refs[source.name], pages[source.name] = shaped.ref, _price_of_all(shaper, shaped)
        ref = refs[source.name]
        found = shaper.query(ref, question.sql) if ref else None
        records = Database(source.data).query(question.sql).records if found is None else found.data
        text = json.dumps(records) if found is None else found.text
        right[question.kind] += records == question.expected
        if records != question.expected:
            print(source.name, question, records, file=sys.stderr)
        price += exact(question.sql) + exact(text)
        reading += pages[source.name]
    rows: list[tuple[str, ...]] = [(kind, str(total[kind]), str(right[kind])) for kind in sorted(total)]
    rows.append(("in all", str(total.total()), str(right.total())))
    share = f"{100 * price / reading:.2f}%"
    body = markdown_table(("question", "asked", "right"), rows)
    body += (
        f"\n\nTokens of all queries and their answers: {price:,}; of reading every page instead: {reading:,} ({share})."
    )
    print(body)
    write_section("Asking", body, recipe={"what": "one query a question; expected answers computed in Python"})
    shaper.close()


def _price_of_all(shaper: Shaper, shaped: Any) -> int:
    """Count the tokens of an answer and of every further page of it."""
    cost, cursor = exact(shaped.text), shaped.cursor
    while cursor and shaped.ref:
        page = shaper.expand(shaped.ref, cursor=cursor, surface="mcp")
        cost, cursor = cost + exact(page.text), page.cursor
    return cost


if __name__ == "__main__":
    main()
