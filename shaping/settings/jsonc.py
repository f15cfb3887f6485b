"""JSON as people write it, with comments and trailing commas, and where each value of it stands.

Written here because no maintained library reads comments and keeps positions.
"""

from __future__ import annotations

import bisect
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import orjson

from shaping.settings.problems import ConfigError, ConfigProblem, Keys, json_path

if TYPE_CHECKING:
    from pathlib import Path

    from shaping.response import Json

# A config is five levels deep; a hundred leaves room and stays far from Python's own limit.
_DEEPEST = 100

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])", re.ASCII)
_WORD = re.compile(r"(?:true|false|null)(?!\w)")
_BAD_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_ESCAPE = r"an escape such as \n, \\ or \u00e9"
_QUOTE = "a double quote at the end of the text, on the same line"


class TextPosition(NamedTuple):
    """A line and a column of a text, both counted from one."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """One config or profile as it was read: its data, where each value stands, and which keys stand twice."""

    file: str
    data: Mapping[str, Json]
    places: Mapping[Keys, TextPosition] = field(default_factory=dict)
    problems: tuple[ConfigProblem, ...] = ()

    def line(self, keys: Keys) -> int | None:
        """Say on which line a value stands, or the nearest thing around it."""
        while keys and keys not in self.places:
            keys = keys[:-1]
        place = self.places.get(keys)
        return place.line if place else None

    def choices(self, *keys: str | int) -> Mapping[str, Any]:
        """Give what is said at a place, by name; nothing where there is no object."""
        found: Any = self.data
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    def problem(self, keys: Keys, value: Any, expected: str, **more: str | None) -> ConfigProblem:
        """Describe what is wrong at a place."""
        return ConfigProblem(self.file, json_path(keys), self.line(keys), value, expected, **more)


def read_file(path: Path) -> ConfigDocument:
    """Read a file, or raise ConfigError for what cannot be read."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        says = f"cannot be read ({error.strerror})"
        raise ConfigError([ConfigProblem(str(path), "$", None, None, "a file that can be read", says=says)]) from None
    return read_text(_decode(raw, str(path)), str(path))


def read_text(text: str, file: str) -> ConfigDocument:
    """Read a document from text, or raise ConfigError for what is not JSON even with comments."""
    scanner = _Scanner(text, file)
    data = scanner.document()
    if not isinstance(data, dict):
        problem = ConfigProblem(file, "$", scanner.place(scanner.start).line, data, "an object, such as {}")
        raise ConfigError([problem])
    return ConfigDocument(file, data, scanner.places, tuple(scanner.repeated))


def read_mapping(mapping: Mapping[str, Any], file: str) -> ConfigDocument:
    """Take a config that is a Python mapping, as a copy in plain JSON."""
    try:
        plain = orjson.loads(orjson.dumps(mapping, default=_plain))
    except TypeError as error:
        problem = ConfigProblem(file, "$", None, None, "only what JSON can hold", says=f"cannot be read ({error})")
        raise ConfigError([problem]) from None
    return ConfigDocument(file, plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError  # orjson names the type


def _decode(raw: bytes, file: str) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        says = "is UTF-16"
    else:
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            says = f"is not UTF-8 (byte 0x{raw[error.start]:02x} on line {line})"
    raise ConfigError([ConfigProblem(file, "$", None, None, "UTF-8 text", says=says)])


class _Scanner:
    """One pass over a text: values come out, places and repeated keys are noted on the way."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.at = self.start = 0
        self.places: dict[Keys, TextPosition] = {}
        self.repeated: list[ConfigProblem] = []
        self._lines = [0, *(match.end() for match in re.finditer(r"\n", text))]

    def document(self) -> Json:
        self._skip()
        self.start = self.at
        if self.at == len(self.text):
            raise ConfigError([ConfigProblem(self.file, "$", None, None, "an object, such as {}", says="is empty")])
        self.places[()] = self.place(self.at)
        value = self._value(())
        self._skip()
        if self.at < len(self.text):
            self._fail("the end of the file")
        return value

    def place(self, offset: int) -> TextPosition:
        line = bisect.bisect_right(self._lines, offset)
        return TextPosition(line, offset - self._lines[line - 1] + 1)

    def _value(self, keys: Keys) -> Json:
        if len(keys) > _DEEPEST:
            self._fail(f"at most {_DEEPEST} levels")
        opening = self.text[self.at : self.at + 1]
        if opening == "{":
            return self._object(keys)
        if opening == "[":
            return self._array(keys)
        return self._string() if opening == '"' else self._scalar()

    def _object(self, keys: Keys) -> dict[str, Json]:
        found: dict[str, Json] = {}

        def member() -> None:
            start = self.at
            if self.text[start : start + 1] != '"':
                self._fail("a key in double quotes, or '}'")
            key = self._string()
            self._note_key((*keys, key), start, again=key in found)
            self._skip()
            self._take(":", "':' after the key")
            self._skip()
            found[key] = self._value((*keys, key))

        self._members("}", member)
        return found

    def _array(self, keys: Keys) -> list[Json]:
        found: list[Json] = []

        def member() -> None:
            self.places[*keys, len(found)] = self.place(self.at)
            found.append(self._value((*keys, len(found))))

        self._members("]", member)
        return found

    def _members(self, closing: str, member: Callable[[], None]) -> None:
        opened = self.place(self.at)
        self.at += 1
        self._skip()
        while self.text[self.at : self.at + 1] != closing:
            if self.at == len(self.text):
                self._fail(f"'{closing}' for what was opened on line {opened.line}")
            member()
            self._skip()
            if self.text[self.at : self.at + 1] != closing:
                self._take(",", f"',' or '{closing}'")
                self._skip()
        self.at += 1

    def _string(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:
            partial = _BAD_STRING.match(self.text, self.at)
            self.at = partial.end() if partial else self.at
            self._fail(_ESCAPE if self.text[self.at : self.at + 1] == "\\" else _QUOTE)
        value: str = json.loads(match.group())
        if any("\ud800" <= char <= "\udfff" for char in value):
            self._fail("whole characters: half of a \\u surrogate pair is missing")
        self.at = match.end()
        return value

    def _scalar(self) -> Json:
        match = _NUMBER.match(self.text, self.at) or _WORD.match(self.text, self.at)
        if match is None:
            self._fail("a value: an object, a list, text in double quotes, a number, true, false or null")
        value: Json = json.loads(match.group())
        if value in (math.inf, -math.inf):
            self._fail("a number of a usual size")
        self.at = match.end()
        return value

    def _note_key(self, keys: Keys, offset: int, *, again: bool) -> None:
        place = self.place(offset)
        if again:
            says = f"stands twice (first on line {self.places[keys].line})"
            problem = ConfigProblem(self.file, json_path(keys), place.line, None, "each key once", says=says)
            self.repeated.append(problem)
        self.places[keys] = place

    def _skip(self) -> None:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at
        if self.text.startswith("/*", self.at):
            self._fail("'*/' at the end of the comment")

    def _take(self, wanted: str, expected: str) -> None:
        if self.text[self.at : self.at + 1] != wanted:
            self._fail(expected)
        self.at += 1

    def _fail(self, expected: str) -> NoReturn:
        place = self.place(self.at)
        found = self.text[self.at : self.at + 1]
        what = repr(found) if found else "the end of the file"
        says = f"is not JSON: {what} at line {place.line}, column {place.column}"
        raise ConfigError([ConfigProblem(self.file, "$", place.line, None, expected, says=says)])
