"""What a tool says about a call beside its data is as closed as the data: its error, its warnings, its own envelope."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shaping import Shaper, ToolError, note, shape
from shaping.tokens import exact

TOKEN = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
PRIVATE = "ada@example.com"
WORDS = " ".join(f"word{number}" for number in range(3000))
HELD = {"email": PRIVATE, "token": TOKEN, "text": WORDS}
WARNED = {"code": TOKEN, "message": f"email: {PRIVATE} {TOKEN} {WORDS}", "path": TOKEN}
ERROR = {"code": "NOT_FOUND", "message": f"{TOKEN} {WORDS}", "hint": f"email: {PRIVATE}", "details": {"rows": [HELD]}}
HINT = {"feature": TOKEN, "tier": "pro", "reason": f"email: {PRIVATE} {WORDS}"}
ENVELOPES: dict[str, dict[str, Any]] = {
    "invariant": {"ok": True, "data": 1, "error": None, "warnings": [WARNED], "meta": {"request_id": TOKEN, **HELD}},
    "invariant, failed": {"ok": False, "data": None, "error": ERROR, "warnings": [], "meta": {"more": HELD}},
    "lean": {"data": 1, "warnings": [WARNED], "upgrade_hints": [HINT], "request_id": TOKEN, "capabilities": [TOKEN]},
    "lean, failed": {"error": {"error": WORDS, "error_code": f"{TOKEN}{WORDS}", "error_details": HELD}},
    "flat": {"ok": True, "a": 1, "_meta": {"estimated_tokens": 1, "elapsed_ms": 1, "session_id": TOKEN, **HELD}},
    "flat, failed": {"ok": False, "error": ERROR, "_meta": {"estimated_tokens": 1, "elapsed_ms": 1, **HELD}},
    "HTTP": {"data": 1, "meta": {"source": "http", "status": 200, "headers": HELD, "contentType": TOKEN}},
    "MCP": {"data": 1, "meta": {"source": "mcp", "isError": False, "content": [], "_meta": HELD}},
    "a command": {"data": 1, "meta": {"source": "command", "exitCode": 0, "argv": ["a", TOKEN, WORDS], **HELD}},
    "local": {"data": 1, "meta": {"source": "local", "operationId": TOKEN, "timestamp": 1, **HELD}},
}


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("profile", ["minimal", "standard", "debug"])
@pytest.mark.parametrize("dialect", ["lean", "flat", "sourced", "invariant", "none"])
@pytest.mark.parametrize("envelope", ENVELOPES.values(), ids=ENVELOPES)
def test_an_envelope_of_the_tools_own_lets_nothing_out(envelope: dict[str, Any], dialect: str, profile: str) -> None:
    config = {"dialect": dialect, "profile": profile, "private": ["**.email"], "max_tokens": 400}
    shaper = Shaper({"global": config}, watch=False)
    for value in (envelope, json.dumps(envelope)):
        shaped = shaper.shape(value, tool="t", as_json=True)
        out = f"{shaped.text}{shaped.value}{shaped.warnings}{shaped.envelope}"
        assert TOKEN not in out
        assert PRIVATE not in out
        if profile != "debug":
            assert exact(shaped.text) <= 400
            assert exact(compact(shaped.value)) <= 400


@pytest.mark.parametrize(
    "raised",
    [
        ToolError("NOT_FOUND", WORDS),
        ToolError("NOT_FOUND", "no", details={"rows": [{"text": WORDS}] * 3}),
        ToolError("NOT_FOUND", "no", hint=WORDS, similar=[WORDS], next_actions=[WORDS]),
        ValueError(WORDS),
    ],
)
def test_an_error_that_is_raised_is_within_the_budget(raised: Exception) -> None:
    @shape(shaper=Shaper({"global": {"max_tokens": 400}}, watch=False))
    def fail() -> None:
        raise raised

    assert exact(compact(fail())) <= 400


def test_warnings_and_hints_of_a_tool_are_within_the_budget() -> None:
    config = {"global": {"max_tokens": 400, "profile": "standard", "envelope": {"include": ["warnings"]}}}

    @shape(shaper=Shaper(config, watch=False))
    def search() -> list[int]:
        for number in range(200):
            note(warning=f"source {number} is old", upgrade_hint={"feature": "x", "tier": "pro", "reason": WORDS})
        return [1, 2, 3]

    answer = search()
    assert exact(compact(answer)) <= 400
    assert answer["data"] == [1, 2, 3]


def test_paths_that_a_config_redacts_are_redacted_in_errors_too() -> None:
    @shape(shaper=Shaper({"global": {"redact": {"paths": ["**.ssn"]}}}, watch=False))
    def fail() -> None:
        raise ToolError("NOT_FOUND", "no", details={"person": {"ssn": "078-05-1120"}})

    assert "078-05-1120" not in json.dumps(fail())


@pytest.mark.parametrize("form", ["envelope", "text"])
def test_a_private_or_redacted_field_does_not_leave_in_what_a_tool_notes(form: Any) -> None:
    config = {"tool_overrides": {"*": {"private": ["**.email"], "redact": {"paths": ["**.pin"]}}}}

    @shape(shaper=Shaper(config), form=form)
    def tool() -> dict[str, int]:
        note(warning=f"the email is {PRIVATE}")
        note(warning="pin: 4711")
        note(warning="the index is an hour old")
        return {"a": 1}

    said = str(tool())
    assert PRIVATE not in said
    assert "4711" not in said
    assert "the index is an hour old" in said


def test_warnings_of_a_tools_own_envelope_that_are_left_out_are_counted_once() -> None:
    said = [{"code": "W", "message": f"warning {number} about a thing that is rather long"} for number in range(60)]
    odd = {"code": "W", "message": ", more warnings left out"}
    wire = {"ok": True, "data": {"a": 1}, "error": None, "warnings": [odd, *said], "meta": {}}
    shown = Shaper({"global": {"max_tokens": 400}}).shape(wire, tool="x").envelope.warnings
    assert shown[0].message == odd["message"]
    assert shown[-1].message == f"{61 - len(shown) + 1} more warnings left out"
