"""Counting and writing away from the caller: a queue that drops and counts what it cannot hold, and never blocks."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shaping.ledger.entries import Kind, LedgerDatabase, LedgerEntry, LedgerError, MeasuredCall, Totals, add_up
from shaping.redaction import without_secrets
from shaping.settings.files import ledger_path
from shaping.store.keeper import BackgroundQueue
from shaping.tokens.counters import count_closely, counter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path


logger = logging.getLogger("shaping")

_BATCH: Final = 16  # calls that are counted at once; each that waits holds what its tool sent
_MOST_LABELS: Final = 1_000
_LONGEST_NAME: Final = 200  # characters: names come from servers and clients, and the file is bounded by its lines
_CATCH_UP_SECONDS: Final = 5.0
_EXIT_SECONDS: Final = 2.0  # how long a process whose ledger nobody closed may wait for it at its end


class Ledger:
    """Takes calls, counts their tokens on its own thread, keeps the sums in memory and writes all to a file."""

    def __init__(self, database: LedgerDatabase | None = None, *, tokenizer: str = "o200k_base") -> None:
        self._database = database
        self._tokenizer = tokenizer
        self._totals = Totals()
        self._by_label: dict[MetricLabels, Totals] = {}
        self._telemetry = Telemetry()
        self._warned = False
        self._waiting = BackgroundQueue("shaping-ledger", self._enter, batch=_BATCH, exit_seconds=_EXIT_SECONDS)

    def record(self, call: MeasuredCall) -> None:
        """Take a call; where too many wait already it is dropped, and that is counted."""
        if (context := trace_context(call.trace)) is not call.trace:
            call = replace(call, trace=context)
        self._waiting.put(call)

    def catch_up(self, most: int) -> None:
        """Wait a little until no more than so many calls are still to be counted: each holds on to its answer."""
        queue = self._waiting
        queue.wait_for(lambda: len(queue.waiting) + len(queue.taken) <= most, _CATCH_UP_SECONDS)

    @property
    def dropped(self) -> int:
        """How many calls could not be counted."""
        return self._waiting.dropped

    def totals(self) -> Totals:
        """Return the sums over all that was recorded here and is counted."""
        return self._totals

    def metrics(self) -> str:
        """Write what was recorded here in the text format of Prometheus."""
        return prometheus_text(dict(self._by_label), self.dropped)

    def flush(self, timeout: float = 10.0) -> bool:
        """Wait until what was recorded so far is counted and written; return whether it was in time."""
        return self._waiting.flush(timeout)

    def close(self, timeout: float = 2.0) -> bool:
        """Write what is waiting, and stop; return whether that was done in time, else the rest is given up."""
        return self._waiting.close(timeout)

    def _enter(self, calls: list[MeasuredCall]) -> None:
        counted = [(call, entry) for call in calls if (entry := _counted(call, self._tokenizer)) is not None]
        entries = [entry for _, entry in counted]
        self._telemetry.record(counted)
        self._totals += add_up(entries)
        self._label(entries)
        self._write(entries)

    def _label(self, entries: list[LedgerEntry]) -> None:
        for entry in entries:
            labels = MetricLabels(entry.server, entry.tool, entry.client, entry.kind)
            if labels not in self._by_label and len(self._by_label) >= _MOST_LABELS:
                labels = MetricLabels("", "(other)", "", entry.kind)  # names come from outside and may be any number
            self._by_label[labels] = self._by_label.get(labels, Totals()) + add_up([entry])

    def _write(self, entries: list[LedgerEntry]) -> None:
        unwritten = self._waiting.new_drops()
        if self._database is None or not (entries or unwritten):
            return
        try:
            self._database.add(entries, dropped=unwritten)
        except LedgerError as problem:
            if not self._warned:
                self._warned = True
                logger.warning("%s; savings are counted in memory only", problem)


def open_ledger(environ: Mapping[str, str] = os.environ, *, tokenizer: str = "o200k_base") -> Ledger | None:
    """Open the user's ledger, or give None where SHAPING_LEDGER switches it off."""
    path = ledger_path(environ)
    return None if path is None else Ledger(LedgerDatabase(path), tokenizer=tokenizer)


@cache
def _ledger_of_process(path: Path, tokenizer: str) -> Ledger:
    return Ledger(LedgerDatabase(path), tokenizer=tokenizer)


def record_text(
    tool: str,
    before: str | Callable[[], str],
    after: str | Callable[[], str],
    *,
    kind: Kind = "call",
    tokenizer: str = "o200k_base",
    environ: Mapping[str, str] = os.environ,
    **about: Any,
) -> None:
    """Record a call by the text that a model would have read and the text that it reads, for any kind of caller.

    A text may be a function, which is called later on the ledger's thread; `about` is what `MeasuredCall` has besides.
    All callers of a process share one ledger. Nothing is recorded where SHAPING_LEDGER is off.
    """
    path = ledger_path(environ)
    if path is None:
        return
    sent, read = (partial(str, text) if isinstance(text, str) else text for text in (before, after))
    added = None if kind == "call" else read
    _ledger_of_process(path, tokenizer).record(MeasuredCall(tool, sent, read, added, kind, **about))


