"""`--json` for every command: output and failures in an envelope, calls with wrong arguments included."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO, get_type_hints

import typer

from shaping.cli.support.output import Stopped, failure, print_result
from shaping.errors import from_exit_code, make_error
from shaping.parsers import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

JSON = typer.Option("--json", help="Print an envelope for a program to read.")
_LONGEST: Final = 4_000  # characters of a server's standard error that its failure quotes
# Their standard output is a protocol: only a failure to start goes into an envelope.
_SERVERS = frozenset({"proxy", "serve"})


def with_json_option(callback: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Add `--json` to a command that has none, and put every command's failures into an envelope under it."""
    has_option = "as_json" in signature(callback).parameters

    @wraps(callback)
    def command(*args: Any, as_json: bool | None = False, **kwargs: Any) -> Any:
        run = partial(callback, *args, **kwargs, **({"as_json": as_json} if has_option else {}))
        if not as_json:
            return run()
        return _serve(name, run) if name in _SERVERS else _envelop(name, run, prints_envelope=has_option)

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
        return failure(detail, as_json=True, exit_code=getattr(problem, "exit_code", 2)).exit_code
    return done if isinstance(done, int) else 0


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

    def write(self, text: str) -> int:
        self.text = (self.text + text)[-_LONGEST:]
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()


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
        print_result(_data(printed), **({"stderr": messages} if messages else {}))
        return
    sys.stdout.write(printed)
    sys.stderr.write(messages)
    if exit_ is not None and exit_.exit_code:
        raise exit_


def _exit_of(run: Callable[[], Any]) -> typer.Exit | None:
    try:
        run()
    except typer.Exit as exit_:
        return exit_
    return None


def _failed(name: str, exit_: typer.Exit, messages: str) -> typer.Exit:
    code = exit_.exit_code
    if isinstance(exit_, Stopped):
        return failure(exit_.detail, as_json=True, exit_code=code)
    detail = from_exit_code(code, messages or f"{name} failed; standard error says why", table="posix")
    return failure(detail, as_json=True, exit_code=code)


def _data(printed: str) -> Any:
    found = parse(printed, ("json", "lines"))
    return {"text": printed} if found is None else found.value
