"""One call of a shaped command: run it, print its answer or the next page of an earlier one, return its exit code."""

from __future__ import annotations

import asyncio
import inspect
import io
import sys
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import replace
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, TextIO

import orjson
from orjson import dumps

from shaping.cleaning import unmatched
from shaping.cleaning.call import clean_error
from shaping.envelope import Envelope, command_envelope, exit_code_for
from shaping.errors import ErrorDetail, ToolError, from_exception, from_exit_code, make_error
from shaping.errors.exceptions import message_of
from shaping.parsers import parse
from shaping.parsers.terminal import clean_lines
from shaping.redaction import without_secrets
from shaping.response import CallContext, CallNotes, Warned
from shaping.settings.plan import Overrides
from shaping.store.expand import cursor_at, resume
from shaping.store.keeper import SHAPED
from shaping.store.pages import Position
from shaping.values import to_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shaping.apps import CallOptions
    from shaping.errors.codes import ExitTable
    from shaping.shaper import Shaper


class PrintedOutput(io.TextIOWrapper):
    """A stream that keeps what is printed: as text, as bytes, or by a child process that writes to its descriptor.

    What is printed beside an answer, which goes to `answers`, is for standard error.
    """

    def __init__(self, answers: TextIO | None = None) -> None:
        # In memory, and a file for the process that asks for its descriptor.
        self._file: Any = SpooledTemporaryFile(buffering=0)  # noqa: SIM115 (closed with this stream)
        # Unbuffered, as what another program writes comes between what is written here.
        super().__init__(self._file, encoding="utf-8", errors="backslashreplace", newline="", write_through=True)
        self.answers, self.answered = answers, False

    def getvalue(self) -> str:
        """Return everything that was printed."""
        self._file.seek(0)
        return str(self._file.read(), errors="replace")

    def __del__(self) -> None:
        # Not before: a logger of the command may still use it.
        self._file.close()


@contextmanager
def answers_only() -> Iterator[None]:
    """Keep standard output for answers; where there is none, what was printed is the output, as of `--help`."""
    answers, captured = sys.stdout, PrintedOutput(sys.stdout)
    try:
        with redirect_stdout(captured):
            yield
    finally:
        (sys.stderr if captured.answered else answers).write(captured.getvalue())


def _page(shaper: Shaper, ref: str, cursor: str, limit: int | None) -> tuple[Any, str, str | None]:
    """Expand one page, and of a list no more than the limit: its values, their path, and the cursor after them."""
    shaped = shaper.expand(ref, cursor=cursor, surface="command", render_page=lambda page: dumps(page.value).decode())
    secret, value, after = shaper.keeper("command").secret or b"", shaped.data, shaped.cursor
    path, start = resume(secret, ref, cursor)
    plain = isinstance(value, list) and (
        after is None or resume(secret, ref, after) == (path, Position(start.trail, start.offset + len(value)))
    )
    if plain and limit is not None and len(value) > limit:
        going_on = Position(start.trail, start.offset + limit)
        return value[:limit], path, cursor_at(secret, ref, path, going_on, shaped=cursor.startswith(SHAPED))
    return value, path, after


