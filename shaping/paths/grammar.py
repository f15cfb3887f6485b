"""The path language: names, globs, `**`, `[]`, and for naming one place `[3]`, `[-1]` and `[40:100]`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Trail: TypeAlias = "tuple[Trail, str | int] | None"  # the way to a place, innermost step last: few are written out

# What a name may be without quotes: no path punctuation, no control characters, no space at either end.
_BARE = re.compile(r"[^\s.\[\]\"\x00-\x1f](?:[^.\[\]\"\x00-\x1f]*[^\s.\[\]\"\x00-\x1f])?")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(r"\[(?:(-?\d{1,18})|(-?\d{1,18})?(:)(-?\d{1,18})?)?\]")


@dataclass(frozen=True, slots=True)
class Name:
    """One member, by its exact key."""

    key: str

    def __str__(self) -> str:
        if _BARE.fullmatch(self.key) and "*" not in self.key and self.key != "$":
            return self.key
        return json.dumps(self.key)

    def fits(self, key: str) -> bool:
        """Return whether a key is this one."""
        return key == self.key


@dataclass(frozen=True, slots=True)
class Glob:
    """Every member whose key fits the pattern; `*` alone is any member."""

    pattern: str

    def __str__(self) -> str:
        return self.pattern

    def fits(self, key: str) -> bool:
        """Return whether a key fits the pattern."""
        head, *middle, tail = self.pattern.split("*")
        if len(key) < len(head) + len(tail) or not key.startswith(head) or not key.endswith(tail):
            return False
        # Not a regular expression: several '.*' backtrack, and keys come from whoever wrote the tool.
        at, end = len(head), len(key) - len(tail)
        for part in middle:
            at = key.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True


@dataclass(frozen=True, slots=True)
class Deep:
    """Any number of members, none included."""

    def __str__(self) -> str:
        return "**"


@dataclass(frozen=True, slots=True)
class Each:
    """Every element of a list."""

    def __str__(self) -> str:
        return "[]"

    def of(self, items: Sequence[T]) -> Sequence[T]:
        """Return the elements of a list that the step names."""
        return items


@dataclass(frozen=True, slots=True)
class Index:
    """One element of a list, counted from 0, or from -1 at its end."""

    at: int

    def __str__(self) -> str:
        return f"[{self.at}]"

    def of(self, items: Sequence[T]) -> Sequence[T]:
        """Return the elements of a list that the step names: one or none."""
        return [items[self.at]] if -len(items) <= self.at < len(items) else []


@dataclass(frozen=True, slots=True)
class Slice:
    """The elements of a list from `start` up to `stop`, either of which may be counted from the end."""

    start: int | None
    stop: int | None

    def __str__(self) -> str:
        return f"[{'' if self.start is None else self.start}:{'' if self.stop is None else self.stop}]"

    def of(self, items: Sequence[T]) -> Sequence[T]:
        """Return the elements of a list that the step names."""
        return items[self.start : self.stop]


Step: TypeAlias = Name | Glob | Deep | Each | Index | Slice


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed path; `str()` writes it back in the language, and the empty path is the data itself."""

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        text = "".join(str(step) if isinstance(step, Each | Index | Slice) else f".{step}" for step in self.steps)
        return text.removeprefix(".")


class PathError(ValueError):
    """A path that cannot be used: its text, the column (from 1) where it goes wrong, and the reason."""

    def __init__(self, text: str, column: int, reason: str) -> None:
        super().__init__(text, column, reason)
        self.text = text
        self.column = column
        self.reason = reason

    def __str__(self) -> str:
        line = self.text.replace("\n", " ").replace("\t", " ")
        return f"{self.reason} (column {self.column})\n  {line}\n  {' ' * (self.column - 1)}^"


def parse(text: str) -> Path:
    """Read a path, or raise a PathError that points at the column."""
    return Path(tuple(step for step, _ in scan(text)))


def scan(text: str) -> Iterator[tuple[Step, int]]:
    """Read a path step by step, each with its column (from 1)."""
    if text == "$" or text.startswith(("$.", "$[")):
        raise PathError(text, 1, "a path starts at the data itself: leave out '$', or quote a key of that name")
    at = 0
    while at < len(text) or at == 0:
        step, end = _bracket(text, at) if text[at : at + 1] == "[" else _member(text, at)
        yield step, at + 1
        at = end


def join(prefix: str, key: str | int | slice) -> str:
    """Write the path of a member (str), an element (int), or elements (slice; `slice(None)` is `[]`) below a prefix."""
    if isinstance(key, str):
        name = key if key.isidentifier() else str(Name(key))
        return f"{prefix}.{name}" if prefix else name
    if isinstance(key, int):
        return f"{prefix}[{key}]"
    return f"{prefix}{Each() if key == slice(None) else Slice(key.start, key.stop)}"


def write_trail(trail: Trail, *, general: bool = False) -> str:
    """Write the path of a place; with `general`, every element of a list is `[]`."""
    steps: list[str | int] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    path = ""
    for step in reversed(steps):
        path = f"{path}[]" if general and isinstance(step, int) else join(path, step)
    return path


def _member(text: str, at: int) -> tuple[Step, int]:
    """Read `name`, `.name`, `"odd.key"`, a glob or `**` from a column on."""
    if at > 0:
        if text[at] != ".":
            raise PathError(text, at + 1, "expected '.' or '[' here")
        at += 1
    if text[at : at + 1] == '"':
        return _quoted(text, at)
    found = _BARE.match(text, at)
    if found is None:
        raise PathError(text, at + 1, _why_no_name(text, at))
    return _bare(text, at, found.group()), found.end()


def _bare(text: str, at: int, word: str) -> Step:
    if word == "**":
        return Deep()
    if "**" in word:
        raise PathError(text, at + 1 + word.index("**"), "'**' stands alone between dots; inside a name write '*'")
    return Glob(word) if "*" in word else Name(word)


def _quoted(text: str, at: int) -> tuple[Step, int]:
    found = _QUOTED.match(text, at)
    if found is None:
        raise PathError(text, at + 1, "this quote is never closed")
    try:
        return Name(json.loads(found.group(), strict=False)), found.end()
    except ValueError:
        raise PathError(text, at + 1, "a quoted name is written as a JSON string") from None


def _bracket(text: str, at: int) -> tuple[Step, int]:
    """Read `[]`, `[3]` or `[40:100]` from a column on."""
    found = _BRACKET.match(text, at)
    if found is None:
        raise PathError(text, at + 1, "expected '[]', an index such as '[3]' or a slice such as '[40:100]'")
    index, start, colon, stop = found.groups()
    if index is not None:
        return Index(int(index)), found.end()
    if colon is None:
        return Each(), found.end()
    return Slice(*(None if edge is None else int(edge) for edge in (start, stop))), found.end()


def _why_no_name(text: str, at: int) -> str:
    """Describe what stands where a name should."""
    if at == len(text):
        return "expected a name, and the path ends"
    if text[at] == "[":
        return "no '.' before '[': write 'a[]'"
    if text[at].isspace():
        return "a name with space around it needs quotes"
    return "expected a name"
