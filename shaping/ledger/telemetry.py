"""Metrics and a span per call by OpenTelemetry's API, where a process has loaded it.

Attributes that the GenAI and MCP conventions define have their names; there is none for what shaping saves.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.ledger.entries import LedgerEntry, MeasuredCall

_SCOPE: Final = "shaping"


def trace_context() -> Any:
    """Return the OpenTelemetry context of now; None where nothing in this process has loaded OpenTelemetry."""
    module = sys.modules.get("opentelemetry.context")
    return None if module is None else module.get_current()


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
