"""What our commands share: options, envelopes under `--json`, messages for people, progress, a server's address."""

from __future__ import annotations

import errno
import io
import logging
import os
import socket
import sys
import threading
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from secrets import token_urlsafe
from tempfile import TemporaryFile
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO, get_type_hints

import orjson
import typer

from shaping.envelope import command_envelope, exit_code_for
from shaping.errors import ToolError, from_exit_code, make_error
from shaping.parsers import parse
from shaping.settings import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from shaping.errors import ErrorDetail

JSON = typer.Option("--json", help="Print an envelope for a program to read.")
CONFIG = typer.Option(
    metavar="FILE", help="The config to use instead of the one that is found.", exists=True, dir_okay=False
)
PROFILE = typer.Option(metavar="NAME", help="The profile to use: minimal, standard, debug or one of your own.")
MAX_TOKENS = typer.Option(metavar="N", min=1, help="The most tokens the answer may cost.")

# A command's module is imported when the command is called.
_STARTED: Final = perf_counter()
_PROGRESS_AFTER: Final = 1.0  # seconds
_LONGEST: Final = 4_000  # characters of a server's standard error that its failure quotes
# Their standard output is a protocol: only a failure to start goes into an envelope.
_SERVERS = frozenset({"proxy", "serve"})


def print_result(data: Any, warnings: Iterable[str] = (), **meta: Any) -> None:
    """Print a command's result as an invariant envelope; `meta` holds further members of the envelope's meta."""
    members = {"duration_ms": _elapsed(), **meta}
    envelope = command_envelope(data, argv=_argv(), warnings=warnings, **members)
    wire = envelope.render("invariant", include=meta)
    typer.echo(orjson.dumps(wire, option=orjson.OPT_INDENT_2).decode())


def print_failure(detail: ErrorDetail, exit_code: int) -> typer.Exit:
    """Print an error as an invariant envelope, and return the exit to raise."""
    failed = command_envelope(None, exit_code=exit_code, argv=_argv(), error=detail, duration_ms=_elapsed())
    sys.stdout.write(orjson.dumps(failed.render("invariant")).decode() + "\n")
    sys.stdout.flush()
    return typer.Exit(exit_code)


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


def config_failure(error: ConfigError) -> Stopped:
    """Report an invalid config problem by problem, and return the exit to raise."""
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
    return stopped(str(error), 1, code="GENERAL_ERROR", hint=hint, details={"problems": problems})


def check_profiles(profiles: Iterable[str], known: Collection[str]) -> None:
    """End the command where a profile is not known."""
    for profile in profiles:
        if profile not in known:
            raise stopped(f"there is no profile {profile!r}; there are {', '.join(sorted(known))}")


def need_posix(what: str) -> None:
    """End with a sentence on Windows, for what waits for several pipes and ends groups of processes."""
    if not hasattr(os, "killpg"):
        raise stopped(f"{what} works on Linux and macOS only, not on Windows", 1, code="NOT_IMPLEMENTED")


