"""What `shaping run` does once its command line is read: run a command, print it shaped, enter it into the ledger."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from shaping.commands import CommandOptions, LazyShaper, invocation_of, plan_for, run_command
from shaping.commands.output import SHELL_SHOWS, CommandResponse, Invocation, OutputStream, RedactedCopy
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
    from shaping.response import Shaped
    from shaping.settings.plan import Plan


logger = logging.getLogger("shaping")


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to: its exit code, what would have been printed without shaping, and what was printed."""

    exit_code: int
    before: str
    after: str
    shaped: Shaped | None = None  # the data that the command printed, where it printed data


def run_program(
    argv: list[str],
    config: str | Path | None,
    options: CommandOptions,
    *,
    progress: Callable[[str], AbstractContextManager[object]] = nullcontext,
    recorder: Recorder | None = None,
) -> int:
    """Run a command, print its output as the options say, and return its exit code."""
    source = LazyShaper(config)
    plan = plan_for(source, argv, options, strict=True)
    invocation = invocation_of(argv, options)
    mode = "on" if options.get("dialect") else source.mode  # an envelope that is asked for is printed in any mode
    if mode == "off" and not options.get("timeout"):
        _become(invocation)
    if mode != "on":
        source = LazyShaper(config, {**os.environ, "SHAPING": "on"})
        ran = _untouched(source, plan, invocation, observe=mode == "observe")
    elif not plan.enabled and plan.private is None and plan.dialect == "none":
        ran = _pass_on(source, plan, invocation)
    else:
        with progress(plan.tool):
            response = run_command(source, plan, invocation)
        ran = _print(response, plan)
        if recorder is not None:
            sides: dict[str, Any] = {
                "before": partial(str, ran.before[:SHELL_SHOWS]),
                "after": partial(str, ran.after[:SHELL_SHOWS]),
            }
            recorder.record(plan, response.raw, form="text", arguments={"argv": argv}, **sides)
            recorder.close()
    close_and_record(source, plan, ran)
    return ran.exit_code


def _print(response: CommandResponse, plan: Plan) -> RunResult:
    sys.stdout.write(response.stdout)
    sys.stdout.flush()
    sys.stderr.write(response.stderr)
    printed = response.printed
    # Where an envelope was asked for, what it adds to a short output is no cost of shaping.
    before = response.raw + response.failure if plan.dialect == "none" else max(response.raw, printed, key=len)
    return RunResult(response.exit_code, before, printed, response.shaped)


def _untouched(source: LazyShaper, plan: Plan, invocation: Invocation, *, observe: bool) -> RunResult:
    """Pass a command's output on untouched, and log, to observe it, what shaping would have made of it."""
    compared = observe and logger.isEnabledFor(logging.INFO)
    response = _copied(source, plan, invocation, (sys.stdout.buffer, sys.stderr.buffer), shaped=compared)
    if compared:
        count = counter(plan.tokenizer).count
        logger.info("%s: %d tokens, %d if shaped", plan.tool, count(response.raw), count(response.printed))
    entered = response.raw if observe else ""
    return RunResult(response.exit_code, entered, entered)


def _pass_on(source: LazyShaper, plan: Plan, invocation: Invocation) -> RunResult:
    """Pass a command's output on as it comes, without secrets, for a config that leaves it alone."""
    out, err = (RedactedCopy(stream.buffer, plan.redact) for stream in (sys.stdout, sys.stderr))
    response = _copied(source, plan, invocation, (out, err))
    out.finish()
    err.finish()
    return RunResult(response.exit_code, response.raw, response.raw)


def _copied(
    source: LazyShaper,
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


def begin_counting(ledger: Path) -> int | None:
    """Take the lock, which is held until this process and those that it forks have closed it."""
    with suppress(OSError):
        ledger.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(counting_lock(ledger), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_SH)
        return lock
    return None


def close_and_record(source: LazyShaper, plan: Plan, ran: RunResult) -> None:
    """Close the store, and enter what would have been printed, and what was printed in its place, into the ledger.

    A process of its own counts the tokens, where it can: nobody waits for a vocabulary to be loaded.
    """
    source.close()  # neither the thread of the store nor its connection comes along
    path = ledger_path()
    if not ran.before or path is None:
        return
    now = time.time()
    lock = None if threading.active_count() > 1 else begin_counting(path)
    child = None
    if lock is not None:
        with suppress(OSError):  # the system may have no room for another process
            child = os.fork()
    if child is None:
        _enter(source, plan, ran, now=now)
    elif child == 0:
        try:
            os.setsid()
            for number in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            _enter(source, plan, ran, now=now)
        finally:
            os._exit(0)
    if lock is not None:
        os.close(lock)


_LEDGER_SECONDS: Final = 5.0  # the most that it waits for tokens to be counted; 0.1 on an idle machine


def _enter(source: LazyShaper, plan: Plan, ran: RunResult, *, now: float) -> None:
    """Count what would have been printed and what was printed in its place, and write both to the ledger."""
    from shaping.ledger import MeasuredCall, open_ledger, texts  # noqa: PLC0415 (loaded after the output went out: costs 30 ms)

    before, after, shaped = ran.before, ran.after, ran.shaped
    ledger = open_ledger(tokenizer=plan.tokenizer)
    if ledger is None:
        return

    def keep(read: str) -> str | None:
        """Keep the two sides of a call, in a store that is open for this alone."""
        if shaped is None and plan.private is not None:
            return None  # nothing can be taken out of a text with private fields
        with closing(source.shaper) as shaper:
            keeper, ttl = shaper.keeper("command"), source.loaded_config.store.ttl_seconds
            if shaped is not None:
                return texts.keep_texts(keeper, read, [shaped], ttl=ttl)
            return texts.keep_output(keeper, read, before, ttl=ttl)

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
