"""What a tool sent and what the model read of it, in the store for as long as that keeps originals."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from shaping.parsers.json import read_json_or_text
from shaping.parsers.terminal import COLOURS
from shaping.paths import PathError, parse
from shaping.paths.grammar import join
from shaping.paths.selection import Rest, after_index, after_key
from shaping.redaction import paths_without_secrets, without_secrets
from shaping.response import Omission, Shaped, cut_end
from shaping.store.backends import Stored, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shaping.store.backends import Store
    from shaping.store.keeper import Keeper


PREFIX: Final = "c_"  # of a call's ref: `expand` takes none but those of originals, so no model can ask for a call
_LARGEST: Final = 256 * 1024  # characters of what a model read that are kept
_LARGEST_WHOLE: Final = 64 * 1024
_MOST_OMISSIONS: Final = 400


@dataclass(frozen=True, slots=True)
class SentPart:
    """One part of a tool's answer: its value as the store has it, redacted, and what was left out of it."""

    value: Any
    omissions: tuple[Omission, ...] = ()
    ref: str | None = None  # by which the whole value can be asked for


@dataclass(frozen=True, slots=True)
class CallTexts:
    """One call: what the model read, the parts of what the tool sent that the store still has, or what was asked."""

    read: str
    sent: tuple[SentPart, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)  # of an expansion: the ref, and the path, sql or search

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """How much was left out for each reason, most first."""
        found: Counter[str] = Counter()
        for omission in (one for part in self.sent for one in part.omissions):
            found[omission.reason] += omission.count
        return found.most_common()

    @property
    def sent_title(self) -> str:
        """What stands above what the tool sent."""
        # Of a text that was read as data the store has the data, and not the text.
        as_text = all(isinstance(part.value, str) for part in self.sent)
        return "The tool sent" if as_text else "The tool sent, read as data"

    def sent_lines(self) -> list[MarkedLine]:
        """Return the lines of what the tool sent, each with the reason why the model did not read it."""
        return [line for part in self.sent for line in marked_lines(part, self.read)]

    def read_lines(self) -> list[MarkedLine]:
        """Return the lines of what the model read."""
        return [MarkedLine(line) for line in self.read.splitlines()]


def keep_texts(
    keeper: Keeper, read: str, parts: Sequence[Shaped], *, ttl: float, asked: Mapping[str, Any] | None = None
) -> str | None:
    """Keep what a model read beside the originals of its parts; return the ref, None where the store takes nothing.

    `asked` is what it asked for where it read an expansion.
    """
    # A large answer of which nothing was left out would push out originals that a model may still ask for.
    kept = [one for one in parts if one.omissions or len(read) <= _LARGEST_WHOLE]
    question = {name: without_secrets(str(value)) for name, value in (asked or {}).items() if value is not None}
    told = [{"ref": one.ref, "omissions": _written(one.omissions)} for one in kept]
    return _keep(keeper, {"read": read, "parts": told, "asked": question}, ttl)


def keep_output(keeper: Keeper, read: str, printed: str, *, ttl: float) -> str | None:
    """Keep what a model read beside what a command printed, from which secrets are taken here."""
    told = [{"value": without_secrets(printed[:_LARGEST])}]
    return _keep(keeper, {"read": without_secrets(read), "parts": told}, ttl)


def find_texts(store: Store, ref: str | None) -> CallTexts | None:
    """Read what the store still has of a call; None where its time is over or nothing was kept."""
    found = _stored(store, ref)
    if found is None:
        return None
    body = orjson.loads(found.payload)
    parts = [part for one in body["parts"] if (part := _part(store, one)) is not None]
    if len(parts) == 1 and _reads_as(body["read"], parts[0].value):
        parts = [replace(parts[0], omissions=())]  # the tool's own text was cheapest, so nothing was left out of it
    return CallTexts(body["read"], tuple(parts), body.get("asked", {}))


def _reads_as(read: str, value: Any) -> bool:
    """Return whether a text is a value's JSON."""
    return bool(read[:1] in {"{", "["} and read_json_or_text(read) == value)


def _keep(keeper: Keeper, body: dict[str, Any], ttl: float) -> str | None:
    ref = f"{PREFIX}{secrets.token_hex(16)}"
    content = orjson.dumps({**body, "read": body["read"][:_LARGEST]})
    return ref if keeper.keep(ref, lambda: content, ttl=ttl, size=len(content)) else None


def _written(omissions: Sequence[Omission]) -> list[list[Any]]:
    some = omissions[:_MOST_OMISSIONS]
    paths = paths_without_secrets([one.path for one in some])
    return [[path, one.count, one.reason] for path, one in zip(paths, some, strict=True)]


def _part(store: Store, part: dict[str, Any]) -> SentPart | None:
    omissions = tuple(Omission(path, count, reason) for path, count, reason in part.get("omissions", ()))
    if "value" in part:
        return SentPart(part["value"], omissions)
    found = _stored(store, part["ref"])
    return None if found is None else SentPart(orjson.loads(found.payload), omissions, part["ref"])


