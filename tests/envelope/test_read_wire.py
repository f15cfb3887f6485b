from __future__ import annotations

from typing import Any

import pytest

from shaping.envelope import Envelope, local_envelope, read_wire
from shaping.errors import make_error

INVARIANT = {"ok": True, "data": {"id": 7}, "error": None, "warnings": ["slow"], "meta": {"duration_ms": 3}}


@pytest.mark.parametrize("dialect", ["lean", "flat", "sourced", "invariant"])
@pytest.mark.parametrize("error", [None, make_error("NOT_FOUND", "there is no issue 7")])
def test_an_answer_in_one_of_our_wire_forms_is_read_as_its_envelope(dialect: Any, error: Any) -> None:
    made = local_envelope(None if error else {"id": 7}, "get", error=error, request_id="r-1")
    read = read_wire(made.render(dialect))
    assert read is not None
    assert (read.data, read.ok, read.meta.request_id) == (made.data, made.ok, "r-1")
    assert (read.error and read.error.code) == (error and "NOT_FOUND")


@pytest.mark.parametrize(
    "value",
    [
        {"id": 7},
        [1, 2],
        "text",
        None,
        {"data": [1], "paging": {"next": 2}},
        {"ok": True, "channels": [], "response_metadata": {}},
        {"error": {"message": "x"}},
        {"error": "x", "data": 1},
        {"data": 1, "meta": {"source": "somewhere"}},
    ],
)
def test_other_answers_are_data(value: Any) -> None:
    assert read_wire(value) is None


def test_a_lean_answer_whose_own_member_a_path_names_is_data() -> None:
    assert read_wire({"data": {"items": []}}, paths=["data.items"]) is None
    assert read_wire({"data": {"items": []}}, paths=["data[].id"]) is None
    assert read_wire({"data": {"items": []}}, paths=["items"]) is not None


def test_an_envelope_without_its_error_member_keeps_its_data() -> None:
    wire = {name: value for name, value in INVARIANT.items() if name != "error"}
    read = read_wire(wire)
    assert read is not None
    assert (read.ok, read.data, [warned.message for warned in read.warnings]) == (True, {"id": 7}, ["slow"])


def test_a_failed_envelope_that_gives_no_error_is_a_failure() -> None:
    read = read_wire({"ok": False, "data": None, "warnings": [], "meta": {}})
    assert read is not None
    assert read.error is not None
    assert (read.ok, read.error.code) == (False, "INTERNAL_ERROR")


@pytest.mark.parametrize("dialect", ["lean", "flat", "sourced", "invariant"])
def test_what_another_implementation_adds_is_kept(dialect: Any) -> None:
    wire: dict[str, Any] = {
        "ok": False,
        "data": None,
        "error": {
            "code": "COMMAND_MERGED",
            "message": "moved",
            "trace_id": "t-9",
            "redirect": {"command": "tool users add", "permanent": True, "reason": "merged", "since": "2.0"},
        },
        "warnings": [],
        "meta": {"duration_ms": 2, "schema_version": "1.0", "region": "eu"},
    }
    read = Envelope.parse(wire)
    again = Envelope.parse(read.render(dialect))
    assert again.error is not None
    assert again.error.extensions == {"trace_id": "t-9"}
    assert again.error.redirect is not None
    assert (again.error.redirect.reason, again.error.redirect.model_extra) == ("merged", {"since": "2.0"})
    assert again.meta.schema_version == "1.0"
    if dialect != "lean":  # which shows extensions of meta only where they are asked for
        assert again.meta.extensions == {"region": "eu"}
