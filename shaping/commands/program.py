"""What `shaping run` does once its command line is read: run a command, print it shaped, enter it into the ledger."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.commands import (
    CommandOptions,
    CommandSource,
    invocation_of,
    new_capture,
    plan_for,
    responses,
    run_command,
    shaper_of,
)
from shaping.commands.output import (
    SHELL_SHOWS,
    Capture,
    CommandResponse,
    Finished,
    Invocation,
    OutputStream,
    RedactedCopy,
    decode,
)
from shaping.commands.process import OURS, NotStartedError, run_process
from shaping.parsers.json import read_json
from shaping.parsers.terminal import render_terminal
from shaping.response import CallContext, Shaped
from shaping.settings.files import counting_lock, ledger_path
from shaping.tokens import counter

try:
    import fcntl
except ImportError:  # pragma: no cover  not on Windows, where no command runs
    fcntl = None  # type: ignore[assignment]  # the other half of the import

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shaping.learning.record import Recorder
    from shaping.settings.plan import Plan
    from shaping.shaper import Shaper


logger = logging.getLogger("shaping")


def run_program(
    argv: list[str],
    config: str | Path | None,
    options: CommandOptions,
    *,
    stream: bool = False,
    progress: Callable[[str], AbstractContextManager[object]] = nullcontext,
    recorder: Recorder | None = None,
) -> int:
    """Run a command, print its output as the options say, and return its exit code."""
    source = CommandSource(config)
    plan = plan_for(source, argv, options, strict=True)
    invocation = invocation_of(argv, options)
    untouched = source.mode != "on" and not (stream or options.get("dialect"))
    if untouched and source.mode == "off" and not options.get("timeout"):
        _become(invocation)
    if stream:
        code = _stream(source, plan, invocation)
    elif untouched:
        code = _untouched(config, plan, invocation, observe=source.mode == "observe")
    elif not plan.enabled and plan.private is None and plan.dialect == "none":
        code = _pass_on(source, plan, invocation)
    else:
        with progress(plan.tool):
            response = run_command(source, plan, invocation)
        code = response.exit_code
        sys.stdout.write(response.stdout)
        sys.stdout.flush()
        sys.stderr.write(response.stderr)
        printed = response.printed
        before = _unshaped(response, printed, plan)
        if recorder is not None:
            sides: dict[str, Any] = {
                "before": partial(str, before[:SHELL_SHOWS]),
                "after": partial(str, printed[:SHELL_SHOWS]),
            }
            recorder.record(plan, response.raw, form="text", arguments={"argv": argv}, **sides)
            recorder.close()
        _close_and_record(source, plan, before, printed, response.shaped)
    source.close()
    return code


def _untouched(config: str | Path | None, plan: Plan, invocation: Invocation, *, observe: bool) -> int:
    """Pass a command's output on untouched, and log, to observe it, what shaping would have made of it."""
    source = CommandSource(config, {**os.environ, "SHAPING": "on"})
    compared = observe and logger.isEnabledFor(logging.INFO)
    response = _copied(source, plan, invocation, (sys.stdout.buffer, sys.stderr.buffer), shaped=compared)
    if compared:
        count = counter(plan.tokenizer).count
        logger.info("%s: %d tokens, %d if shaped", plan.tool, count(response.raw), count(response.printed))
    if observe:
        _close_and_record(source, plan, response.raw, response.raw)
    source.close()
    return response.exit_code


def _pass_on(source: CommandSource, plan: Plan, invocation: Invocation) -> int:
    """Pass a command's output on as it comes, without secrets, for a config that leaves it alone."""
    out, err = (RedactedCopy(stream.buffer, plan.redact) for stream in (sys.stdout, sys.stderr))
    response = _copied(source, plan, invocation, (out, err))
    out.finish()
    err.finish()
    _close_and_record(source, plan, response.raw, response.raw)
    return response.exit_code


def _copied(
    source: CommandSource,
    plan: Plan,
    invocation: Invocation,
    copies: tuple[OutputStream, OutputStream],
    *,
    shaped: bool = False,
) -> CommandResponse:
    response = run_command(source, plan, invocation, copies=copies, shaped=shaped)
    if not response.started:
        sys.stderr.write(response.stderr)
    return response


def _become(invocation: Invocation) -> None:
    """Let the command take this process over, untouched; one that cannot be run is left to be reported as usual."""
    if os.name == "posix":
        sys.stdout.flush()
        with suppress(OSError):
            os.execvpe(invocation.argv[0], invocation.argv, invocation.environ)  # noqa: S606 (the command that the user asked for, without a shell)


def _unshaped(response: CommandResponse, printed: str, plan: Plan) -> str:
    """Return what would have been printed without shaping: the output and how it failed, or an envelope around it."""
    if plan.dialect == "none":
        return response.raw + response.failure
    # The envelope was asked for: what it adds to a short output is no cost of shaping.
    return max(response.raw, printed, key=len)


def _stream(source: CommandSource, plan: Plan, invocation: Invocation) -> int:
    """Print a command's JSON lines shaped as they come, then the envelope of its end."""
    printed = bytearray()

    def emit(line: bytes) -> None:
        sys.stdout.write(line.decode())
        sys.stdout.flush()
        if len(printed) < SHELL_SHOWS * 4:  # bytes of a character at most; a stream may never end
            printed.extend(line)

    response = stream_command(source, plan, invocation, emit)
    wire = response.envelope.render("invariant", include=plan.envelope, debug=plan.debug)
    emit(orjson.dumps(wire, option=orjson.OPT_APPEND_NEWLINE))
    _close_and_record(source, plan, response.raw, printed.decode(errors="replace"))
    return response.exit_code


