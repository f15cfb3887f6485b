"""What is known of MCP clients (`config/clients.json`): what they show their model of a tool's result."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any, Literal, TypeAlias

import orjson

from shaping.parsers.json import write_json
from shaping.settings.files import bundled
from shaping.tokens import count
from shaping.tokens.sampling import LENGTHS, count_near, upper_bound

Reads: TypeAlias = Literal["structured", "content", "both"]

_BRIDGED = re.compile(r" \(via mcp-remote [^)]*\)$")
_BETWEEN_BLOCKS = "\n"


@dataclass(frozen=True, slots=True)
class KnownClient:
    """One entry of `config/clients.json`, whose first member explains each field."""

    client: str = ""
    names: Sequence[str] = ()
    reads: Reads | None = None
    source: str = ""
    since: str = ""  # the first version that this is about, and the first one after
    before: str = ""
    limit: Mapping[str, int] = field(default_factory=dict)
    shown_over_limit: int | None = None
    whole_result: bool = False
    whole_lines: bool = False
    meta: Literal["always", "errors"] | None = None
    code_mode: bool = False
    joins_blocks: bool = False
    fails_on_json_lists: bool = False
    files: bool = False
    tool_meta: Mapping[str, Any] = field(default_factory=dict)
    expand_meta: Mapping[str, Any] = field(default_factory=dict)
    tool_meta_limit: Mapping[str, int] = field(default_factory=dict)
    measured: Mapping[str, str] | None = None

    def is_of(self, name: str, version: str) -> bool:
        """Return whether this entry is about a client, by its name in lower case and its version.

        A client that does not say its version is taken for a current one.
        """
        if not any(fnmatchcase(name, pattern.casefold()) for pattern in self.names):
            return False
        if not version:
            return not self.before
        numbers = _numbers(version)
        return _numbers(self.since) <= numbers and (not self.before or numbers < _numbers(self.before))

    def shows_meta(self, *, failed: bool) -> bool:
        """Return whether this client's model reads the `_meta` of a result."""
        return self.meta == "always" or (failed and self.meta == "errors")

    def shown(self, result: Mapping[str, Any]) -> str:
        """Return what this client shows its model of a result, before it cuts it."""
        if self.whole_result:
            return write_json(result).decode()
        text = ("" if self.joins_blocks else _BETWEEN_BLOCKS).join(texts_in(result))
        structured = result.get("structuredContent")
        meta = result.get("_meta") if self.shows_meta(failed=result.get("isError") is True) else None
        shown = [text]
        if structured is not None and (self.reads in {"structured", "both"} or not text):
            shown = (
                [write_json(structured).decode()] if self.reads != "both" else [text, write_json(structured).decode()]
            )
        if meta:
            shown.append(orjson.dumps(meta).decode())
        return _BETWEEN_BLOCKS.join(part for part in shown if part)

    def excess(self, result: Mapping[str, Any], limit: Mapping[str, int] | None = None) -> float:
        """Return by which factor a result is over the limit of this client; 1 or less where all of it is shown."""
        limit = self.limit if limit is None else limit
        if not limit:
            return 0.0
        shown = self.shown(result)
        return max(_length(shown, unit, most) / most for unit, most in limit.items())

    def shown_within_limit(self, result: Mapping[str, Any], limit: Mapping[str, int] | None = None) -> str:
        """Return what this client shows its model of a result, cut as the client cuts it; its own mark is left out."""
        limit = self.limit if limit is None else limit
        shown = self.shown(result)
        if self.excess(result, limit) <= 1:
            return shown
        if self.shown_over_limit is not None:
            return shown[: self.shown_over_limit]
        text = shown[: limit.get("chars", len(shown))]
        text = "\n".join(text.split("\n")[: limit.get("lines")])
        text = text.encode()[: limit.get("bytes")].decode(errors="ignore")
        return text.rpartition("\n")[0] if self.whole_lines and not shown.startswith(f"{text}\n") else text


UNKNOWN_CLIENT = KnownClient()


def _length(text: str, unit: str, most: int) -> float:
    """Return a text's length in a unit of a limit; tokens are counted only where its bytes could be too many."""
    if unit == "tokens":
        return count_near(text, most, count) if upper_bound(text) > most else 0
    return LENGTHS[unit](text)


def texts_in(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a result's content blocks, embedded resources included."""
    for block in result.get("content") or ():
        if not isinstance(block, dict):  # of a server that breaks the protocol
            continue
        resource = block.get("resource")
        text = resource.get("text") if isinstance(resource, dict) else block.get("text")
        if isinstance(text, str):
            yield text


def joined_texts(content: Any) -> str:
    """Return the texts of a message's content, which is one text, one block or several."""
    if isinstance(content, str):
        return content
    return "\n".join(texts_in({"content": content if isinstance(content, list) else [content]}))


@cache
def known_clients() -> tuple[KnownClient, ...]:
    """Return the entries that ship with the package."""
    return tuple(KnownClient(**entry) for entry in orjson.loads(bundled("config", "clients.json"))["clients"])


def find_client(client: str | Mapping[str, object] | None) -> KnownClient:
    """Return what is known of a client by its `clientInfo`, or by `name@version`."""
    return _found(*_identity(client))


@lru_cache(maxsize=256)  # asked with every result, and clients are few
def _found(name: str, version: str) -> KnownClient:
    return next((entry for entry in known_clients() if entry.is_of(name, version)), UNKNOWN_CLIENT)


def _identity(client: str | Mapping[str, object] | None) -> tuple[str, str]:
    if client is None:
        return "", ""
    if isinstance(client, str):
        name, _, version = client.rpartition("@") if "@" in client[1:] else (client, "", "")
        return _own_name(name), version
    return _own_name(str(client.get("name", ""))), str(client.get("version", ""))


def _own_name(name: str) -> str:
    """Return a client's own name, without what a bridge in between adds to it."""
    return _BRIDGED.sub("", name).casefold()


def _numbers(version: str) -> tuple[int, ...]:
    # Clients' versions, such as 2025.09.12-4852336 and 1.106.1-insider, are none to the library `packaging`.
    release = re.split(r"[+-]", version, maxsplit=1)[0]
    numbers = [int(number) for number in re.findall(r"\d+", release)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