class CommandCall:
    """One call of one command."""

    def __init__(self, shaper: Shaper, tool: str, options: CallOptions, exit_table: ExitTable) -> None:
        self._shaper, self._tool, self._options, self._exit_table = shaper, tool, options, exit_table
        self._notes = CallNotes()

    def call(self, run: Callable[[], Any]) -> int:
        """Run the command, print its answer and return its exit code."""
        captured = PrintedOutput()
        captures = self._options.as_json or self._options.quiet
        try:
            with redirect_stdout(captured) if captures else nullcontext(), self._notes:
                value = _resolved(run())
        except (Exception, SystemExit, KeyboardInterrupt) as problem:
            passes = isinstance(problem, SystemExit | KeyboardInterrupt) and not self._options.as_json
            if passes or _is_usage(problem):
                raise
            code = _exit_code(problem)
            if code == 0:
                return self._answer(_captured_value(captured))
            return self.failed(problem, captured.getvalue())
        if value is None and self._options.as_json:
            return self._answer(_captured_value(captured))
        # What it printed besides its data is talk.
        sys.stderr.write("" if self._options.quiet else captured.getvalue())
        return 0 if value is None else self._answer(value)

    def next_page(self) -> int:
        """Print what comes after a cut answer; the command is not run again."""
        ref, _, cursor = str(self._options.cursor).partition(":")
        try:
            value, path, after = _page(self._shaper, ref, cursor, self._options.limit)
        except ToolError as problem:
            return self.failed(problem)
        # Paths start at the top of the answer, so they apply only to pages of its top level.
        overrides = Overrides(fields=None if path else self._fields, dialect="invariant")
        plan = self._shaper.plan(self._tool, surface="command", profile=self._options.profile, overrides=overrides)
        # A page has its size already: a second cut would replace the page's cursor by its own.
        plan = replace(plan, max_tokens=None, max_items=None, max_string=None)
        shaped = self._shaper.shape_by(
            plan, value, CallContext(page="", cursor=after, as_json=True, if_none_match=self._options.etag)
        )
        self._print(shaped.envelope, ref)
        return 0

    @property
    def _fields(self) -> tuple[str, ...] | None:
        given = self._options.fields
        return None if given is None else tuple(path.strip() for path in given.split(","))

    def _answer(self, value: Any) -> int:
        about = self._notes.about()
        value, missing = self._with_missing_fields(value)
        if missing and len(missing) == len(self._fields or ()):
            told = "\n".join(one.message for one in missing)
            hint = "The command has run; only its answer was not printed."
            return self.failed(ToolError("BAD_ARGUMENT", told, hint=hint))
        warnings = (*about.pop("warnings", ()), *missing)
        shaped = self._shaper.shape(
            value,
            tool=self._tool,
            surface="command",
            profile=self._options.profile,
            overrides=Overrides(fields=self._fields, max_items=self._options.limit, dialect="invariant"),
            warnings=warnings,
            as_json=True,
            if_none_match=self._options.etag,
            **about,
        )
        envelope = shaped.envelope
        if not self._options.as_json and not self._options.quiet:
            sys.stderr.write("".join(f"{warned.message}\n" for warned in warnings))
        if envelope.error is not None:
            self._print_error(envelope, envelope.error)
            return exit_code_for(envelope.error, self._exit_table)
        # Where nothing was left out here, a cursor is the command's own.
        self._print(envelope, shaped.ref if envelope.meta.truncated and shaped.omissions else None)
        return 0

    def _with_missing_fields(self, value: Any) -> tuple[Any, tuple[Warned, ...]]:
        """Return the value, with a warning for each requested field that is missing."""
        if self._fields is None:
            return value, ()
        data = to_plain(value)
        private = self._shaper.plan(self._tool, surface="command").private
        missing = unmatched(data, self._fields, private)
        return data, tuple(replace(one, message=f"--fields: {one.message}") for one in missing)

    def failed(self, problem: BaseException, captured: str = "") -> int:
        """Report a failure and return its exit code: the one that the command chose, or the error's in the table."""
        plan = self._shaper.plan(self._tool, surface="command", profile=self._options.profile)
        detail = self._detail(problem)
        if captured and detail.details is None:
            told = without_secrets("\n".join(clean_lines(captured)))
            detail = detail.model_copy(update={"details": {"stdout": told}})
        detail = clean_error(detail, plan)
        # Argument parsers always exit with 2, so the table decides.
        code = (None if _is_usage(problem) else _exit_code(problem)) or exit_code_for(detail, self._exit_table)
        about = self._notes.about()
        self._print_error(command_envelope(None, exit_code=code, argv=(self._tool,), error=detail, **about), detail)
        return code

    def _detail(self, problem: BaseException) -> ErrorDetail:
        if isinstance(problem, ToolError):
            return problem.detail
        if isinstance(problem, SystemExit) and not isinstance(problem.code, int):
            return make_error("INTERNAL_ERROR", str(problem.code))
        if _is_usage(problem):
            # Its context knows what the program was called by, and which of its commands.
            hint = f"See {getattr(getattr(problem, 'ctx', None), 'command_path', self._tool)} --help."
            words = problem.format_message().replace("Value error, ", "")  # type: ignore[attr-defined]  # Click's and Typer's own
            return make_error("BAD_ARGUMENT", words, hint=hint, phase="validation")
        if isinstance(problem, KeyboardInterrupt) or type(problem).__name__ == "Abort":
            return make_error("ABORTED", f"{self._tool} was stopped")
        code = _exit_code(problem)
        if code is None:
            table = self._shaper.loaded_config.config.errors
            return from_exception(problem, table=table, debug=self._options.debug)
        words = None  # of an exit
        if not isinstance(problem, SystemExit) and type(problem).__name__ != "Exit":
            words = problem.format_message() if hasattr(problem, "format_message") else message_of(problem)
        return from_exit_code(code, words, table=self._exit_table)

    def _print_error(self, envelope: Envelope[Any], error: ErrorDetail) -> None:
        """Print an error: the envelope for a program, and for a person the message and what to do next."""
        if self._options.as_json:
            self._write(envelope)
            return
        hint = error.hint if error.redirect is None else f"Use: {error.redirect.command}"
        wait = None if error.retry_after is None else f"Retry after {error.retry_after:g} s."
        trace = error.detail if self._options.debug else None
        sys.stderr.write("".join(f"{line}\n" for line in (trace, error.message, hint, wait) if line))

    def _print(self, envelope: Envelope[Any], ref: str | None) -> None:
        meta = envelope.meta
        if meta.cursor and ref:
            # A cursor on a command line carries its ref: the next call is another process.
            meta = meta.model_copy(update={"cursor": f"{ref}:{meta.cursor}"})
            envelope = envelope.model_copy(update={"meta": meta})
        if self._options.as_json:
            self._write(envelope)
            return
        sys.stdout.write(_text(envelope.data))
        if meta.cursor and not self._options.quiet:
            sys.stderr.write(f"there is more: --cursor {meta.cursor}\n")

    def _write(self, envelope: Envelope[Any]) -> None:
        """Write an envelope to the real standard output."""
        wire = envelope.render("invariant", include=("etag",), debug=self._options.debug)
        stream: TextIO = sys.stdout
        if isinstance(stream, PrintedOutput) and stream.answers is not None:
            stream.answered = True
            stream = stream.answers
        stream.write(orjson.dumps(wire, option=orjson.OPT_APPEND_NEWLINE).decode())
        stream.flush()


def _is_usage(problem: BaseException) -> bool:
    """Return whether a command line was refused; any other of Click's exceptions is a command's own."""
    # Typer has a Click of its own inside: both are known by what they can do.
    return all(hasattr(problem, name) for name in ("format_message", "exit_code", "ctx"))


def _exit_code(problem: BaseException) -> int | None:
    if isinstance(problem, KeyboardInterrupt):
        return 130
    if isinstance(problem, SystemExit):
        return problem.code if isinstance(problem.code, int) else int(problem.code is not None)
    code = getattr(problem, "exit_code", None)
    return code if isinstance(code, int) else None


def _resolved(value: Any) -> Any:
    if hasattr(type(value), "__next__"):
        return list(value)
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def _captured_value(captured: PrintedOutput) -> Any:
    """Return what a command printed instead of returning it: data where it is JSON, else text."""
    text = captured.getvalue()
    found = parse(text, ("json", "lines"))
    return {"text": "\n".join(clean_lines(text))} if found is None else found.value


def _text(data: Any) -> str:
    if isinstance(data, str):
        return data if data.endswith("\n") else f"{data}\n"
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
