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
from shaping.learning.traffic import Piece, ToolCall, TrafficError, opened, pieces, read_piece, seconds
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
    with _mapping(todo, workers, scheduler) as run:
        usage = _merged(run(usage_of, todo), Usage(), partial(progress, "arguments"), len(todo))
        found = run(partial(statistics_of, usage), todo)
        merged: TrafficStatistics = _merged(found, TrafficStatistics(), partial(progress, "answers"), len(todo))
        return merged.ordered()


def run_over(function: Callable[[Piece], Found], todo: list[Piece], workers: int | None = None) -> Iterator[Found]:
    """Run a function over pieces of traffic, in several processes where there is much of it."""
    with _mapping(todo, workers, None) as run:
        yield from run(function, todo)


def usage_of(piece: Piece) -> Usage:
    """Read only what agents gave to tools."""
    usage = Usage()
    with opened(piece.path) as file:
        if piece.start:
            file.seek(piece.start - 1)
            file.readline()
        at = file.tell() if piece.end is not None else 0
        for line in file:
            if piece.end is not None and at >= piece.end:
                break
            at += len(line)
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
    return found


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
    if isinstance(data, dict) and data.get("arguments"):
        usage.add_call(
            ToolCall("", None, session=data.get("session", ""), time=seconds(data["time"]), arguments=data["arguments"])
        )


def _merged(found: Iterable[Any], start: Any, progress: Callable[[int, int], None], total: int) -> Any:
    merged = start
    for done, one in enumerate(found, 1):
        merged = merged.merge(one)
        progress(done, total)
    return merged


@contextmanager
def _mapping(todo: list[Piece], workers: int | None, scheduler: str | None) -> Iterator[Callable[..., Iterable[Any]]]:
    """Give a way to run a function over all pieces: here, in other processes, or on a cluster."""
    if scheduler is not None:
        with _dask(scheduler) as run:
            yield run
        return
    workers = min(workers or os.cpu_count() or 1, len(todo))
    size = sum((piece.end or piece.path.stat().st_size) - piece.start for piece in todo)
    if workers == 1 or size < _IN_PROCESS:
        yield map
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool.map


@contextmanager
def _dask(scheduler: str) -> Iterator[Callable[..., Iterable[Any]]]:
    try:
        from distributed import Client, as_completed  # noqa: PLC0415 (an extra)
    except ImportError:
        raise TrafficError('--scheduler needs an extra: pip install "shaping[dask]"') from None
    try:
        client = Client(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]  # as distributed has it
    except OSError:
        raise TrafficError(f"no Dask scheduler answers at {scheduler}") from None
    with client:

        def run(function: Callable[[Piece], Found], todo: list[Piece]) -> Iterator[Found]:
            # A worker that dies loses its pieces to another one; results are merged here as they come.
            futures = client.map(function, todo, pure=False, retries=2)
            done = as_completed(futures, with_results=True, loop=client.loop)  # type: ignore[no-untyped-call]  # the same
            yield from (found for _, found in done)

        yield run
