from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from shaping.operations.spec import (
    OPERATION_TYPES,
    ManifestError,
    kind_of_annotations,
    kind_of_method,
    make_spec,
)


@pytest.mark.parametrize("kind", [kind for kind in OPERATION_TYPES if kind != "eval"])
def test_every_known_type_registers(kind: str) -> None:
    assert make_spec("tool", operation_type=kind).operation_type == kind


def test_an_eval_tool_keeps_what_it_declares() -> None:
    schema = {"type": "object", "properties": {"code": {"type": "string"}}}
    spec = make_spec("run", operation_type="eval", input=schema, language="python", code_members=("code",))
    assert (spec.input.json, spec.language, spec.code_members) == (schema, "python", ("code",))


@pytest.mark.parametrize(
    ("declared", "member", "sentence"),
    [
        ({"name": "", "operation_type": "query"}, "name", "tool '' cannot be registered: it has no name"),
        (
            {"name": "t"},
            "operation_type",
            (
                "tool 't' cannot be registered: its manifest declares no operation_type; "
                "expected one of command, query, eval, screenshot, logs, window_info"
            ),
        ),
        (
            {"name": "t", "operation_type": "qeury"},
            "operation_type",
            (
                "tool 't' cannot be registered: operation_type is 'qeury'; "
                "expected one of command, query, eval, screenshot, logs, window_info. Did you mean 'query'?"
            ),
        ),
        (
            {"name": "t", "operation_type": 7},
            "operation_type",
            (
                "tool 't' cannot be registered: operation_type is 7; "
                "expected one of command, query, eval, screenshot, logs, window_info"
            ),
        ),
        (
            {"name": "t", "operation_type": "eval"},
            "language",
            (
                "tool 't' cannot be registered: an eval tool's language is None; "
                "expected python or javascript, so that its payloads can be checked"
            ),
        ),
    ],
)
def test_a_tool_without_a_known_type_does_not_register(declared: dict[str, Any], member: str, sentence: str) -> None:
    with pytest.raises(ManifestError) as caught:
        make_spec(**declared)
    assert (str(caught.value), caught.value.member) == (sentence, member)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"operation_type": {"enum": ["command", "query"]}}},
        {"properties": {"operationType": {"const": "eval"}}},
        {"x-operation-type": "eval", "properties": {}},
    ],
)
def test_an_input_schema_never_shows_the_operation_type(schema: dict[str, Any]) -> None:
    with pytest.raises(ManifestError, match="belongs in the manifest only"):
        make_spec("t", operation_type="command", input=schema)


@pytest.mark.parametrize("member", [{"enum": ["debit", "credit"]}, {"type": "string"}, True])
def test_a_member_of_that_name_with_the_apis_own_meaning_is_no_marker(member: Any) -> None:
    schema = {"properties": {"operation_type": member}}
    assert make_spec("t", operation_type="command", input=schema).input.json == schema


@pytest.mark.parametrize(
    ("method", "kind"),
    [("get", "query"), ("HEAD", "query"), ("POST", "command"), ("delete", "command"), ("PURGE", "command")],
)
def test_an_http_method_tells_the_type(method: str, kind: str) -> None:
    assert kind_of_method(method) == kind


@pytest.mark.parametrize(
    ("annotations", "kind"),
    [
        ({"readOnlyHint": True}, "query"),
        ({"read_only_hint": True}, "query"),
        (SimpleNamespace(readOnlyHint=True), "query"),
        (SimpleNamespace(read_only_hint=True), "query"),
        ({"readOnlyHint": "yes"}, "command"),
        ({}, "command"),
        (None, "command"),
    ],
)
def test_only_an_explicit_read_only_hint_makes_a_query(annotations: Any, kind: str) -> None:
    assert kind_of_annotations(annotations) == kind
