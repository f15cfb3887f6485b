from __future__ import annotations

import json
from typing import Any

import pytest

from shaping.agent import (
    AcquireCredentials,
    Decision,
    FollowRedirect,
    GiveUp,
    Malformed,
    NextPage,
    RefreshCredentials,
    Retry,
    UseCache,
    UseData,
    interpret,
)
from shaping.envelope import command_envelope, http_envelope, local_envelope
from shaping.errors import ErrorDetail, Redirect, ToolError, from_exit_code, from_status, make_error


def whole(data: Any = None, error: Any = None, ok: bool | None = None, **meta: Any) -> dict[str, Any]:
    """Give an envelope of the invariant dialect."""
    return {
        "ok": error is None if ok is None else ok,
        "data": data,
        "error": error,
        "warnings": [],
        "meta": {"duration_ms": 1, **meta},
    }


def failed(code: str, **more: Any) -> dict[str, Any]:
    return whole(error={"code": code, "message": "no", **more})


def detail(code: str, **more: Any) -> ErrorDetail:
    return ErrorDetail(code=code, message="no", **more)


def test_data_of_a_success_is_used() -> None:
    assert interpret(whole({"id": 1})) == UseData({"id": 1})


@pytest.mark.parametrize(
    "wire",
    [
        json.dumps(whole([1])),
        json.dumps(whole([1])).encode(),
        bytearray(json.dumps(whole([1])).encode()),
        local_envelope([1], "op"),
        local_envelope([1], "op").render("lean"),
        local_envelope([1], "op").render("flat"),
        local_envelope([1], "op").render("sourced"),
        local_envelope([1], "op").render("invariant"),
        local_envelope([1], "op").render("none"),
        {"content": [{"type": "text", "text": "[1]"}], "isError": False},
        {"content": [], "structuredContent": [1]},
        {"content": [], "structuredContent": whole([1])},
    ],
)
def test_every_dialect_gives_the_same_data(wire: Any) -> None:
    assert interpret(wire) == UseData([1])


def test_an_object_in_the_flat_dialect_is_data_without_the_wrapping() -> None:
    assert interpret({"ok": True, "title": "x", "_meta": {}}) == UseData({"title": "x"})


def test_a_bare_scalar_of_the_invariant_dialect_comes_back_bare() -> None:
    assert interpret(local_envelope(7, "op").render("invariant")) == UseData(7)


ERROR = detail("NOT_FOUND", hint="Look elsewhere.", retryable=False, http=404)


@pytest.mark.parametrize("dialect", ["lean", "flat", "sourced", "invariant"])
def test_every_dialect_gives_the_same_failure(dialect: Any) -> None:
    decision = interpret(local_envelope(None, "op", error=ERROR).render(dialect, include={"error"}))
    assert isinstance(decision, GiveUp)
    assert (decision.error.code, decision.error.message, decision.error.hint) == ("NOT_FOUND", "no", "Look elsewhere.")


def test_errors_that_are_python_objects_are_read_too() -> None:
    error = ToolError("NOT_FOUND", "no")
    assert interpret(error) == interpret(error.detail) == GiveUp(error.detail)


def test_what_carries_an_envelope_is_read_by_it() -> None:
    class Shaped:
        envelope = local_envelope([1], "op")

    assert interpret(Shaped()) == UseData([1])


# The exit code beats ok.


def test_ok_with_a_failing_exit_code_is_a_failure() -> None:
    assert interpret(whole({"a": 1}, ok=True), 5) == GiveUp(
        ErrorDetail(code="NOT_FOUND", message="the command exited with 5")
    )


def test_not_ok_with_exit_code_zero_is_a_success() -> None:
    assert interpret(whole({"a": 1}, ok=False), 0) == UseData({"a": 1})


def test_an_error_without_data_under_exit_code_zero_is_malformed() -> None:
    assert interpret(failed("X"), 0) == Malformed("the exit code says success, but there is an error and no data")