def begin_counting(ledger: Path) -> int | None:
    """Take the lock, which is held until this process and those that it forks have closed it."""
    with suppress(OSError):
        ledger.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(counting_lock(ledger), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_SH)
        return lock
    return None


def _close_and_record(source: CommandSource, plan: Plan, before: str, after: str, shaped: Shaped | None = None) -> None:
    """Enter what would have been printed, and what was printed in its place, into the ledger.

    A process of its own counts the tokens, where it can: nobody waits for a vocabulary to be loaded.
    """
    path = ledger_path()
    if not before or path is None:
        return
    now = time.time()
    source.close()  # neither the thread of the store nor its connection comes along
    lock = None if threading.active_count() > 1 else begin_counting(path)
    child = None
    if lock is not None:
        with suppress(OSError):  # the system may have no room for another process
            child = os.fork()
    if child is None:
        _enter(source, plan, before, after, shaped, now=now)
    elif child == 0:
        try:
            os.setsid()
            for number in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            _enter(source, plan, before, after, shaped, now=now)
        finally:
            os._exit(0)
    if lock is not None:
        os.close(lock)


_LEDGER_SECONDS: Final = 5.0  # the most that it waits for tokens to be counted; 0.1 on an idle machine


def _enter(source: CommandSource, plan: Plan, before: str, after: str, shaped: Shaped | None, *, now: float) -> None:
    """Count what would have been printed and what was printed in its place, and write both to the ledger."""
    from shaping.ledger import MeasuredCall, open_ledger, texts  # noqa: PLC0415 (loaded after the output went out: costs 30 ms)

    ledger = open_ledger(tokenizer=plan.tokenizer)
    if ledger is None:
        return

    def keep(read: str) -> str | None:
        """Keep the two sides of a call."""
        keeper, ttl = shaper_of(source).keeper("command"), source.loaded_config.store.ttl_seconds
        if shaped is not None:
            return texts.keep_texts(keeper, read, [shaped], ttl=ttl)
        # Nothing can be taken out of a text with private fields.
        return None if plan.private is not None else texts.keep_output(keeper, read, before, ttl=ttl)

    ledger.record(
        MeasuredCall(
            plan.tool,
            partial(str, before[:SHELL_SHOWS]),
            partial(str, after[:SHELL_SHOWS]),
            profile=plan.profile,
            config=plan.config_hash,
            added=None if shaped is None else lambda: f"{shaped.notice}{shaped.absent_line}",
            keep=keep if after != before else None,
            time=now,
        )
    )
    ledger.close(_LEDGER_SECONDS)
    source.close()


_LONGEST: Final = 8 * 1024 * 1024  # bytes of a line that are waited for


def stream_command(
    source: Shaper | CommandSource, plan: Plan, invocation: Invocation, emit: Callable[[bytes], None]
) -> CommandResponse:
    """Run a command, emit each line of its output shaped as JSON, and return how it ended."""
    shaper = shaper_of(source)
    stdout, stderr = new_capture(source, plan), new_capture(source, plan)
    lines = LineShaper(shaper, replace(plan, dialect="none"), emit, stdout)
    try:
        ended = run_process(invocation, lines, stderr)
    except NotStartedError as problem:
        failed: CommandResponse = responses().not_started_response(problem, invocation, plan)
        return failed
    lines.finish()
    finished = Finished(invocation, ended, stdout, stderr)
    envelope = responses().respond_to_stream(shaper, plan, finished, {"lines": lines.count})
    exit_code = int(getattr(envelope.meta, "exit_code", OURS))
    return CommandResponse(lambda: envelope, exit_code, "", raw=stdout.text() + stderr.text())


class LineShaper:
    """A sink for JSON lines that emits each line shaped."""

    def __init__(self, shaper: Shaper, plan: Plan, emit: Callable[[bytes], None], copy: Capture) -> None:
        self._shaper, self._plan, self._emit, self._copy = shaper, plan, emit, copy
        self._waiting = bytearray()
        from shaping.cleaning import Pieces  # noqa: PLC0415 (most commands are no streams and start without it)

        self._pieces = Pieces()
        self.count = 0

    def take(self, chunk: bytes) -> None:
        """Take the next bytes, and emit the lines that they complete."""
        self._copy.take(chunk)
        self._waiting += chunk
        *whole, rest = self._waiting.split(b"\n")
        if len(rest) > _LONGEST:
            whole, rest = [*whole, rest], bytearray()
        self._waiting = rest
        for line in whole:
            self._line(bytes(line))

    def finish(self) -> None:
        """Emit what is left after the last newline."""
        self._line(bytes(self._waiting))
        self._waiting.clear()

    def _line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            value = read_json(line)
        except orjson.JSONDecodeError:
            value = render_terminal(decode(line)).rstrip()
        value = self._pieces.clean(value, self._plan)
        self.count += 1
        shaped = self._shaper.shape_by(self._plan, value, CallContext(as_json=True))
        self._emit(orjson.dumps(shaped.value, option=orjson.OPT_APPEND_NEWLINE))
