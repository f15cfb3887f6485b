"""JSON as people write it, with comments and trailing commas, read with the place of every value.

Written here because no maintained library reads comments, keeps positions and replaces single values.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import orjson

from shaping.nearest import nearest
from shaping.response import Json, cut_end

Keys: TypeAlias = tuple[str | int, ...]  # the path of a value in a JSON document, from its root

# Lists in messages and candidates for suggestions are bounded: a config may hold thousands of names.
_MOST_LISTED = 50
_LONG = 100  # characters; a longer list of expected words comes after the suggestion
_MOST_CANDIDATES = 500
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]*")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """A problem in a config: its path and value, the expected value, and the nearest valid spelling."""

    file: str
    path: str
    line: int | None
    value: Any
    expected: str
    suggestion: str | None = None
    says: str | None = None  # written in place of "is <value>"
    needs_allow: bool = False  # `expected` is a whole clause: "run `shaping allow` …"

    @property
    def is_whole(self) -> bool:
        """Whether it is about the whole document, which could not be read."""
        return not (self.needs_allow or self.path.startswith(("$.", "$[")))

    def __str__(self) -> str:
        what = self.says or f"is {show(self.value)}"
        meant = f" Did you mean {self.suggestion!r}?" if self.suggestion else ""
        if meant and len(self.expected) > _LONG:
            text = f"{self.path} {what}.{meant}"  # a long list would bury that
        else:
            text = f"{self.path} {what}; {'' if self.needs_allow else 'expected '}{self.expected}"
            text += ("" if text.endswith(('"', "^")) else ".") + meant
        return f"{text} (line {self.line})" if self.line else text


class ConfigError(ValueError):
    """A config that cannot be used, with every problem that was found in it."""

    def __init__(self, problems: Iterable[ConfigProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(report(self.problems)))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[tuple[ConfigProblem, ...]]]:
        return type(self), (self.problems,)


def unreadable(file: str, says: str, expected: str, line: int | None = None) -> ConfigError:
    """Make the error for a whole document that cannot be used."""
    return ConfigError([ConfigProblem(file, "$", line, None, expected, says=says)])


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


# A config is five levels deep; a hundred leaves room and stays far from Python's own limit.
_DEEPEST = 100

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_refuse)  # NaN and Infinity are no JSON
_END_OF_FILE = "the end of the file"
_AN_OBJECT = "an object, such as {}"
_A_VALUE = "a value: an object, a list, text in double quotes, a number, true, false or null"
_A_TEXT = r"a double quote at the end of the text, on the same line, and escapes such as \n, \\ or \u00e9"
_READABLE = "a file that can be read"


class JsoncError(ValueError):
    """The text is not JSON, even with comments: the line, the character there and what was expected."""

    def __init__(self, text: str, at: int, expected: str) -> None:
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)
        self.found = repr(text[at]) if at < len(text) else _END_OF_FILE
        self.expected = expected
        super().__init__(f"line {self.line}: expected {expected}")


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value, the offsets where it starts and ends, the line of it or its key, and the nodes in it by key or index."""

    value: Json
    start: int
    end: int
    line: int
    members: Mapping[str | int, JsonNode] = field(default_factory=dict)


def read(text: str) -> JsonNode:
    """Read a whole document, or raise JsoncError."""
    return _Scanner(text).document()


def replace(text: str, replacements: Sequence[tuple[JsonNode, Json]]) -> str:
    """Write new values in the place of some nodes, indented as their lines are, and keep every other byte."""
    for node, value in sorted(replacements, key=lambda pair: pair[0].start, reverse=True):
        margin = _margin(text, node.start)
        indent = None if "\n" not in text[node.start : node.end] else "\t" if "\t" in margin else "  "
        newline = "\r\n" if "\r\n" in text else "\n"
        replacement = json.dumps(value, ensure_ascii=False, indent=indent).replace("\n", newline + margin)
        text = text[: node.start] + replacement + text[node.end :]
    return text


