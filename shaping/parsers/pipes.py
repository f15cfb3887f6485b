"""Tables drawn with pipes: Markdown, psql, MySQL."""

from __future__ import annotations

import re
from typing import Any

from shaping.parsers.rows import LARGEST, are_names, records

_RULE = re.compile(r"[|+]?(?:\s*:?[-=─]+:?\s*[|+┼])*\s*:?[-=─]+:?\s*[|+]?")
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


def parse(text: str) -> list[dict[str, Any]] | None:
    """Return the records of a table whose cells stand between pipes, with a rule below the names."""
    if text.lstrip()[:1] in _BOX_STARTS:
        text = text.translate(_BOX)
    head = text.strip()[:20_000].split("\n", 3)[:3]
    if len(head) < 3 or not any(_RULE.fullmatch(line.strip()) for line in head) or len(text) > LARGEST:
        return None
    lines = [line for line in text.strip("\n").splitlines() if not _FRAME.fullmatch(line.strip())]
    count = _COUNT.fullmatch(lines[-1].strip()) if lines else None
    lines = lines[:-1] if count else lines
    ruled = len(lines) > 1 and bool(_RULE.fullmatch(lines[1].strip())) and ("|" in lines[1] or "+" in lines[1])
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
