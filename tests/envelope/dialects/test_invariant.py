from typing import Any

import pytest

from shaping.envelope import CommandMeta, Envelope, EnvelopeError, command_envelope, local_envelope, recognise
from shaping.errors import ErrorDetail, make_error
from shaping.response import Warned

FIVE = ["ok", "data", "error", "warnings", "meta"]


@pytest.mark.parametrize(
    "envelope",
    [
        local_envelope({"a": 1}, "op"),
        local_envelope([], "op"),
        local_envelope(None, "op", not_modified=True),
        command_envelope(None, error=make_error("TIMEOUT", "x")),
    ],
)
def test_all_five_members_are_always_there(envelope: Envelope[Any]) -> None:
    assert list(envelope.render("invariant")) == FIVE
    assert list(envelope.render("invariant", debug=True)) == FIVE


@pytest.mark.parametrize("data", [5, 1.5, "text", True, None])
def test_a_bare_scalar_stands_under_value_and_meta_says_so(data: Any) -> None:
    wire = local_envelope(data, "op").render("invariant")
    assert wire == {
        "ok": True,
        "data": {"value": data},
        "error": None,
        "warnings": [],
        "meta": {"duration_ms": 0, "bare": True},
    }
    back = Envelope.parse(wire)
    assert (back.data, back.meta.extensions) == (data, {})


def test_an_object_that_looks_like_a_bare_scalar_stays_an_object() -> None:
    wire = local_envelope({"value": 5}, "op").render("invariant")
    assert wire["meta"] == {"duration_ms": 0}
    assert Envelope.parse(wire).data == {"value": 5}


def test_data_and_error_are_both_null_only_where_nothing_was_modified() -> None:
    wire = local_envelope(None, "op", not_modified=True, etag="e").render("invariant", include={"etag"})
    assert wire == {
        "ok": True,
        "data": None,
        "error": None,
        "warnings": [],
        "meta": {"duration_ms": 0, "etag": "e", "not_modified": True},
    }
    assert Envelope.parse(wire).meta == CommandMeta(duration_ms=0, etag="e", not_modified=True)


def test_a_failure_has_no_data() -> None:
    wire = command_envelope({"half": 1}, error=make_error("CONFLICT", "x")).render("invariant")
    assert wire["data"] is None


@pytest.mark.parametrize("data", [{"done": [1], "failed": [2]}, [1], 5])
def test_a_partial_failure_keeps_what_it_managed(data: Any) -> None:
    wire = command_envelope(data, error=make_error("PARTIAL_FAILURE", "1 of 2")).render("invariant")
    assert Envelope.parse(wire).data == data


def test_retryable_mirrors_the_exit_code_table_unless_the_operation_changes_something() -> None:
    error = make_error("BAD_ARGUMENT", "bad")
    plain = command_envelope(None, error=error)
    changing = command_envelope(None, error=error, state_changing=True)
    assert (plain.error and plain.error.retryable, changing.error and changing.error.retryable) == (True, False)
    chosen = command_envelope(None, error=make_error("TIMEOUT", "x", retryable=False))
    assert chosen.error is not None
    assert chosen.error.retryable is False


def test_an_error_is_named_as_the_exit_code_table_names_it() -> None:
    error = make_error("VALIDATION_ERROR", "bad", hint="Say why.", phase="validation", similar=["prod"])
    wire = command_envelope(None, error=error, warnings=["slow", Warned("OLD", "deprecated")]).render("invariant")
    assert wire == {
        "ok": False,
        "data": None,
        "error": {
            "code": "ARG_ERROR",
            "message": "bad",
            "retryable": True,
            "phase": "validation",
            "suggestion": "Say why.",
            "similar": ["prod"],
        },
        "warnings": ["slow", "deprecated"],
        "meta": {"duration_ms": 0},
    }
    back = Envelope.parse(wire)
    assert back.error is not None
    assert back.error.code == "BAD_ARGUMENT"
    assert back.meta == CommandMeta(exit_code=3, duration_ms=0)


def test_times_are_whole_numbers() -> None:
    error = make_error("RATE_LIMITED", "x", retry_after=1.2)
    wire = command_envelope(None, error=error, duration_ms=12.6).render("invariant")
    assert (wire["meta"]["duration_ms"], wire["error"]["retry_after"]) == (13, 2)


def test_meta_is_open_to_extensions_but_not_to_impostors() -> None:
    wire = local_envelope({}, "op", trace="t", extensions={"bare": True}).render("invariant")
    assert wire["meta"] == {"duration_ms": 0, "trace": "t"}
    assert Envelope.parse(wire).meta.extensions == {"trace": "t"}


def test_absent_warnings_are_none() -> None:
    assert Envelope.parse({"ok": True, "data": {}, "error": None, "meta": {"duration_ms": 1}}).warnings == ()


def test_the_error_beats_ok() -> None:
    wire = {"ok": True, "data": None, "error": {"code": "TIMEOUT", "message": "x"}, "meta": {"duration_ms": 1}}
    assert Envelope.parse(wire).ok is False


@pytest.mark.parametrize(
    "wire",
    [
        {"ok": True, "data": {}, "error": None},
        {"ok": True, "data": {}, "meta": {}},
        {"ok": True, "data": None, "error": None, "meta": {}},
        {"ok": False, "data": {}, "error": None, "meta": {}},
        {"ok": False, "data": None, "error": "text", "meta": {}},
        {"ok": False, "data": None, "error": {"message": "x"}, "meta": {}},
        {"ok": False, "data": None, "error": {"code": 5, "message": "x"}, "meta": {}},
        {"ok": True, "data": {}, "error": None, "warnings": {}, "meta": {}},
    ],
)
def test_a_wire_form_that_cannot_be_read_is_refused(wire: Any) -> None:
    with pytest.raises(EnvelopeError):
        Envelope.parse(wire, "invariant")


def test_what_a_reader_must_ignore_is_ignored() -> None:
    moved = {"command": "new", "permanent": True}
    told = {"code": "CONFLICT", "message": "x", "retryable": False, "retry_after": 3, "redirect": moved}
    wire: dict[str, Any] = {"ok": False, "data": None, "error": told, "warnings": [], "meta": {"duration_ms": 1}}
    assert Envelope.parse(wire).error == ErrorDetail(code="CONFLICT", message="x", retryable=False)


def test_it_is_recognised_with_members_missing() -> None:
    assert recognise({"ok": False, "error": None, "meta": None}) == "invariant"
    assert recognise({"ok": False, "meta": {}}) == "none"