def insert(text: str, node: JsonNode, member: str) -> str:
    """Write a member at the end of an object or a list, on a line of its own, after the last one and its comments.

    Its lines are indented as those of the others are; within it, by two blanks a level.
    """
    # A key that stands twice has the place of its first in `members`, and the node of its last.
    inside = sorted(node.members.values(), key=lambda one: one.start)
    outer = _margin(text, node.start)
    margin = _margin(text, inside[0].start) if inside else outer
    if margin == outer:  # all of it stands on one line
        margin += "\t" if "\t" in outer else "  "
    start, close = inside[-1].end if inside else node.start + 1, node.end - 1
    between = text[start:close].rstrip()
    behind = _BLANK.match(between)
    comma = "," if inside and behind and not between.startswith(",", behind.end()) else ""
    step = margin.removeprefix(outer)
    member = re.sub(r"(?m)^(?:  )+", lambda found: step * (len(found[0]) // 2), member)
    lines = [f"{text[:start]}{comma}{between}", *(margin + line for line in member.split("\n")), outer + text[close:]]
    return ("\r\n" if "\r\n" in text else "\n").join(lines)


def _margin(text: str, at: int) -> str:
    """Return the blanks that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """One config or profile as it was read: its data, the position of each value, and keys that are repeated."""

    file: str
    data: Mapping[str, Json]
    root: JsonNode | None = field(default=None, repr=False)
    problems: tuple[ConfigProblem, ...] = ()
    narrows: bool = False  # whether it may only narrow other configs: it is of the working tree, and not allowed
    left_out: tuple[Keys, ...] = ()  # the places of what does not apply because of that

    def line(self, keys: Keys) -> int | None:
        """Return the line of a value, or of the nearest thing around it."""
        node = self.root
        if node is None:
            return None
        for key in keys:
            if key not in node.members:
                break
            node = node.members[key]
        return node.line

    def choices(self, *keys: str | int) -> Mapping[str, Any]:
        """Return the object at a place; an empty one where there is none."""
        found: Any = self.data
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    def problem(self, keys: Keys, value: Any, expected: str, **more: Any) -> ConfigProblem:
        """Describe what is wrong at a place."""
        return ConfigProblem(self.file, json_path(keys), self.line(keys), value, expected, **more)


def read_file(path: Path) -> ConfigDocument:
    """Read a file, or raise ConfigError for what cannot be read."""
    try:
        # A pipe or a device may never end, and a link in a working tree may lead to one.
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise unreadable(str(path), "is a pipe or a device", _READABLE)
        raw = path.read_bytes()
    except OSError as error:
        raise unreadable(str(path), f"cannot be read ({error.strerror})", _READABLE) from None
    return read_text(_decode(raw, str(path)), str(path))


def read_text(text: str, file: str) -> ConfigDocument:
    """Read a document from text, or raise ConfigError for what is not JSON even with comments."""
    try:
        scanner = _Scanner(text)
        if scanner.is_empty():
            raise unreadable(file, "is empty", _AN_OBJECT)
        root = scanner.document()
    except JsoncError as error:
        says = f"is not JSON: {error.found} at line {error.line}, column {error.column}"
        raise unreadable(file, says, error.expected, error.line) from None
    if not isinstance(root.value, dict):
        raise ConfigError([ConfigProblem(file, "$", root.line, root.value, _AN_OBJECT)])
    repeated = tuple(
        ConfigProblem(file, json_path(keys), again, None, "each key once", says=f"stands twice (first on line {first})")
        for keys, first, again in scanner.repeated
    )
    return ConfigDocument(file, root.value, root, repeated)


def read_mapping(mapping: Mapping[str, Any], file: str) -> ConfigDocument:
    """Take a config that is a Python mapping, as a copy in plain JSON."""
    try:
        plain = orjson.loads(orjson.dumps(mapping, default=_plain))
    except TypeError as error:
        raise unreadable(file, f"cannot be read ({error})", "only what JSON can hold") from None
    return ConfigDocument(file, plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError  # orjson names the type


def _decode(raw: bytes, file: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        says = f"is not UTF-8 (byte 0x{raw[error.start]:02x} on line {line})"
        raise unreadable(file, says, "UTF-8 text") from None


class _Scanner:
    """Parses a text in one pass, and notes repeated keys."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.repeated: list[tuple[Keys, int, int]] = []  # where, and on which lines
        self.start = self._next(1 if text.startswith("\ufeff") else 0)
        self._ends = [found.end() for found in re.finditer("\n", text)]

    def is_empty(self) -> bool:
        return self.start == len(self.text)

    def document(self) -> JsonNode:
        node = self._value(self.start, ())
        if (after := self._next(node.end)) < len(self.text):
            self._fail(after, _END_OF_FILE)
        return node

    def _value(self, at: int, keys: Keys, line: int | None = None) -> JsonNode:
        """Read the value at a place; `line` is that of its key."""
        line = line or bisect_right(self._ends, at) + 1
        if len(keys) > _DEEPEST:
            self._fail(at, f"at most {_DEEPEST} levels")
        if self.text[at : at + 1] in ("{", "["):
            return self._container(at, keys, line)
        try:
            value, end = _DECODER.raw_decode(self.text, at)
        except ValueError as error:
            self._fail(getattr(error, "pos", at), _A_TEXT if self.text[at : at + 1] == '"' else _A_VALUE)
        if value in (math.inf, -math.inf):
            self._fail(at, "a number of a usual size")
        if isinstance(value, str) and _SURROGATE.search(value):
            self._fail(at, "whole characters: half of a \\u surrogate pair is missing")
        return JsonNode(value, at, end, line)

    def _container(self, start: int, keys: Keys, line: int) -> JsonNode:
        members: dict[str | int, JsonNode] = {}
        is_object = self.text[start] == "{"
        closing = "}" if is_object else "]"
        at = self._next(start + 1)
        while self.text[at : at + 1] != closing:
            if at == len(self.text):
                self._fail(at, f"'{closing}' for what was opened on line {bisect_right(self._ends, start) + 1}")
            key: str | int = len(members)
            key_line = None
            if is_object:
                key, key_line, at = self._key(at, keys, members)
            members[key] = self._value(at, (*keys, key), key_line)
            at = self._next(members[key].end)
            if self.text[at : at + 1] == ",":
                at = self._next(at + 1)
            elif self.text[at : at + 1] != closing:
                self._fail(at, f"',' or '{closing}'")
        values: dict[Any, Json] = {key: node.value for key, node in members.items()}
        return JsonNode(values if is_object else [*values.values()], start, at + 1, line, members)

    def _key(self, at: int, keys: Keys, known: Mapping[str | int, JsonNode]) -> tuple[str, int, int]:
        """Read a key, and return it with its line and the place where its value begins."""
        if self.text[at] != '"':
            self._fail(at, "a key in double quotes, or '}'")
        node = self._value(at, ())
        key, colon = str(node.value), self._next(node.end)
        if key in known:
            self.repeated.append(((*keys, key), known[key].line, node.line))
        if self.text[colon : colon + 1] != ":":
            self._fail(colon, "':' after the key")
        return key, node.line, self._next(colon + 1)

    def _next(self, at: int) -> int:
        """Return where the next token begins, behind blanks and comments."""
        match = _BLANK.match(self.text, at)
        at = match.end() if match else at
        if self.text.startswith("/*", at):
            self._fail(at, "'*/' at the end of the comment")
        return at

    def _fail(self, at: int, expected: str) -> NoReturn:
        raise JsoncError(self.text, at, expected)
