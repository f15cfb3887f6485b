import pytest
from pydantic import ValidationError

from shaping.errors import ErrorDetail, Redirect


def test_what_the_wire_did_not_say_stays_open() -> None:
    detail = ErrorDetail(code="MINE", message="x")
    assert (detail.retryable, detail.hint, detail.http, detail.similar) == (None, None, None, ())


def test_a_wait_is_only_for_what_may_be_retried() -> None:
    assert ErrorDetail(code="A", message="x", retry_after=3).retry_after == 3
    with pytest.raises(ValidationError, match="retry_after is only for an error that is retryable"):
        ErrorDetail(code="A", message="x", retryable=False, retry_after=3)


@pytest.mark.parametrize("wait", [-1, float("inf"), float("nan")])
def test_a_wait_is_a_time(wait: float) -> None:
    with pytest.raises(ValidationError):
        ErrorDetail(code="A", message="x", retry_after=wait)


def test_a_redirect_keeps_a_reason_that_another_implementation_gives() -> None:
    assert Redirect(command="new", permanent=True).reason is None
    assert Redirect(command="new", permanent=True, reason="merged").reason == "merged"