def test_without_an_exit_code_not_ok_is_a_failure_even_with_no_error() -> None:
    assert interpret(whole({"a": 1}, ok=False)) == GiveUp(
        ErrorDetail(code="INTERNAL_ERROR", message="the response says it failed")
    )


def test_an_error_is_a_failure_even_where_ok_says_otherwise() -> None:
    assert interpret({**failed("NOT_FOUND"), "ok": True}) == GiveUp(detail("NOT_FOUND"))


def test_text_of_a_failing_command_is_what_it_says() -> None:
    assert interpret("boom\n", 1) == GiveUp(ErrorDetail(code="INTERNAL_ERROR", message="boom"))
    assert interpret(b"\xff", 200) == GiveUp(ErrorDetail(code="INTERNAL_ERROR", message="the command exited with 200"))
    assert interpret("killed", -9) == GiveUp(ErrorDetail(code="INTERNAL_ERROR", message="killed"))


# Absent and null members.


def test_an_absent_error_member_is_malformed() -> None:
    wire = whole({"a": 1})
    del wire["error"]
    assert interpret(wire) == Malformed("the error member is absent")


def test_data_and_error_both_null_is_malformed_in_the_invariant_dialect_only() -> None:
    assert interpret(whole()) == Malformed("data and error are both null")
    assert interpret(local_envelope(None, "op").render("lean")) == UseData(None)
    assert interpret(local_envelope(None, "op").render("sourced")) == UseData(None)


def test_absent_warnings_mean_none() -> None:
    wire = whole({"a": 1})
    del wire["warnings"]
    assert interpret(wire) == UseData({"a": 1})


@pytest.mark.parametrize("wire", ["{", "", "hello", b"\xff\xfe", object(), {1, 2}, int])
def test_what_is_not_json_is_malformed(wire: Any) -> None:
    assert isinstance(interpret(wire), Malformed)


def test_plain_text_is_data_where_the_dialect_is_known_to_be_none() -> None:
    assert interpret("hello", dialect="none") == UseData("hello")
    assert interpret({"ok": False, "_meta": {}}, dialect="none") == UseData({"ok": False, "_meta": {}})


def test_an_object_that_cannot_even_be_looked_at_is_malformed() -> None:
    class Hostile:
        @property
        def envelope(self) -> Any:
            raise RuntimeError

    assert interpret(Hostile()) == Malformed("the response could not be read (RuntimeError)")


# Acting on data.


def test_not_modified_means_the_cached_response() -> None:
    assert interpret(whole(not_modified=True), 0) == UseCache()
    assert interpret(http_envelope(None, status=304)) == UseCache()


def test_truncated_data_is_a_page() -> None:
    assert interpret(whole([1], truncated=True, cursor="c2")) == NextPage("c2", [1])


def test_truncated_data_without_a_cursor_is_not_complete() -> None:
    assert interpret(whole([1], truncated=True)) == UseData([1], complete=False)


def test_a_cursor_of_data_that_is_whole_is_handed_on() -> None:
    assert interpret(whole([1], cursor="c2")) == UseData([1], cursor="c2")


def test_meta_of_an_mcp_result_says_what_the_envelope_would() -> None:
    wire = {"content": [], "structuredContent": {"a": 1}, "_meta": {"shaping": {"truncated": True, "cursor": "c"}}}
    assert interpret(wire) == NextPage("c", {"a": 1})


# Retrying.


