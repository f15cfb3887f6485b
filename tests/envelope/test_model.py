from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from shaping.envelope import Envelope, EnvelopeError, LocalMeta, local_envelope, mcp_envelope
from shaping.errors import ErrorDetail, Redirect, make_error

OOPS = make_error("NOT_FOUND", "no such thing")


class Issue(BaseModel):
    number: int


def test_ok_follows_from_the_error() -> None:
    assert local_envelope(1, "op").ok is True
    assert local_envelope(None, "op", error=OOPS).ok is False


def test_ok_cannot_be_set() -> None:
    envelope = local_envelope(1, "op")
    with pytest.raises((AttributeError, ValidationError)):
        envelope.ok = False  # type: ignore[misc]
    with pytest.raises(ValidationError, match="ok"):
        Envelope[int].model_validate({"data": 1, "meta": {"source": "local"}, "ok": True})


def test_an_envelope_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        local_envelope(1, "op").data = 2  # type: ignore[misc]


def test_a_typed_envelope_validates_its_data() -> None:
    good = Envelope[Issue].model_validate({"data": {"number": 4}, "meta": {"source": "local", "operation_id": "op"}})
    assert good == Envelope(data=Issue(number=4), meta=LocalMeta(operation_id="op"))
    with pytest.raises(ValidationError, match=r"data\.number"):
        Envelope[Issue].model_validate({"data": {"number": "four"}, "meta": {"source": "local"}})


@pytest.mark.parametrize(
    ("meta", "failed"),
    [
        ({"source": "local"}, False),
        ({"source": "http", "status": 204}, False),
        ({"source": "http", "status": 404}, True),
        ({"source": "mcp", "is_error": True}, True),
        ({"source": "mcp"}, False),
        ({"source": "command", "exit_code": 3}, True),
        ({"source": "command", "exit_code": 0}, False),
    ],
)
def test_each_source_tells_its_own_outcome(meta: dict[str, Any], failed: bool) -> None:
    made = Envelope[Any].model_validate({"data": None, "meta": meta, "error": OOPS if failed else None})
    assert (made.meta.failed, made.ok) == (failed, not failed)


def test_a_failed_outcome_needs_an_error() -> None:
    with pytest.raises(ValidationError, match="a failed outcome needs an error"):
        Envelope[Any].model_validate({"data": None, "meta": {"source": "command", "exit_code": 1}})


def test_an_error_needs_a_failed_outcome_where_the_source_has_one() -> None:
    with pytest.raises(ValidationError, match="an error needs a failed outcome"):
        Envelope[Any].model_validate({"data": None, "meta": {"source": "mcp", "is_error": False}, "error": OOPS})
    assert not Envelope[Any].model_validate({"data": 1, "meta": {"source": "http", "status": 200}, "error": OOPS}).ok


def test_an_unknown_source_is_refused() -> None:
    with pytest.raises(ValidationError, match="source"):
        Envelope[Any].model_validate({"data": None, "meta": {"source": "carrier pigeon"}})


def test_a_redirect_is_only_for_codes_that_redirect() -> None:
    moved = Redirect(command="tool new", permanent=True)
    for code in ("REDIRECTED", "COMMAND_RENAMED"):
        assert not local_envelope(None, "op", error=make_error(code, "moved", redirect=moved, foreign=True)).ok
    with pytest.raises(ValueError, match="redirect is for REDIRECTED"):
        local_envelope(None, "op", error=ErrorDetail(code="TIMEOUT", message="slow", redirect=moved))


def test_the_model_itself_survives_json() -> None:
    made = mcp_envelope({"a": [1]}, content=[{"type": "text", "text": "x"}], warnings=["slow"], duration_ms=1.5)
    assert Envelope[Any].model_validate_json(made.model_dump_json()) == made


def test_an_unknown_dialect_is_answered_with_the_nearest() -> None:
    with pytest.raises(EnvelopeError, match=r"dialect is 'flatt'; expected one of flat, .* Did you mean 'flat'"):
        local_envelope(1, "op").render("flatt")  # type: ignore[arg-type]
    with pytest.raises(EnvelopeError, match=r"dialect is 'xml'; expected one of .* sourced\.$"):
        Envelope.parse({}, "xml")  # type: ignore[arg-type]
