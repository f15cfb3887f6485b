from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from shaping.operations.adapters import from_command
from shaping.operations.registry import Registry
from shaping.operations.spec import ManifestError

if TYPE_CHECKING:
    from shaping.envelope import Envelope


def ran(program: str, given: Any = None, *arguments: str, **more: Any) -> Envelope[Any]:
    registry = Registry()
    pair = from_command("op", [sys.executable, "-c", program, *arguments], **{"operation_type": "query", **more})
    registry.add([pair])

    async def main() -> Envelope[Any]:
        return await registry.execute("op", given, shape=False)

    return anyio.run(main)


def test_what_a_program_prints_is_its_data() -> None:
    envelope = ran("print('{\"a\": 1}')")
    assert (envelope.data, envelope.meta.source, envelope.meta.model_dump()["exit_code"]) == ({"a": 1}, "command", 0)
    assert ran("print('plain')").data == "plain"
    assert ran("pass").data is None


def test_input_fills_arguments_and_never_a_shell() -> None:
    show = "import sys, json; print(json.dumps(sys.argv[1:]))"
    assert ran(show, {"q": "a b; rm -rf $HOME", "n": 3}, "--limit={n}", "{q}").data == [
        "--limit=3",
        "a b; rm -rf $HOME",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"q": "--delete"}, "{q} begins with '-', which the program would take for an option"),
        ({"q": "a\0b"}, "{q} has a null character"),
        ({}, '1 invalid argument: "q" is a required property'),
    ],
)
def test_input_that_would_mean_something_else_is_refused(given: Any, message: str) -> None:
    error = ran("pass", given, "{q}").error
    assert error is not None
    assert (error.code, error.message) == ("BAD_ARGUMENT", message)


def test_an_exit_code_is_an_error_with_what_was_said() -> None:
    envelope = ran("import sys; print('partial'); print('no such thing', file=sys.stderr); sys.exit(5)")
    assert envelope.error is not None
    assert (envelope.data, envelope.error.message, envelope.meta.model_dump()["exit_code"]) == (
        "partial",
        "no such thing",
        5,
    )


def test_a_signal_is_told() -> None:
    envelope = ran("import os; os.kill(os.getpid(), 9)")
    assert envelope.error is not None
    assert (envelope.error.code, envelope.meta.model_dump()["signal"]) == ("ABORTED", 9)


def test_a_program_that_is_not_there_is_an_error() -> None:
    registry = Registry()
    registry.add([from_command("op", ["/no/such/program"], operation_type="query")])
    error = anyio.run(registry.execute, "op").error
    assert error is not None
    assert error.code == "FILE_NOT_FOUND"


def test_what_a_command_does_to_the_world_must_be_said() -> None:
    with pytest.raises(ManifestError, match="declares no operation_type"):
        from_command("op", ["ls"])
    assert from_command("op", ["rm", "{path}"], operation_type="command")[0].state_changing
