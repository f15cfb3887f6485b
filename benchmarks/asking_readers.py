"""Packets for readers who were told nothing: whether a cut answer and our definition are enough to ask rightly."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.asking_sources import Source, sources
from benchmarks.results import write_section
from shaping import Shaper
from shaping.errors import ToolError
from shaping.mcp.tool_entries import EXPAND_TOOL
from shaping.store.sql import Database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKETS, IN_PACKET, OF_SOURCE = 5, 20, 4
BUDGET = 700  # tokens of a cut answer
HOW = """\
A tool of yours answered, and its answer was too long: you see the beginning of it, and what its first line says about
the rest. You may ask the rest by the tool whose definition stands here. For each question write one call's `sql`
argument: a query that gives the answer (the whole answer, and nothing but rows and columns that were asked for).
You cannot try it, and you may not ask for the schema first. Write a JSON object from the number of each question to
its SQL into the file {answers}.
"""


@dataclass(frozen=True)
class WordedQuestion:
    """A question in words, and the rows that answer it: each a list of values, in the order of a sorted answer."""

    text: str
    expected: list[list[Any]]
    ordered: bool = False


def worded(source: Source) -> Iterator[WordedQuestion]:
    """Ask in words what `questions` asks in SQL, of what a reader can see in the answer."""
    rows, name = source.rows, _path_of(source.data, source.table) or "items"
    columns = {column: values for column, values in _all_columns(source).items() if _is_seen(column, values)}
    words = {c: v for c, v in columns.items() if _all(v, str) and 2 <= len({*v} - {None}) <= max(2, len(rows) // 2)}
    numbers = {c: v for c, v in columns.items() if _all(v, int | float) and len({*v} - {None}) > 3}
    for column, values in words.items():
        word, count = Counter(value for value in values if value is not None).most_common(1)[0]
        yield WordedQuestion(f"In {name}: how many records have {column} equal to {word!r}?", [[count]])
        groups = Counter(value for value in values if value is not None)
        yield WordedQuestion(
            f"In {name}: how many records are there of each {column} (leave out those without)?",
            [[value, number] for value, number in groups.items()],
        )
        yield WordedQuestion(f"In {name}: how many different values does {column} have?", [[len(groups)]])
    for column, values in numbers.items():
        present = [value for value in values if value is not None]
        middle = sorted(present)[len(present) // 2]
        above = sum(value > middle for value in present)
        yield WordedQuestion(f"In {name}: how many records have {column} above {middle}?", [[above]])
        yield WordedQuestion(
            f"In {name}: what is the smallest and the largest {column}?", [[min(present), max(present)]]
        )
        top = [[value] for value in sorted(present, reverse=True)[:3]]
        yield WordedQuestion(f"In {name}: what are the three largest values of {column}, largest first?", top, True)
    for one, other in zip(words, [*words][1:], strict=False):
        pair, count = Counter(zip(words[one], words[other], strict=True)).most_common(1)[0]
        if None not in pair:
            text = f"In {name}: how many records have {one} equal to {pair[0]!r} and {other} equal to {pair[1]!r}?"
            yield WordedQuestion(text, [[count]])
    for column, number in zip(words, numbers, strict=False):
        word = Counter(value for value in words[column] if value is not None).most_common(1)[0][0]
        picked = [n for w, n in zip(words[column], numbers[number], strict=True) if w == word and n is not None]
        text = f"In {name}: what is the sum of {number} over the records with {column} equal to {word!r}?"
        yield WordedQuestion(text, [[sum(picked)]])
    yield from _worded_children(source, name)


def _all_columns(source: Source) -> dict[str, list[Any]]:
    """Give the columns of plain values by their names in the answer, those of nested records included."""
    table = next(one for one in Database(source.data).tables if one.name == source.table)
    found: dict[str, list[Any]] = {}
    for column in table.columns:
        values: list[Any] = source.rows
        for name in column.trail:
            values = [value.get(name) if isinstance(value, dict) else None for value in values]
        if any(value is not None for value in values) and _all(values, str | int | float):
            found[column.dotted] = values
    return found


def _path_of(data: Any, table: str, path: tuple[str, ...] = ()) -> str | None:
    """Find the path of the list or object that a table is made of."""
    if "_".join(re.sub(r"\W+", "_", part) for part in path).strip("_") == table:
        return ".".join(path)
    inside = data.items() if isinstance(data, dict) else ()
    return next(filter(None, (_path_of(value, table, (*path, key)) for key, value in inside)), None)


def _worded_children(source: Source, name: str) -> Iterator[WordedQuestion]:
    for table in Database(source.data).tables:
        if table.parent is None or table.parent.rpartition("_")[0] != source.table or not table.columns:
            continue
        inside = _path_of_child(source.rows, table.name.removeprefix(f"{source.table}_"))
        column = table.columns[0].dotted
        values = [row.get(table.columns[0].trail[0]) for row in table.rows]
        if len(table.columns[0].trail) > 1 or not _all(values, str) or not any(values):
            continue
        word = Counter(value for value in values if value is not None).most_common(1)[0][0]
        owners = {owner for owner, value in zip(table.owners, values, strict=True) if value == word}
        what = "value" if column == "value" else f"{column} equal to"
        text = f"How many of the records in {name} have in their list {inside} an element with {what} {word!r}?"
        yield WordedQuestion(text, [[len(owners)]])


def _path_of_child(rows: list[dict[str, Any]], table: str) -> str:
    return next(filter(None, (_path_of(row, table) for row in rows)), table)


def _all(values: list[Any], kind: Any) -> bool:
    return all(value is None or (isinstance(value, kind) and not isinstance(value, bool)) for value in values)


def _is_seen(column: str, values: list[Any]) -> bool:
    """Whether a reader knows of a column: noise rules drop links and hashes, and long words are not asked for."""
    if "url" in column.lower() or column.endswith("_id") or column in {"id", "node_id", "sha", "body"}:
        return False
    return all(value is None or len(str(value)) <= 40 for value in values)


def write_packets(folder: Path, key_folder: Path) -> None:
    """Write packets for readers, and the answers elsewhere."""
    draw = random.Random(11)  # noqa: S311 (a sample, not a secret)
    shaper = Shaper({"global": {"max_tokens": BUDGET}}, expandable=True)
    asked: list[tuple[Source, str, list[WordedQuestion]]] = []
    for source in sources():
        found = list(worded(source))
        result = {"content": [{"type": "text", "text": json.dumps(source.data)}]}
        text = shaper.shape_result(result, tool=source.name, relay=True)["content"][0]["text"]
        seen = [one for one in found if _is_told(one, text)]
        if len(seen) >= OF_SOURCE and text.startswith("(") and "sql" not in source.name:
            draw.shuffle(seen)
            children = [one for one in seen if one.text.startswith("How many of")][:1]
            asked.append((source, text, [*children, *(one for one in seen if one not in children)]))
    draw.shuffle(asked)
    folder.mkdir(parents=True, exist_ok=True)
    key_folder.mkdir(parents=True, exist_ok=True)
    chosen = _rounds(asked, PACKETS * IN_PACKET)
    for number in range(PACKETS):
        part = chosen[number::PACKETS]
        _write_packet(folder, key_folder, f"packet{number + 1}", part)
    shaper.close()


def _rounds(
    asked: list[tuple[Source, str, list[WordedQuestion]]], wanted: int
) -> list[tuple[Source, str, list[WordedQuestion]]]:
    """Take four questions of each source, and of those with more another four, until there are enough."""
    chosen: list[tuple[Source, str, list[WordedQuestion]]] = []
    start = 0
    while len(chosen) * OF_SOURCE < wanted:
        more = [(source, text, found[start : start + OF_SOURCE]) for source, text, found in asked]
        chosen += [one for one in more if len(one[2]) == OF_SOURCE]
        start += OF_SOURCE
    return chosen[: wanted // OF_SOURCE]


def _write_packet(
    folder: Path, key_folder: Path, name: str, part: list[tuple[Source, str, list[WordedQuestion]]]
) -> None:
    lines = [f"# {name}", "", HOW.format(answers=f"{name}.answers.json"), "## The tool", ""]
    lines += ["```json", json.dumps(EXPAND_TOOL), "```", ""]
    key: dict[str, Any] = {"questions": {}, "data": []}
    number = 0
    for at, (source, text, found) in enumerate(part):
        lines += [f"## Answer {at + 1}, of the tool `{source.name.replace(',', '').replace(' ', '_')}`", "", "```text"]
        lines += [text, "```", "", "Questions about it:", ""]
        key["data"].append(source.data)
        for question in found:
            number += 1
            lines.append(f"{number}. {question.text}")
            key["questions"][str(number)] = {
                "text": question.text,
                "data": at,
                "expected": question.expected,
                "ordered": question.ordered,
            }
        lines.append("")
    (folder / f"{name}.md").write_text("\n".join(lines))
    (key_folder / f"{name}.json").write_text(json.dumps(key))


def _is_told(question: WordedQuestion, answer: str) -> bool:
    """Whether the answer shows the column or the list that a question is about."""
    text = question.text
    for before in (
        "in their list ",
        "records have ",
        "of each ",
        "values does ",
        "the largest ",
        "values of ",
        "sum of ",
    ):
        if before in text:
            asked = text.split(before, 1)[1].split(maxsplit=1)[0].strip("?,")
            return all(re.search(rf"\b{re.escape(part)}\b", answer) for part in asked.split("."))
    return False


def score(folder: Path, key_folder: Path) -> None:
    """Run what readers wrote, and say how many queries ran and how many were right."""
    ran = right = total = 0
    for file in sorted(key_folder.glob("packet*.json")):
        key = json.loads(file.read_text())
        answers_file = folder / f"{file.stem}.answers.json"
        written = json.loads(answers_file.read_text()) if answers_file.exists() else {}
        databases = [Database(data) for data in key["data"]]
        for number, question in key["questions"].items():
            total += 1
            sql = written.get(number)
            try:
                rows = [list(row.values()) for row in databases[question["data"]].query(str(sql)).records]
            except ToolError as problem:
                print(f"{file.stem} {number}: {question['text']}\n  {sql}\n  {problem.detail.message}")
                continue
            ran += 1
            if is_right(rows, question["expected"], ordered=question["ordered"]):
                right += 1
            else:
                print(
                    f"{file.stem} {number}: {question['text']}\n  {sql}\n  got {rows[:3]}, {question['expected'][:3]}"
                )
    body = f"{ran} of {total} queries ran and {right} of {total} were right at the first try."
    print(body)
    what = "readers saw our tool's definition, a cut answer and questions in words, and could try nothing"
    write_section("Asking by readers", body, recipe={"what": what})


def is_right(rows: list[list[Any]], expected: list[list[Any]], *, ordered: bool) -> bool:
    """Whether rows are the expected ones; further columns that explain a row do no harm, further rows do."""
    if len(rows) != len(expected):
        return False
    left = list(rows)
    for want in expected:
        at = next((place for place, row in enumerate(left) if _holds(row, want)), None)
        if at is None or (ordered and at != 0):
            return False
        left.pop(at)
    return True


def _holds(row: list[Any], want: list[Any]) -> bool:
    rest = list(row)
    for value in want:
        at = next((place for place, other in enumerate(rest) if _same(other, value)), None)
        if at is None:
            return False
        rest.pop(at)
    return True


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= 1e-6 * max(1.0, abs(other))
    return bool(one == other)
