"""Metrics and a span per call by OpenTelemetry's API, where a process has loaded it.

Attributes that the GenAI and MCP conventions define have their names; there is none for what shaping saves.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from shaping.ledger.entries import LedgerEntry, MeasuredCall, Totals


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
                self._instruments.record(call, entry)

    @cached_property
    def _instruments(self) -> _Instruments:
        from opentelemetry import metrics, trace  # noqa: PLC0415 (an optional package, loaded by now)

        meter = metrics.get_meter(_SCOPE)
        return _Instruments(
            trace.get_tracer(_SCOPE),
            meter.create_counter("shaping.calls", "{call}", "Tool calls whose results were shaped."),
            meter.create_counter("shaping.tokens.before", "{token}", "Tokens that models would have read unshaped."),
            meter.create_counter("shaping.tokens.after", "{token}", "Tokens that models read."),
            meter.create_histogram("shaping.duration", "s", "Time that shaping a result took."),
        )


@dataclass(frozen=True, slots=True)
class _Instruments:
    tracer: Any
    calls: Any
    before: Any
    after: Any
    duration: Any

    def record(self, call: MeasuredCall, entry: LedgerEntry) -> None:
        who = {"gen_ai.tool.name": entry.tool, "shaping.kind": entry.kind}
        if entry.server:
            who["shaping.server"] = entry.server
        if entry.client:
            who["shaping.client"] = entry.client
        self.calls.add(1, who)
        self.before.add(entry.before, who)
        self.after.add(entry.after, who)
        self.duration.record(entry.milliseconds / 1000, who)
        end = int(entry.time * 1e9)
        span = self.tracer.start_span(
            f"shaping {entry.tool}",
            context=call.trace,
            start_time=end - int(entry.milliseconds * 1e6),
            attributes=who | _details(entry),
        )
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
