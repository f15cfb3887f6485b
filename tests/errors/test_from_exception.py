import errno
import json
import subprocess
import urllib.error
from email.message import Message
from enum import Enum
from typing import Any, Literal

import httpx
import jsonschema
import jsonschema_rs
import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator, validate_call

from shaping.errors import ErrorDetail, ToolError, from_exception, make_error, registry

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    mode: Literal["fast", "slow"] = "fast"
    colour: Colour = Colour.RED
    sizes: list[int] = []
    pet: Cat | Dog | None = Field(default=None, discriminator="kind")
    age: int = 0

    @field_validator("age")
    @classmethod
    def _old_enough(cls, age: int) -> int:
        if age > 150:
            raise ValueError(f"{age} is too old")
        return age


def caught(act: Any, **how: Any) -> ErrorDetail:
    try:
        act()
    except Exception as exc:  # noqa: BLE001  whatever it is, it is what we describe
        return from_exception(exc, **how)
    raise AssertionError("nothing was raised")


def raising(exc: BaseException, **how: Any) -> ErrorDetail:
    def act() -> None:
        raise exc

    return caught(act, **how)


def test_a_tools_own_error_is_taken_as_it_is() -> None:
    error = ToolError("CONFLICT", "x", hint="y")
    assert from_exception(error) is error.detail


def test_a_tools_own_error_is_not_retried_where_something_may_have_changed() -> None:
    error = ToolError("TIMEOUT", "x", retry_after=3)
    assert from_exception(error).retryable is True
    assert from_exception(error, state_changing=True) == make_error("TIMEOUT", "x", state_changing=True)
    checked = ToolError("TIMEOUT", "x", phase="validation")
    assert from_exception(checked, state_changing=True).retryable is True


def test_invalid_arguments_are_listed_by_field_without_their_values() -> None:
    error = caught(lambda: Order.model_validate({"nmae": "hunter2", "mode": "fats", "sizes": [1, "xl"], "age": 4711}))
    assert error == make_error(
        "VALIDATION_ERROR",
        "5 invalid arguments: name: Field required; mode: Input should be 'fast' or 'slow'; "
        "sizes[1]: Input should be a valid integer, unable to parse string as an integer; "
        "age: Value error, … is too old; nmae: Extra inputs are not permitted",
        similar=["fast", "name"],
        details={
            "issues": [
                {"path": "name", "type": "missing", "message": "Field required"},
                {"path": "mode", "type": "literal_error", "message": "Input should be 'fast' or 'slow'"},
                {
                    "path": "sizes[1]",
                    "type": "int_parsing",
                    "message": "Input should be a valid integer, unable to parse string as an integer",
                },
                {"path": "age", "type": "value_error", "message": "Value error, … is too old"},
                {"path": "nmae", "type": "extra_forbidden", "message": "Extra inputs are not permitted"},
            ],
        },
    )


def test_a_wrong_tag_is_answered_with_the_right_ones_and_not_repeated() -> None:
    error = caught(lambda: Order.model_validate({"name": "n", "colour": "gren", "pet": {"kind": "doge"}}))
    assert error.similar == ("green", "dog")
    assert "doge" not in error.model_dump_json()


def test_values_inside_a_whole_input_are_not_repeated_either() -> None:
    class Pair(BaseModel):
        pair: dict[str, Any]

        @field_validator("pair")
        @classmethod
        def _refuse(cls, pair: dict[str, Any]) -> dict[str, Any]:
            raise ValueError(f"cannot take {pair['a']} with {pair['b'][0]} and {pair['c']}")

    error = caught(lambda: Pair(pair={"a": "hunter2", "b": ["s3cret"], "c": None}))
    assert error.message == "1 invalid argument: pair: Value error, cannot take … with … and None"


def test_many_invalid_arguments_are_counted() -> None:
    error = caught(lambda: Order.model_validate({"name": "n", "sizes": ["a"] * 8}))
    assert error.message.startswith("8 invalid arguments: sizes[0]: ")
    assert error.message.endswith("; and 3 more")


