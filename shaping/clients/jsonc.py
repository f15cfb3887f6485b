"""JSON with comments, read with the place of every value, so that one value can be replaced and the rest kept."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shaping.response import Json

_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR = re.compile(r"[-+.0-9A-Za-z]+")


class JsoncError(ValueError):
    """The text is not JSON, with or without comments; `line` says where."""

    def __init__(self, text: str, at: int, expected: str) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(f"line {self.line}: expected {expected}")


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place in the text; an object also holds its members as nodes."""

    value: Json
    start: int
    end: int
    members: dict[str, Node] = field(default_factory=dict)


def read(text: str) -> Node:
    """Read a whole document."""
    start = 1 if text.startswith("\ufeff") else 0
    node = _value(text, _skip(text, start))
    rest = _skip(text, node.end)
    if rest != len(text):
        raise JsoncError(text, rest, "the end of the document")
    return node


def replace(text: str, replacements: list[tuple[Node, Json]]) -> str:
    """Write new values in the place of some nodes, indented as their lines are, and keep every other byte."""
    for node, value in sorted(replacements, key=lambda pair: pair[0].start, reverse=True):
        text = text[: node.start] + _written(text, node, value) + text[node.end :]
    return text


def _written(text: str, node: Node, value: Json) -> str:
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    margin = line[: len(line) - len(line.lstrip())]
    unit = "\t" if "\t" in margin else "  "
    newline = "\r\n" if "\r\n" in text else "\n"
    compact = "\n" not in text[node.start : node.end]
    dumped = json.dumps(value, ensure_ascii=False, indent=None if compact else unit)
    return dumped.replace("\n", newline + margin)


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int) -> Node:
    opening = text[at : at + 1]
    if opening == "{":
        return _object(text, at)
    if opening == "[":
        return _array(text, at)
    if opening == '"':
        return _string(text, at)
    match = _SCALAR.match(text, at)
    try:
        return Node(json.loads(match.group() if match else ""), at, match.end() if match else at)
    except ValueError:
        raise JsoncError(text, at, "a value") from None


def _string(text: str, at: int) -> Node:
    match = _STRING.match(text, at)
    if match is None:
        raise JsoncError(text, at, "a string")
    return Node(json.loads(match.group(), strict=False), at, match.end())


def _object(text: str, start: int) -> Node:
    members: dict[str, Node] = {}
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        key = _string(text, at)
        at = _expect(text, _skip(text, key.end), ":")
        member = _value(text, at)
        members[str(key.value)] = member
        at = _next(text, member.end, "}")
    return Node({name: member.value for name, member in members.items()}, start, at + 1, members)


def _array(text: str, start: int) -> Node:
    items: list[Json] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        item = _value(text, at)
        items.append(item.value)
        at = _next(text, item.end, "]")
    return Node(items, start, at + 1)


def _expect(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise JsoncError(text, at, repr(sign))
    return _skip(text, at + 1)


def _next(text: str, at: int, closing: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] == closing:
        return at
    return _expect(text, at, ",")
