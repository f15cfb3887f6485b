from typing import Any

import pytest

from shaping.envelope import Envelope, EnvelopeError, local_envelope, recognise
from shaping.errors import Redirect, make_error
from shaping.response import Omission, Warned

STANDARD = frozenset({"error", "warnings", "upgrade_hints"})
HINT = {"feature": "taint", "tier": "pro", "reason": "not in community"}


def test_a_plain_success_is_its_data_alone() -> None:
    envelope = local_envelope([1], "op", tier="pro", duration_ms=3, warnings=["slow"])
    assert envelope.render("lean") == {"data": [1]}


def test_no_data_is_still_data() -> None:
    assert local_envelope(None, "op").render("lean") == {"data": None}


def test_what_a_reader_must_know_is_shown_in_every_profile() -> None:
    envelope = local_envelope(
        [1],
        "op",
        request_id="req",
        truncated=True,
        cursor="c",
        ref="r_1",
        not_modified=True,
        upgrade_hints=[HINT],
        omissions="12 links left out; ref r_1",
    )
    assert envelope.render("lean") == {
        "request_id": "req",
        "upgrade_hints": [HINT],
        "not_modified": True,
        "truncated": True,
        "cursor": "c",
        "ref": "r_1",
        "omissions": "12 links left out; ref r_1",
        "data": [1],
    }


def test_a_profile_adds_the_members_it_includes_and_nothing_empty() -> None:
    envelope = local_envelope([1], "op", tier="pro", config_hash="ab", omissions=[Omission("a[]", 2, "links", 9)])
    assert envelope.render("lean", include=STANDARD) == {"data": [1]}
    assert envelope.render("lean", include={"tier", "omissions", "etag", "extensions"}) == {
        "tier": "pro",
        "omissions": [{"path": "a[]", "count": 2, "reason": "links", "tokens": 9}],
        "data": [1],
    }


def test_warnings_and_extensions_are_shown_where_included() -> None:
    envelope = local_envelope([1], "op", warnings=["slow", Warned("OLD", "deprecated", "a.b")], build=7)
    assert envelope.render("lean", include={"warnings", "extensions"}) == {
        "warnings": ["slow", {"code": "OLD", "message": "deprecated", "path": "a.b"}],
        "extensions": {"build": 7},
        "data": [1],
    }


def test_debug_shows_what_its_profile_includes_even_where_null() -> None:
    include = {"warnings", "truncated", "cursor", "ref"}
    wire = local_envelope([1], "op").render("lean", include=include, debug=True)
    documented = local_envelope([1], "op").render("lean", debug=True)
    assert wire == {**documented, "warnings": [], "truncated": False, "cursor": None, "ref": None}
    assert Envelope.parse(wire) == Envelope.parse(documented)


def test_debug_shows_the_documented_members_even_where_null() -> None:
    assert local_envelope([1], "op").render("lean", debug=True) == {
        "tier": None,
        "tool_version": None,
        "tool_id": None,
        "request_id": None,
        "capabilities": [],
        "duration_ms": None,
        "error": None,
        "upgrade_hints": [],
        "data": [1],
    }


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("BAD_ARGUMENT", "invalid_argument"),
        ("INVALID_PATH", "invalid_path"),
        ("PERMISSION_DENIED", "forbidden"),
        ("NOT_FOUND", "not_found"),
        ("TIMEOUT", "timeout"),
        ("TOO_LARGE", "too_large"),
        ("RESOURCE_EXHAUSTED", "resource_exhausted"),
        ("NOT_IMPLEMENTED", "not_implemented"),
        ("PAYMENT_REQUIRED", "upgrade_required"),
        ("DEPENDENCY_UNAVAILABLE", "dependency_unavailable"),
        ("CORRECTION_NEEDED", "correction_needed"),
        ("INTERNAL_ERROR", "internal_error"),
        ("CONFLICT", "conflict"),
        ("production.NOTARIZATION_FAILED", "production.notarization_failed"),
        ("MixedCase", "MixedCase"),
    ],
)
def test_codes_are_spelt_in_lower_case_and_come_back(ours: str, theirs: str) -> None:
    wire = local_envelope(None, "op", error=make_error(ours, "x", foreign=True)).render("lean")
    assert wire == {"error": {"error": "x", "error_code": theirs}}
    back = Envelope.parse(wire)
    assert back.error is not None
    assert back.error.code == ours


def test_a_missing_file_is_not_found_as_the_document_says() -> None:
    wire = local_envelope(None, "op", error=make_error("FILE_NOT_FOUND", "x")).render("lean")
    assert wire == {"error": {"error": "x", "error_code": "not_found"}}


def test_an_error_shows_what_was_said_for_this_call() -> None:
    moved = Redirect(command="new", permanent=True)
    error = make_error(
        "RATE_LIMITED",
        "slow down",
        hint="Wait for the window to pass.",
        details={"limit": 5},
        similar=["a"],
        next_actions=["wait"],
        retry_after=3,
    )
    assert local_envelope(None, "op", error=error).render("lean") == {
        "error": {
            "error": "slow down",
            "error_code": "rate_limited",
            "error_details": {"limit": 5},
            "hint": "Wait for the window to pass.",
            "retry_after": 3,
            "next_actions": ["wait"],
            "similar": ["a"],
        },
    }
    renamed = make_error("REDIRECTED", "moved", redirect=moved)
    assert local_envelope(None, "op", error=renamed).render("lean")["error"]["redirect"] == {
        "command": "new",
        "permanent": True,
    }


def test_a_profile_that_includes_errors_shows_the_registrys_hint_too() -> None:
    error = make_error("CONFLICT", "x", phase="validation")
    assert local_envelope({"seen": 1}, "op", error=error).render("lean", include=STANDARD) == {
        "error": {
            "error": "x",
            "error_code": "conflict",
            "hint": "Read the current state and resolve the conflict first.",
            "retryable": False,
            "phase": "validation",
        },
        "data": {"seen": 1},
    }


@pytest.mark.parametrize(
    "wire",
    [
        {},
        {"error": None},
        {"error": "text"},
        {"error": {"error": "x"}},
        {"error": {"error": "x", "error_code": 5}},
        {"data": 1, "duration_ms": "long"},
        {"data": 1, "warnings": "text"},
        {"data": 1, "warnings": [5]},
        {"data": 1, "upgrade_hints": [{"feature": "f"}]},
        [],
        5,
    ],
)
def test_a_wire_form_that_cannot_be_read_is_refused(wire: Any) -> None:
    with pytest.raises(EnvelopeError):
        Envelope.parse(wire, "lean")


@pytest.mark.parametrize(
    ("wire", "dialect"),
    [
        ({"data": 1}, "lean"),
        ({"data": 1, "truncated": True}, "lean"),
        ({"error": {"error": "x", "error_code": "timeout"}}, "lean"),
        ({"data": 1, "error": {"error": "x", "error_code": "timeout"}}, "lean"),
        ({"data": 1, "total": 5}, "none"),
        ({"error": {"message": "x"}}, "none"),
        ({"data": 1, "error": "text"}, "none"),
    ],
)
def test_only_leans_own_members_make_it_lean(wire: Any, dialect: str) -> None:
    assert recognise(wire) == dialect
