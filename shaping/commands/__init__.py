"""A command as a tool: named by its first words, run, and shaped in what it printed."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

import orjson

from shaping.budget.lines import Rules
from shaping.commands.output import (
    COMMAND_FORMATS,
    LEFT_OPEN,
    Capture,
    CommandResponse,
    Finished,
    plain_response,
)
from shaping.commands.process import CommandOptions, run_process
from shaping.parsers import Parsed, parse
from shaping.settings.chooser import PlanChooser
from shaping.settings.patterns import ranked
from shaping.settings.plan import Overrides, Plan, as_paths
from shaping.settings.sources import presets_for
from shaping.tokens import counter
from shaping.tokens.sampling import is_within

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from os import PathLike

    from shaping.commands.storage import PartWriter
    from shaping.envelope import Envelope
    from shaping.settings.chooser import Mode
    from shaping.shaper import Shaper


_FACTS: Final = 100  # tokens of the line of facts, at most
_WORD = re.compile(r"[a-z][a-z0-9:_-]*")
_VERSIONED = re.compile(r"(python|pip|node|ruby|perl|php|clang|gcc|go)[\d.]+")
_DEEPEST: Final = 4
_NAMES = orjson.loads(Path(__file__).with_name("names.json").read_bytes())
# How many words name what these programs do; of any other program the first word does.
_DEPTHS: Mapping[str, int] = _NAMES["depths"]
# Options of these programs that stand before the subcommand and take the next word.
_TAKES_WORD: Mapping[str, Sequence[str]] = _NAMES["options_with_a_word"]
# Programs that only start another one: what runs is what comes after these words.
_STARTERS: Sequence[Sequence[str]] = _NAMES["starters"]


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


def plan_for(chooser: PlanChooser, argv: Sequence[str], options: CommandOptions, *, strict: bool = False) -> Plan:
    """Return the plan for a command's output; `strict` raises ConfigError for options that cannot be met."""
    fields = options.get("fields")
    request = Overrides(
        fields=None if fields is None else as_paths(fields),
        max_tokens=options.get("max_tokens"),
        dialect=options.get("dialect"),
    )
    tool = options.get("tool") or tool_name(argv, _named(chooser, argv))
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
    from shaping.commands.response import respond  # noqa: PLC0415 (plain text does without it: costs 60 ms)

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


def _named(chooser: PlanChooser, argv: Sequence[str]) -> list[str]:
    """List the tool names and patterns of the config and of the presets."""
    configured = chooser.loaded_config.merged.get("tool_overrides") or {}
    return [
        *configured,
        *(name for preset in presets_for(tool_name(argv)) for name in preset.choices("tool_overrides")),
    ]


def tool_name(argv: Sequence[str], named: Collection[str] = ()) -> str:
    """Return the tool name of a command: the longest that the config has rules for, else its first words."""
    words = list(_words(_started(argv)))[:_DEEPEST]
    names = [" ".join(words[:count]) for count in range(len(words), 0, -1)]
    exact = next((name for name in names if name in named), None)
    if exact is not None or words[0] in _DEPTHS:
        return exact or " ".join(words[: _DEPTHS[words[0]]])
    ruled = (name for name in names if any(" " in pattern for pattern in ranked(name, named)))
    return next(ruled, words[0])


def _words(argv: Sequence[str]) -> Iterator[str]:
    program = _program(argv[0])
    yield program
    takes, skip = _TAKES_WORD.get(program, ()), False
    begun = False
    for word in argv[1:]:
        if skip:
            skip = False
        elif word.startswith(("-", "+")) and not begun:
            skip = word in takes
        elif _WORD.fullmatch(word):
            begun = True
            yield word
        else:
            return


def _started(argv: Sequence[str]) -> Sequence[str]:
    for starter in _STARTERS:
        rest = argv[len(starter) :]
        if rest and [_program(argv[0]), *argv[1 : len(starter)]] == starter and not rest[0].startswith("-"):
            return _started(rest) if "=" not in rest[0] else argv
    return argv


def _program(word: str) -> str:
    name = Path(word).name.removesuffix(".exe") or word
    versioned = _VERSIONED.fullmatch(name)
    return {"py.test": "pytest"}.get(name, versioned[1] if versioned else name)
