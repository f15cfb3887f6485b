"""The documents' own example envelopes keep their meaning when they are shaped once more."""

from __future__ import annotations

from typing import Any

import pytest

from shaping import Shaper, shape
from shaping.agent import interpret

SCAN = {"risk_level": "high", "vulnerabilities": []}
FACTS = {
    "tier": "pro",
    "tool_version": "3.3.0",
    "tool_id": "security_scan",
    "request_id": "8b3e5f6c",
    "duration_ms": 27,
}
NOT_FOUND = {"error": "File not found: /missing.py", "error_code": "not_found"}


def failed(error: dict[str, Any]) -> dict[str, Any]:
    return {"ok": False, "data": None, "error": error, "warnings": [], "meta": {"duration_ms": 5}}


REDIRECT = {"command": "tool users add --name alice", "permanent": True, "reason": "renamed"}
ENVELOPES: dict[str, Any] = {
    "lean success": {"data": SCAN},
    "lean success, debug": {**FACTS, "error": None, "upgrade_hints": [], "data": SCAN},
    "lean error": {"error": NOT_FOUND},
    "lean error, debug": {**FACTS, "error": {**NOT_FOUND, "error_details": None}, "upgrade_hints": [], "data": None},
    "flat success": {"ok": True, "value": "Submit", "_meta": {"estimated_tokens": 12, "elapsed_ms": 40}},
    "flat error": {
        "ok": False,
        "error": "no element e7",
        "code": "REF_NOT_FOUND",
        "hint": "Call snapshot first.",
        "retryable": False,
        "http": 404,
        "similar_refs": ["e8"],
        "_meta": {"estimated_tokens": 30, "elapsed_ms": 2},
    },
    "sourced local": {"data": {"n": 1}, "meta": {"source": "local", "operationId": "count", "timestamp": 1}},
    "sourced http": {
        "data": {"id": 7},
        "meta": {"source": "http", "statusCode": 200, "headers": {"etag": "x"}, "contentType": "application/json"},
    },
    "sourced mcp error": {
        "data": None,
        "meta": {"source": "mcp", "isError": True, "content": [{"type": "text", "text": "boom"}]},
    },
    "invariant success": {
        "ok": True,
        "data": {"id": "deploy-42", "status": "complete"},
        "error": None,
        "warnings": [],
        "meta": {"duration_ms": 340, "request_id": "req_abc123"},
    },
    "invariant page": {
        "ok": True,
        "data": [{"id": 1}],
        "error": None,
        "warnings": ["--old is deprecated"],
        "meta": {"duration_ms": 3, "truncated": True, "cursor": "c-2"},
    },
    "invariant not modified": {
        "ok": True,
        "data": None,
        "error": None,
        "warnings": [],
        "meta": {"duration_ms": 3, "not_modified": True},
    },
    "invariant wrong argument": failed(
        {
            "code": "INVALID_ENVIRONMENT",
            "message": "Unknown target environment 'prodution'",
            "retryable": True,
            "phase": "validation",
            "suggestion": "Valid environments: prod, staging, dev",
        }
    ),
    "invariant expired token": failed(
        {"code": "TOKEN_EXPIRED", "message": "Access token has expired", "retryable": True, "retry_after": 0}
    ),
    "invariant redirect": failed(
        {"code": "COMMAND_RENAMED", "message": "it was renamed", "retryable": True, "redirect": REDIRECT}
    ),
    "invariant rate limit": failed(
        {"code": "RATE_LIMIT_EXCEEDED", "message": "API rate limit reached", "retryable": True, "retry_after": 30}
    ),
}


def meaning(wire: Any, dialect: Any = None) -> tuple[Any, ...]:
    """What an agent does next with a response, and by what it decides."""
    decision = interpret(wire, dialect=dialect)
    error = getattr(decision, "error", None)
    return (
        decision.action,
        _without_empties(getattr(decision, "data", None)),
        getattr(decision, "cursor", None),
        getattr(decision, "command", None),
        error and (error.code, error.message, error.retry_after),
    )


def _without_empties(data: Any) -> Any:
    """Drop what every profile but debug drops."""
    return {key: value for key, value in data.items() if value != []} if isinstance(data, dict) else data


@pytest.mark.parametrize("dialect", ["lean", "flat", "sourced", "invariant"])
@pytest.mark.parametrize("profile", ["minimal", "standard", "debug"])
@pytest.mark.parametrize("wire", ENVELOPES.values(), ids=ENVELOPES.keys())
def test_a_documents_envelope_keeps_its_meaning_through_shaper_and_decorator(
    wire: Any, profile: str, dialect: Any
) -> None:
    shaper = Shaper({"global": {"profile": profile, "dialect": dialect}})
    shaped = shaper.shape(wire, tool="scan").value
    assert meaning(shaped) == meaning(wire)
    assert meaning(shape(shaper=shaper, tool="scan")(lambda: wire)()) == meaning(wire)


def test_a_documents_config_filters_inside_a_documents_envelope() -> None:
    shaper = Shaper({"tool_overrides": {"analyze_code": {"include_only": ["functions"]}}})
    wire = {"data": {"functions": ["f"], "imports": ["os"]}}
    assert shaper.shape(wire, tool="analyze_code").value == {"data": {"functions": ["f"]}}
