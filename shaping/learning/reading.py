"""Reading much traffic: piece by piece in several processes, or on a Dask cluster, merged as the pieces come in."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from shaping.learning.statistics import TrafficStatistics
from shaping.learning.traffic import Piece, ToolCall, TrafficError, folder_size, lines, pieces, read_piece, seconds
from shaping.learning.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Found = TypeVar("Found")
_IN_PROCESS: Final = 4_000_000  # bytes that are read sooner than other processes have started
_CONNECT_SECONDS: Final = 15
_RESULT: Final = b',"result":'


def read_traffic(
    folder: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> TrafficStatistics:
    """Read all recordings of a folder; `progress` is told what is done, how many pieces of it, and of how many."""
    todo = pieces(folder)
    with parallel(folder_size(folder), workers, scheduler) as run:
        usage, merged = Usage(), TrafficStatistics()
        sessions = []
        for given in _told(run(usage_of, todo), partial(progress, "arguments"), len(todo)):
            usage.add(given)
            sessions.append([*given.first])
        found = run(statistics_of, map(usage.of_sessions, sessions), todo)
        for one in _told(found, partial(progress, "answers"), len(todo)):
            merged = merged.merge(one)
    return merged.ordered()


def usage_of(piece: Piece) -> Usage:
    """Read only what agents gave to tools."""
    usage = Usage()
    for line in lines(piece):
        _add_arguments(usage, line)
    return usage


def statistics_of(usage: Usage, piece: Piece) -> TrafficStatistics:
    """Read the calls of a piece."""
    found = TrafficStatistics()
    for one in read_piece(piece):
        if isinstance(one, ToolCall):
            found.add(one, usage)
        elif one is None:
            found.torn += 1
        else:
            found.define(*one)
    return found.ordered()


def _add_arguments(usage: Usage, line: bytes) -> None:
    """Take the arguments of a line, which stand before its result: most of the line need not be parsed."""
    head, between, _ = line.partition(_RESULT)
    try:
        data = orjson.loads(head + b"}" if between else line)
    except orjson.JSONDecodeError:
        try:  # an argument may be called result too
            data = orjson.loads(line)
        except orjson.JSONDecodeError:
            return
    if isinstance(data, dict) and "time" in data:
        session = data.get("session", "")
        usage.first.setdefault(session, {})
        if data.get("arguments"):
            usage.add_call(ToolCall("", None, session=session, time=seconds(data["time"]), arguments=data["arguments"]))


def _told(found: Iterable[Found], progress: Callable[[int, int], None], total: int) -> Iterator[Found]:
    for done, one in enumerate(found, 1):
        yield one
        progress(done, total)


@contextmanager
def parallel(
    size: int, workers: int | None = None, scheduler: str | None = None
) -> Iterator[Callable[..., Iterable[Any]]]:
    """Give a `map` whose results come in order: in this process for a small `size`, in others, or on a cluster."""
    if scheduler is not None:
        with _dask(scheduler) as run:
            yield run
        return
    workers = workers or os.cpu_count() or 1
    if workers == 1 or size < _IN_PROCESS:
        yield map
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool.map


@contextmanager
def _dask(scheduler: str) -> Iterator[Callable[..., Iterable[Any]]]:
    try:
        from distributed import Client  # noqa: PLC0415 (an extra)
    except ImportError:
        raise TrafficError('--scheduler needs an extra: pip install "shaping[dask]"') from None
    try:
        client = Client(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]  # as distributed has it
    except OSError:
        raise TrafficError(f"no Dask scheduler answers at {scheduler}") from None
    with client:

        def run(function: Callable[..., Found], *todo: Iterable[Any]) -> Iterator[Found]:
            # A worker that dies loses its pieces to another one.
            futures = client.map(function, *map(list, todo), pure=False, retries=2)
            yield from (future.result() for future in futures)

        yield run
