"""What `shaping run` does once its command line is read: run a command, print it shaped, enter it into the ledger."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.commands.command import invocation_of, plan_for, run_command, stream_command
from shaping.commands.output import SHELL_SHOWS, RedactedCopy
from shaping.settings.files import ledger_path
from shaping.shaper import Shaper
from shaping.store.sqlite import begin_counting
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from shaping.commands.command import CommandOptions
    from shaping.commands.output import Invocation
    from shaping.commands.response import CommandResponse
    from shaping.learning.record import Recorder
    from shaping.response import Shaped
    from shaping.settings import Plan


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
    shaper = Shaper(config, expandable=True, watch=False)
    plan = plan_for(shaper, argv, options, strict=True)
    invocation = invocation_of(argv, options)
    untouched = shaper.mode != "on" and not (stream or options.get("dialect"))
    if untouched and shaper.mode == "off" and not options.get("timeout"):
        _become(invocation)
    if stream:
        code = _stream(shaper, plan, invocation)
    elif untouched:
        code = _untouched(config, plan, invocation, observe=shaper.mode == "observe")
    elif not plan.enabled and plan.private is None and plan.dialect == "none":
        code = _pass_on(shaper, plan, invocation)
    else:
        with progress(plan.tool):
            response = run_command(shaper, plan, invocation)
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
        _record(shaper, plan, before, printed, response.shaped)
    shaper.close()
    return code


def _untouched(config: str | Path | None, plan: Plan, invocation: Invocation, *, observe: bool) -> int:
    """Pass a command's output on untouched, and log, to observe it, what shaping would have made of it."""
    shaper = Shaper(config, expandable=True, watch=False, environ={**os.environ, "SHAPING": "on"})
    response = run_command(shaper, plan, invocation, copies=(sys.stdout.buffer, sys.stderr.buffer))
    if not response.started:
        sys.stderr.write(response.stderr)
    if observe and logger.isEnabledFor(logging.INFO):
        count = counter(plan.tokenizer).count
        shaped = count(response.stdout + response.stderr)
        logger.info("%s: %d tokens, %d if shaped", plan.tool, count(response.raw), shaped)
    if observe:
        _record(shaper, plan, response.raw, response.raw)
    shaper.close()
    return response.exit_code


def _pass_on(shaper: Shaper, plan: Plan, invocation: Invocation) -> int:
    """Pass a command's output on as it comes, without secrets, for a config that leaves it alone."""
    out, err = (RedactedCopy(stream.buffer, plan.redact) for stream in (sys.stdout, sys.stderr))
    response = run_command(shaper, plan, invocation, copies=(out, err))
    out.finish()
    err.finish()
    if not response.started:
        sys.stderr.write(response.stderr)
    _record(shaper, plan, response.raw, response.raw)
    return response.exit_code


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


def _stream(shaper: Shaper, plan: Plan, invocation: Invocation) -> int:
    """Print a command's JSON lines shaped as they come, then the envelope of its end."""
    printed = bytearray()

    def emit(line: bytes) -> None:
        sys.stdout.write(line.decode())
        sys.stdout.flush()
        if len(printed) < SHELL_SHOWS * 4:  # bytes of a character at most; a stream may never end
            printed.extend(line)

    response = stream_command(shaper, plan, invocation, emit)
    wire = response.envelope.render("invariant", include=plan.envelope, debug=plan.debug)
    emit(orjson.dumps(wire, option=orjson.OPT_APPEND_NEWLINE))
    _record(shaper, plan, response.raw, printed.decode(errors="replace"))
    return response.exit_code


def _record(shaper: Shaper, plan: Plan, before: str, after: str, shaped: Shaped | None = None) -> None:
    """Enter what would have been printed, and what was printed in its place, into the ledger.

    A process of its own counts the tokens, where it can: nobody waits for a vocabulary to be loaded.
    """
    path = ledger_path()
    if not before or path is None:
        return
    now = time.time()
    shaper.close()  # neither the thread of the store nor its connection comes along
    if threading.active_count() > 1 or (lock := begin_counting(path)) is None:
        _enter(shaper, plan, before, after, shaped, now=now)
    elif os.fork() == 0:
        try:
            os.setsid()
            for number in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            _enter(shaper, plan, before, after, shaped, now=now)
        finally:
            os._exit(0)
    else:
        os.close(lock)


_GUESSED: Final = 4_000  # characters
_LEDGER_SECONDS: Final = 5.0  # the most that it waits for tokens to be counted; 0.1 on an idle machine


def _enter(shaper: Shaper, plan: Plan, before: str, after: str, shaped: Shaped | None, *, now: float) -> None:
    """Count what would have been printed and what was printed in its place, and write both to the ledger."""
    from shaping.ledger import MeasuredCall, open_ledger  # noqa: PLC0415 (loaded after the output went out: costs 30 ms)
    from shaping.ledger.texts import keep_output, keep_texts  # noqa: PLC0415 (loaded after the output went out)

    # Of a short output that is printed as it was, nothing is saved: its size is guessed, and no vocabulary loaded.
    unchanged = after == before and len(after) < _GUESSED
    ledger = open_ledger(tokenizer="chars" if unchanged else plan.tokenizer)
    if ledger is None:
        return

    def keep(read: str) -> str | None:
        """Keep the two sides of a call."""
        keeper, ttl = shaper.keeper("command"), shaper.loaded_config.config.store.ttl_seconds
        if shaped is not None:
            return keep_texts(keeper, read, [shaped], ttl=ttl)
        # Nothing can be taken out of a text with private fields.
        return None if plan.private is not None else keep_output(keeper, read, before, ttl=ttl)

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
    shaper.close()
