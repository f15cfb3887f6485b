"""Recorded calls and sessions: how they are read, what a model reads of each, and which values were used later."""

from __future__ import annotations

import gzip
import io
import re
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Final, Literal, TypeAlias

import orjson

from shaping.clients import find_client
from shaping.encoders import decode
from shaping.errors.codes import CodedError
from shaping.learning.record import recordings
from shaping.mcp.parts import read_result
from shaping.parsers import parse, parse_within
from shaping.response import CallContext
from shaping.settings.plan import full_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from shaping.settings.choices import Surface
    from shaping.shaper import Shaper

Form: TypeAlias = Literal["mcp", "value", "text"]
SHELL: Final = "(shell)"  # the server of commands that a client runs itself
BUILT_IN: Final = "(built in)"  # the server of a client's other tools, which no proxy stands in front of
SURFACES: Final[Mapping[str, Surface]] = {"mcp": "mcp", "value": "python", "text": "command"}
_WORD: Final = re.compile(r"[^\s\"'`()\[\]{}<>,;|=]+")
_PARTS: Final = re.compile(r"[/\\:@?&#]+")
_LONGEST: Final = 300  # characters of a value that is looked for as one
_SHORTEST: Final = 3
# A word inside a text counts only where nobody would write it by chance.
_TELLING: Final = re.compile(r"[\d_./@:#-]|[a-z][A-Z]|\w{10}")
_SMALL: Final = 100  # a number below it is anywhere, and counts only below a name like the argument's
_MOST_SEARCHES: Final = 500  # values of one answer that are looked for inside its words too
_MOST_GIVEN: Final = 500  # values of one call's arguments: of a file that is written not every word is looked for


class TrafficError(CodedError):
    """A folder or file that holds no calls, or cannot be read; the message says which and what to do."""

    code = "FILE_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: what a tool was asked, and what it answered."""

    tool: str
    result: Any  # the wire form of an MCP result, a value, or the text of a command
    form: Form = "mcp"
    server: str = ""
    client: str = ""
    session: str = ""
    time: float = 0.0
    arguments: Any = None

    @property
    def name(self) -> str:
        """The name by which a config has rules for the tool."""
        return full_name(self.tool, self.server) if self.form == "mcp" else self.tool

    @property
    def failed(self) -> bool:
        """Whether the result says that the call failed."""
        return self.form == "mcp" and isinstance(self.result, dict) and self.result.get("isError") is True

    def data(self) -> list[Any]:
        """Return the data of the result: that of its structured content and of each text that holds some."""
        if self.form == "value":
            return [self.result]
        if self.form == "text":
            return [_data_in(self.result)]
        if self.failed:
            return []
        return [_data_in(part.value) for part in read_result(self.result).parts]

    def text_before(self) -> str:
        """Return what the model reads of the call without shaping."""
        if self.form == "mcp":
            return find_client(self.client).shown_within_limit(self.result)
        return self.result if isinstance(self.result, str) else orjson.dumps(self.result).decode()

    def text_after(self, shaper: Shaper, arguments: frozenset[str] = frozenset()) -> str:
        """Return what the model reads of the call with shaping; `arguments` are names that the server's tools take."""
        if self.form == "mcp":
            shaped = shaper.shape_result(
                self.result, tool=self.name, client=self.client, relay=True, call=CallContext(arguments=arguments)
            )
            return find_client(self.client).shown_within_limit(shaped)
        return shaper.shape(self.result, tool=self.name, surface=SURFACES[self.form], as_json=False).text


@dataclass(frozen=True, slots=True)
class Transcript:
    """One session of an agent: its calls in order, and the texts of its user and its own between them."""

    session: str
    calls: tuple[ToolCall, ...]
    texts: tuple[tuple[float, str], ...] = ()  # of the user and of the agent, with their times
    turns: tuple[float, ...] = ()  # when the model was asked, each time with all that stood in the session by then


Definition: TypeAlias = tuple[float, str, list[dict[str, Any]]]  # the time, the server and its tools


def traffic_files(folder: Path) -> list[Path]:
    """List the recordings of a folder, or the one that is named; there must be some."""
    files = [folder] if folder.is_file() else recordings(folder)
    if not files:
        raise TrafficError(
            f"there are no recordings in {folder}; `shaping proxy --record {folder}` makes some,"
            " and `shaping discover` reads what your clients keep"
        )
    if folder.is_file() and all(one is None for one in read_file(folder)):
        raise TrafficError(f"{folder} is not a recording; `shaping proxy --record FOLDER` makes some")
    return files


def read_file(path: Path) -> Iterator[ToolCall | Definition | None]:
    """Read the calls of a recording and the definitions of tools; None for a line that is torn."""
    with _opened(path) as file:
        yield from map(_read, file)


def _opened(path: Path) -> IO[bytes]:
    """Open a file for reading, decompressed where its name says gzip or zstd."""
    if path.suffix == ".gz":
        return io.BufferedReader(gzip.open(path))
    if path.suffix != ".zst":
        return path.open("rb")
    try:
        import zstandard  # noqa: PLC0415 (an extra, for files that somebody compressed)
    except ImportError:
        raise TrafficError(f'{path} needs an extra: pip install "shaping[zstd]"') from None
    return io.BufferedReader(zstandard.open(path, "rb"))


def _read(line: bytes) -> ToolCall | Definition | None:
    try:
        data = orjson.loads(line)
        when = seconds(data["time"])
        if "tools" in data:
            return when, data["server"], data["tools"]
        given = {name: data[name] for name in ("form", "server", "client", "session", "arguments") if name in data}
        return ToolCall(data["tool"], data["result"], time=when, **given)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None


