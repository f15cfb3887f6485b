"""Commands as operations: a program run with arguments from the input, never through a shell."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import anyio

from shaping.envelope import command_envelope
from shaping.errors import ToolError
from shaping.errors.outcomes import from_exit_code
from shaping.operations.spec import Spec, make_spec
from shaping.parsers.json import read_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from shaping.envelope import Envelope

HOLE = re.compile(r"\{(\w+)\}")
MOST_SAID = 2000  # characters of what a failing program printed that go into its error


def from_command(
    name: str,
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    **more: Any,
) -> tuple[Spec, Callable[..., Awaitable[Envelope[Any]]]]:
    """Make an operation that runs a program, without a shell: `from_command("blame", ["git", "blame", "{file}"])`.

    `{member}` in an argument stands for a member of the input, which the input schema requires. What the program prints
    is the data, as JSON where it is JSON; an exit code other than 0 is an error. `more` goes to `make_spec`:
    `operation_type` must be among it.
    """
    members = list(dict.fromkeys(member for argument in argv for member in HOLE.findall(argument)))
    schema = {
        "type": "object",
        "properties": {member: {"type": ["string", "integer", "number"]} for member in members},
        **({"required": members} if members else {}),
        "additionalProperties": False,
    }
    kind = more.pop("operation_type", None)
    shape = "query" if kind in {"query", "logs", "screenshot", "window_info"} else "mutation"
    spec = make_spec(
        name, **{"input": schema, "operation_type": kind, "type": shape, "origin": {"argv": [*argv]}, **more}
    )

    async def handler(given: Mapping[str, Any]) -> Envelope[Any]:
        called = [_filled(argument, given) for argument in argv]
        done = await anyio.run_process(called, check=False, cwd=cwd, env=env, stdin=subprocess.DEVNULL)
        return read_output(called, done)

    return spec, handler


def read_output(argv: Sequence[str], done: subprocess.CompletedProcess[bytes]) -> Envelope[Any]:
    """Wrap what a program printed: data is its JSON or its text, an exit code other than 0 is an error."""
    data = _data(done.stdout)
    ended: dict[str, Any] = {"exit_code": done.returncode, "argv": argv}
    if done.returncode < 0:
        # Python's way of saying that a signal ended it; a shell would have said 128 and more.
        ended = {"exit_code": 128 - done.returncode, "argv": argv, "signal": -done.returncode}
    if done.returncode == 0:
        return command_envelope(data, **ended)
    stderr = done.stderr.decode("utf-8", "replace").strip()[-MOST_SAID:]
    error = from_exit_code(done.returncode, stderr or None, signal=ended.get("signal"), foreign=True)
    return command_envelope(data, error=error, **ended)


def _filled(argument: str, given: Mapping[str, Any]) -> str:
    """Put input into an argument; where it is the whole of it, it must not turn into an option."""
    text = HOLE.sub(lambda hole: str(given[hole.group(1)]), argument)
    if argument.startswith("{") and text.startswith("-"):
        raise ToolError("BAD_ARGUMENT", f"{argument} begins with '-', which the program would take for an option")
    if "\0" in text:
        raise ToolError("BAD_ARGUMENT", f"{argument} has a null character", phase="validation")
    return text


def _data(stdout: bytes) -> Any:
    text = stdout.decode("utf-8", "replace")
    if not text.strip():
        return None
    try:
        return read_json(text)
    except ValueError:
        return text.rstrip("\n")
