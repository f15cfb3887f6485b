"""A command as a tool: named by its first words, run, and shaped in what it printed."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

import orjson

from shaping.budget.lines import Rules
from shaping.commands.output import (
    Capture,
    CapturedOutput,
    Finished,
    Invocation,
    OutputStream,
    decode,
    withhold_private,
)
from shaping.commands.process import OURS, not_started, run_process
from shaping.commands.response import CommandResponse, render_wire, respond, respond_to_stream
from shaping.commands.storage import OutputStore, PartWriter
from shaping.envelope import command_envelope
from shaping.parsers.json import read_json
from shaping.parsers.terminal import render_terminal
from shaping.response import required
from shaping.settings import Overrides
from shaping.settings.resolve import ranked
from shaping.settings.sources import presets_for
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from os import PathLike

    from shaping.commands.process import Sink
    from shaping.envelope import Envelope
    from shaping.settings import Plan


_LONGEST: Final = 8 * 1024 * 1024  # bytes of a line that are waited for
_WITHHELD: Final = "[withheld: this line may hold a private field and cannot be read as data]"
_WORD = re.compile(r"[a-z][a-z0-9:_-]*")
_VERSIONED = re.compile(r"(python|pip|node|ruby|perl|php|clang|gcc|go)[\d.]+")
_DEEPEST: Final = 4
# How many words name what these programs do; of any other program the first word does.
_DEPTHS: Mapping[str, int] = {
    **dict.fromkeys(("kubectl", "docker", "podman", "gh", "glab", "aws", "gcloud", "az", "oc"), 3),
    **dict.fromkeys(
        ("git", "cargo", "npm", "pnpm", "yarn", "pip", "uv", "poetry", "go", "ruff", "helm", "terraform", "systemctl",
         "apt", "apt-get", "brew", "conda", "dotnet", "rustup", "hg", "svn", "jj", "shaping", "make"), 2,
    ),
}  # fmt: skip
# Options of these programs that stand before the subcommand and take the next word.
_TAKES_WORD: Mapping[str, frozenset[str]] = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig", "-s", "--server"}),
    "docker": frozenset({"-H", "--host", "--context", "--config", "-l", "--log-level"}),
    "npm": frozenset({"--prefix", "-w", "--workspace"}),
    "cargo": frozenset({"--config", "--color", "-Z", "-C"}),
}
# Programs that only start another one: what runs is what comes after these words.
_STARTERS: tuple[tuple[str, ...], ...] = (
    ("python", "-m"), ("npx",), ("uvx",), ("pipx", "run"), ("uv", "run"), ("poetry", "run"), ("pdm", "run"),
    ("npm", "exec"), ("pnpm", "exec"), ("yarn", "exec"), ("bundle", "exec"), ("env",), ("nice",), ("time",),
)  # fmt: skip


class CommandOptions(TypedDict, total=False):
    """The options of a call besides the words of the command."""

    tool: str | None
    profile: str | None
    fields: Sequence[str] | None
    max_tokens: int | None
    dialect: Any
    timeout: float | None
    etag: str | None
    cwd: str | PathLike[str] | None
    env: Mapping[str, str] | None
    stdin: bytes | None


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


def plan_for(shaper: Shaper, argv: Sequence[str], options: CommandOptions, *, strict: bool = False) -> Plan:
    """Return the plan for a command's output; `strict` raises ConfigError for options that cannot be met."""
    fields = options.get("fields")
    request = Overrides(
        fields=None if fields is None else tuple(fields),
        max_tokens=options.get("max_tokens"),
        dialect=options.get("dialect"),
    )
    tool = options.get("tool") or tool_name(argv, _named(shaper, argv))
    choices: dict[str, Any] = {
        "surface": "command",
        "profile": options.get("profile"),
        "request": None if request == Overrides() else request,
    }
    if strict:
        shaper.loaded_config.plan(tool, **choices)
    return shaper.plan(tool, **choices)


def invocation_of(argv: Sequence[str], options: CommandOptions) -> Invocation:
    """Build the invocation from the options of a call."""
    cwd = options.get("cwd")
    return Invocation(
        tuple(argv),
        timeout=options.get("timeout"),
        etag=options.get("etag"),
        fields=tuple(options.get("fields") or ()),
        cwd=None if cwd is None else os.fspath(cwd),
        env=options.get("env"),
        stdin=options.get("stdin"),
    )


def run_command(
    shaper: Shaper,
    plan: Plan,
    invocation: Invocation,
    *,
    stop: threading.Event | None = None,
    copies: tuple[OutputStream, OutputStream] | None = None,
) -> CommandResponse:
    """Run a command to its end and return its response; `copies` get its two outputs as they come."""
    stdout, stderr = output(shaper, plan), output(shaper, plan)
    sinks: tuple[Sink, Sink] = stdout.capture, stderr.capture
    if copies is not None:
        sinks = _Tee(stdout.capture, copies[0]), _Tee(stderr.capture, copies[1])
    try:
        ended = run_process(invocation, *sinks, stop=stop)
    except (OSError, ValueError) as problem:
        return _not_started_response(not_started_envelope(problem, invocation), plan)
    response = respond(shaper, plan, Finished(invocation, plan.tool, ended, stdout, stderr))
    return replace(response, raw=stdout.capture.text() + stderr.capture.text())


