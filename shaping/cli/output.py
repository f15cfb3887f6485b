"""What our commands share about their output: errors with exit codes from the registry, progress on a terminal."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import orjson
import typer

from shaping.cli.answer import elapsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.errors import ErrorDetail

_PATIENCE: Final = 1.0  # seconds of work before a person is told that it goes on


def print_json(wire: Any) -> None:
    """Print a wire value on one line."""
    sys.stdout.write(orjson.dumps(wire).decode() + "\n")
    sys.stdout.flush()


def fail(detail: ErrorDetail, *, as_json: bool, exit_code: int | None = None) -> typer.Exit:
    """Tell of an error, to a program on standard output or to people on standard error; exit as the registry says."""
    from shaping.envelope import command_envelope, exit_code_for  # noqa: PLC0415 (help must not wait for it)

    code = exit_code_for(detail) if exit_code is None else exit_code
    if as_json:
        print_json(command_envelope(None, exit_code=code, error=detail, duration_ms=elapsed()).render("invariant"))
        return typer.Exit(code)
    typer.echo(detail.message, err=True)
    if detail.hint:
        typer.echo(detail.hint, err=True)
    return typer.Exit(code)


class Stopped(typer.Exit):
    """The end of a command that cannot do its job, with the error for a program that asked for one."""

    def __init__(self, detail: ErrorDetail, exit_code: int) -> None:
        super().__init__(exit_code)
        self.detail = detail


def stopped(message: str, exit_code: int = 2, *, code: str = "BAD_ARGUMENT", **said: Any) -> Stopped:
    """Tell people on standard error why a command ends here, and give what to raise."""
    from shaping.errors import make_error  # noqa: PLC0415 (help must not wait for it)

    detail = make_error(code, message, **said)
    typer.echo(detail.message, err=True)
    return Stopped(detail, exit_code)


def is_plain() -> bool:
    """Whether colour and progress are unwanted: the other side is no terminal, or says so."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty()


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show that work goes on, on a terminal and only once it has taken a second."""
    if is_plain():
        yield
        return
    done = threading.Event()
    shown = threading.Thread(target=_show, args=(what, done), daemon=True)
    shown.start()
    try:
        yield
    finally:
        done.set()
        shown.join()


def _show(what: str, done: threading.Event) -> None:
    if done.wait(_PATIENCE):
        return
    from rich.console import Console  # noqa: PLC0415 (most work is over before it is needed)
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 (the same)

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(what, total=None)
        done.wait()
