"""What is wrong with a config: each problem with its place, its value and the next step."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from shaping.response import cut_end, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Keys: TypeAlias = tuple[str | int, ...]  # where a value stands in a JSON document, from its root

# What a message names, and what a suggestion is looked for among, is bounded: a config may hold thousands of names.
_MOST_LISTED = 50
_LONG = 100  # characters of what is expected, before which the one word stands that was meant
_MOST_CANDIDATES = 500
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]*")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """Something wrong at one place of a config: what stands there, what was expected, the nearest valid spelling."""

    file: str
    path: str
    line: int | None
    value: Any
    expected: str
    suggestion: str | None = None
    says: str | None = None  # stands for "is <value>" where the value is not what is wrong

    def __str__(self) -> str:
        what = self.says or f"is {show(self.value)}"
        meant = f" Did you mean {self.suggestion!r}?" if self.suggestion else ""
        if meant and len(self.expected) > _LONG:
            text = f"{self.path} {what}.{meant} Expected {self.expected}."
        else:
            text = f"{self.path} {what}; expected {self.expected}"
            text += ("" if text.endswith(('"', "^")) else ".") + meant
        return f"{text} (line {self.line})" if self.line else text


class ConfigError(ValueError):
    """A config that cannot be used, with every problem that was found in it."""

    def __init__(self, problems: Iterable[ConfigProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(report(self.problems)))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[tuple[ConfigProblem, ...]]]:
        return type(self), (self.problems,)


def report(problems: Sequence[ConfigProblem], noun: str = "problem") -> Iterator[str]:
    """Write problems as lines, a heading for each file."""
    for file, group in groupby(problems, key=lambda problem: problem.file):
        listed = list(group)
        yield f"{short_name(file)} has {len(listed)} {noun}{'s' if len(listed) > 1 else ''}:"
        yield from (f"  {problem}" for problem in listed)


def short_name(file: str) -> str:
    """Name a file the short way where it lies below the working directory."""
    try:
        return str(Path(file).relative_to(Path.cwd())) if os.path.isabs(file) else file  # noqa: PTH117 (a str is at hand)
    except (ValueError, OSError):  # it lies elsewhere, or the working directory is gone
        return file


def json_path(keys: Keys) -> str:
    """Write a place the way people write JSON paths."""
    return "$" + "".join(_step(key) for key in keys)


def suggestion_for(word: object, valid: Iterable[str], *, least: float = 0.6) -> str | None:
    """Return the valid word that was most likely meant, or None where none is near."""
    return next(iter(nearest(word, islice(valid, _MOST_CANDIDATES), 1, least)), None) if isinstance(word, str) else None


def one_of(words: Iterable[str]) -> str:
    """List words as a sentence does: a, b or c; of very many, the first ones."""
    known = list(words)
    *most, last = known if len(known) <= _MOST_LISTED else [*known[:_MOST_LISTED], f"one of {len(known)} in all"]
    return f"{', '.join(most)} or {last}" if most else last


def show(value: Any, limit: int = 60) -> str:
    """Write a config's value for a message: short, and without the credentials of a URL."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    text = _CREDENTIALS.sub("***@", text)
    text = cut_end(text, limit)
    return repr(text) if isinstance(value, str) else text


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN_KEY.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"