@pytest.mark.parametrize(
    ("wire", "exit_code", "decision"),
    [
        (failed("BUSY", retryable=True, retry_after=30), None, (30.0, 1)),
        (failed("BUSY", retryable=True), None, (1.0, 1)),
        (failed("BUSY", retryable=True, retry_after=10**400), None, (1.0, 1)),
        (failed("BUSY", retryable=True, retry_after=float("nan")), None, (1.0, 1)),
        (failed("BUSY", retryable=True, retry_after=-1), None, (1.0, 1)),
        (failed("BUSY", retryable=True), 3, (0.0, 1)),
        (failed("ARG_ERROR", retryable=True), None, (0.0, 1)),
        (failed("ODD", retryable=True, phase="validation"), None, (0.0, 1)),
        (failed("BUSY"), 11, (1.0, 1)),
        (failed("RATE_LIMITED"), None, (1.0, 1)),
    ],
)
def test_a_retryable_failure_is_retried_after_a_while(
    wire: Any, exit_code: int | None, decision: tuple[float, int]
) -> None:
    found = interpret(wire, exit_code)
    assert isinstance(found, Retry)
    assert (found.after, found.attempt) == decision


@pytest.mark.parametrize(
    ("wire", "exit_code"),
    [
        (failed("BUSY"), None),
        (failed("BUSY", retryable=False), 11),
        (failed("BUSY"), 5),
        (failed("NOT_FOUND"), None),
        (failed("BUSY"), 100),
    ],
)
def test_what_nobody_calls_retryable_is_given_up(wire: Any, exit_code: int | None) -> None:
    assert isinstance(interpret(wire, exit_code), GiveUp)


def test_three_retries_of_one_code_are_enough() -> None:
    wire = failed("UNAVAILABLE")
    made = [interpret(wire, attempts=n).action for n in range(5)]
    assert made == ["retry", "retry", "retry", "give_up", "give_up"]
    assert interpret(wire, attempts={"UNAVAILABLE": 3}).action == "give_up"
    assert interpret(wire, attempts={"TIMEOUT": 3}).action == "retry"


def test_a_call_that_changes_state_is_not_repeated_where_it_may_have_acted() -> None:
    assert interpret(failed("TIMEOUT"), state_changing=True) == GiveUp(detail("TIMEOUT"))
    assert interpret(failed("ODD", retryable=True), state_changing=True).action == "give_up"
    assert interpret(failed("TIMEOUT", phase="validation"), state_changing=True).action == "retry"
    assert interpret(failed("RATE_LIMITED"), state_changing=True).action == "retry"


# Credentials.


def test_an_expired_token_is_refreshed_once_and_then_replaced() -> None:
    wire = failed("TOKEN_EXPIRED", retryable=True, retry_after=0)
    error = detail("TOKEN_EXPIRED", retryable=True, retry_after=0)
    assert interpret(wire, 8) == RefreshCredentials(error)
    assert interpret(wire, 8, {"TOKEN_EXPIRED": 1}) == AcquireCredentials(error)


@pytest.mark.parametrize("code", ["TOKEN_INVALID", "TOKEN_MISSING", "AUTH_REQUIRED"])
def test_missing_or_bad_credentials_are_acquired(code: str) -> None:
    assert interpret(failed(code, retryable=True)) == AcquireCredentials(detail(code, retryable=True))


def test_exit_code_eight_asks_for_credentials_whatever_the_code() -> None:
    assert interpret(failed("LOCKED_OUT"), 8) == AcquireCredentials(detail("LOCKED_OUT"))


# Redirects.


def moved(**redirect: Any) -> dict[str, Any]:
    return failed("COMMAND_RENAMED", retryable=True, redirect=redirect)


def test_a_redirect_is_followed_as_it_is_given() -> None:
    redirect = {"command": "tool users add --name 'a b'", "permanent": True, "reason": "renamed"}
    error = detail("COMMAND_RENAMED", retryable=True, redirect=Redirect(**redirect))
    followed = FollowRedirect("tool users add --name 'a b'", True, error)
    assert interpret(moved(**redirect), 13) == followed == interpret(moved(**redirect))


def test_a_redirect_that_does_not_say_permanent_is_for_this_call() -> None:
    decision = interpret(moved(command="x", reason="odd"))
    assert isinstance(decision, FollowRedirect)
    assert (decision.command, decision.permanent) == ("x", False)


def test_a_redirect_at_another_exit_code_is_ignored() -> None:
    assert interpret(moved(command="x", permanent=True), 11).action == "retry"


