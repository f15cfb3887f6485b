from __future__ import annotations

from typing import Any, get_args

import pytest

from shaping.operations.spec import ManifestError, OperationType, make_spec


@pytest.mark.parametrize("kind", [kind for kind in get_args(OperationType) if kind != "eval"])
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
