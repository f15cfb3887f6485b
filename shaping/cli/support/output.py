"""What our commands share: envelopes for programs, messages for people, progress, and the address of a server."""

from __future__ import annotations

import errno
import logging
import os
import socket
import sys
import threading
from contextlib import contextmanager
from secrets import token_urlsafe
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import orjson
import typer

from shaping.envelope import command_envelope, exit_code_for
from shaping.errors import make_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from shaping.errors import ErrorDetail
    from shaping.settings import ConfigError


# A command's module is imported when the command is called.
_STARTED: Final = perf_counter()
_PROGRESS_AFTER: Final = 1.0  # seconds


def print_result(data: Any, warnings: Iterable[str] = (), **meta: Any) -> None:
    """Print a command's result as an invariant envelope; `meta` holds further members of the envelope's meta."""
    members = {"duration_ms": _elapsed(), **meta}
    envelope = command_envelope(data, argv=_argv(), warnings=warnings, **members)
    _print_indented(envelope.render("invariant", include=meta))


def print_json(wire: Any) -> None:
    """Print a wire value on one line."""
    sys.stdout.write(orjson.dumps(wire).decode() + "\n")
    sys.stdout.flush()


def config_failure(error: ConfigError, *, as_json: bool) -> typer.Exit:
    """Report an invalid config, and return the exit to raise."""
    if not as_json:
        typer.echo(str(error), err=True)
        return typer.Exit(1)
    detail = config_error_detail(error)
    failed = command_envelope(None, exit_code=1, argv=_argv(), error=detail, duration_ms=_elapsed())
    _print_indented(failed.render("invariant"))
    return typer.Exit(1)


def config_error_detail(error: ConfigError) -> ErrorDetail:
    """Describe an invalid config problem by problem."""
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


def failure(detail: ErrorDetail, *, as_json: bool, exit_code: int | None = None) -> typer.Exit:
    """Report an error to a program on standard output or to a person on standard error; return the exit to raise."""
    code = exit_code_for(detail, "posix") if exit_code is None else exit_code
    if as_json:
        print_json(command_envelope(None, exit_code=code, error=detail, duration_ms=_elapsed()).render("invariant"))
        return typer.Exit(code)
    typer.echo(detail.message, err=True)
    if detail.hint:
        typer.echo(detail.hint, err=True)
    return typer.Exit(code)


class Stopped(typer.Exit):
    """The exit of a command that cannot do its job; carries the error for `--json`."""

    def __init__(self, detail: ErrorDetail, exit_code: int) -> None:
        super().__init__(exit_code)
        self.detail = detail


def stopped(message: str, exit_code: int = 2, *, code: str = "BAD_ARGUMENT", **members: Any) -> Stopped:
    """Print on standard error why a command cannot go on, and return the exit to raise."""
    detail = make_error(code, message, **members)
    typer.echo(detail.message, err=True)
    return Stopped(detail, exit_code)


def need_posix(what: str) -> None:
    """End with a sentence on Windows, for what waits for several pipes and ends groups of processes."""
    if not hasattr(os, "killpg"):
        raise stopped(f"{what} works on Linux and macOS only, not on Windows", 1, code="NOT_IMPLEMENTED")


@contextmanager
def progress(label: str) -> Iterator[None]:
    """Show a progress bar on a terminal once the work has taken a second."""
    if _is_plain():
        yield
        return
    done = threading.Event()
    shown = threading.Thread(target=_show, args=(label, done), daemon=True)
    shown.start()
    try:
        yield
    finally:
        done.set()
        shown.join()


def quiet() -> None:
    """Keep what is logged about single answers off the terminal, where a command shapes many to measure them."""
    logging.getLogger("shaping").setLevel(logging.CRITICAL)


@contextmanager
def reading_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar on a terminal: what is called with a label, how much is done, and of how much."""
    if _is_plain():
        yield lambda *_: None
        return
    from rich.console import Console  # noqa: PLC0415 (rich takes 60 ms to import, and only a terminal needs it)
    from rich.progress import Progress  # noqa: PLC0415 (rich takes 60 ms to import, and only a terminal needs it)

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def show(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bar.add_task(label, total=total)
            bar.update(tasks[label], completed=done)

        yield show


def _is_plain() -> bool:
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty()


def _show(label: str, done: threading.Event) -> None:
    if done.wait(_PROGRESS_AFTER):
        return
    from rich.console import Console  # noqa: PLC0415 (rich takes 60 ms to import, and most commands end before it is needed)
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 (rich takes 60 ms to import, and most commands end before it is needed)

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(label, total=None)
        done.wait()


def _elapsed() -> float:
    return (perf_counter() - _STARTED) * 1000


def _argv() -> tuple[str, ...]:
    return ("shaping", *sys.argv[1:])


def _print_indented(wire: Any) -> None:
    typer.echo(orjson.dumps(wire, option=orjson.OPT_INDENT_2).decode())


_LAST_PORT = 65_535
_CODES: Mapping[int, str] = {errno.EADDRINUSE: "CONFLICT", errno.EACCES: "PERMISSION_DENIED"}


def free_address(text: str) -> tuple[str, int]:
    """Return the host and the port of an address that is free, or end with the reason why it cannot be used."""
    host, port = parse_address(text)
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, number) as trial:
            # As servers do: a port that was left a moment ago can be taken again.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as problem:
        code = _CODES.get(problem.errno or 0, "BAD_ARGUMENT")
        message = f"cannot listen at {host}:{port}: {problem.strerror or problem}"
        raise stopped(message, 1, code=code, hint="Choose another address.") from None
    return host, port


def page_address(host: str, port: int) -> tuple[str, str]:
    """Return the address of a page on loopback with a new token in it, and the token."""
    if host not in {"127.0.0.1", "::1", "localhost"}:
        raise stopped(f"{host} is not of this machine alone; the page is served to loopback only")
    token = token_urlsafe(24)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={token}", token


def parse_address(text: str) -> tuple[str, int]:
    """Read HOST:PORT, or PORT alone for loopback."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()):
        raise stopped(f"{text!r} is not an address; expected HOST:PORT, or PORT alone for loopback")
    # int() refuses numbers of thousands of digits.
    if len(port) > len(str(_LAST_PORT)) or not 1 <= int(port) <= _LAST_PORT:
        raise stopped(f"{port} is not a port; expected 1 to {_LAST_PORT}")
    return host.strip("[]") or "127.0.0.1", int(port)
