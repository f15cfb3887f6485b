"""Calls and sessions, wherever they were kept, and the files of a folder of recordings."""

from __future__ import annotations

import gzip
import io
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, Final, Literal, TypeAlias

import orjson

from shaping.learning.record import TOOLS, recordings
from shaping.mcp.reading import read_result
from shaping.parsers import parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Form: TypeAlias = Literal["mcp", "value", "text"]
SHELL: Final = "(shell)"  # the server of commands that a client runs itself
BUILT_IN: Final = "(built in)"  # and of all other tools of its own, which nothing stands in front of
_PIECE: Final = 4_000_000  # bytes that one worker reads at once, whatever the number of workers


class TrafficError(ValueError):
    """A folder or file that holds no calls, or cannot be read; the message says which and what to do."""


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
        return f"{self.server.replace('/', '_')}/{self.tool}" if self.server and self.form == "mcp" else self.tool

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
        return [_data_in(part.value) if part.prose else part.value for part in read_result(self.result).parts]


@dataclass(frozen=True, slots=True)
class Transcript:
    """One session of an agent: its calls in order, and the texts of its user and its own between them."""

    client: str
    session: str
    calls: tuple[ToolCall, ...]
    asked: tuple[tuple[float, str], ...] = ()  # what the user said, and when
    said: tuple[tuple[float, str], ...] = ()  # what the agent said
    turns: tuple[float, ...] = ()  # when the model was asked, each time with all that stood in the session by then


@dataclass(frozen=True, slots=True)
class FileRange:
    """The lines of a recording that begin in a range of its bytes."""

    path: Path
    start: int = 0
    end: int | None = None


Piece: TypeAlias = tuple[FileRange, ...]  # what one worker reads at once: part of a large file, or several small ones


def pieces(folder: Path) -> list[Piece]:
    """Cut the recordings of a folder into pieces of a size, so that the same folder always gives the same pieces."""
    files = [folder] if folder.is_file() else recordings(folder)
    if not files:
        raise TrafficError(
            f"there are no recordings in {folder}; `shaping proxy --record {folder}` makes some,"
            " and `shaping discover` reads what your clients keep"
        )
    found: list[list[FileRange]] = [[]]
    room = _PIECE
    for path in files:
        size = path.stat().st_size
        cut = path.suffix == ".jsonl" and size > _PIECE
        for start in range(0, size, _PIECE) if cut else (0,):
            end = min(start + _PIECE, size)
            if found[-1] and end - start > room:
                found.append([])
                room = _PIECE
            room -= end - start
            found[-1].append(FileRange(path, start, end if cut else None))
    return [tuple(ranges) for ranges in found]


def folder_size(folder: Path) -> int:
    """Return the bytes of all recordings of a folder."""
    return sum(path.stat().st_size for path in ([folder] if folder.is_file() else recordings(folder)))


def read_piece(piece: Piece) -> Iterator[ToolCall | tuple[float, str, list[dict[str, Any]]] | None]:
    """Read the calls of a piece, and definitions of tools as (time, server, tools); None for a line that is torn."""
    return map(_read, lines(piece))


def lines(piece: Piece) -> Iterator[bytes]:
    """Read the lines of a piece."""
    for part in piece:
        with opened(part.path) as file:
            if part.start:
                file.seek(part.start - 1)
                file.readline()  # the line that begins before this range belongs to the one before
            at = file.tell() if part.end is not None else 0
            for line in file:
                if part.end is not None and at >= part.end:
                    break
                at += len(line)
                yield line


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed where its name says gzip or zstd."""
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            yield file  # type: ignore[misc]  # it reads bytes as any file does
    elif path.suffix == ".zst":
        with _zstd(path) as file:
            yield file
    else:
        with path.open("rb") as file:
            yield file


def _zstd(path: Path) -> IO[bytes]:
    try:
        import zstandard  # noqa: PLC0415 (an extra, for files that somebody compressed)
    except ImportError:
        raise TrafficError(f'{path} needs an extra: pip install "shaping[zstd]"') from None
    return io.BufferedReader(zstandard.open(path, "rb"))


def _read(line: bytes) -> ToolCall | tuple[float, str, list[dict[str, Any]]] | None:
    try:
        data = orjson.loads(line)
        when = seconds(data["time"])
        if "tools" in data:
            return when, data["server"], data["tools"]
        return ToolCall(
            data["tool"],
            data["result"],
            data.get("form", "mcp"),
            data.get("server", ""),
            data.get("client", ""),
            data.get("session", ""),
            when,
            data.get("arguments"),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None


def seconds(time: str | float) -> float:
    """Return a time as seconds since 1970."""
    return datetime.fromisoformat(time).timestamp() if isinstance(time, str) else float(time)


def _data_in(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    parsed = parse(text)
    return text if parsed is None else parsed.value


__all__ = ["BUILT_IN", "SHELL", "TOOLS", "Piece", "ToolCall", "TrafficError", "Transcript", "lines", "pieces"]