def seconds(time: str | float) -> float:
    """Return a time as seconds since 1970."""
    return datetime.fromisoformat(time).timestamp() if isinstance(time, str) else float(time)


def _data_in(text: Any) -> Any:
    parsed = (parse(text) or parse_within(text)) if isinstance(text, str) else None
    return text if parsed is None else parsed.value


@dataclass(slots=True)
class Usage:
    """When each value was first given by an agent or its user, by session; one given after it was read was used."""

    first: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, other: Usage) -> None:
        """Add the values of another one."""
        for session, given in other.first.items():
            self._add(session, given.items())

    def of_sessions(self, sessions: Iterable[str]) -> Usage:
        """Return what was given in some of the sessions."""
        return Usage({session: self.first[session] for session in sessions})

    def add_call(self, call: ToolCall) -> None:
        """Take the arguments of a call."""
        self._add(call.session, ((value, call.time) for value in islice(_given(call.arguments), _MOST_GIVEN)))

    def add_transcript(self, transcript: Transcript) -> None:
        """Take the arguments and the texts of a session."""
        for call in transcript.calls:
            self.add_call(call)
        for time, text in transcript.texts:
            self._add(transcript.session, ((value, time) for value in _quotable(text)))

    def used(self, call: ToolCall) -> Used:
        """Return a test for the values of a call's answer."""
        return Used(self.first.get(call.session, {}), call.time)

    def _add(self, session: str, values: Iterable[tuple[str, float]]) -> None:
        given = self.first.setdefault(session, {})
        for value, time in values:
            given[value] = min(time, given.get(value, time))


@dataclass(frozen=True, slots=True)
class Used:
    """Tells which values of one answer were used after it."""

    given: Mapping[str, float]  # when each value of the session was first given
    time: float

    def __bool__(self) -> bool:
        return bool(self.given)

    def __call__(self, key: str, leaf: Any) -> tuple[str, ...]:
        """Return what of a leaf was used: the leaf itself, or words of a long one."""
        if leaf is None or isinstance(leaf, bool):
            return ()
        if not isinstance(leaf, str):
            written = orjson.dumps(leaf).decode() if isinstance(leaf, float) else str(leaf)
            small = isinstance(leaf, int) and abs(leaf) < _SMALL
            return (written,) if self._later(f"\0{key.casefold()}={written}" if small else written) else ()
        if len(leaf) <= _LONGEST and self._whole(leaf):
            return (leaf,)
        if len(leaf) < 40 and " " not in leaf and "\n" not in leaf:
            return ()
        return tuple(word for word in dict.fromkeys(_words(leaf)) if self._later(word) and _TELLING.search(word))

    def _later(self, value: str) -> bool:
        return self.given.get(value, self.time) > self.time

    def _whole(self, leaf: str) -> bool:
        if len(leaf) >= _SHORTEST and self._later(leaf):
            return True
        words = leaf.casefold().split()
        return len(words) > 1 and all(self._later(" ".join(some)) for some in (words[:3], words[-3:]))


def scalars(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """List the scalars of plain data, each with the key that it stands under."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from scalars(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from scalars(item, key)
    else:
        yield key, value


def used_values(call: ToolCall, used: Used) -> set[str]:
    """Return the values of an answer that were used after it."""
    return {value for data in call.data() for key, leaf in scalars(data) for value in used(key, leaf)}


def missing(values: Iterable[str], text: str) -> set[str]:
    """Return the values that a text does not show, as it stands or decoded from the form it is written in."""
    words = frozenset(_words(text))
    gone = {value for value in values if value not in words}
    # Looking for a value takes as long as the text is long.
    looked_for = sorted(gone)[:_MOST_SEARCHES]
    gone.difference_update(one for one in looked_for if one in text or orjson.dumps(one).decode()[1:-1] in text)
    if not gone:
        return gone
    # A table may stand between sentences.
    shown = {str(leaf) for part in (text, *text.split("\n\n")) for _, leaf in scalars(_decoded(part))}
    sentences = "\n".join(one for one in shown if " " in one)
    return gone - shown - {one for one in looked_for if one in sentences}


def _decoded(text: str) -> Any:
    try:
        return decode(text, "table")
    except ValueError:
        return None


def _given(arguments: Any) -> Iterator[str]:
    """List the values of arguments: each whole, in its words, and a small number with the names that it may have."""
    for key, value in scalars(arguments):
        if isinstance(value, str):
            if len(value) <= _LONGEST:
                yield value
            yield from _words(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            written = orjson.dumps(value).decode() if abs(value) < 2**63 else str(value)
            yield written
            names = {key.casefold(), *re.split(r"[_\W]+|(?<=[a-z])(?=[A-Z])", key.casefold()), "id", "number", "iid"}
            yield from (f"\0{name}={written}" for name in sorted(names))


def _words(text: str) -> Iterator[str]:
    for found in _WORD.findall(text):
        word = found.strip(".:!?*_")
        if len(word) >= _SHORTEST:
            yield word
        parts = _PARTS.split(word)
        if len(parts) > 1:
            yield from (part for part in parts if len(part) >= _SHORTEST)
        stem, dot, ending = parts[-1].rpartition(".")  # a page is asked for by a name with an ending, as a file is
        if dot and len(stem) >= _SHORTEST and len(ending) <= 5:
            yield stem


def _quotable(text: str) -> Iterator[str]:
    """List what a text may quote: its words, and two or three of them in a row."""
    yield from _words(text)
    words = [word.strip("*_`\"'.,:;!?()[]") for word in text.casefold().split()]
    yield from (" ".join(words[at : at + 3]) for at in range(len(words) - 2))
    yield from (" ".join(words[at : at + 2]) for at in range(len(words) - 1))