class _Tee:
    """A sink that captures an output and copies it to a stream as it comes."""

    def __init__(self, capture: Capture, copy: OutputStream) -> None:
        self._capture, self._copy = capture, copy

    def take(self, chunk: bytes) -> None:
        self._capture.take(chunk)
        self._copy.write(chunk)
        self._copy.flush()


def output(shaper: Shaper, plan: Plan) -> CapturedOutput:
    """Return a capture for one output, which spills to the store unless paths are private."""
    writer = None if plan.private is not None else PartWriter(OutputStore(shaper), plan.redact)
    return CapturedOutput(Capture(None if writer is None else writer.write, Rules.of(plan).important), writer)


def not_started_envelope(problem: Exception, invocation: Invocation) -> Envelope[Any]:
    """Return the envelope of a command that could not be started."""
    error, code = not_started(problem, invocation.argv, invocation.environ)
    return command_envelope(
        None, exit_code=code, argv=invocation.argv[:1], error=error, duration_ms=0, extensions={"exit_code": code}
    )


def _not_started_response(envelope: Envelope[Any], plan: Plan) -> CommandResponse:
    error = required(envelope.error)
    code = int(getattr(envelope.meta, "exit_code", OURS))
    if plan.dialect == "none":
        words = f"{error.message}. {error.hint or ''}".strip() + "\n"
        return CommandResponse(lambda: envelope, code, "", words, started=False)
    wire = orjson.dumps(render_wire(envelope, plan)).decode()
    return CommandResponse(lambda: envelope, code, f"{wire}\n", started=False)


def _answered(
    argv: tuple[str, ...], shaper: Shaper | None, options: CommandOptions, stop: threading.Event
) -> Envelope[Any]:
    if not argv:
        raise ValueError("a command needs at least the name of a program")
    using = shaper or Shaper(expandable=True)
    try:
        # The caller gets an envelope, so that is what the budget is for.
        plan = plan_for(using, argv, {"dialect": "invariant", **options})
        return run_command(using, plan, invocation_of(argv, options), stop=stop).envelope
    finally:
        if shaper is None:
            using.close()


def _named(shaper: Shaper, argv: Sequence[str]) -> list[str]:
    """List the tool names and patterns of the config and of the presets."""
    configured = shaper.loaded_config.config.tool_overrides or {}
    return [
        *configured,
        *(name for preset in presets_for(tool_name(argv)) for name in preset.choices("tool_overrides")),
    ]


def stream_command(
    shaper: Shaper, plan: Plan, invocation: Invocation, emit: Callable[[bytes], None]
) -> CommandResponse:
    """Run a command, emit each line of its output shaped as JSON, and return how it ended."""
    stdout, stderr = output(shaper, plan), output(shaper, plan)
    lines = LineShaper(shaper, replace(plan, dialect="none"), emit, stdout.capture)
    try:
        ended = run_process(invocation, lines, stderr.capture)
    except (OSError, ValueError) as problem:
        return _not_started_response(not_started_envelope(problem, invocation), plan)
    lines.finish()
    finished = Finished(invocation, plan.tool, ended, stdout, stderr)
    envelope = respond_to_stream(shaper, plan, finished, {"lines": lines.count})
    exit_code = int(getattr(envelope.meta, "exit_code", OURS))
    return CommandResponse(lambda: envelope, exit_code, "", raw=stdout.capture.text() + stderr.capture.text())


class LineShaper:
    """A sink for JSON lines that emits each line shaped."""

    def __init__(self, shaper: Shaper, plan: Plan, emit: Callable[[bytes], None], copy: Capture) -> None:
        self._shaper, self._plan, self._emit, self._copy = shaper, plan, emit, copy
        self._waiting = bytearray()
        self._withheld = False
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
            value = self._text(render_terminal(decode(line)).rstrip())
        if self._withheld and not isinstance(value, dict | list):
            value = _WITHHELD  # the content of a private field may stand in any line after its name
        self.count += 1
        self._emit(orjson.dumps(self._shaper.shape_by(self._plan, value).value, option=orjson.OPT_APPEND_NEWLINE))

    def _text(self, text: str) -> str:
        shown = withhold_private(text, self._plan)
        self._withheld = self._withheld or shown != text
        return shown


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
    takes, skip = _TAKES_WORD.get(program, frozenset()), False
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
        if rest and (_program(argv[0]), *argv[1 : len(starter)]) == starter and not rest[0].startswith("-"):
            return _started(rest) if "=" not in rest[0] else argv
    return argv


def _program(word: str) -> str:
    name = Path(word).name.removesuffix(".exe") or word
    versioned = _VERSIONED.fullmatch(name)
    return {"py.test": "pytest"}.get(name, versioned[1] if versioned else name)
