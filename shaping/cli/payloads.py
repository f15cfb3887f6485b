"""Files of tool results: a JSON document, JSON lines, plain text, or a whole MCP result."""

import gzip
import json
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeGuard

import typer

from shaping.cli.output import stopped
from shaping.clients import find_client, texts_in
from shaping.commands.capture import decode
from shaping.mcp.parts import read_result
from shaping.parsers import EXACT, parse
from shaping.parsers.json import write_json

SUFFIXES = (".json", ".jsonl", ".ndjson", ".txt", ".json.gz", ".jsonl.gz", ".ndjson.gz", ".txt.gz")
LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")

_MEMBERS: Final = frozenset({"content", "structuredContent", "isError", "_meta"})
_BLOCKS: Final = frozenset({"text", "image", "audio", "resource", "resource_link"})


@dataclass(frozen=True)
class Payload:
    """One result of a tool: its name, its text as sent, and the data in it."""

    name: str
    text: str

    @cached_property
    def value(self) -> Any:
        """The document, or the text itself where it is no JSON."""
        return loaded(self.text)

    @property
    def is_mcp(self) -> bool:
        """Whether this is a whole MCP result."""
        return is_mcp_result(self.value)

    def as_sent(self, client: str | None = None) -> str:
        """Return what this client shows its model of the answer as it was sent."""
        return find_client(client).shown(self.value) if self.is_mcp else self.text

    @property
    def data(self) -> Any:
        """The data without the channels that carry it."""
        return data_of(self.value) if self.is_mcp else self.value

    @property
    def compact(self) -> str:
        """The data as JSON without white space, or the text that it is."""
        return self.data if isinstance(self.data, str) else write_json(self.data).decode()


def is_mcp_result(value: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether a document is a whole MCP result, and not one that only has content too."""
    if not isinstance(value, dict) or not value.keys() <= _MEMBERS or not isinstance(value.get("content"), list):
        return False
    return all(isinstance(block, dict) and block.get("type") in _BLOCKS for block in value["content"])


def data_of(result: Mapping[str, Any]) -> Any:
    """Return the data of an MCP result, whichever channels carry it; that of several blocks is a list."""
    if result.get("structuredContent") is None:
        read = ((loaded(text), text) for text in texts_in(result))
        found = [value if isinstance(value, dict | list) else text for value, text in read]
    else:
        found = [part.value for part in read_result(result).parts]
    return found[0] if len(found) == 1 else found


def loaded(text: str) -> Any:
    """Return the data that a text holds, also what only Python takes for JSON (NaN, lone surrogates), or the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        parsed = parse(text, EXACT)
    return text if parsed is None else parsed.value


def why_no_json(text: str) -> str:
    """Say why a text that begins as JSON is none."""
    try:
        if text.lstrip()[:1] in {"{", "["}:
            json.loads(text)
    except (ValueError, RecursionError) as problem:
        return str(problem)
    return ""


def read_bytes(file: str) -> bytes:
    """Read a file, unpacked, or standard input for `-`; one that cannot be read ends the command."""
    try:
        if file == "-" and sys.stdin.isatty():
            typer.echo("reading standard input; end it with Ctrl-D", err=True)
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    except (OSError, EOFError) as problem:
        raise stopped(f"cannot read {file}: {getattr(problem, 'strerror', None) or problem}") from None


def text_of(raw: bytes) -> str:
    """Return the text of a file, which Windows may have written as UTF-16."""
    return raw.decode("utf-16", "replace") if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else decode(raw)


def read_payloads(places: Iterable[str]) -> Iterator[Payload]:
    """Read every answer in files, folders (with all that is in them) and standard input (`-`)."""
    for place in places:
        inside = sorted(Path(place).rglob("*")) if Path(place).is_dir() else []
        listed = [str(path) for path in inside if path.name.endswith(SUFFIXES) and path.is_file()]
        for file in listed if Path(place).is_dir() else [place]:
            text = text_of(read_bytes(file))
            if not file.endswith(LINES):
                yield Payload(file, text)
                continue
            lines = enumerate(text.splitlines(), start=1)
            yield from (Payload(f"{file}:{number}", line) for number, line in lines if line.strip())
