from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from shaping import Shaper
from shaping.errors import make_error
from shaping.mcp.errors import error_from_exception, error_from_text, model_members

if TYPE_CHECKING:
    from shaping.errors import ErrorDetail


def _without_hint(error: ErrorDetail) -> dict[str, Any]:
    return {name: value for name, value in model_members(error).items() if name != "hint"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ENOENT: no such file or directory, open '/x'", "FILE_NOT_FOUND"),
        ("Error calling tool 'x': [Errno 2] No such file or directory: 'y'", "FILE_NOT_FOUND"),
        ("Access denied - path outside allowed directories: /etc", "PERMISSION_DENIED"),
        ("Request failed: 401 Unauthorized", "AUTH_REQUIRED"),
        ("API rate limit exceeded", "RATE_LIMITED"),
        ("The request timed out", "TIMEOUT"),
        ("connect ECONNREFUSED 127.0.0.1:1", "UNAVAILABLE"),
        ("Issue not found", "NOT_FOUND"),
        ("GET https://api.github.com/repos/a/b: 403 Resource not accessible by integration []", "PERMISSION_DENIED"),
        ("GET https://api.example.com:443/repos/a: connection reset by peer", "UNAVAILABLE"),
        ("Request failed with status code 422", "BAD_ARGUMENT"),
        ("HTTP 500: connection refused", "INTERNAL_ERROR"),
        ("Client error '404 Not Found' for url 'https://example.com/x'", "NOT_FOUND"),
        ("503 Service Unavailable", "UNAVAILABLE"),
        ("issue 401 has no body", "INTERNAL_ERROR"),
        ("could not parse line 429", "INTERNAL_ERROR"),
        ("Error calling tool 'perm': You are not allowed to read /etc/shadow", "PERMISSION_DENIED"),
        ("Error calling tool 'get_rate_limit': boom", "INTERNAL_ERROR"),
        ("Error executing tool timeout: boom", "INTERNAL_ERROR"),
        ("Error executing tool timeout", "INTERNAL_ERROR"),
        ("Error calling tool 'value': n must be positive", "BAD_ARGUMENT"),
        ("Missing required parameter: owner", "BAD_ARGUMENT"),
        ("branch 'x' already exists", "CONFLICT"),
        ("Table users does not exist", "NOT_FOUND"),
        ("Bad credentials", "AUTH_REQUIRED"),
        ("context deadline exceeded", "TIMEOUT"),
        ("build failed\n" + "line\n" * 200 + "curl: connection refused", "INTERNAL_ERROR"),
        ("Something broke", "INTERNAL_ERROR"),
        ("timeout must be a positive integer", "BAD_ARGUMENT"),
        ("Unknown option: rate_limit", "BAD_ARGUMENT"),
        ("The timeout option is invalid", "BAD_ARGUMENT"),
        ("Timeout 30000ms exceeded.", "TIMEOUT"),
        ("the request timed out", "TIMEOUT"),
        ("RateLimitError: rate_limit_exceeded", "RATE_LIMITED"),
        ("the rate limiter is not configured", "INTERNAL_ERROR"),
        ("Invalid token '}' at line 3", "INTERNAL_ERROR"),
        ("Invalid token in JSON", "INTERNAL_ERROR"),
        ("Invalid token: it has expired", "AUTH_REQUIRED"),
        ("invalid access token", "AUTH_REQUIRED"),
        ("Forbidden characters in the name", "INTERNAL_ERROR"),
        ("Forbidden", "PERMISSION_DENIED"),
        ("Error executing tool x", "INTERNAL_ERROR"),
        ('{"error": {"code": "RATE_LIMITED", "message": "slow down"}}', "RATE_LIMITED"),
        ('{"error": {"error": "gone", "error_code": "not_found"}}', "NOT_FOUND"),
        ('{"code": "TIMEOUT"}', "TIMEOUT"),
        ('{"broken', "INTERNAL_ERROR"),
        ('{"error": "prose: not found"}', "NOT_FOUND"),
    ],
)
def test_an_errors_words_give_its_code(text: str, code: str) -> None:
    assert error_from_text(text, "tool").code == code


