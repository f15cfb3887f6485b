"""What our commands share: options, envelopes under `--json`, messages for people, progress, a server's address."""

import errno
import logging
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from secrets import token_urlsafe
from time import perf_counter
from typing import Annotated, Any, Final, get_type_hints

import orjson
import typer

from shaping.envelope import command_envelope, exit_code_for
from shaping.errors import ErrorDetail, ToolError, from_exit_code, make_error
from shaping.errors.codes import CodedError
from shaping.settings.jsonc import ConfigError, suggestion_for
from shaping.settings.sources import THE_CALL

JSON = typer.Option("--json", help="Print JSON for a program: ok, data, error, warnings, meta.")
CONFIG = typer.Option(
    metavar="FILE", help="The config to use instead of the one that is found.", exists=True, dir_okay=False
)
PROFILE = typer.Option(metavar="NAME", help="The profile to use: minimal, standard, debug or one of your own.")
FIELDS = typer.Option(metavar="PATHS", help="Comma-separated paths: keep only these of the data.")
HTTP = typer.Option(
    metavar="HOST:PORT", help="Serve MCP over HTTP at HOST:PORT instead of stdio; PORT alone is loopback."
)
RECORD = typer.Option(
    metavar="DIR",
    help="Record results in DIR, without secrets and private fields, for `shaping suggest` and `check --traffic`.",
)
MAX_TOKENS = typer.Option(metavar="N", min=1, help="The most tokens the answer may cost.")

# A command's module is imported when the command is called.
_STARTED: Final = perf_counter()
_PROGRESS_AFTER: Final = 1.0  # seconds
_NUMBER: Final = re.compile(r"(-?[\d.,]+%?)?")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command answers: data for a program under `--json`, else lines for a person."""

    data: Any
    lines: Iterable[str] = ()
    notes: Iterable[str] = ()  # for a person, on standard error
    warnings: Iterable[str] = ()  # for a program
    meta: Mapping[str, Any] = field(default_factory=dict)  # further members of the envelope's meta
    exit_code: int = 0

    def print(self, *, as_json: bool) -> None:
        """Print the answer, and exit where it is not good."""
        if as_json:
            members = {"duration_ms": _elapsed(), **self.meta}
            envelope = command_envelope(self.data, argv=_argv(), warnings=self.warnings, **members)
            wire = envelope.render("invariant", include=self.meta)
            typer.echo(orjson.dumps(wire, option=orjson.OPT_INDENT_2).decode())
        else:
            for note in self.notes:
                typer.echo(note, err=True)
            for line in self.lines:
                typer.echo(line)
        if self.exit_code:
            raise typer.Exit(self.exit_code)


def columns(rows: Iterable[Sequence[str | int]]) -> list[str]:
    """Write rows as lines with their cells below each other; those of columns with numbers below a head end alike."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in rows]
    turned = [_column(column, column[1:] or column) for column in zip(*cells, strict=True)]
    return ["  ".join(row).rstrip() for row in zip(*turned, strict=True)]


def _column(cells: Sequence[str], body: Sequence[str]) -> list[str]:
    width, numbers = max(map(len, cells)), all(map(_NUMBER.fullmatch, body))
    return [cell.rjust(width) if numbers else cell.ljust(width) for cell in cells]


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
    """Report an invalid config, or a wrong option, problem by problem, and return the exit to raise."""
    if options := option_problems(error):
        return stopped(options)
    # Not the value, which may be a secret.
    told = ("file", "path", "line", "expected", "suggestion")
    problems = [{name: getattr(one, name) for name in told} | {"message": str(one)} for one in error.problems]
    hint = "Correct the config and run `shaping check`."
    return stopped(str(error), 1, code="GENERAL_ERROR", hint=hint, details={"problems": problems})


def option_problems(error: ConfigError) -> str:
    """Say what is wrong with options, by the names that were typed; empty for problems of a config."""
    problems = [replace(one, path=_option(one.path)) for one in error.problems if one.file == THE_CALL]
    return "\n".join(map(str, problems))


def _option(path: str) -> str:
    return f"--{path.removeprefix('$.').partition('[')[0].replace('_', '-')}"


def saved_or_more(ratio: float) -> str:
    """Write a saving as a share, or what was read in addition."""
    return f"{ratio:.0%} saved" if ratio >= 0 else f"{-ratio:.0%} more"


def with_suggestion(problem: str, word: str, known: Iterable[str]) -> str:
    """Add to a problem the known word that was most likely meant."""
    meant = suggestion_for(word, known, least=0.7)
    return f"{problem}; did you mean {meant!r}?" if meant else problem


def need_posix(what: str) -> None:
    """End with a sentence on Windows, for what waits for several pipes and ends groups of processes."""
    if not hasattr(os, "killpg"):
        raise stopped(f"{what} works on Linux and macOS only, not on Windows", 1, code="NOT_IMPLEMENTED")


def with_json_option(callback: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Add `--json` to a command, print what it answers, and report its failures, under `--json` in an envelope.

    A command that has the option itself prints by itself, too.
    """
    has_option = "as_json" in signature(callback).parameters

    @wraps(callback)
    def command(*args: Any, as_json: bool | None = False, **kwargs: Any) -> None:
        try:
            answer = callback(*args, **kwargs, **({"as_json": as_json} if has_option else {}))
        except (ConfigError, CodedError, ToolError, Stopped) as problem:
            stop = _stop(problem)
            raise (print_failure(stop.detail, stop.exit_code) if as_json else stop) from None
        except typer.Exit as ended:
            if not as_json or has_option or not ended.exit_code:
                raise
            said = f"{name} failed; standard error says why"
            raise print_failure(from_exit_code(ended.exit_code, said, table="posix"), ended.exit_code) from None
        if answer is not None:
            answer.print(as_json=bool(as_json))

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


def _stop(problem: ConfigError | CodedError | ToolError | Stopped) -> Stopped:
    """Report a problem that any command may meet, and return the exit for it."""
    if isinstance(problem, Stopped):
        return problem
    if isinstance(problem, ConfigError):
        return config_failure(problem)
    if isinstance(problem, CodedError):
        return stopped(str(problem), 2 if problem.code == "BAD_ARGUMENT" else 1, code=problem.code)
    for line in filter(None, (problem.detail.message, problem.detail.hint)):
        typer.echo(line, err=True)
    return Stopped(problem.detail, exit_code_for(problem.detail, "posix"))


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


@contextmanager
def progress(label: str = "") -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar on a terminal once the work has taken a second.

    What it gives is called with a label, how much is done, and of how much; of work with a `label` it is not known.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console  # noqa: PLC0415 (rich takes 60 ms to import, and most commands end before it is needed)
    from rich.progress import Progress  # noqa: PLC0415 (rich takes 60 ms to import, and most commands end before it is needed)

    bar = Progress(console=Console(stderr=True), transient=True)
    tasks = {label: bar.add_task(label, total=None)} if label else {}

    def show(label: str, done: int, total: int) -> None:
        if label not in tasks:
            tasks[label] = bar.add_task(label, total=total)
        bar.update(tasks[label], completed=done)

    shown = threading.Timer(_PROGRESS_AFTER, bar.start)
    shown.start()
    try:
        yield show
    finally:
        shown.cancel()
        shown.join()
        bar.stop()


def quiet() -> None:
    """Keep what is logged about single answers off the terminal, where a command shapes many to measure them."""
    logging.getLogger("shaping").setLevel(logging.CRITICAL)


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