def test_a_wrong_keyword_of_a_validated_call_is_answered_with_the_right_one() -> None:
    @validate_call
    def search(query: str) -> str:
        return query

    assert caught(lambda: search(qeury="x")).similar == ("query",)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("exc", "code", "message"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file", "/a/b.py"), "FILE_NOT_FOUND", "No such file: /a/b.py"),
        (PermissionError(errno.EACCES, "Permission denied", b"/a"), "PERMISSION_DENIED", "Permission denied: /a"),
        (OSError(errno.ENOSPC, "No space left on device"), "RESOURCE_EXHAUSTED", "No space left on device"),
        (OSError("odd"), "INTERNAL_ERROR", "odd"),
        (OSError(), "INTERNAL_ERROR", "The tool failed with OSError."),
        (TimeoutError(), "TIMEOUT", "The call did not finish in time."),
        (TimeoutError("after 3 s"), "TIMEOUT", "after 3 s"),
        (ConnectionRefusedError(), "UNAVAILABLE", "The tool failed with ConnectionRefusedError."),
        (KeyError("user_id"), "INTERNAL_ERROR", "KeyError: 'user_id'"),
        (KeyError(TOKEN), "INTERNAL_ERROR", "KeyError: '[redacted:github-token]'"),
        (KeyError(), "INTERNAL_ERROR", "The tool failed with KeyError."),
        (LookupError("no such plan"), "INTERNAL_ERROR", "no such plan"),
        (IndexError("list index out of range"), "INTERNAL_ERROR", "list index out of range"),
        (AssertionError("the total is negative"), "INTERNAL_ERROR", "the total is negative"),
        (AssertionError(), "INTERNAL_ERROR", "The tool failed a check of its own."),
        (MemoryError(), "RESOURCE_EXHAUSTED", "The tool ran out of memory."),
        (MemoryError("3 GB"), "RESOURCE_EXHAUSTED", "3 GB"),
        (RecursionError("too deep"), "RESOURCE_EXHAUSTED", "too deep"),
        (NotImplementedError(), "NOT_IMPLEMENTED", "The tool failed with NotImplementedError."),
        (ValueError("limit is -1"), "BAD_ARGUMENT", "limit is -1"),
        (RuntimeError(f"auth with {TOKEN}"), "INTERNAL_ERROR", "auth with [redacted:github-token]"),
        (ImportError("cannot import"), "DEPENDENCY_UNAVAILABLE", "cannot import"),
        (ModuleNotFoundError(name="pandas"), "DEPENDENCY_UNAVAILABLE", "The module 'pandas' is not installed."),
        (subprocess.SubprocessError("odd"), "INTERNAL_ERROR", "odd"),
        (
            json.JSONDecodeError("Expecting value", TOKEN, 0),
            "BAD_RESPONSE",
            "Expecting value: line 1 column 1 (char 0)",
        ),
        (ExceptionGroup("two", [TimeoutError(), ValueError("x")]), "TIMEOUT", "The call did not finish in time."),
    ],
)
def test_an_exception_has_a_code_and_says_what_it_may(exc: BaseException, code: str, message: str) -> None:
    error = raising(exc)
    assert (error.code, error.message) == (code, message)


def test_an_unknown_code_is_answered_with_the_nearest() -> None:
    error = caught(lambda: registry.definition("NOT_FUOND"))
    assert (error.code, error.similar[0]) == ("INTERNAL_ERROR", "NOT_FOUND")


def test_a_syntax_error_tells_the_place_and_not_the_line() -> None:
    error = caught(lambda: compile("password = (hunter2\n", "config.py", "exec"))
    assert error.message == "'(' was never closed (line 1)"
    assert error.details == {"line": 1, "column": 12, "file": "config.py"}
    assert raising(SyntaxError("odd")).message == "odd"


def test_a_traceback_quotes_no_source_line() -> None:
    try:
        compile("password = (hunter2\n", "config.py", "exec")
    except SyntaxError as problem:
        error = from_exception(problem, debug=True)
    assert error.detail is not None
    assert error.detail.startswith("Traceback (most recent call last):\nFile ")
    assert error.detail.endswith("SyntaxError: '(' was never closed (line 1)")
    assert "hunter2" not in error.detail
    assert "compile(" not in error.detail


def test_a_command_is_named_without_its_arguments() -> None:
    error = caught(lambda: subprocess.run(["/bin/false", "--token=hunter2"], check=True))
    assert error == make_error(
        "INTERNAL_ERROR",
        "false exited with 1.",
        details={"program": "false", "exit_code": 1},
    )
    assert raising(subprocess.CalledProcessError(-9, "tool --key hunter2")).message == "tool was ended by signal 9."
    assert raising(subprocess.CalledProcessError(-9, "tool --key hunter2")).code == "ABORTED"
    assert raising(subprocess.CalledProcessError(127, [])).message == "the command exited with 127."
    assert raising(subprocess.CalledProcessError(1, "")).message == "the command exited with 1."
    assert raising(subprocess.TimeoutExpired(["sleep", "9"], 0.25)).message == "sleep did not finish within 0.25 s."


def answer(status: int, **how: Any) -> Any:
    request = httpx.Request("GET", "https://user:hunter2@api.example.org/v1/x?token=hunter2")
    return httpx.Response(status, request=request, **how).raise_for_status


def test_an_http_error_tells_the_status_the_place_and_the_servers_words() -> None:
    error = caught(answer(429, headers={"Retry-After": "7"}, json={"error": {"message": "slow down"}}))
    assert error == make_error(
        "RATE_LIMITED",
        "HTTP 429 Too Many Requests from api.example.org/v1/x: slow down",
        http=429,
        retry_after=7,
    )


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"message": 5}', b'{"message": ""}', b""])
def test_a_body_without_a_sentence_adds_nothing(body: bytes) -> None:
    assert caught(answer(404, content=body)).message == "HTTP 404 Not Found from api.example.org/v1/x"


