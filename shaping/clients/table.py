"""What is known of an MCP client: which channel of a result it shows its model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import orjson

from shaping.settings import bundled

if TYPE_CHECKING:
    from collections.abc import Mapping

Reads: TypeAlias = Literal["structured", "content", "both"]

_BRIDGED = re.compile(r" \(via mcp-remote [^)]*\)$")
_COMPARISON = re.compile(r"\s*(>=|<=|==|>|<)\s*([0-9][0-9A-Za-z.+-]*)\s*$")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of `config/clients.json`: a client, the versions meant, what it reads, and who says so."""

    client: str
    names: tuple[str, ...]
    reads: Reads | None
    source: str
    versions: str = ""


def load(payload: bytes) -> tuple[Entry, ...]:
    """Read the entries of a clients file."""
    return tuple(
        Entry(
            client=entry["client"],
            names=tuple(entry["names"]),
            reads=entry["reads"],
            source=entry["source"],
            versions=entry.get("versions", ""),
        )
        for entry in orjson.loads(payload)["clients"]
    )


@cache
def known() -> tuple[Entry, ...]:
    """Return the entries that ship with the package."""
    return load(bundled("config", "clients.json"))


def reads(client: str | Mapping[str, object] | None, entries: tuple[Entry, ...] | None = None) -> Reads | None:
    """Return the channel that this client's model reads, or None where nobody has said."""
    name, version = _identity(client)
    return _known(name, version) if entries is None else _found(name, version, entries)


@lru_cache(maxsize=256)  # asked with every result, and clients are few
def _known(name: str, version: str) -> Reads | None:
    return _found(name, version, known())


def _found(name: str, version: str, entries: tuple[Entry, ...]) -> Reads | None:
    for entry in entries:
        if any(fnmatchcase(name, pattern.casefold()) for pattern in entry.names) and _covers(entry.versions, version):
            return entry.reads
    return None


def _identity(client: str | Mapping[str, object] | None) -> tuple[str, str]:
    if client is None:
        return "", ""
    if isinstance(client, str):
        name, _, version = client.rpartition("@") if "@" in client[1:] else (client, "", "")
        return _own(name), version
    return _own(str(client.get("name", ""))), str(client.get("version", ""))


def _own(name: str) -> str:
    """Give a client's own name, without what a bridge in between adds to it."""
    return _BRIDGED.sub("", name).casefold()


def _covers(versions: str, version: str) -> bool:
    # A client that does not say its version is taken for a current one: it meets every lower bound and no upper one.
    parts = [part for part in versions.split(",") if part.strip()]
    if not version:
        return not any(part.strip().startswith("<") for part in parts)
    return all(_compares(part, version) for part in parts)


def _compares(part: str, version: str) -> bool:
    match = _COMPARISON.match(part)
    if match is None:
        raise ValueError(f"{part!r} is not a version bound; expected one like '>=2.0.21'")
    sign, bound = match.groups()
    left, right = _numbers(version), _numbers(bound)
    return {
        ">=": left >= right,
        "<=": left <= right,
        "==": left == right,
        ">": left > right,
        "<": left < right,
    }[sign]


def _numbers(version: str) -> tuple[int, ...]:
    release = re.split(r"[+-]", version, maxsplit=1)[0]
    numbers = [int(number) for number in re.findall(r"\d+", release)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
