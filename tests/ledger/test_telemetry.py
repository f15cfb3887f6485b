"""Calls as OpenTelemetry's own SDK receives them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from shaping import Shaper, tokens
from shaping.ledger import Ledger, MeasuredCall
from shaping.mcp.mcp_shaper import MCPShaper
from shaping.mcp.sessions import Session

LONG, SHORT = "a tool sent a lot of words " * 40, "few words"


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[InMemorySpanExporter, InMemoryMetricReader]]:
    """Give the process providers of its own for one test."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(), MeterProvider([reader])
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: tracers)
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: meters)
    monkeypatch.setattr(trace, "get_tracer", tracers.get_tracer)
    monkeypatch.setattr(metrics, "get_meter", meters.get_meter)
    yield spans, reader
    tracers.shutdown()
    meters.shutdown()


def record(ledger: Ledger, **about: Any) -> None:
    ledger.record(MeasuredCall("search", lambda: LONG, lambda: SHORT, server="github", client="codex", **about))
    assert ledger.flush()


def test_each_call_is_a_span_below_the_one_that_was_open_when_it_was_made(
    exported: tuple[InMemorySpanExporter, InMemoryMetricReader],
) -> None:
    ledger = Ledger()
    with trace.get_tracer("test").start_as_current_span("a request") as request:
        record(ledger, session="s1", milliseconds=12.0, profile="minimal")
    ledger.close()
    span, parent = exported[0].get_finished_spans()
    assert (span.name, parent.name) == ("shaping search", "a request")
    assert span.parent is not None
    assert span.parent.span_id == request.get_span_context().span_id
    assert dict(span.attributes or {}) == {
        "gen_ai.tool.name": "search",
        "gen_ai.operation.name": "execute_tool",
        "mcp.method.name": "tools/call",
        "mcp.session.id": "s1",
        "shaping.kind": "call",
        "shaping.server": "github",
        "shaping.client": "codex",
        "shaping.profile": "minimal",
        "shaping.config": "",
        "shaping.tokens.before": tokens.exact(LONG),
        "shaping.tokens.after": tokens.exact(SHORT),
        "shaping.tokens.added": 0,
    }
    assert span.end_time is not None
    assert span.start_time is not None
    assert span.end_time - span.start_time == 12_000_000


def test_without_an_open_span_a_call_stands_below_the_one_that_the_client_sent(
    exported: tuple[InMemorySpanExporter, InMemoryMetricReader],
) -> None:
    mcp_shaper = MCPShaper(Shaper({}, watch=False), ledger=Ledger())
    session = Session(mcp_shaper.shaper.loaded_config, {"name": "codex", "version": "1"})
    sent = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    _, called = mcp_shaper.take_call(session, {"name": "search", "arguments": {}, "_meta": sent}, "")
    mcp_shaper.shape_result(session, called, {"content": [{"type": "text", "text": LONG}]})
    assert mcp_shaper.ledger is not None
    mcp_shaper.ledger.close()
    (span,) = exported[0].get_finished_spans()
    assert span.parent is not None
    assert f"{span.parent.trace_id:032x}-{span.parent.span_id:016x}" in sent["traceparent"]


def test_tokens_and_calls_are_counters(exported: tuple[InMemorySpanExporter, InMemoryMetricReader]) -> None:
    ledger = Ledger()
    record(ledger)
    record(ledger)
    ledger.close()
    data: Any = exported[1].get_metrics_data()
    found = {
        metric.name: next(iter(metric.data.data_points))
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert found["shaping.calls"].value == 2
    assert found["shaping.tokens.before"].value == 2 * tokens.exact(LONG)
    assert found["shaping.tokens.after"].value == 2 * tokens.exact(SHORT)
    assert found["shaping.duration"].count == 2
    assert found["shaping.calls"].attributes["gen_ai.tool.name"] == "search"


def test_a_process_without_opentelemetry_does_not_load_it() -> None:
    script = (
        "import sys\n"
        "from shaping.ledger import Ledger, MeasuredCall\n"
        "ledger = Ledger()\n"
        "ledger.record(MeasuredCall('a', lambda: 'b', lambda: 'b'))\n"
        "assert ledger.flush()\n"
        "assert not any(name.startswith('opentelemetry') for name in sys.modules), 'loaded'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
