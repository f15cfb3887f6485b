"""Which values of a tool's answer an agent used later: in the arguments of a later call, or in its own words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.encoders import decode
from shaping.paths import join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shaping.learning.traffic import ToolCall, Transcript

_WORD: Final = re.compile(r"[^\s\"'`()\[\]{}<>,;|=]+")
_PARTS: Final = re.compile(r"[/\\:@?&#]+")
_LONGEST: Final = 300  # characters of a value that is looked for as one
_SHORTEST: Final = 3
# A word inside a text counts only where nobody would say it by chance.
_TELLING: Final = re.compile(r"[\d_./@:#-]|[a-z][A-Z]|\w{10}")
_SMALL: Final = 100  # a number below it is anywhere, and counts only below a name like the argument's
_ID: Final = re.compile(r"(?=.*\d)[\w.:-]{6,}|\d+|.*[/@:. ].*")
_MANY: Final = 24
_EACH: Final = slice(None)
_ESCAPE: Final = re.compile(rb"\\(?:[nrt]|u[0-9a-fA-F]{4})")
_LOWER: Final = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in bytes(range(256)).lower())
_MOST_GIVEN: Final = 500  # values of one call's arguments: of a file that is written not every word is looked for


@dataclass(slots=True)
class Usage:
    """When each value was first given by an agent or its user, by session; one given after it was read was used."""

    first: dict[str, dict[str, float]] = field(default_factory=dict)
    _by_atom: dict[str, dict[bytes, list[str]]] = field(default_factory=dict, compare=False, repr=False)

    def add(self, other: Usage) -> None:
        """Take what another one has seen."""
        self._by_atom.clear()
        for session, given in other.first.items():
            mine = self.first.setdefault(session, {})
            for value, time in given.items():
                mine[value] = min(time, mine.get(value, time))

    def of_sessions(self, sessions: Iterable[str]) -> Usage:
        """Return what was given in some of the sessions."""
        return Usage({session: self.first[session] for session in sessions})

    def add_call(self, call: ToolCall) -> None:
        """Take the arguments of a call."""
        self._add(call.session, call.time, islice(_given(call.arguments), _MOST_GIVEN))

    def add_transcript(self, transcript: Transcript) -> None:
        """Take the arguments and the texts of a session."""
        for call in transcript.calls:
            self.add_call(call)
        for time, text in (*transcript.asked, *transcript.said):
            self._add(transcript.session, time, _spoken(text))

    def used(self, call: ToolCall) -> Used:
        """Return a test for the values of a call's answer."""
        given = self.first.get(call.session)
        if not given:
            return Used(frozenset())
        index = self._by_atom.setdefault(call.session, {})
        for value in given if not index else ():
            index.setdefault(_atom(value), []).append(value)
        # Only a value of which the longest word stands in the answer needs to be looked for in its fields.
        stands = {b"", *_atoms(orjson.dumps(call.result, option=orjson.OPT_NON_STR_KEYS))}
        likely = (value for atom in stands & index.keys() for value in index[atom])
        return Used(frozenset(value for value in likely if given[value] > call.time))

    def _add(self, session: str, time: float, values: Iterable[str]) -> None:
        self._by_atom.clear()
        given = self.first.setdefault(session, {})
        for value in values:
            given[value] = min(time, given.get(value, time))


class Used:
    """Tells which values of one answer were used after it."""

    def __init__(self, later: frozenset[str]) -> None:
        self._later = later
        self._telling = tuple(value for value in later if _TELLING.search(value))

    def __bool__(self) -> bool:
        return bool(self._later)

    def __call__(self, key: str, leaf: Any) -> tuple[str, ...]:
        """Return what of a leaf was used: the leaf itself, or words of a long one."""
        if not self._later or leaf is None or isinstance(leaf, bool):
            return ()
        if not isinstance(leaf, str):
            written = orjson.dumps(leaf).decode() if isinstance(leaf, float) else str(leaf)
            small = isinstance(leaf, int) and abs(leaf) < _SMALL
            return (written,) if (f"\0{key.casefold()}={written}" if small else written) in self._later else ()
        if len(leaf) <= _LONGEST and self._whole(leaf):
            return (leaf,)
        if len(leaf) < 40 and " " not in leaf and "\n" not in leaf:
            return ()
        telling = {value for value in self._telling if value in leaf}
        return tuple(word for word in dict.fromkeys(_words(leaf)) if word in telling) if telling else ()

    def _whole(self, leaf: str) -> bool:
        if len(leaf) >= _SHORTEST and leaf in self._later:
            return True
        words = leaf.casefold().split()
        if len(words) < 2:
            return False
        return all(" ".join(some) in self._later for some in (words[:3], words[-3:]))


def _atoms(text: bytes) -> list[bytes]:
    """Split JSON into its runs of letters and digits, in lower case."""
    return _ESCAPE.sub(b" ", text).translate(_LOWER).split()


def _atom(value: str) -> bytes:
    """Return the longest run of letters and digits of a value; nothing where JSON may write it in another way."""
    if not value.isascii():
        return b""
    return max(_atoms(value.rpartition("\0")[2].rpartition("=")[2].encode()), key=len, default=b"")


def leaves(value: Any, path: str = "", key: str = "") -> Iterator[tuple[str, str, Any]]:
    """List the scalars of plain data: the path of each with `[]` for elements, its own key, and itself."""
    if isinstance(value, dict):
        keyed = is_keyed_by_ids(value)
        for name, item in value.items():
            yield from leaves(item, f"{path}.*" if keyed and path else "*" if keyed else join(path, name), name)
    elif isinstance(value, list):
        below = join(path, _EACH)
        for item in value:
            yield from leaves(item, below, key)
    else:
        yield path, key, value


def is_keyed_by_ids(value: dict[str, Any]) -> bool:
    """Return whether the keys of an object are data (ids, paths, dates), and not the names of its members."""
    return len(value) >= _MANY and all(map(_ID.fullmatch, value))


def used_values(call: ToolCall, used: Used) -> set[str]:
    """Return the values of an answer that were used after it."""
    return {value for data in call.data() for _, key, leaf in leaves(data) for value in used(key, leaf)}


def missing(values: Iterable[str], text: str) -> set[str]:
    """Return the values that a text does not show, as it stands or decoded from the form it is written in."""
    gone = {value for value in values if value not in text and orjson.dumps(value).decode()[1:-1] not in text}
    if not gone:
        return gone
    try:
        shown = {str(leaf) for _, _, leaf in leaves(decode(text, "table"))}
    except ValueError:
        return gone
    return {value for value in gone if value not in shown and not any(value in one for one in shown if " " in one)}


def _given(value: Any, key: str = "") -> Iterator[str]:
    """List the values of arguments: each whole, in its words, and a small number with the names that it may have."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _given(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _given(item, key)
    elif isinstance(value, str):
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


def _spoken(text: str) -> Iterator[str]:
    """List what a text may quote: its words, and two or three of them in a row."""
    yield from _words(text)
    words = [word.strip("*_`\"'.,:;!?()[]") for word in text.casefold().split()]
    yield from (" ".join(words[at : at + 3]) for at in range(len(words) - 2))
    yield from (" ".join(words[at : at + 2]) for at in range(len(words) - 1))
