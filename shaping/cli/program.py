"""Every command of ours for programs, too: `--json` where a command has none of its own, and for wrong calls."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO, get_type_hints

import typer

from shaping.cli.answer import answer
from shaping.cli.output import Stopped, fail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typer.models import CommandInfo

JSON = typer.Option("--json", help="Print an envelope for a program to read.")
_LAST: Final = 4_000  # characters of what a server said before it ended
# What they print is a protocol: of these a program is only told why they did not start.
SERVERS = frozenset({"proxy", "serve"})
# What it prints comes as it is made, and its failures are in an envelope whatever is asked.
OWN_FAILURES = frozenset({"run"})


def for_programs(commands: Sequence[CommandInfo]) -> None:
    """Give every command a --json: one that has none gets its output, and all get their failures, into an envelope."""
    for info in commands:
        if info.callback is not None and info.name not in OWN_FAILURES:
            info.callback = _with_json(info.callback, info.name or info.callback.__name__)


def call(app: typer.Typer, words: Sequence[str]) -> int:
    """Run a command for a program: a call that cannot be read is told in an envelope, too."""
    from shaping.errors import make_error  # noqa: PLC0415 (help must not wait for it)

    try:
        done = typer.main.get_command(app).main(list(words), standalone_mode=False)
    except Exception as problem:
        if not hasattr(problem, "format_message"):
            raise
        detail = make_error("BAD_ARGUMENT", problem.format_message(), hint="See --help.", phase="validation")
        return fail(detail, as_json=True, exit_code=getattr(problem, "exit_code", 2)).exit_code
    return done if isinstance(done, int) else 0


def wants_json(words: Sequence[str]) -> bool:
    """Whether a command line asks for JSON; what comes after -- is another program's."""
    return "--json" in words[: words.index("--") if "--" in words else None]


def _has_json(callback: Callable[..., Any]) -> bool:
    return "as_json" in signature(callback).parameters


def _with_json(callback: Callable[..., Any], name: str) -> Callable[..., Any]:
    own = _has_json(callback)

    @wraps(callback)
    def command(*args: Any, as_json: bool | None = False, **kwargs: Any) -> Any:
        run = partial(callback, *args, **kwargs, **({"as_json": as_json} if own else {}))
        if not as_json:
            return run()
        return _served(name, run) if name in SERVERS else _enveloped(name, run, own=own)

    hints = get_type_hints(callback, include_extras=True)
    params = list(signature(callback).parameters.values())
    if not own:
        hints["as_json"] = Annotated[bool, JSON]
        params.append(Parameter("as_json", Parameter.KEYWORD_ONLY, default=False))
    # Typer reads both, and must not look through to the function inside, whose annotations are text.
    command.__signature__ = Signature([param.replace(annotation=hints[param.name]) for param in params])  # type: ignore[attr-defined]  # what inspect looks for
    command.__annotations__ = hints
    del command.__wrapped__
    return command


def _served(name: str, run: Callable[[], Any]) -> None:
    heard = _Heard(sys.stderr)
    with redirect_stderr(heard):
        ended = _ended(run)
    if ended is not None and ended.exit_code:
        raise _failed(name, ended, heard.said.strip())


class _Heard(io.TextIOBase):
    """Standard error as it is, with an ear for the last that was said there: a server may run for months."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self.said = stream, ""

    def write(self, text: str) -> int:
        self.said = (self.said + text)[-_LAST:]
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()


def _enveloped(name: str, run: Callable[[], Any], *, own: bool) -> None:
    # Not a buffer: what a command starts writes to the file behind standard error.
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as err:
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            ended = _ended(run)
        err.seek(0)
        printed, talk = out.getvalue(), err.read()
    if ended is not None and ended.exit_code and not (own and printed):
        raise _failed(name, ended, talk.strip())
    if not own:
        answer(_data(printed), **({"stderr": talk} if talk else {}))
        return
    sys.stdout.write(printed)
    sys.stderr.write(talk)
    if ended is not None and ended.exit_code:
        raise ended


def _ended(run: Callable[[], Any]) -> typer.Exit | None:
    try:
        run()
    except typer.Exit as ended:
        return ended
    return None


def _failed(name: str, ended: typer.Exit, said: str) -> typer.Exit:
    from shaping.errors import from_exit_code  # noqa: PLC0415 (help must not wait for it)

    code = ended.exit_code
    if isinstance(ended, Stopped):
        return fail(ended.detail, as_json=True, exit_code=code)
    return fail(from_exit_code(code, said or f"{name} failed; standard error says why"), as_json=True, exit_code=code)


def _data(printed: str) -> Any:
    from shaping.parsers import parse  # noqa: PLC0415 (help must not wait for it)

    found = parse(printed, ("json", "lines"))
    return {"text": printed} if found is None else found.value
