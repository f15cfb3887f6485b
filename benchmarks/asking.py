"""Questions about long lists, answered by one query each: exact, and at what price against reading all pages.

`python -m benchmarks.asking`: lists of records of both corpora and 5,000 made ones. Questions that count, filter,
group, sort, join a child list, ask for distinct values and ranges are made from the data, and Python answers them too.

`python -m benchmarks.asking --packets DIR --key DIR`: packets for readers who see our tool's definition, a cut answer
and questions in words, and write one query each. `--score DIR --key DIR` runs what they wrote (`DIR/*.answers.json`)
and says how many ran and were right at the first try.

`python -m benchmarks.asking --large`: the time of queries over 100,000 records of 20 columns.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.asking_readers import score, write_packets
from benchmarks.asking_sources import Source, sources
from benchmarks.results import markdown_table, write_section
from shaping import Shaper
from shaping.store.sql import Database
from shaping.tokens import exact

if TYPE_CHECKING:
    from collections.abc import Iterator

WANTED = 200


@dataclass(frozen=True)
class Question:
    """What is asked, in SQL, and what Python finds."""

    kind: str
    sql: str
    expected: Any


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


LARGE, WIDE = 100_000, 20


def large() -> None:
    """Time queries over many records, as the first and the second one after the answer was kept."""
    draw = random.Random(3)  # noqa: S311 (records, not secrets)
    kinds = ["open", "closed", "merged"]
    records = [
        {"id": n, "state": draw.choice(kinds), **{f"column_{at}": draw.randrange(10_000) for at in range(WIDE - 2)}}
        for n in range(LARGE)
    ]
    shaper = Shaper({}, expandable=True)
    ref = shaper.shape(records, tool="large").ref or ""
    rows = []
    for sql in (
        "SELECT count(*) AS n FROM items",
        "SELECT state, count(*) AS n FROM items GROUP BY state",
        "SELECT count(*) AS n FROM items WHERE state = 'open' AND column_3 > 5000",
        "SELECT max(column_7) AS m FROM items",
    ):
        wall, cpu = time.perf_counter(), time.process_time()
        shaper.query(ref, sql)
        rows.append((sql, f"{1000 * (time.perf_counter() - wall):.0f}", f"{1000 * (time.process_time() - cpu):.0f}"))
    body = markdown_table(("query, in this order", "ms", "ms of CPU"), rows)
    print(body)
    write_section(
        "Asking large lists",
        body,
        recipe={"what": f"{LARGE:,} records of {WIDE} columns, kept; the first query builds"},
    )
    shaper.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--packets", type=Path, help="write packets for readers here")
    options.add_argument("--score", type=Path, help="score the answers that are here")
    options.add_argument("--key", type=Path, help="where the key of the packets is")
    options.add_argument("--large", action="store_true", help="time queries over 100,000 records")
    said = options.parse_args()
    if said.packets is not None:
        write_packets(said.packets, said.key)
    elif said.score is not None:
        score(said.score, said.key)
    elif said.large:
        large()
    else:
        _measure()


def _measure() -> None:
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
