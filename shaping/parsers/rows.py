"""Rows of cells become records: CSV, tables drawn with pipes, and columns aligned by spaces."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from shaping.parsers.terminal import matcher, without_surrogates

_has_code = matcher(
    r"(?m)^[ \t]*(?:def |class |import |from \S+ import |return(?-u:\b)|elif |else:|try:)|[;{}][ \t\r]*$"
)
_NAME = re.compile(r"[A-Za-z_#%@(/][\w .,:;#%@/()<>'?&*+-]{0,59}")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")


def has_code(text: str) -> bool:
    """Whether a text has lines of source code, which somebody may edit."""
    return _has_code(without_surrogates(text))


def are_names(cells: Sequence[str]) -> bool:
    """Whether the cells of a first row can be the names of columns."""
    return 2 <= len(cells) == len(set(cells)) and all(map(_NAME.fullmatch, cells))


def records(names: Sequence[str], body: Sequence[Sequence[str]]) -> list[dict[str, Any]] | None:
    """Return a record for each row, or None where a row has more or fewer cells than there are names."""
    if any(len(row) != len(names) for row in body):
        return None
    columns = [_column([row[at] for row in body]) for at in range(len(names))]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def matched(pattern: re.Pattern[str], lines: Sequence[str], least: int = 0) -> list[dict[str, Any]] | None:
    """Return the named groups of each line, or None where one does not match, or there are fewer than that."""
    found = list(map(pattern.fullmatch, lines))
    if len(lines) < least or None in found:
        return None
    groups = [match.groupdict() for match in found if match is not None]
    return [{name: number(said) for name, said in row.items() if said is not None} for row in groups]


def number(text: str) -> str | int | float:
    """Read a number that would be written back as it stands; anything else is text."""
    if not _NUMBER.fullmatch(text) or text == "-0":
        return text
    if "." not in text:
        return int(text)
    return value if repr(value := float(text)) == text else text


def _column(cells: list[str]) -> list[Any]:
    """Read a column as numbers where every cell is one."""
    values = list(map(number, cells))
    return list(cells) if str in set(map(type, values)) else values


def parse_csv(text: str) -> list[dict[str, Any]] | None:
    """Return the records of a text of separated values with a header line."""
    text = text if "\n" in text else text.replace("\r", "\n")  # as old programs end lines
    first = text[:10_000].split("\n", 1)[0]
    read = (_parse_separated(text, first, delimiter) for delimiter in "\t,;" if delimiter in first)
    return next((found for found in read if found is not None), None)


def _parse_separated(text: str, first: str, delimiter: str) -> list[dict[str, Any]] | None:
    spaced = f'"{delimiter} "' in first  # as people write lists of quoted words
    try:
        if not are_names(
            next(csv.reader([first.rstrip("\r")], delimiter=delimiter, strict=True, skipinitialspace=spaced), [])
        ):
            return None
        # With the ends of its lines: a cell in quotes may have several.
        rows = list(
            csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=spaced)
        )
    except csv.Error:
        return None
    names, body = rows[0], rows[1:]
    # Prose has commas and semicolons too, and a space after each.
    if not body or not are_names(names) or any(cell[:1] == " " for row in rows[:9] for cell in row):
        return None
    return None if any(map(_is_cell, names, zip(*body, strict=False))) else records(names, body)


def _is_cell(name: str, column: Sequence[str]) -> bool:
    """Whether what stands above a column is one of its cells: it stands there again, or all are paths of one root."""
    root = name[: name.find("/") + 1]
    return name in column or (root != "" and all(cell.startswith(root) for cell in column))


_DRAWN_RULE = re.compile(r"[|+]?(?:\s*:?[-=─]+:?\s*[|+┼])*\s*:?[-=─]+:?\s*[|+]?")
_FRAME = re.compile(r"\+[-=+]*\+")
_EDGE = re.compile(r"(?<!\\)\|")
_BOX_STARTS = frozenset("┌╭╔┏")
_BOX = str.maketrans(
    {
        **dict.fromkeys("│║┃", "|"),
        **dict.fromkeys("─═━", "-"),
        **dict.fromkeys("┌┬┐├┼┤└┴┘╭╮╰╯╔╦╗╠╬╣╚╩╝┏┳┓┣╋┫┗┻┛╞╪╡╟╫╢╤╧╒╕╘╛╓╖╙╜╥╨", "+"),
    }
)
_COUNT = re.compile(r"\((\d+) rows?\)")


def parse_pipes(text: str) -> list[dict[str, Any]] | None:
    """Return the records of a table whose cells stand between pipes, with a rule below the names."""
    if text.lstrip()[:1] in _BOX_STARTS:
        text = text.translate(_BOX)
    head = text[:20_000].strip().split("\n", 3)[:3]
    if len(head) < 3 or not any(_DRAWN_RULE.fullmatch(line.strip()) for line in head):
        return None
    lines = [line for line in text.strip("\n").splitlines() if not _FRAME.fullmatch(line.strip())]
    count = _COUNT.fullmatch(lines[-1].strip()) if lines else None
    lines = lines[:-1] if count else lines
    ruled = len(lines) > 1 and bool(_DRAWN_RULE.fullmatch(lines[1].strip())) and ("|" in lines[1] or "+" in lines[1])
    body = lines[2:] if ruled else lines[1:]
    if not body or (not ruled and "+--" not in text) or any("|" not in line for line in body):
        return None
    framed = lines[0].lstrip().startswith("|")
    names, *rows = [_cells(line, framed=framed) for line in (lines[0], *body)]
    if not are_names(names) or (count and int(count[1]) != len(body)):
        return None
    return records(names, rows)


def _cells(line: str, *, framed: bool) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|") if framed else line
    return [cell.strip().replace("\\|", "|") for cell in _EDGE.split(inner)]


_HEADING = re.compile(r"[A-Z%#@][A-Z0-9_ /()%#@.:+-]*")
_RULE, _LONG_RULE = re.compile(r"[-=]+(?: +[-=]+)+"), re.compile(r"[-=]{20,}")
_CELL = re.compile(r"\S+(?: \S+)*")
_WORD = re.compile(r"\S+")
_FILLED = bytes(ord("0" if chr(letter).isspace() else "1") for letter in range(256))
_LEAST = 3  # rows, from which it is no accident that all have a blank at the same place
_HEAD = 10_000  # characters in which the heading ends, and a rule below it begins
_IN_PLACE, _NEARLY_ALL = 0.9, 0.97  # of the cells stand under their heading; a long one shifts those after it


def parse_table(text: str) -> list[dict[str, Any]] | None:
    """Return the records of a table with a heading above each column."""
    text = text.strip("\n")
    heading, _, below = text[:_HEAD].partition("\n")
    if heading.startswith("# "):  # a comment for programs that read the rows
        heading = f"  {heading[2:]}"
    named = all(_HEADING.fullmatch(name) for name in _CELL.findall(heading))
    ruled = bool(_RULE.match(below))
    if not (named or ruled or "  " in heading.strip() or _LONG_RULE.fullmatch(heading)) or "\t" in heading:
        return None
    lines = [line.rstrip() for line in (heading, *text.splitlines()[1:])]
    if len(lines) < 2 or not all(lines):
        return None
    if _LONG_RULE.fullmatch(heading):
        end = next((at for at, line in enumerate(lines[1:4], 1) if _LONG_RULE.fullmatch(line)), 0)
        return _by_blanks([*lines[1:end], *lines[end + 1 :]], end - 1) if end > 1 else None
    if ruled and _RULE.fullmatch(lines[1]):
        starts = [found.start() for found in re.finditer(r"[-=]+", lines[1])]
        return _with_indents(_by_starts(lines[0], lines[2:], starts), lines)
    if named:
        starts = [found.start() for found in _CELL.finditer(lines[0])]
        # Headings that one space divides are two where the words below them stand under their own.
        found = (
            _by_blanks(lines, single=True)
            or _by_blanks(lines)
            or _by_words(lines, in_place=_NEARLY_ALL)
            or _by_starts(lines[0], lines[1:], starts)
            or _by_words(lines)
        )
        return _with_indents(found, lines)
    found = _by_blanks(lines) or _by_words(lines)
    return _with_indents(found, lines) if found is not None and _has_numbers(found) else None


def _with_indents(rows: list[dict[str, Any]] | None, lines: Sequence[str]) -> list[dict[str, Any]] | None:
    """Give the cells of the first and of the last column their indents, which draw a tree of processes or devices."""
    if not rows:
        return rows
    heading, body, names = lines[0], lines[-len(rows) :], list(rows[0])
    for name, start in ((names[0], 0), (names[-1], heading.rfind(names[-1]))):
        cells = [row[name] for row in rows]
        if start < 0 or not heading.startswith(name, start) or set(map(type, cells)) != {str}:
            continue
        tails = [line[start:] for line in body]
        indents = [len(tail) - len(tail.lstrip()) for tail in tails]
        under = all(tail.startswith(cell, indent) for tail, cell, indent in zip(tails, cells, indents, strict=True))
        apart = not start or all(line[start - 1 : start] in {" ", ""} for line in body)
        # Cells that all end at one place are aligned to the right.
        ends = {indent + len(cell) for indent, cell in zip(indents, cells, strict=True)}
        if under and apart and min(indents) == 0 < max(indents) and len(ends) > 1:
            indented = [f"{' ' * indent}{cell}" for indent, cell in zip(indents, cells, strict=True)]
            rows = [{**row, name: cell} for row, cell in zip(rows, indented, strict=True)]
    return rows


def _by_starts(heading: str, body: Sequence[str], starts: Sequence[int]) -> list[dict[str, Any]] | None:
    """Read columns that start where their headings do."""
    edges = [(start, stop) for start, stop in zip(starts, [*starts[1:], None], strict=True)]
    names = [heading[start:stop].strip() for start, stop in edges]
    if not body or not are_names(names) or not all(_fits(line, starts) for line in body):
        return None
    return records(names, [[line[start:stop].strip() for start, stop in edges] for line in body])


def _fits(line: str, starts: Sequence[int]) -> bool:
    return all(start >= len(line) or line[start - 1] == " " for start in starts[1:]) and line[:1] not in {"", " "}


def _by_blanks(lines: Sequence[str], heads: int = 1, *, single: bool = False) -> list[dict[str, Any]] | None:
    """Read columns between the places where every line is blank; so many lines are headings, or `single` words."""
    if len(lines) < _LEAST + heads:
        return None
    width = max(map(len, lines))
    filled, no_blank = 0, (1 << width) - 1
    for line in lines:
        filled |= int(line.encode("latin-1", "replace").translate(_FILLED).ljust(width, b"0"), 2)
        if filled == no_blank:
            return None
    starts: list[int] = []
    first = 0  # where the first word of a heading of several words stands, with nothing below it
    spans = [found.span() for found in re.finditer("1+", f"{filled:0{width}b}")]
    below = [any(line[start:stop].strip() for line in lines[heads:]) for start, stop in spans]
    # Where wide gaps divide all headings with words below them, one blank stands within a heading.
    single = single and any(
        worded and lines[0][start - 2 : start].strip() for (start, _), worded in zip(spans[1:], below[1:], strict=True)
    )
    for (start, stop), worded in zip(spans, below, strict=True):
        # Words without a heading are part of the cells left of them, and headings without words of that heading.
        headed = any(line[start:stop].strip() for line in lines[:heads])
        if (headed and (worded or single)) or not starts:
            starts.append(first if starts and first and lines[0][first:start].count(" ") == 1 else start)
        first = 0 if worded or single else start
    edges = list(pairwise([*starts, width]))
    rows = [[line[start:stop].strip() for start, stop in edges] for line in lines]
    names = [" ".join(filter(None, cells)) for cells in zip(*rows[:heads], strict=True)]
    if names and names[0] == "" and len(starts) > 2:
        names[0] = "mark"  # a bullet before some rows
    if len(starts) < 2 or not are_names(names) or "  " in "\n".join(names):
        return None
    return records(names, rows[heads:])


def _by_words(lines: Sequence[str], *, in_place: float = _IN_PLACE) -> list[dict[str, Any]] | None:
    """Read rows of as many words as there are headings; the last column takes the rest of the line."""
    headings = list(_WORD.finditer(lines[0]))
    names, count = [found[0] for found in headings], len(headings)
    body = [line.split(None, count - 1) for line in lines[1:]]
    if count < 3 or len(body) < _LEAST or not are_names(names) or any(len(row) != count for row in body):
        return None
    found = 0
    for line in lines[1:]:
        cells = list(_WORD.finditer(line))[:count]
        found += sum(
            cell.start() < heading.end() and cell.end() > heading.start()
            for cell, heading in zip(cells, headings, strict=True)
        )
    return records(names, body) if found >= in_place * count * len(body) else None


def _has_numbers(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether a column holds numbers under a heading that is none, which words above each other do not."""
    first = rows[0]
    return len(first) > 2 and any(
        type(number(name)) is str and all(str(row[name])[:1].isdigit() for row in rows) for name in first
    )