def test_an_answer_not_yet_read_is_not_waited_for() -> None:
    class Endless(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            raise AssertionError("nobody should read this")

    assert caught(answer(500, stream=Endless())).message == "HTTP 500 Internal Server Error from api.example.org/v1/x"


def test_other_libraries_http_errors_are_understood_too() -> None:
    class HTTPException(Exception):  # noqa: N818  named as starlette names it
        status_code = 403
        detail = "not yours"

    class Strange(Exception):  # noqa: N818  an exception of somebody else's
        status = 503
        url = "http://[broken"

    refused = urllib.error.HTTPError("http://h/p?q=hunter2", 404, "nf", Message(), None)
    assert raising(HTTPException()).message == "HTTP 403 Forbidden: not yours"
    assert raising(Strange()).message == "HTTP 503 Service Unavailable"
    assert raising(refused).message == "HTTP 404 Not Found from h/p"
    refused.close()


def test_a_traceback_inside_a_message_is_left_out() -> None:
    frame = 'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    key = "hunter2"\n'
    text = f"remote failed:\n{frame}ValueError: no"
    assert raising(RuntimeError(text)).message == "remote failed:\nValueError: no"
    assert raising(RuntimeError('  File "x.py", line 3\n    key = "hunter2"\n      ^\nbad')).message == "bad"


def test_a_traceback_is_shown_under_debug_without_secrets() -> None:
    error = raising(RuntimeError(f"auth with {TOKEN}"), debug=True)
    assert error.detail is not None
    assert error.detail.startswith("Traceback (most recent call last):")
    assert TOKEN not in error.detail
    assert raising(RuntimeError("x")).detail is None


def test_a_tools_own_error_gets_its_traceback_under_debug_too() -> None:
    shown = raising(ToolError("CONFLICT", "x"), debug=True).detail
    assert shown is not None
    assert shown.startswith("Traceback")
    assert raising(ToolError("CONFLICT", "x", detail="upstream"), debug=True).detail == "upstream"


def test_an_exception_that_cannot_say_what_it_is_is_named() -> None:
    class Mute(Exception):  # noqa: N818  an exception of somebody else's
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert raising(Mute()).message == "The tool failed with Mute."


def test_a_table_outranks_ours_by_type_name_and_ancestor() -> None:
    assert raising(KeyError("x"), table={KeyError: "NOT_FOUND"}).code == "NOT_FOUND"
    assert raising(KeyError("x"), table={"LookupError": "NOT_FOUND"}).code == "NOT_FOUND"
    assert raising(ValueError("x"), table={"builtins.ValueError": "CONFLICT"}).code == "CONFLICT"
    assert caught(answer(404), table={"httpx.HTTPStatusError": "UNAVAILABLE"}).code == "UNAVAILABLE"


def test_a_schema_validators_refusal_is_told_without_the_value() -> None:
    schema = {"properties": {"a": {"items": {"type": "integer"}}}}
    error = caught(lambda: jsonschema.validate({"a": [1, "hunter2"]}, schema))
    assert error == make_error(
        "BAD_ARGUMENT",
        '1 invalid argument: a[1]: expected type "integer"',
        details={"issues": [{"path": "a[1]", "type": "type", "message": 'expected type "integer"'}]},
    )
    fast = caught(lambda: jsonschema_rs.validate(schema, {"a": [1, "hunter2"]}))
    assert (fast.code, fast.message) == ("BAD_ARGUMENT", "1 invalid argument: a[1]: does not satisfy type")
    nothing = caught(lambda: jsonschema_rs.validate(False, "hunter2"))
    assert nothing.message == "1 invalid argument: does not satisfy schema"


def test_msgspecs_refusal_is_told_without_the_value() -> None:
    error = caught(lambda: msgspec.json.decode(b'"hunter2"', type=Colour))
    assert (error.code, error.message) == ("BAD_ARGUMENT", "Invalid enum value …")
    assert caught(lambda: msgspec.json.decode(b"{")).code == "BAD_RESPONSE"


def test_a_long_message_is_cut() -> None:
    assert len(raising(RuntimeError("x" * 9000)).message) == 2000


def test_an_http_refusal_whose_response_does_not_know_its_request_is_told_by_its_status() -> None:
    request = httpx.Request("GET", "https://example.com/x")
    response = httpx.Response(429, headers={"retry-after": "7"}, json={"message": "slow down"})
    detail = from_exception(httpx.HTTPStatusError("x", request=request, response=response))
    assert (detail.code, detail.retry_after, detail.message) == (
        "RATE_LIMITED",
        7,
        "HTTP 429 Too Many Requests: slow down",
    )


def test_an_exception_that_raises_when_it_is_looked_at_is_told_by_its_kind() -> None:
    class TouchyError(Exception):
        @property
        def response(self) -> object:
            raise RuntimeError

    assert from_exception(TouchyError("secret")).message == "The tool failed with TouchyError."


def test_a_tool_that_changes_something_and_raises_is_not_said_to_be_safe_to_call_again() -> None:
    told = from_exception(ValueError("row 7 is malformed"), state_changing=True)
    assert (told.code, told.phase, told.retryable) == ("BAD_ARGUMENT", None, False)
    assert told.hint == "Something may have been done already: look before calling again."
