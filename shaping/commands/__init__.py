"""A command as a tool: run, shaped in what it printed, printed, and entered into the ledger."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Unpack

from shaping.budget.cut_text import Rules
from shaping.commands.capture import (
    COMMAND_FORMATS,
    LEFT_OPEN,
    SHELL_SHOWS,
    ByteRedactor,
    Capture,
    CommandResponse,
    Finished,
    plain_response,
)
from shaping.commands.process import CommandOptions, run_process
from shaping.commands.tool_names import tool_name
from shaping.parsers import Parsed, parse
from shaping.settings.chooser import PlanChooser
from shaping.settings.files import counting_lock, ledger_path
from shaping.settings.plan import Overrides, Plan, as_paths
from shaping.settings.sources import presets_for
from shaping.tokens import counter
from shaping.tokens.sampling import is_within

try:
    import fcntl
except ImportError:  # pragma: no cover  not on Windows, where no command runs
    fcntl = None  # type: ignore[assignment]  # the other half of the import

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from pathlib import Path

    from shaping.commands.storage import PartWriter
    from shaping.envelope import Envelope
    from shaping.learning.record import Recorder
    from shaping.response import Shaped
    from shaping.settings.chooser import Mode
    from shaping.shaper import Shaper


logger = logging.getLogger("shaping")
_FACTS: Final = 100  # tokens of the line of facts, at most


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


def plan_for(chooser: PlanChooser, argv: Sequence[str], options: CommandOptions, *, strict: bool = False) -> Plan:
    """Return the plan for a command's output; `strict` raises ConfigError for options that cannot be met."""
    fields = options.get("fields")
    request = Overrides(
        fields=None if fields is None else as_paths(fields),
        max_tokens=options.get("max_tokens"),
        dialect=options.get("dialect"),
    )
    configured = chooser.loaded_config.sources.merged.get("tool_overrides") or {}
    presets = (name for preset in presets_for(tool_name(argv)) for name in preset.choices("tool_overrides"))
    tool = options.get("tool") or tool_name(argv, (*configured, *presets))
    asked = None if request == Overrides() else request
    return chooser.choose(tool, surface="command", profile=options.get("profile"), overrides=asked, strict=strict)[0]


class CommandChooser(PlanChooser):
    """Chooses the plans of commands; a text that fits needs no more, and for others there is its `shaper`."""

    def __init__(self, config: str | PathLike[str] | None = None, mode: Mode | None = None) -> None:
        """Find the config; a `mode` stands in place of the environment's."""
        super().__init__(config, watch=False, environ=None if mode is None else {**os.environ, "SHAPING": mode})
        self._config = config

    @cached_property
    def shaper(self) -> Shaper:
        """The shaper by this config, loaded when it is first asked for."""
        from shaping.shaper import Shaper  # noqa: PLC0415 (plain text does without it: costs 50 ms)

        return Shaper(self._config, expandable=True, watch=False, environ=self._environ)

    def close(self) -> None:
        """Close the shaper, where it was loaded."""
        if "shaper" in vars(self):
            self.shaper.close()


def run_command(
    chooser: Shaper | CommandChooser,
    plan: Plan,
    argv: Sequence[str],
    options: CommandOptions,
    *,
    stop: threading.Event | None = None,
    copies: Sequence[Callable[[bytes], object] | None] = (None, None),
    shaped: bool = True,
) -> CommandResponse:
    """Run a command to its end and return its response, or only how it ended where it is not to be `shaped`.

    `copies` get its two outputs as they come.
    """
    stdout, stderr = (new_capture(chooser, plan, copy) for copy in copies)
    ended = run_process(argv, options, stdout, stderr, stop=stop)
    finished = Finished(argv, options, ended, stdout, stderr, plan, off=chooser.mode == "off")
    raw = stdout.text() + stderr.text()
    if not shaped and ended.not_started is None:
        return CommandResponse(lambda: make_response(chooser, finished).envelope, ended.exit_code, "", raw=raw)
    return replace(make_response(chooser, finished), raw=raw)


