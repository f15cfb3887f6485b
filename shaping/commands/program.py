"""What `shaping run` does once its command line is read: run a command, print it shaped, enter it into the ledger."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from shaping.commands import CommandChooser, plan_for, run_command
from shaping.commands.output import SHELL_SHOWS, ByteRedactor, CommandResponse
from shaping.settings.files import counting_lock, ledger_path
from shaping.tokens import counter

try:
    import fcntl
except ImportError:  # pragma: no cover  not on Windows, where no command runs
    fcntl = None  # type: ignore[assignment]  # the other half of the import

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from shaping.commands.process import CommandOptions
    from shaping.learning.record import Recorder
    from shaping.response import Shaped
    from shaping.settings.chooser import Mode
    from shaping.settings.plan import Plan


logger = logging.getLogger("shaping")


def run_and_print(
    argv: list[str],
    config: str | Path | None,
    options: CommandOptions,
    *,
    progress: Callable[[str], AbstractContextManager[object]] = nullcontext,
    recorder: Recorder | None = None,
) -> int:
    """Run a command, print its output as the options say, and return its exit code."""
    chooser = CommandChooser(config)
    plan = plan_for(chooser, argv, options, strict=True)
    mode = "on" if options.get("dialect") else chooser.mode  # an envelope that is asked for is printed in any mode
    if mode == "off" and not options.get("timeout"):
        _become(argv, options)
    if mode != "on" or not (plan.enabled or plan.private is not None or plan.dialect != "none"):
        chooser = chooser if mode == "on" else CommandChooser(config, mode="on")
        response = _run_unshaped(chooser, plan, argv, options, mode)
        entered = "" if mode == "off" else response.raw
        close_and_record(chooser, plan, entered, entered)
        return response.exit_code
    with progress(plan.tool):
        response = run_command(chooser, plan, argv, options)
    sys.stdout.write(response.stdout)
    sys.stdout.flush()
    sys.stderr.write(response.stderr)
    after = response.stdout + response.stderr
    # Where an envelope was asked for, what it adds to a short output is no cost of shaping.
    before = response.raw + response.failure if plan.dialect == "none" else max(response.raw, after, key=len)
    if recorder is not None:
        sides: Any = {"before": lambda: before[:SHELL_SHOWS], "after": lambda: after[:SHELL_SHOWS]}
        recorder.record(plan, response.raw, form="text", arguments={"argv": argv}, **sides)
        recorder.close()
    close_and_record(chooser, plan, before, after, response.shaped)
    return response.exit_code


def _run_unshaped(
    chooser: CommandChooser, plan: Plan, argv: Sequence[str], options: CommandOptions, mode: Mode
) -> CommandResponse:
    """Pass a command's output on as it comes: without secrets for a config that leaves it alone, else untouched.

    To observe a command is to log what shaping would have made of its output.
    """
    redact = plan.redact if mode == "on" else replace(plan.redact, off=True)
    copies = [partial(_copy, stream.buffer, ByteRedactor(redact)) for stream in (sys.stdout, sys.stderr)]
    compared = mode == "observe" and logger.isEnabledFor(logging.INFO)
    response = run_command(chooser, plan, argv, options, copies=copies, shaped=compared)
    for copy in copies:
        copy(final=True)
    if not response.started:
        sys.stderr.write(response.stderr)
    if compared:
        count = counter(plan.tokenizer).count
        logger.info("%s: %d tokens, %d if shaped", plan.tool, count(response.raw), count(response.printed))
    return response


def _copy(stream: BinaryIO, redactor: ByteRedactor, chunk: bytes = b"", *, final: bool = False) -> None:
    stream.write(redactor.feed(chunk, final=final))
    stream.flush()


def _become(argv: Sequence[str], options: CommandOptions) -> None:
    """Let the command take this process over, untouched; one that cannot be run is left to be reported as usual."""
    if os.name == "posix":
        sys.stdout.flush()
        environ = options.get("env")
        with suppress(OSError):
            os.execvpe(argv[0], list(argv), os.environ if environ is None else environ)  # noqa: S606 (the command that the user asked for, without a shell)


def begin_counting(ledger: Path) -> int | None:
    """Take the lock, which is held until this process and those that it forks have closed it."""
    with suppress(OSError):
        ledger.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(counting_lock(ledger), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_SH)
        return lock
    return None


def close_and_record(
    chooser: CommandChooser, plan: Plan, before: str, after: str, shaped: Shaped | None = None
) -> None:
    """Close the store, and enter what would have been printed, and what was printed in its place, into the ledger.

    A process of its own counts the tokens, where it can: nobody waits for a vocabulary to be loaded.
    """
    chooser.close()  # neither the thread of the store nor its connection comes along
    path = ledger_path()
    if not before or path is None:
        return
    enter = partial(_enter, chooser, plan, (before, after), shaped, time.time())
    lock = None if threading.active_count() > 1 else begin_counting(path)
    child = None
    if lock is not None:
        with suppress(OSError):  # the system may have no room for another process
            child = os.fork()
    if child is None:
        enter()
    elif child == 0:
        try:
            os.setsid()
            for number in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            enter()
        finally:
            os._exit(0)
    if lock is not None:
        os.close(lock)


_LEDGER_SECONDS: Final = 5.0  # the most that it waits for tokens to be counted; 0.1 on an idle machine


def _enter(chooser: CommandChooser, plan: Plan, texts: tuple[str, str], shaped: Shaped | None, now: float) -> None:
    """Count what would have been printed and what was printed in its place, and write both to the ledger."""
    from shaping.ledger import MeasuredCall, call_texts, open_ledger  # noqa: PLC0415 (loaded after the output went out: costs 30 ms)

    before, after = texts
    ledger = open_ledger(tokenizer=plan.tokenizer)
    if ledger is None:
        return

    def keep(read: str) -> str | None:
        """Keep the two sides of a call, in a store that is open for this alone."""
        if shaped is None and plan.private is not None:
            return None  # nothing can be taken out of a text with private fields
        with closing(chooser.shaper) as shaper:
            keeper, ttl = shaper.keeper("command"), chooser.loaded_config.store.ttl_seconds
            if shaped is not None:
                return call_texts.keep_texts(keeper, read, [shaped], ttl=ttl)
            return call_texts.keep_output(keeper, read, before, ttl=ttl)

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