def _counted(call: MeasuredCall, tokenizer: str) -> LedgerEntry | None:
    """Count a call's texts; one that cannot be counted is left out, with a warning in the log."""
    try:
        sent, read = call.before(), call.after()
        before, after = count_closely(sent, tokenizer), count_closely(read, tokenizer)
        added = count_closely(call.added(), tokenizer) if call.added is not None else 0
        ref = call.keep(read) if call.keep is not None else None
        named: Any = {name: _name(getattr(call, name)) for name in ("tool", "server", "client", "session")}
        known: Any = {name: getattr(call, name) for name in ("time", "kind", "profile", "config", "milliseconds")}
        return LedgerEntry(
            before=int(before),
            after=int(after),
            added=int(added),
            **named,
            **known,
            tokenizer=counter(tokenizer).name,
            error_bound=max(before.error_bound, after.error_bound) / 100,  # counts have theirs in percent
            ref=ref,
        )
    except Exception:  # (whatever a text's maker raises, the ledger goes on)
        logger.warning("the ledger could not count a call of %r", call.tool, exc_info=True)
        return None


@lru_cache(maxsize=1024)
def _name(name: str) -> str:
    """Return a name as the ledger has it: short, and without a secret that somebody put into it."""
    return without_secrets(name[:_LONGEST_NAME]) if name else ""


CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class MetricLabels(NamedTuple):
    """What a sum is of."""

    server: str
    tool: str
    client: str
    kind: str


_METRICS: Final[tuple[tuple[str, str, Callable[[Totals], float]], ...]] = (
    ("shaping_calls_total", "Tool results that were shaped.", lambda total: total.calls),
    ("shaping_expansions_total", "Expansions and queries of what was left out.", lambda total: total.expansions),
    ("shaping_tokens_before_total", "Tokens that models would have read unshaped.", lambda total: total.before),
    ("shaping_tokens_after_total", "Tokens that models read.", lambda total: total.after),
    ("shaping_tokens_added_total", "Tokens of these that no tool sent.", lambda total: total.added),
    ("shaping_seconds_total", "Time that shaping took.", lambda total: total.milliseconds / 1000),
)


def prometheus_text(sums: Mapping[MetricLabels, Totals], dropped: int) -> str:
    """Write sums by their labels, and how many calls could not be counted."""
    return "\n".join(_lines(sums, dropped)) + "\n"


def _lines(sums: Mapping[MetricLabels, Totals], dropped: int) -> Iterator[str]:
    for name, words, value in _METRICS:
        yield f"# HELP {name} {words}"
        yield f"# TYPE {name} counter"
        for labels, total in sums.items():
            written = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels._asdict().items())
            yield f"{name}{{{written}}} {round(value(total), 6)}"
    yield "# HELP shaping_calls_dropped_total Calls that came too fast to be counted."
    yield "# TYPE shaping_calls_dropped_total counter"
    yield f"shaping_calls_dropped_total {dropped}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


_SCOPE: Final = "shaping"


def trace_context(sent: Mapping[str, str] | None = None) -> Any:
    """Return the OpenTelemetry context of now, or the one that a client sent where no span is open.

    None where nothing in this process has loaded OpenTelemetry.
    """
    if "opentelemetry.context" not in sys.modules:
        return None
    from opentelemetry import context, propagate, trace  # noqa: PLC0415 (an optional package, loaded by now)

    if sent is None or trace.get_current_span().get_span_context().is_valid:
        return context.get_current()
    return propagate.extract(sent)


class Telemetry:
    """Reports counted calls; without OpenTelemetry it does nothing."""

    def record(self, counted: Iterable[tuple[MeasuredCall, LedgerEntry]]) -> None:
        """Report calls that were made in a process with OpenTelemetry."""
        for call, entry in counted:
            if call.trace is not None:
                self._report(call, entry)

    @cached_property
    def _instruments(self) -> tuple[Any, list[tuple[Callable[..., None], Callable[[LedgerEntry], float]]]]:
        from opentelemetry import metrics, trace  # noqa: PLC0415 (an optional package, loaded by now)

        meter = metrics.get_meter(_SCOPE)
        count, time = meter.create_counter, meter.create_histogram
        return trace.get_tracer(_SCOPE), [
            (count("shaping.calls", "{call}", "Tool calls whose results were shaped.").add, lambda _: 1),
            (count("shaping.tokens.before", "{token}", _METRICS[2][1]).add, lambda entry: entry.before),
            (count("shaping.tokens.after", "{token}", _METRICS[3][1]).add, lambda entry: entry.after),
            (
                time("shaping.duration", "s", "Time that shaping a result took.").record,
                lambda entry: entry.milliseconds / 1000,
            ),
        ]

    def _report(self, call: MeasuredCall, entry: LedgerEntry) -> None:
        tracer, meters = self._instruments
        who = {"gen_ai.tool.name": entry.tool, "shaping.kind": entry.kind}
        who |= {f"shaping.{name}": said for name in ("server", "client") if (said := getattr(entry, name))}
        for report, value in meters:
            report(value(entry), who)
        end = int(entry.time * 1e9)
        start, attributes = end - int(entry.milliseconds * 1e6), who | _details(entry)
        span = tracer.start_span(f"shaping {entry.tool}", context=call.trace, start_time=start, attributes=attributes)
        span.end(end)


def _details(entry: LedgerEntry) -> dict[str, str | int]:
    """Return what a span says besides, which would be too many values for the labels of a metric."""
    said: dict[str, str | int] = {
        "gen_ai.operation.name": "execute_tool",
        "shaping.tokens.before": entry.before,
        "shaping.tokens.after": entry.after,
        "shaping.tokens.added": entry.added,
        "shaping.profile": entry.profile,
        "shaping.config": entry.config,
    }
    if entry.session:
        said |= {"mcp.session.id": entry.session, "mcp.method.name": "tools/call"}
    return said