def make_response(chooser: Shaper | CommandChooser, finished: Finished) -> CommandResponse:
    """Return the response of a command that has ended."""
    out = finished.stdout
    formats = [name for name in finished.plan.parse if name in COMMAND_FORMATS]
    parsed = parse(out.text(), formats) if out.whole and out.size else None
    plain = None if parsed is not None else _plain_text(chooser, finished)
    return plain or _respond(chooser, finished, parsed)


def _respond(chooser: Shaper | CommandChooser, finished: Finished, parsed: Parsed | None = None) -> CommandResponse:
    from shaping.commands.rendering import respond  # noqa: PLC0415 (plain text does without it: costs 60 ms)

    return respond(_shaper_of(chooser), finished, parsed)


def _shaper_of(chooser: Shaper | CommandChooser) -> Shaper:
    return chooser.shaper if isinstance(chooser, CommandChooser) else chooser


def _plain_text(chooser: Shaper | CommandChooser, finished: Finished) -> CommandResponse | None:
    """Return the response to a command whose text fits and needs only cleaning; None for every other."""
    plan, ended = finished.plan, finished.ended
    rules_apply = plan.fields is not None or plan.private is not None or plan.drop_lines or plan.debug
    asks_etag = finished.options.get("etag") is not None or "etag" in plan.envelope
    coded = ended.not_started or ended.timed_out or ended.child_exit_code in plan.exit_codes
    unusual = plan.dialect != "none" or not plan.enabled or finished.off or bool(chooser.warnings)
    whole = finished.stdout.whole and finished.stderr.whole
    if rules_apply or asks_etag or coded or unusual or not whole:
        return None
    shown, err = finished.text, "\n".join(finished.err.lines.lines)
    exact = counter(plan.tokenizer).exact
    if plan.max_tokens is not None and not is_within(shown + err, plan.max_tokens - _FACTS, exact):
        return None
    return plain_response(
        lambda: _respond(chooser, finished).envelope,
        ended,
        (shown, err),
        failure=str(ended) if ended.exit_code else "",
        redacted=bool(finished.out.redacted or finished.err.redacted),
        more=[LEFT_OPEN] if ended.left_open else [],
    )


def new_capture(chooser: Shaper | CommandChooser, plan: Plan, copy: Callable[[bytes], object] | None = None) -> Capture:
    """Return a capture for one output, which spills to the store unless paths are private."""

    def make_writer() -> PartWriter:
        from shaping.commands.storage import PartWriter  # noqa: PLC0415 (few outputs are too large for memory)

        return PartWriter(_shaper_of(chooser), plan.redact)

    return Capture(make_writer if plan.private is None else None, Rules.of(plan).important, copy=copy)


async def command(
    argv: Sequence[str], *, shaper: Shaper | None = None, **options: Unpack[CommandOptions]
) -> Envelope[Any]:
    """Run a command without a shell and return its envelope; a cancelled call ends its whole process group."""
    import asyncio  # noqa: PLC0415 (takes 40 ms to import, and shaping run does without)

    stop = threading.Event()
    running = asyncio.create_task(asyncio.to_thread(_answered, tuple(argv), shaper, options, stop))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([running])
        raise


def _answered(
    argv: tuple[str, ...], shaper: Shaper | None, options: CommandOptions, stop: threading.Event
) -> Envelope[Any]:
    if not argv:
        raise ValueError("a command needs at least the name of a program")
    chooser = shaper or CommandChooser()
    try:
        # The caller gets an envelope, so that is what the budget is for.
        plan = plan_for(chooser, argv, {"dialect": "invariant", **options})
        return run_command(chooser, plan, argv, options, stop=stop).envelope
    finally:
        if shaper is None:
            chooser.close()


# The ledger, after the output went out.


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
