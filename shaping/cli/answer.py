"""How our own commands answer a program: the invariant envelope on standard output."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

import orjson
import typer

# Commands are imported when they are about to run: that is when they began.
_BEGAN = perf_counter()

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.errors import ErrorDetail
    from shaping.settings import ConfigError


def answer(data: Any, warnings: Iterable[str] = (), **meta: Any) -> None:
    """Print what a command found, for a program to read; `meta` is what the envelope says besides."""
    from shaping.envelope import command_envelope  # noqa: PLC0415 (help must not wait for it)

    said = {"duration_ms": elapsed(), **meta}
    _print(command_envelope(data, argv=_argv(), warnings=warnings, **said).render("invariant", include=meta))


def refuse(error: ConfigError, *, as_json: bool) -> typer.Exit:
    """Say what is wrong with a config, to people on standard error or to a program on standard output."""
    if not as_json:
        typer.echo(str(error), err=True)
        return typer.Exit(1)
    from shaping.envelope import command_envelope  # noqa: PLC0415 (help must not wait for it)

    detail = config_fault(error)
    failed = command_envelope(None, exit_code=1, argv=_argv(), error=detail, duration_ms=elapsed())
    _print(failed.render("invariant"))
    return typer.Exit(1)


def config_fault(error: ConfigError) -> ErrorDetail:
    """Describe what is wrong with a config, problem by problem."""
    from shaping.errors import make_error  # noqa: PLC0415 (help must not wait for it)

    problems = [
        {
            "file": problem.file,
            "path": problem.path,
            "line": problem.line,
            "expected": problem.expected,
            "suggestion": problem.suggestion,
            "message": str(problem),
        }
        for problem in error.problems
    ]
    hint = "Correct the config and run `shaping check`."
    return make_error("GENERAL_ERROR", str(error), hint=hint, details={"problems": problems})


def elapsed() -> float:
    """Give the milliseconds since the program began."""
    return (perf_counter() - _BEGAN) * 1000


def _argv() -> tuple[str, ...]:
    return ("shaping", *sys.argv[1:])


def _print(wire: Any) -> None:
    typer.echo(orjson.dumps(wire, option=orjson.OPT_INDENT_2).decode())
