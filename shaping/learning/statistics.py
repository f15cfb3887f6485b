"""Statistics of recorded traffic, read in several processes or on a cluster, and merged."""

from __future__ import annotations

import hashlib
import os
import re
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from shaping.learning.traffic import ToolCall, TrafficError, Usage, Used, read_file, traffic_files
from shaping.noise.vocabulary import LINK_STARTS
from shaping.paths import join
from shaping.settings.plan import full_name
from shaping.tokens import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path


Found = TypeVar("Found")
_IN_PROCESS: Final = 4_000_000  # bytes that are read sooner than other processes have started
_CONNECT_SECONDS: Final = 15
_ID: Final = re.compile(r"(?=.*\d)[\w.:-]{6,}|\d+|.*[/@:. ].*")
_MANY_KEYS: Final = 24  # members from which on an object's keys may be ids

_MOST_FIELDS: Final = 4_000  # of one tool; a tool whose keys are data has no end of them
_MOST_VALUES: Final = 24  # distinct values of a field that are kept
_LONGEST_VALUE: Final = 60  # characters of a value that is kept
_SAMPLES: Final = 24  # calls of a tool that are kept whole, on which rules are measured
_SAMPLE_BYTES: Final = 250_000
_SUMS: Final = ("calls", "values", "bytes", "empty", "links", "equal", "used")