ISSUE = {"path": "limit", "type": "int_parsing", "message": "Input should be a valid integer"}


@pytest.mark.parametrize(
    ("text", "issues"),
    [
        (
            "1 validation error for call[search]\nlimit\n  Input should be a valid integer [type=int_parsing, input=x]",
            [ISSUE],
        ),
        (
            (
                "Error executing tool search: 1 validation error for searchArguments\nlimit\n"
                "  Input should be a valid integer [type=int_parsing, input_value='x']\n    For further information"
            ),
            [ISSUE],
        ),
        (
            (
                "MCP error -32602: Input validation error: Invalid arguments for tool echo: Expected string at name; "
                "Too big at a.b"
            ),
            [{"path": "name", "message": "Expected string"}, {"path": "a.b", "message": "Too big"}],
        ),
        (
            (
                "MCP error -32602: Input validation error: Invalid arguments for tool think: Invalid input at next\n"
                "Invalid input: expected number, received NaN at total\nUnrecognized key: 'x'"
            ),
            [
                {"path": "next", "message": "Invalid input"},
                {"path": "total", "message": "Invalid input: expected number, received NaN"},
                {"path": "", "message": "Unrecognized key: 'x'"},
            ],
        ),
        (
            (
                'MCP error -32602: Invalid arguments for tool x: [\n{"code": "invalid_type", "path": ["a", 0], '
                '"message": "Required"}\n]'
            ),
            [{"path": "a.0", "type": "invalid_type", "message": "Required"}],
        ),
        ("Invalid arguments: [\n broken", None),
        ("Invalid argument", None),
    ],
)
def test_refused_arguments_are_told_issue_by_issue(text: str, issues: list[dict[str, str]] | None) -> None:
    error = error_from_text(text, "tool")
    assert (error.code, error.phase, error.details) == (
        "BAD_ARGUMENT",
        "validation",
        None if issues is None else {"issues": issues},
    )


def test_an_argument_that_a_tool_itself_refused_may_have_been_refused_after_some_work() -> None:
    assert error_from_text("n must be positive", "t").phase is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("HTTP 429: rate limit exceeded, retry after 30 seconds", 30),
        ("Rate limited. Retry-After: 5", 5),
        ("rate limit exceeded, retry after 2 minutes", None),
        ("rate limit exceeded", None),
        ("not found, retry after 30 seconds", None),  # which will not help
    ],
)
def test_the_time_to_wait_is_told_where_the_text_says_seconds(text: str, seconds: int | None) -> None:
    assert error_from_text(text, "t").retry_after == seconds


def test_an_unknown_tool_is_told_with_the_nearest_known_one() -> None:
    assert _without_hint(error_from_text("Unknown tool: 'ech'", "ech", ["echo", "add"])) == {
        "code": "OPERATION_NOT_FOUND",
        "message": "Unknown tool: 'ech'",
        "similar": ["echo"],
    }


def test_an_error_without_words_still_says_which_tool_failed() -> None:
    for text in ("", "Error calling tool 'echo': "):
        assert error_from_text(text, "echo").message == "The tool 'echo' failed and did not say why."


def test_a_trace_that_a_tool_wrote_is_its_answer() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    run()\nValueError: bad'
    assert error_from_text(text, "t").message == text


def test_words_that_tell_no_code_bring_no_hint_to_retry_or_to_give_up() -> None:
    error = error_from_text("the widget squeaks", "t")
    assert error.hint == "The message has the tool's own words; it does not say what kind of failure this is."


def raised(error: Exception, cause: Exception | None) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (raised(RuntimeError("Error calling tool: bad path"), FileNotFoundError("bad path")), "FILE_NOT_FOUND"),
        (raised(RuntimeError("Error calling tool 'x'"), FileNotFoundError("secret path")), "INTERNAL_ERROR"),
        (raised(RuntimeError("rate limit"), None), "RATE_LIMITED"),
        (raised(RuntimeError("no such file or directory"), KeyError()), "FILE_NOT_FOUND"),
    ],
)
def test_a_wrapped_exception_is_coded_by_its_cause_unless_the_framework_masked_it(error: Exception, code: str) -> None:
    assert error_from_exception(error, {}).code == code