def _stored(store: Store, ref: str | None) -> Stored | None:
    try:
        return None if ref is None else store.get(ref)
    except StoreError:
        return None


# What each reason means to somebody who reads a call.
REASONS: Final = {
    "fields": "the config's include_only or exclude_fields",
    "private": "private paths",
    "tier": "exclude_when_tier",
    "null": "members without a value",
    "empty": "empty lists, objects and texts",
    "default": "default values",
    "links": "links that the model does not need",
    "opaque": "opaque identifiers",
    "bulk": "long values that say little, such as encoded bytes",
    "boilerplate": "text that such answers repeat",
    "items": "tails of lists, beyond the budget",
    "string": "characters of long texts, beyond the budget",
    "depth": "subtrees, beyond the budget",
    "text": "lines that are not in what the model read",
}
_WIDE: Final = 88  # characters of a value that is written on one line
_SHORT: Final = 160  # characters that are shown of a value that was left out
# The short form of a text takes words apart where lines differ: `train_7` is `train_{}` and a 7.
_WORD: Final = re.compile(r"[^\W\d_]{3,}|\d{3,}")
_REWRITTEN: Final = 0.2  # share of a line's words that may be missing
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """One line of what a tool sent, and why the model did not read it; None where it did."""

    text: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class MarkedLeaf:
    """A value without members, or a whole value that was left out, with the path of its field."""

    path: str
    value: Any
    reason: str | None


_Rule: TypeAlias = "tuple[Rest, Omission]"  # what is left of a path at some place, and what was left out


def marked_lines(part: SentPart, read: str = "") -> Iterator[MarkedLine]:
    """Write what a tool sent as indented JSON, or as its text; `read` tells which lines of a text the model read."""
    if isinstance(part.value, str):
        yield from _text_lines(part.value, read)
    else:
        yield from _lines("", part.value, _rules(part), 0, "")


def marked_leaves(part: SentPart) -> Iterator[MarkedLeaf]:
    """Give every field's value once, as the model read it or with the reason why not."""
    yield from _leaves("", part.value, _rules(part))


def _rules(part: SentPart) -> list[_Rule]:
    rules = []
    for omission in part.omissions:
        with suppress(PathError):  # redaction may have put a mark into a key
            rules.append((parse(omission.path).steps if omission.path else (), omission))
    return rules


def _below(rules: list[_Rule], key: str | int, size: int) -> list[_Rule]:
    """Return the omissions at or below a member of an object, or an element of a list of this size."""
    return [
        (rest, omission)
        for steps, omission in rules
        for rest in (after_key((steps,), key) if isinstance(key, str) else after_index((steps,), key, size))
    ]


def _reason(rules: list[_Rule], value: Any) -> str | None:
    """Return why the value at this place was left out."""
    return next((omission.reason for steps, omission in rules if not steps and _applies(omission, value)), None)


def _applies(omission: Omission, value: Any) -> bool:
    """Return whether one of the values under a path was left out: only some of them are null or empty."""
    if omission.reason == "null":
        return value is None
    return omission.reason != "empty" or value in _EMPTY


def _lines(name: str, value: Any, rules: list[_Rule], depth: int, comma: str) -> Iterator[MarkedLine]:
    indent, reason = "  " * depth, _reason(rules, value)
    if reason is not None and reason != "string":
        yield MarkedLine(f"{indent}{name}{cut_end(_compact(value), _SHORT)}{comma}", reason)
        return
    compact = _compact(value)
    if not isinstance(value, dict | list) or not value or (not rules and len(compact) <= _WIDE):
        yield MarkedLine(f"{indent}{name}{compact}{comma}", reason)
        return
    yield MarkedLine(f"{indent}{name}{'{' if isinstance(value, dict) else '['}")
    members = list(value.items() if isinstance(value, dict) else enumerate(value))
    for place, (key, item) in enumerate(members, 1):
        label = f"{_compact(key)}: " if isinstance(value, dict) else ""
        yield from _lines(label, item, _below(rules, key, len(value)), depth + 1, "," if place < len(members) else "")
    yield MarkedLine(f"{indent}{'}' if isinstance(value, dict) else ']'}{comma}")


def _text_lines(sent: str, read: str) -> Iterator[MarkedLine]:
    """Mark the lines of a text of which too many words stand nowhere in what was read: others were only rewritten."""
    known = set(_WORD.findall(read))
    for line in COLOURS.sub("", sent).splitlines():
        words = _WORD.findall(line)
        missing = sum(word not in known for word in words)
        yield MarkedLine(line, "text" if missing > _REWRITTEN * len(words) else None)


def _leaves(path: str, value: Any, rules: list[_Rule]) -> Iterator[MarkedLeaf]:
    reason = _reason(rules, value)
    if (reason is not None and reason != "string") or not isinstance(value, dict | list) or not value:
        yield MarkedLeaf(path, value, reason)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(join(path, key), item, _below(rules, key, len(value)))
    else:
        for at, item in enumerate(value):
            yield from _leaves(join(path, slice(None)), item, _below(rules, at, len(value)))


def _compact(value: Any) -> str:
    return orjson.dumps(value).decode()