def with_json_option(callback: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Add `--json` to a command that has none, and report every command's failures, under it in an envelope."""
    has_option = "as_json" in signature(callback).parameters

    @wraps(callback)
    def command(*args: Any, as_json: bool | None = False, **kwargs: Any) -> Any:
        run = partial(callback, *args, **kwargs, **({"as_json": as_json} if has_option else {}))
        if as_json and name in _SERVERS:
            return _serve(name, run)
        if as_json:
            return _envelop(name, run, prints_envelope=has_option)
        if (exit_ := _exit_of(run)) is not None:
            raise exit_
        return None

    hints = get_type_hints(callback, include_extras=True)
    params = list(signature(callback).parameters.values())
    if not has_option:
        hints["as_json"] = Annotated[bool, JSON]
        params.append(Parameter("as_json", Parameter.KEYWORD_ONLY, default=False))
    # Typer reads both, and must not look through to the wrapped function, whose annotations are strings.
    command.__signature__ = Signature([param.replace(annotation=hints[param.name]) for param in params])  # type: ignore[attr-defined]  # what inspect looks for
    command.__annotations__ = hints
    del command.__wrapped__
    return command


def call(app: typer.Typer, words: Sequence[str]) -> int:
    """Run a command under `--json` and return its exit code; wrong arguments are reported in an envelope too."""
    try:
        done = typer.main.get_command(app).main(list(words), standalone_mode=False)
    except Exception as problem:
        if not hasattr(problem, "format_message"):
            raise
        detail = make_error("BAD_ARGUMENT", problem.format_message(), hint="See --help.", phase="validation")
        return print_failure(detail, getattr(problem, "exit_code", 2)).exit_code
    return done if isinstance(done, int) else 0


def _exit_of(run: Callable[[], Any]) -> typer.Exit | None:
    """Run a command and return its exit, with the errors that any command may meet reported."""
    try:
        run()
    except typer.Exit as exit_:
        return exit_
    except ConfigError as error:
        return config_failure(error)
    except ToolError as error:
        for line in filter(None, (error.detail.message, error.detail.hint)):
            typer.echo(line, err=True)
        return Stopped(error.detail, exit_code_for(error.detail, "posix"))
    return None


def _serve(name: str, run: Callable[[], Any]) -> None:
    log = _LogTail(sys.stderr)
    with redirect_stderr(log):
        exit_ = _exit_of(run)
    if exit_ is not None and exit_.exit_code:
        raise _failed(name, exit_, log.text.strip())


class _LogTail(io.TextIOBase):
    """Standard error that remembers its last characters: a server may run for months."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self.text = stream, ""
        self.flush, self.fileno, self.isatty = stream.flush, stream.fileno, stream.isatty  # type: ignore[method-assign]  # as the stream does

    def write(self, text: str) -> int:
        self.text = (self.text + text)[-_LONGEST:]
        return self._stream.write(text)


def _envelop(name: str, run: Callable[[], Any], *, prints_envelope: bool) -> None:
    # A file, not a buffer: processes that a command starts write to the descriptor of standard error.
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as err:
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            exit_ = _exit_of(run)
        err.seek(0)
        printed, messages = out.getvalue(), err.read()
    if exit_ is not None and exit_.exit_code and not (prints_envelope and printed):
        raise _failed(name, exit_, messages.strip())
    if not prints_envelope:
        found = parse(printed, ("json", "lines"))
        data = {"text": printed} if found is None else found.value
        print_result(data, **({"stderr": messages} if messages else {}))
        return
    sys.stdout.write(printed)
    sys.stderr.write(messages)
    if exit_ is not None and exit_.exit_code:
        raise exit_


def _failed(name: str, exit_: typer.Exit, messages: str) -> typer.Exit:
    said = messages or f"{name} failed; standard error says why"
    detail = exit_.detail if isinstance(exit_, Stopped) else from_exit_code(exit_.exit_code, said, table="posix")
    return print_failure(detail, exit_.exit_code)


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
    with _bar() as bar:
        tasks: dict[str, Any] = {}

        def show(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bar.add_task(label, total=total)
            bar.update(tasks[label], completed=done)

        yield show


def _is_plain() -> bool:
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty()


def _show(label: str, done: threading.Event) -> None:
    if not done.wait(_PROGRESS_AFTER):
        with _bar() as bar:
            bar.add_task(label, total=None)
            done.wait()


def _bar() -> Any:
    from rich.console import Console  # noqa: PLC0415 (rich takes 60 ms to import, and most commands end before it is needed)
    from rich.progress import Progress  # noqa: PLC0415 (rich takes 60 ms to import, and most commands end before it is needed)

    return Progress(console=Console(stderr=True), transient=True)


def _elapsed() -> float:
    return (perf_counter() - _STARTED) * 1000


def _argv() -> tuple[str, ...]:
    return ("shaping", *sys.argv[1:])


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
