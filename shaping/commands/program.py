"""What `shaping run` does once its command line is read: run a command, print it shaped, enter it into the ledger."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import orjson

from shaping.commands.command import invocation_of, plan_for, run_command, stream_command
from shaping.learning.record import Recorder
from shaping.ledger import MeasuredCall, open_ledger
from shaping.ledger.texts import keep_output, keep_texts
from shaping.shaper import Shaper
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from shaping.commands.command import CommandOptions
    from shaping.commands.output import Invocation
    from shaping.commands.response import CommandResponse
    from shaping.response import Shaped
    from shaping.settings import Plan

OURS: Final = 125  # as env(1) and docker(1) exit for a failure of their own
# Characters of a command's output that Claude Code's shell is reported to show its model (issue 19901), not measured:
# nobody knows here which agent reads, and what it would not have read is not saved.
_SHELL_SHOWS: Final = 30_000
_GUESSED: Final = 4_000
_LEDGER_SECONDS: Final = 5.0  # the most that a command waits for its tokens to be counted; 0.1 on an idle machine

logger = logging.getLogger("shaping")


def run_program(
    argv: list[str],
    config: str | Path | None,
    said: CommandOptions,
    *,
    stream: bool = False,
    progress: Callable[[str], AbstractContextManager[object]] = nullcontext,
    record: Path | None = None,
) -> int:
    """Run a command, print its output as the options say, and return its exit code.

    `record` is a folder in which what the command printed is kept.
    """
    shaper = Shaper(config, expandable=True, watch=False)
    plan = plan_for(shaper, argv, said, strict=True)
    asked = invocation_of(argv, said)
    untouched = shaper.mode != "on" and not (stream or said.get("dialect"))
    if untouched and shaper.mode == "off" and not said.get("timeout"):
        _become(argv)
    if stream:
        code = _stream(shaper, plan, asked)
    elif untouched and shaper.mode == "observe":
        code = _observe(config, plan, asked)
    else:
        with progress(plan.tool):
            response = run_command(shaper, plan, asked)
        code = response.exit_code
        sys.stdout.write(response.stdout)
        sys.stdout.flush()
        sys.stderr.write(response.stderr)
        printed = response.stdout + response.stderr
        before = _unshaped(response, printed, plan)
        _record(shaper, plan, before, printed, response.shaped)
        if record is not None:
            _write_recording(record, plan, argv, (before, printed), response.raw)
    shaper.close()
    return code


def _observe(config: str | Path | None, plan: Plan, asked: Invocation) -> int:
    """Pass a command's output on untouched, and log what shaping would have made of it."""
    shaper = Shaper(config, expandable=True, watch=False, environ={**os.environ, "SHAPING": "on"})
    response = run_command(shaper, plan, asked, copies=(sys.stdout.buffer, sys.stderr.buffer))
    if not response.started:
        sys.stderr.write(response.stderr)
    if logger.isEnabledFor(logging.INFO):
        count = counter(plan.tokenizer).count
        shaped = count(response.stdout + response.stderr)
        logger.info("%s: %d tokens, %d if shaped", plan.tool, count(response.raw), shaped)
    _record(shaper, plan, response.raw, response.raw)
    shaper.close()
    return response.exit_code


def _become(argv: list[str]) -> None:
    """Let the command take this process over, untouched; one that cannot be run is left to be reported as usual."""
    if os.name == "posix":
        sys.stdout.flush()
        with suppress(OSError):
            os.execvp(argv[0], argv)  # noqa: S606 (the command that the user asked for, without a shell)


def _unshaped(response: CommandResponse, printed: str, plan: Plan) -> str:
    """Return what would have been printed without shaping: the output and how it failed, or an envelope around it."""
    if plan.dialect == "none":
        return response.raw + response.failure
    # The envelope was asked for: what it adds to a short output is no cost of shaping.
    return max(response.raw, printed, key=len)


def _stream(shaper: Shaper, plan: Plan, asked: Invocation) -> int:
    """Print a command's JSON lines shaped as they come, then the envelope of its end."""
    printed = bytearray()

    def emit(line: bytes) -> None:
        _emit(line)
        if len(printed) < _SHELL_SHOWS * 4:  # bytes of a character at most; a stream may never end
            printed.extend(line)

    response = stream_command(shaper, plan, asked, emit)
    wire = response.envelope.render("invariant", include=plan.envelope, debug=plan.debug)
    emit(orjson.dumps(wire, option=orjson.OPT_APPEND_NEWLINE))
    _record(shaper, plan, response.raw, printed.decode(errors="replace"))
    return response.exit_code


def _record(shaper: Shaper, plan: Plan, before: str, after: str, shaped: Shaped | None = None) -> None:
    """Enter what would have been printed, and what was printed in its place, into the ledger."""
    if not before:
        return
    # Of a short output that is printed as it was, nothing is saved: its size is guessed, and no vocabulary loaded.
    unchanged = after == before and len(after) < _GUESSED
    ledger = open_ledger(tokenizer="chars" if unchanged else plan.tokenizer)
    if ledger is None:
        return
    call = MeasuredCall(
        plan.tool,
        partial(str, before[:_SHELL_SHOWS]),
        partial(str, after[:_SHELL_SHOWS]),
        profile=plan.profile,
        config=plan.config_hash,
        added=None if shaped is None else lambda: f"{shaped.notice}{shaped.absent_line}",
        keep=_keeper(shaper, plan, before, shaped) if after != before else None,
    )
    ledger.record(call)
    ledger.close(_LEDGER_SECONDS)


def _keeper(shaper: Shaper, plan: Plan, before: str, shaped: Shaped | None) -> Callable[[str], str | None] | None:
    """Return what keeps the two sides of a call; text with private fields that nothing can be taken out of is not."""
    keeper, ttl = shaper.keeper("command"), shaper.generation.config.store.ttl_seconds
    if shaped is not None:
        return lambda read: keep_texts(keeper, read, [shaped], ttl=ttl)
    return None if plan.private is not None else lambda read: keep_output(keeper, read, before, ttl=ttl)


def _write_recording(record: Path, plan: Plan, argv: list[str], shown: tuple[str, str], raw: str) -> None:
    """Keep what the command printed in a folder of recordings."""
    recorder = Recorder(record)
    before, after = (partial(str, text[:_SHELL_SHOWS]) for text in shown)
    recorder.record(plan, raw, form="text", arguments={"argv": argv}, before=before, after=after)
    recorder.close()


def _emit(line: bytes) -> None:
    sys.stdout.write(line.decode())
    sys.stdout.flush()
