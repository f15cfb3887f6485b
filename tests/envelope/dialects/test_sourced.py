from typing import Any

import pytest

from shaping.envelope import (
    CommandMeta,
    Envelope,
    EnvelopeError,
    HttpMeta,
    LocalMeta,
    McpMeta,
    command_envelope,
    http_envelope,
    local_envelope,
    mcp_envelope,
)
from shaping.errors import make_error


def test_a_local_answer_names_its_operation_and_time() -> None:
    assert local_envelope({"a_b": 1}, "ns.op", timestamp=1700000000000).render("sourced") == {
        "data": {"a_b": 1},
        "meta": {"source": "local", "operationId": "ns.op", "timestamp": 1700000000000},
    }


def test_repeated_headers_are_joined_and_cookies_stay_apart() -> None:
    pairs = [("Vary", "a"), ("vary", "b"), ("Set-Cookie", "a=1, x"), ("Set-Cookie", "b=2"), ("Content-Type", "t/p")]
    assert http_envelope("x", status=200, headers=pairs).render("sourced") == {
        "data": "x",
        "meta": {
            "source": "http",
            "statusCode": 200,
            "headers": {"vary": "a, b", "set-cookie": ["a=1, x", "b=2"], "content-type": "t/p"},
            "contentType": "t/p",
        },
    }


def test_an_mcp_answer_mirrors_the_result() -> None:
    envelope = mcp_envelope(
        {"a": 1},
        content=[{"type": "image", "data": "AA==", "mimeType": "image/png"}],
        structured_content={"a": 1},
        protocol_meta={"k": 1},
    )
    assert envelope.render("sourced") == {
        "data": {"a": 1},
        "meta": {
            "source": "mcp",
            "isError": False,
            "content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}],
            "structuredContent": {"a": 1},
            "_meta": {"k": 1},
        },
    }


def test_a_commands_answer_tells_how_it_ended() -> None:
    envelope = command_envelope("", argv=["git", "log"], exit_code=137, signal=9, error=make_error("ABORTED", "killed"))
    assert envelope.render("sourced") == {
        "data": "",
        "meta": {
            "source": "command",
            "exitCode": 137,
            "argv": ["git", "log"],
            "signal": 9,
            "error": {
                "code": "ABORTED",
                "message": "killed",
                "hint": "The call was stopped before it finished; check what was done.",
                "retryable": False,
                "http": 499,
            },
        },
    }


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("BAD_ARGUMENT", "VALIDATION_ERROR"),
        ("PERMISSION_DENIED", "ACCESS_DENIED"),
        ("INTERNAL_ERROR", "EXECUTION_ERROR"),
        ("TIMEOUT", "TIMEOUT"),
    ],
)
def test_codes_are_spelt_as_the_operations_contract_does(ours: str, theirs: str) -> None:
    wire = local_envelope(None, "op", error=make_error(ours, "x")).render("sourced")
    assert wire["meta"]["error"]["code"] == theirs
    back = Envelope.parse(wire)
    assert back.error is not None
    assert back.error.code == ours


def test_the_common_members_are_in_camel_case() -> None:
    envelope = local_envelope(1, "op", duration_ms=2, request_id="r", timestamp=1, warnings=["slow"], trace="t")
    assert envelope.render("sourced", include={"duration_ms", "warnings"})["meta"] == {
        "source": "local",
        "operationId": "op",
        "timestamp": 1,
        "requestId": "r",
        "durationMs": 2,
        "warnings": ["slow"],
        "trace": "t",
    }


def test_debug_shows_members_that_are_null() -> None:
    meta = mcp_envelope(1).render("sourced", debug=True)["meta"]
    assert (meta["structuredContent"], meta["_meta"], meta["error"], meta["warnings"]) == (None, None, None, [])
    assert meta["durationMs"] is None


def test_json_of_the_model_itself_is_read_too() -> None:
    envelope = http_envelope("x", status=404, headers=[("a", "1"), ("a", "2")], error=make_error("NOT_FOUND", "x"), k=1)
    assert Envelope.parse(envelope.model_dump(mode="json")) == envelope


@pytest.mark.parametrize(
    ("meta", "code", "message"),
    [
        (
            {"source": "mcp", "isError": True, "content": [{"type": "text", "text": "it broke"}]},
            "INTERNAL_ERROR",
            "it broke",
        ),
        ({"source": "mcp", "isError": True, "content": []}, "INTERNAL_ERROR", "The tool reported an error."),
        ({"source": "http", "statusCode": 404, "headers": {}, "contentType": ""}, "NOT_FOUND", "HTTP 404 Not Found"),
        ({"source": "command", "exitCode": 3, "argv": []}, "INTERNAL_ERROR", "The command exited with 3"),
        (
            {"source": "command", "exitCode": -9, "argv": [], "signal": 9},
            "ABORTED",
            "The command was ended by signal 9",
        ),
    ],
)
def test_a_failure_that_tells_no_error_gets_one(meta: dict[str, Any], code: str, message: str) -> None:
    envelope = Envelope.parse({"data": None, "meta": meta})
    assert envelope.error is not None
    assert (envelope.ok, envelope.error.code, envelope.error.message) == (False, code, message)


@pytest.mark.parametrize(
    ("meta", "read"),
    [
        ({"source": "local", "operationId": "op", "timestamp": 1}, LocalMeta(operation_id="op", timestamp=1)),
        (
            {"source": "http", "statusCode": 200, "headers": {"a": ["1", "2"], "b": "3"}, "contentType": "t"},
            HttpMeta(status=200, headers=(("a", "1"), ("a", "2"), ("b", "3")), content_type="t"),
        ),
        (
            {"source": "mcp", "isError": False, "content": [{"type": "new"}], "x": 1},
            McpMeta(content=({"type": "text", "text": '{"type":"new"}'},), extensions={"x": 1}),
        ),
        ({"source": "mcp", "isError": False, "content": None}, McpMeta()),
        ({"source": "command", "exitCode": 0, "argv": ["a"]}, CommandMeta(argv=("a",))),
    ],
)
def test_meta_is_read_by_its_source(meta: dict[str, Any], read: Any) -> None:
    assert Envelope.parse({"data": 1, "meta": meta}, "sourced").meta == read


@pytest.mark.parametrize(
    "wire",
    [
        {},
        {"data": 1, "meta": {}},
        {"data": 1, "meta": {"source": "web"}},
        {"data": 1, "meta": {"source": "http"}},
        {"data": 1, "meta": {"source": "http", "statusCode": "ok"}},
        {"data": 1, "meta": {"source": "http", "statusCode": 200, "headers": [5]}},
        {"data": 1, "meta": {"source": "local", "error": "text"}},
        {"data": 1, "meta": {"source": "local", "error": {"code": 1}}},
        {"data": 1, "meta": {"source": ["local"]}},
    ],
)
def test_a_wire_form_that_cannot_be_read_is_refused(wire: Any) -> None:
    with pytest.raises(EnvelopeError):
        Envelope.parse(wire, "sourced")