def test_a_configs_own_codes_outrank_ours() -> None:
    error = raised(RuntimeError("bad value"), ValueError("bad value"))
    assert error_from_exception(error, {"builtins.ValueError": "CONFLICT"}).code == "CONFLICT"


def test_what_a_model_reads_of_an_error_is_less_than_what_a_program_gets() -> None:
    error = make_error("RATE_LIMITED", "slow", retry_after=3)
    members: dict[str, Any] = {"code": "RATE_LIMITED", "message": "slow", "retry_after": 3}
    assert model_members(error) == members | {"hint": error.hint}
    assert error.members() == members | {"hint": error.hint, "retryable": True, "http": 429}


TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("wire", "told"),
    [
        (
            {"code": "X", "message": "m", "errors": [{"field": "a"}], "none": None, "detail": "why"},
            {"code": "X", "message": "m", "details": {"errors": [{"field": "a"}], "detail": "why"}},
        ),
        (
            {
                "error": {"code": "X", "message": "m", "details": {"a": 1}, "limit": 3},
                "docs": "d",
                "ok": False,
                "meta": {},
            },
            {"code": "X", "message": "m", "details": {"a": 1, "docs": "d", "limit": 3}},
        ),
        (
            {"error": "Bad Request", "code": "X", "message": "m", "details": ["a", "b"]},
            {"code": "X", "message": "m", "details": {"error": "Bad Request", "details": ["a", "b"]}},
        ),
        ({"error": {"error_code": "not_found", "error": "m"}}, {"code": "NOT_FOUND", "message": "m"}),
        (
            {"error": {"code": "X", "message": f"with {TOKEN}", "details": {"k": TOKEN}}, "trace": TOKEN},
            {
                "code": "X",
                "message": "with [redacted:github-token]",
                "details": {"k": "[redacted:github-token]", "trace": "[redacted:github-token]"},
            },
        ),
        (
            {"code": "X", "k": TOKEN},
            {
                "code": "X",
                "message": '{"code": "X", "k": "[redacted:github-token]"}',
                "details": {"k": "[redacted:github-token]"},
            },
        ),
    ],
)
def test_an_error_that_is_coded_already_keeps_all_it_says_but_secrets(wire: Any, told: Any) -> None:
    assert _without_hint(error_from_text(json.dumps(wire), "tool")) == told


@pytest.mark.parametrize("said", ["MCP error -32602: Tool nope not found", "Tool nope not found", "Unknown tool: nope"])
def test_a_tool_that_there_is_not_is_not_called_a_wrong_argument(said: str) -> None:
    result = Shaper({}).shape_result({"content": [{"type": "text", "text": said}], "isError": True}, tool="nope")

    assert result["content"][0]["text"].startswith("OPERATION_NOT_FOUND: ")
    assert result["_meta"]["shaping/error"]["code"] == "OPERATION_NOT_FOUND"


@pytest.mark.parametrize("client", ["gemini-cli-mcp-client", "qwen-code", "claude-code", None])
@pytest.mark.parametrize("content", [[], [{"type": "image", "data": "QUJD", "mimeType": "image/png"}]])
def test_an_error_without_words_says_that_the_tool_said_nothing(
    client: str | None, content: list[dict[str, Any]]
) -> None:
    result = Shaper({}).shape_result({"content": content, "isError": True}, tool="t", client=client)
    words, *rest = result["content"]
    assert words == {"type": "text", "text": "The tool 't' failed and did not say why."}
    assert (rest, result["isError"]) == (content, True)


def test_colours_are_no_part_of_what_an_error_says() -> None:
    said = "\x1b[31mError\x1b[0m: \x1b[1mtotal\x1b[22m is not a function\n  at app.ts:3"
    result = {"content": [{"type": "text", "text": said}], "isError": True}
    assert Shaper().shape_result(result, tool="check")["content"][0]["text"] == (
        "Error: total is not a function\n  at app.ts:3"
    )
    standard = Shaper({"global": {"profile": "standard"}}).shape_result(result, tool="check")
    assert "[1mtotal" in json.dumps(standard["content"])