def test_redirected_to_nowhere_is_malformed() -> None:
    assert interpret(moved(command=" "), 13) == Malformed("the exit code says redirected, but no command is given")


# Warnings.


def test_a_warning_that_announces_an_end_plans_an_update() -> None:
    warnings = ["slow", "--old is Deprecated", {"code": "X", "message": "v1 will be removed in May"}, 7]
    decision = interpret({**whole({"a": 1}), "warnings": warnings})
    assert decision == UseData({"a": 1}, warnings=("slow", "--old is Deprecated", "v1 will be removed in May"))
    assert decision.updates == ("--old is Deprecated", "v1 will be removed in May")


# Sources that say themselves that they failed.


@pytest.mark.parametrize(
    ("meta", "decision"),
    [
        (
            {"source": "http", "statusCode": 503, "headers": {"retry-after": ["3", "9"]}, "contentType": ""},
            Retry(9.0, 1, from_status(503, headers={"retry-after": "9"})),
        ),
        ({"source": "http", "statusCode": 404, "headers": 5, "contentType": ""}, GiveUp(from_status(404))),
        ({"source": "command", "exitCode": 3}, GiveUp(from_exit_code(3, foreign=True))),
        (
            {"source": "mcp", "isError": True, "content": [{"type": "text", "text": "it broke"}]},
            GiveUp(make_error("INTERNAL_ERROR", "it broke")),
        ),
        (
            {"source": "mcp", "isError": True, "content": []},
            GiveUp(make_error("INTERNAL_ERROR", "The tool reported an error.")),
        ),
    ],
)
def test_a_sourced_envelope_that_failed_without_an_error_is_read_by_its_source(
    meta: dict[str, Any], decision: Decision
) -> None:
    assert interpret({"data": None, "meta": meta}) == decision


def test_a_command_envelope_is_read_by_its_error() -> None:
    error = detail("NOT_FOUND")
    assert interpret(command_envelope(None, error=error)) == GiveUp(error)


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        ({"content": [{"type": "text", "text": "it broke"}], "isError": True}, "it broke"),
        (
            {"content": [{"type": "text", "text": "x"}], "isError": True, "_meta": {"shaping/error": {"message": "m"}}},
            "m",
        ),
        ({"content": [], "isError": True, "_meta": {"shaping": {"error": {"code": "X", "message": "m"}}}}, "m"),
        ({"content": [{"type": "text", "text": '{"error": {"error": "e", "error_code": "x"}}'}], "isError": True}, "e"),
    ],
)
def test_an_mcp_error_says_what_it_can(wire: Any, message: str) -> None:
    decision: Decision = interpret(wire)
    assert isinstance(decision, GiveUp)
    assert decision.error.message == message


def test_a_result_of_the_mcp_sdk_is_read_as_its_json() -> None:
    from mcp.types import CallToolResult, TextContent

    assert interpret(CallToolResult(content=[TextContent(type="text", text="[1]")])) == UseData([1])


@pytest.mark.parametrize("attempts", ["x", None, {"TIMEOUT": "x"}, 1.5])
@pytest.mark.parametrize("wire", ["not json", {"error": {"error": "x", "error_code": "timeout"}}])
def test_a_count_of_attempts_that_is_none_counts_as_none(attempts: Any, wire: Any) -> None:
    assert interpret(wire, 10, attempts).action == "retry"


def test_what_an_exit_code_means_is_chosen_by_its_table() -> None:
    wire = failed("BUSY")
    assert isinstance(interpret(wire, 3), Retry)
    assert isinstance(interpret(wire, 2), GiveUp)
    assert isinstance(interpret(wire, 3, exit_codes="posix"), GiveUp)
    assert isinstance(interpret(wire, 2, exit_codes="posix"), Retry)
    unreadable = interpret("no JSON", 2, exit_codes="posix")
    assert isinstance(unreadable, Retry)
    assert unreadable.error.code == "BAD_ARGUMENT"
