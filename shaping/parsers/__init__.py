"""Text to data, for every surface: one file a format, and one entrance.

A format's file holds `parse(text)`: the data of a text that is surely of this format, else None. To add a format,
write its file and name it in `Format` and `_PARSERS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from shaping.parsers import aligned, csv, grep, json, lines, log, pairs, pipes, python, xml, yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

Format: TypeAlias = Literal["json", "lines", "python", "xml", "pipes", "csv", "grep", "log", "table", "pairs", "yaml"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
# Their data says all that the text says; of the others the layout is lost.
EXACT: Final[tuple[Format, ...]] = ("json", "lines", "python")

# The order in which they are tried: the strictest first.
_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "json": json.parse,
    "lines": lines.parse,
    "python": python.parse,
    "xml": xml.parse,
    "pipes": pipes.parse,
    "csv": csv.parse,
    "grep": grep.parse,
    "log": log.parse,
    "table": aligned.parse,
    "pairs": pairs.parse,
    "yaml": yaml.parse,
}

_FENCE = re.compile(r"```(?:json|JSON|python|xml|yaml|csv)?\n(.*?)\n```", re.DOTALL)
_FIRST_LINE = re.compile(r"\n(?=[\[{])")
_PARAGRAPH = re.compile(r"[^\n]+(?:\n[^\n]+)+")
_LEAST, _MOST = 600, 0.8  # characters of data, and its part of the text: in a page of prose, JSON is an example


@dataclass(frozen=True, slots=True)
class Parsed:
    """The data of a text, its format, and the text before and after it."""

    value: Any
    format: str
    before: str = ""
    after: str = ""

    @property
    def exact(self) -> bool:
        """Whether the data says all that the text said, its layout included."""
        return self.format in EXACT


def parse(text: str, formats: Collection[str] = FORMATS) -> Parsed | None:
    """Return the list or object that a whole text holds in one of these formats, or None where it is just text."""
    for name, read in _PARSERS.items():
        if name in formats and (value := read(text)) is not None:
            return Parsed(value, name)
    return None


def parse_within(text: str) -> Parsed | None:
    """Return the data that a text is mostly made of, with the sentences or the fence around it."""
    least = max(_LEAST, _MOST * len(text))
    if len(text) < least:
        return None
    fences = [found.span(1) for found in _FENCE.finditer(text)]
    first = _FIRST_LINE.search(text) if not fences else None
    if first and (parsed := _parse_span(text, (first.end(), len(text)), least, EXACT)):
        return parsed
    spans = fences or [found.span() for found in _PARAGRAPH.finditer(text) if len(found[0]) >= least]
    return _parse_span(text, spans[0], least, FORMATS) if len(spans) == 1 else None


def _parse_span(text: str, span: tuple[int, int], least: float, formats: Collection[str]) -> Parsed | None:
    start, end = span
    parsed = parse(text[start:end], formats) if end - start >= least else None
    return None if parsed is None else replace(parsed, before=text[:start], after=text[end:])


__all__ = ["EXACT", "FORMATS", "Format", "Parsed", "parse", "parse_within"]
