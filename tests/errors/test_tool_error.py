import pickle
from pathlib import Path

import pytest

from shaping.errors import (
    CodeError,
    ErrorDetail,
    Redirect,
    ToolError,
    UnknownCodeError,
    from_exception,
    make_error,
    register,
    registry,
)

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def test_the_registry_says_what_the_tool_does_not() -> None:
    assert make_error("TIMEOUT", "too slow") == ErrorDetail(
        code="TIMEOUT",
        message="too slow",
        hint="Try again, or ask for less.",
        retryable=True,
        http=504,
    )


def test_what_is_said_for_this_call_stands() -> None:
    error = make_error(
        "VALIDATION_ERROR",
        "bad",
        hint="Say staging.",
        details={"path": Path("/a"), "n": (1, 2), 3: None},  # type: ignore[dict-item]
        similar=["staging"],
        next_actions=["list"],
        retryable=True,
        retry_after=1,
        phase="validation",
        detail="upstream said no",
        http=422,
        docs_url="https://example.org/d",
    )
    assert error == ErrorDetail(
        code="BAD_ARGUMENT",
        message="bad",
        hint="Say staging.",
        details={"path": "/a", "n": [1, 2], "3": None},
        similar=("staging",),
        next_actions=("list",),
        retryable=True,
        retry_after=1,
        phase="validation",
        detail="upstream said no",
        http=422,
        docs_url="https://example.org/d",
    )


def test_a_code_that_another_program_sent_is_taken_as_it_is() -> None:
    moved = Redirect(command="new", permanent=True)
    assert make_error("COMMAND_RENAMED", "x", redirect=moved, foreign=True) == ErrorDetail(
        code="COMMAND_RENAMED",
        message="x",
        retryable=False,
        http=500,
        redirect=moved,
    )


def test_a_redirect_stands_only_with_a_code_that_redirects() -> None:
    moved = Redirect(command="tool users add", permanent=True)
    codes = ("NOT_FOUND", "REDIRECTED", "MOVED")
    redirects = {code: make_error(code, "x", redirect=moved, foreign=True).redirect for code in codes}
    assert redirects == {"NOT_FOUND": None, "REDIRECTED": moved, "MOVED": moved}


def test_a_code_that_nobody_registered_is_refused_where_it_is_made_with_the_nearest() -> None:
    with pytest.raises(
        UnknownCodeError, match=r"'NOT_FUOND' is not a registered error code. Did you mean 'NOT_FOUND'\?"
    ):
        ToolError("NOT_FUOND", "x")
    with pytest.raises(UnknownCodeError):
        make_error("TYPO_COED", "x")


def test_an_application_registers_codes_of_its_own_without_a_namespace() -> None:
    register({"ELEMENT_NOT_VISIBLE": {"http": 409, "retryable": True, "hint": "Wait for the element."}})
    try:
        error = ToolError("ELEMENT_NOT_VISIBLE", "the button is hidden").detail
        assert (error.http, error.retryable, error.hint) == (409, True, "Wait for the element.")
        with pytest.raises(CodeError, match="registered with another meaning"):
            register({"ELEMENT_NOT_VISIBLE": {"http": 404, "retryable": False, "hint": "x"}})
        with pytest.raises(CodeError, match="NOT_FOUND: registered by shaping"):
            register({"NOT_FOUND": {"http": 404, "retryable": False, "hint": "x"}})
        with pytest.raises(CodeError, match="expected SCREAMING_SNAKE_CASE"):
            register({"element-gone": {"http": 404, "retryable": False, "hint": "x"}})
    finally:
        assert registry.unregister()
    with pytest.raises(UnknownCodeError):
        ToolError("ELEMENT_NOT_VISIBLE", "x")


def test_a_wrong_argument_after_a_change_does_not_ask_for_a_repetition() -> None:
    error = from_exception(ValueError("the second row is bad"), state_changing=True)
    assert (error.code, error.retryable, error.phase) == ("BAD_ARGUMENT", False, None)
    assert error.hint is not None
    assert "call again" not in error.hint.replace("before you call again", "")
    refused = make_error("BAD_ARGUMENT", "x", phase="validation", state_changing=True)
    assert refused.hint == "Correct the argument named in the error and call again."


def test_a_wait_is_dropped_where_a_retry_is_not_safe() -> None:
    assert make_error("CONFLICT", "x", retry_after=5).retry_after is None
    assert make_error("RATE_LIMITED", "x", retry_after=5).retry_after == 5


@pytest.mark.parametrize(
    ("code", "query", "change"),
    [
        ("TIMEOUT", True, False),
        ("UNAVAILABLE", True, False),
        ("RATE_LIMITED", True, True),
        ("TOKEN_EXPIRED", True, True),
        ("INTERNAL_ERROR", False, False),
    ],
)
def test_what_may_have_been_done_already_is_not_done_again(code: str, query: bool, change: bool) -> None:
    assert make_error(code, "x").retryable is query
    assert make_error(code, "x", state_changing=True).retryable is change


def test_saying_so_does_not_make_a_dangerous_retry_safe() -> None:
    assert make_error("INTERNAL_ERROR", "x", retryable=True).retryable is True
    assert make_error("INTERNAL_ERROR", "x", retryable=True, state_changing=True).retryable is False


def test_a_call_that_failed_in_validation_did_nothing() -> None:
    assert make_error("TIMEOUT", "x", state_changing=True, phase="validation").retryable is True


def test_no_secret_gets_into_an_error() -> None:
    error = make_error(
        "CONFLICT",
        f"token {TOKEN}",
        hint=f"use {TOKEN}",
        details={"deep": [{"t": TOKEN}]},
        similar=[TOKEN],
        next_actions=[TOKEN],
        detail=TOKEN,
    )
    assert TOKEN not in error.model_dump_json()


def test_details_that_are_not_plain_become_plain() -> None:
    error = make_error(
        "CONFLICT", "x", details={"wide": 2**70, "half": "\ud800", "list": [2**70, (1,)], "o": {1: 2**70}}
    )
    assert error.details == {
        "wide": str(2**70),
        "half": "\\ud800",
        "list": [str(2**70), [1]],
        "o": {"1": str(2**70)},
    }


def test_a_tool_error_can_be_raised_and_read() -> None:
    with pytest.raises(ToolError, match="NOT_FOUND: no such thing") as caught:
        raise ToolError("NOT_FOUND", "no such thing", similar=["thing"])
    assert caught.value.code == "NOT_FOUND"
    assert caught.value.detail == make_error("NOT_FOUND", "no such thing", similar=["thing"])


def test_a_described_error_is_raised_as_it_is() -> None:
    detail = ErrorDetail(code="MINE", message="x")
    assert ToolError.of(detail).detail is detail
    assert str(ToolError.of(detail)) == "MINE: x"


def test_a_tool_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(ToolError("NOT_FOUND", "gone", hint="Look.")))  # noqa: S301  our own bytes
    assert error.detail == make_error("NOT_FOUND", "gone", hint="Look.")


def test_an_error_that_others_described_is_raised_without_its_secrets() -> None:
    described = ErrorDetail(code="CONFLICT", message=f"m {TOKEN}", details={"k": TOKEN}, similar=(TOKEN, "b"))
    error = ToolError.of(described)
    clean = "[redacted:github-token]"
    assert (str(error), error.detail) == (
        f"CONFLICT: m {clean}",
        ErrorDetail(code="CONFLICT", message=f"m {clean}", details={"k": clean}, similar=(clean, "b")),
    )
