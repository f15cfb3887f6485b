from email.utils import formatdate
from time import time

import pytest

from shaping.errors import code_for_exit, from_exit_code, from_status, make_error
from shaping.errors.detail import code_for_status, retry_after


@pytest.mark.parametrize(
    ("status", "code"),
    [
        *[(400, "BAD_ARGUMENT"), (401, "AUTH_REQUIRED"), (402, "PAYMENT_REQUIRED"), (403, "PERMISSION_DENIED")],
        *[(404, "NOT_FOUND"), (408, "TIMEOUT"), (409, "CONFLICT"), (412, "PRECONDITION"), (413, "TOO_LARGE")],
        *[(418, "BAD_ARGUMENT"), (422, "BAD_ARGUMENT"), (429, "RATE_LIMITED"), (500, "INTERNAL_ERROR")],
        *[
            (501, "NOT_IMPLEMENTED"),
            (502, "UNAVAILABLE"),
            (503, "UNAVAILABLE"),
            (504, "TIMEOUT"),
            (599, "INTERNAL_ERROR"),
        ],
    ],
)
def test_a_status_has_a_code(status: int, code: str) -> None:
    assert code_for_status(status) == code


def test_a_status_is_described_with_the_wait_the_server_asked_for() -> None:
    assert from_status(429, headers={"Retry-After": "7"}) == make_error(
        "RATE_LIMITED",
        "HTTP 429 Too Many Requests",
        http=429,
        retry_after=7,
    )
    assert from_status(404, "gone") == make_error("NOT_FOUND", "gone", http=404)
    assert from_status(599).message == "HTTP 599"
    assert from_status(399).http == 400


@pytest.mark.parametrize(("text", "seconds"), [("12", 12), (" 0 ", 0), ("soon", None), ("", None), ("-3", None)])
def test_a_wait_is_read_in_seconds(text: str, seconds: int | None) -> None:
    assert retry_after({"retry-after": text}) == seconds


def test_a_wait_is_read_as_a_date() -> None:
    assert retry_after({"Retry-After": formatdate(0, usegmt=True)}) == 0
    wait = retry_after({"Retry-After": formatdate(time() + 100, usegmt=True)})
    assert wait is not None
    assert 90 <= wait <= 101


@pytest.mark.parametrize(
    ("exit_code", "signal", "foreign", "code"),
    [
        (3, None, False, "BAD_ARGUMENT"),
        (2, None, False, "PARTIAL_FAILURE"),
        (2, None, True, "INTERNAL_ERROR"),
        (13, None, False, "REDIRECTED"),
        (80, None, False, "INTERNAL_ERROR"),
        (126, None, True, "PERMISSION_DENIED"),
        (127, None, True, "DEPENDENCY_UNAVAILABLE"),
        (128, None, True, "INTERNAL_ERROR"),
        (137, None, True, "ABORTED"),
        (255, None, True, "INTERNAL_ERROR"),
        (-9, None, True, "ABORTED"),
        (1, "SIGTERM", False, "ABORTED"),
    ],
)
def test_an_exit_code_has_a_code(exit_code: int, signal: str | None, foreign: bool, code: str) -> None:
    assert code_for_exit(exit_code, signal, foreign=foreign) == code


def test_how_a_program_ended_is_described() -> None:
    assert from_exit_code(5).message == "The command exited with 5"
    assert from_exit_code(137, signal=9).message == "The command was ended by signal 9"
    assert from_exit_code(5, "no such branch", hint="List them.") == make_error(
        "NOT_FOUND",
        "no such branch",
        hint="List them.",
    )
