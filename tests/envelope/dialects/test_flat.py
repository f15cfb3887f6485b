from typing import Any

import pytest

from shaping.envelope import Envelope, EnvelopeError, local_envelope, recognise
from shaping.errors import ErrorDetail, make_error


def test_a_payload_is_at_the_root() -> None:
    envelope = local_envelope({"a": 1, "b": [2]}, "op", estimated_tokens=9, duration_ms=4, session_id="s")
    assert envelope.render("flat") == {
        "ok": True,
        "a": 1,
        "b": [2],
        "_meta": {"estimated_tokens": 9, "elapsed_ms": 4, "session_id": "s"},
    }


@pytest.mark.parametrize("data", [[1, 2], "text", 5, None, {"ok": 1}, {"_meta": {}}, {"result": {"a": 1}, "b": 2}])
def test_a_list_a_scalar_or_a_taken_key_goes_under_result(data: Any) -> None:
    wire = local_envelope(data, "op", estimated_tokens=1).render("flat")
    assert wire == {"ok": True, "result": data, "_meta": {"estimated_tokens": 1, "elapsed_ms": 0}}
    assert Envelope.parse(wire).data == data


def test_an_empty_payload_comes_back_empty() -> None:
    assert Envelope.parse(local_envelope({}, "op").render("flat")).data == {}


def test_tokens_nobody_counted_are_estimated_by_four_characters_each() -> None:
    assert local_envelope({"a": "x" * 32}, "op").render("flat")["_meta"]["estimated_tokens"] == 10


def test_an_error_is_at_the_root_with_all_it_must_say() -> None:
    error = make_error("REF_NOT_FOUND", "no e9", similar=["e8"], next_actions=["snapshot"], details={"ref": "e9"})
    assert local_envelope({"seen": 1}, "op", error=error, estimated_tokens=1).render("flat") == {
        "ok": False,
        "error": "no e9",
        "code": "REF_NOT_FOUND",
        "hint": "The reference is unknown or has expired; repeat the call that gave it.",
        "retryable": False,
        "http": 404,
        "next_actions": ["snapshot"],
        "similar_refs": ["e8"],
        "details": {"ref": "e9"},
        "result": {"seen": 1},
        "_meta": {"estimated_tokens": 1, "elapsed_ms": 0},
    }


def test_what_an_error_leaves_open_is_filled_as_the_contract_demands() -> None:
    wire = local_envelope(None, "op", error=ErrorDetail(code="MINE", message="x"), estimated_tokens=1).render("flat")
    assert (wire["hint"], wire["retryable"], wire["http"]) == ("", False, 500)
    assert Envelope.parse(wire).error == ErrorDetail(code="MINE", message="x", retryable=False, http=500)


def test_the_rest_is_told_in_meta() -> None:
    envelope: Envelope[Any] = local_envelope(
        {}, "op", warnings=["slow"], truncated=True, cursor="c", estimated_tokens=1, build=7
    )
    assert envelope.render("flat", include={"warnings"})["_meta"] == {
        "estimated_tokens": 1,
        "elapsed_ms": 0,
        "truncated": True,
        "cursor": "c",
        "warnings": ["slow"],
        "build": 7,
    }


def test_debug_shows_every_member_of_meta() -> None:
    meta = local_envelope({}, "op", estimated_tokens=1).render("flat", debug=True)["_meta"]
    assert meta == {
        "estimated_tokens": 1,
        "elapsed_ms": 0,
        "session_id": None,
        "tier": None,
        "tool_version": None,
        "tool_id": None,
        "request_id": None,
        "schema_version": None,
        "capabilities": [],
        "config_hash": None,
        "etag": None,
        "not_modified": False,
        "truncated": False,
        "shown": [],
        "cursor": None,
        "ref": None,
        "upgrade_hints": [],
        "omissions": [],
        "warnings": [],
    }


@pytest.mark.parametrize(
    "wire",
    [
        {},
        {"ok": True},
        {"_meta": {}},
        {"ok": 1, "_meta": {}},
        {"ok": False, "_meta": {}},
        {"ok": False, "error": "x", "_meta": {}},
        {"ok": True, "_meta": {"elapsed_ms": "long"}},
    ],
)
def test_a_wire_form_that_cannot_be_read_is_refused(wire: Any) -> None:
    with pytest.raises(EnvelopeError):
        Envelope.parse(wire, "flat")


def test_ok_and_underscored_meta_make_it_flat() -> None:
    assert recognise({"ok": True, "a": 1, "_meta": {}}) == "flat"
    assert recognise({"ok": True, "a": 1}) == "none"
    assert recognise({"ok": "yes", "_meta": {}}) == "none"