@dataclass(slots=True)
class FieldStatistics:
    """One field of a tool's answers, all its values together."""

    calls: int = 0  # in which it stands
    values: int = 0
    bytes: int = 0  # of its values and names as compact JSON
    empty: int = 0  # nulls, empty texts and empty containers
    links: int = 0
    equal: int = 0  # values that stand in a sibling of theirs already
    used: int = 0  # values that an agent used later
    last_used: int = 0  # the place in the list, counted from 1, of the last element whose value was used
    longest: int = 0  # the longest list or text that stands here
    types: frozenset[str] = frozenset()
    distinct: frozenset[str] | None = frozenset()  # None where there are many
    sources: frozenset[str] | None = None  # siblings whose value every link here has in its path; None without links
    sample: str = ""

    def take(self, value: Any) -> None:
        """Take one value: a scalar, a list, or an empty object."""
        kind = _TYPES.get(type(value), "object")
        if kind not in self.types:
            self.types |= {kind}
        self.values += 1
        self.empty += not value and kind not in {"number", "boolean"}
        if kind in {"text", "list"}:
            self.longest = max(self.longest, len(value))
        if kind == "list":
            return
        if kind == "text":
            written, short = value, len(value) <= _LONGEST_VALUE
            self.bytes += len(value) + 2
            self.links += value.startswith(LINK_STARTS)
        else:
            written, short = str(value) if type(value) is int else orjson.dumps(value).decode(), True
            self.bytes += len(written)
        if self.distinct is not None and written not in self.distinct:
            self.distinct = self.distinct | {written} if short and len(self.distinct) < _MOST_VALUES else None
        if written and (not self.sample or written[:_LONGEST_VALUE] < self.sample):
            self.sample = written[:_LONGEST_VALUE]

    def merge(self, other: FieldStatistics) -> FieldStatistics:
        """Return the statistics of both."""
        distinct = None if self.distinct is None or other.distinct is None else self.distinct | other.distinct
        return FieldStatistics(
            **{name: getattr(self, name) + getattr(other, name) for name in _SUMS},
            last_used=max(self.last_used, other.last_used),
            longest=max(self.longest, other.longest),
            types=self.types | other.types,
            distinct=None if distinct is None or len(distinct) > _MOST_VALUES else distinct,
            sources=_common(self.sources, other.sources),
            sample=min(filter(None, (self.sample, other.sample)), default=""),
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """One call that is kept whole, and the values of its answer that were used later."""

    written: bytes  # the fields of the call as JSON: that costs less to send and to keep than the call itself
    used: frozenset[str] = frozenset()

    @property
    def call(self) -> ToolCall:
        """The call."""
        return ToolCall(*orjson.loads(self.written))


@dataclass(slots=True)
class ToolStatistics:
    """All calls of one tool: how many, what they cost, what fields they have, and some of them whole."""

    server: str
    tool: str
    form: str = "mcp"
    calls: int = 0
    tokens: int = 0  # that a model reads without shaping
    error: int = 0  # tokens by which these may be wrong: long texts are counted by samples
    used: int = 0  # values that an agent used later
    arguments: frozenset[str] = frozenset()  # names that it is called with
    fields: dict[str, FieldStatistics] = field(default_factory=dict)
    samples: dict[str, Sample] = field(default_factory=dict)  # by the hash of their content, the smallest ones

    @property
    def name(self) -> str:
        """The name by which a config has rules for the tool."""
        return full_name(self.tool, self.server) if self.form == "mcp" else self.tool

    def merge(self, other: ToolStatistics) -> ToolStatistics:
        """Return the statistics of both; the order of merging does not matter."""
        merged = dict(self.fields)
        for path, found in other.fields.items():
            if path in merged:
                merged[path] = merged[path].merge(found)
            elif len(merged) < _MOST_FIELDS:
                merged[path] = found
        return replace(
            self,
            **{name: getattr(self, name) + getattr(other, name) for name in ("calls", "tokens", "error", "used")},
            arguments=self.arguments | other.arguments,
            fields=merged,
            samples=_smallest({**self.samples, **other.samples}),
        )

    def add(self, call: ToolCall, used: Used) -> None:
        """Take one call."""
        self.calls += 1
        tokens = count(call.text_before())
        self.tokens += tokens
        self.error += round(tokens * tokens.error_bound / 100)
        if isinstance(call.arguments, dict):
            self.arguments |= call.arguments.keys()
        walk = _StatisticsWalk(self, used)
        for data in call.data():
            walk.add(data, "", "", 0)
        self.used += len(walk.used)
        written = orjson.dumps([getattr(call, name) for name in _CALL_FIELDS], option=orjson.OPT_NON_STR_KEYS)
        digest = hashlib.blake2b(written, digest_size=8).hexdigest()
        if not call.failed and (len(self.samples) < _SAMPLES or digest < max(self.samples)):
            self.samples = _smallest({**self.samples, digest: Sample(written, frozenset(walk.used))})


class _StatisticsWalk:
    """Adds the fields of one call to a tool's statistics."""

    def __init__(self, tool: ToolStatistics, used: Used) -> None:
        self._fields, self._used = tool.fields, used
        self._paths: set[str] = set()
        self.used: set[str] = set()

    def add(self, value: Any, path: str, key: str, place: int) -> None:
        """Take a value at a path; `place` is that of the list's element which it is part of."""
        kind = type(value)
        if kind is dict and value:
            self._object(value, path, place)
            return
        here = self._fields.get(path)
        if here is None:
            if len(self._fields) >= _MOST_FIELDS:
                return
            here = self._fields[path] = FieldStatistics()
        if path not in self._paths:
            self._paths.add(path)
            here.calls += 1
        here.take(value)
        if kind is list:
            below = f"{path}[]"
            for at, item in enumerate(value, 1):
                self.add(item, below, key, at)
            return
        if self._used and (found := self._used(key, value)):
            here.used += len(found)
            here.last_used = max(here.last_used, place)
            self.used.update(found)

    def _object(self, value: dict[str, Any], path: str, place: int) -> None:
        keyed = is_keyed_by_ids(value)
        texts: set[str] = set()
        for name, item in value.items():
            below = f"{path}.*".removeprefix(".") if keyed else _member_path(path, name)
            self.add(item, below, name, place)
            here = self._fields.get(below)
            if here is None:
                continue
            here.bytes += len(name) + 4
            if type(item) is str and len(item) > 3:
                here.equal += item in texts
                texts.add(item)
                if here.sources != frozenset() and item.startswith(LINK_STARTS):
                    here.sources = _sources(item, value, value if here.sources is None else here.sources)


# The members of one record are those of the next.
_member_path = lru_cache(maxsize=_MOST_FIELDS)(join)

_TYPES: Final = {str: "text", list: "list", int: "number", float: "number", bool: "boolean", type(None): "null"}
_CALL_FIELDS: Final = ("tool", "result", "form", "server", "client", "session", "time", "arguments")


@dataclass(slots=True)
class TrafficStatistics:
    """All tools of some traffic, and the last definitions of them that it holds."""

    tools: dict[tuple[str, str], ToolStatistics] = field(default_factory=dict)
    definitions: dict[str, tuple[float, list[dict[str, Any]]]] = field(default_factory=dict)  # by server

    def merge(self, other: TrafficStatistics) -> TrafficStatistics:
        """Return the statistics of both."""
        tools = dict(self.tools)
        for key, found in other.tools.items():
            tools[key] = tools[key].merge(found) if key in tools else found
        definitions = dict(self.definitions)
        for server, defined in other.definitions.items():
            # Of two at one time any may be taken, but always the same one.
            definitions[server] = max(defined, definitions.get(server, defined), key=lambda one: (one[0], repr(one[1])))
        return TrafficStatistics(tools, definitions)

    def add(self, call: ToolCall, usage: Usage) -> None:
        """Take one call."""
        tool = ToolStatistics(call.server, call.tool, call.form)
        self.tools.setdefault((call.server, call.tool), tool).add(call, usage.used(call))

    def argument_names(self, server: str) -> frozenset[str]:
        """Return the names of arguments that the tools of a server are called with."""
        return frozenset().union(*(one.arguments for one in self.tools.values() if one.server == server))

    def define(self, time: float, server: str, tools: list[dict[str, Any]]) -> None:
        """Take the definitions of a server's tools."""
        self.definitions = self.merge(TrafficStatistics({}, {server: (time, tools)})).definitions

    def ordered(self) -> TrafficStatistics:
        """Return the same in an order that does not depend on how the files were read."""
        tools = {
            key: replace(found, fields=dict(sorted(found.fields.items()))) for key, found in sorted(self.tools.items())
        }
        return TrafficStatistics(tools, dict(sorted(self.definitions.items())))


def _smallest(samples: Mapping[str, Sample]) -> dict[str, Sample]:
    """Keep the calls with the smallest hashes, which any order of merging gives, within their bound of bytes."""
    kept: dict[str, Sample] = {}
    left = _SAMPLE_BYTES
    for digest in sorted(samples)[:_SAMPLES]:
        left -= len(samples[digest].written)
        if left < 0 and kept:
            break
        kept[digest] = samples[digest]
    return kept


def _sources(link: str, record: Mapping[str, Any], names: Iterable[str]) -> frozenset[str]:
    """Return those of some members of a record whose value is a part of a link's path."""
    values = ((name, record.get(name)) for name in names)
    return frozenset(name for name, item in values if item and type(item) in (str, int) and f"/{item}/" in f"{link}/")


def _common(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return other if one is None else one if other is None else one & other


def is_keyed_by_ids(value: dict[str, Any]) -> bool:
    """Return whether the keys of an object are data (ids, paths, dates), and not the names of its members."""
    return len(value) >= _MANY_KEYS and all(map(_ID.fullmatch, value))


def read_traffic(
    folder: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> TrafficStatistics:
    """Read all recordings of a folder; `progress` is told what is done, how many files of it, and of how many."""
    todo = traffic_files(folder)
    with parallel(sum(path.stat().st_size for path in todo), workers, scheduler) as run:
        usage, merged = Usage(), TrafficStatistics()
        sessions = []
        for done, given in enumerate(run(_usage_of, todo), 1):
            usage.add(given)
            sessions.append([*given.first])
            progress("arguments", done, len(todo))
        for done, one in enumerate(run(statistics_of, map(usage.of_sessions, sessions), todo), 1):
            merged = merged.merge(one)
            progress("answers", done, len(todo))
    return merged.ordered()


def _usage_of(path: Path) -> Usage:
    """Read only what agents gave to tools."""
    usage = Usage()
    for one in read_file(path):
        if isinstance(one, ToolCall):
            usage.add_call(one)
    return usage


def statistics_of(usage: Usage, path: Path, each: Callable[[ToolCall], object] = lambda _: None) -> TrafficStatistics:
    """Read the calls of a recording, and give each to a function too."""
    found = TrafficStatistics()
    for one in read_file(path):
        if isinstance(one, ToolCall):
            found.add(one, usage)
            each(one)
        elif one is not None:
            found.define(*one)
    return found.ordered()


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
            # A worker that dies loses its files to another one.
            futures = client.map(function, *map(list, todo), pure=False, retries=2)
            yield from (future.result() for future in futures)

        yield run
