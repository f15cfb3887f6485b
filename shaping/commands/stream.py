"""A command that prints JSON lines: each is shaped as it comes, and an envelope ends them."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import orjson

from shaping.cleaning import Pieces
from shaping.commands import CommandChooser, close_and_record, new_capture, plan_for
from shaping.commands.capture import SHELL_SHOWS, CommandResponse, Finished, decode
from shaping.commands.process import OURS, CommandOptions, run_process
from shaping.commands.rendering import not_started_response, respond_to_stream
from shaping.parsers.json import read_json
from shaping.parsers.terminal import render_terminal
from shaping.response import CallContext

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from shaping.settings.plan import Plan
    from shaping.shaper import Shaper


def stream_program(argv: list[str], config: str | Path | None, options: CommandOptions) -> int:
    """Print a command's JSON lines shaped as they come, then the envelope of its end; return its exit code."""
    chooser = CommandChooser(config)
    plan = plan_for(chooser, argv, options, strict=True)
    printed = bytearray()

    def emit(line: bytes) -> None:
        sys.stdout.write(line.decode())
        sys.stdout.flush()
        if len(printed) < SHELL_SHOWS * 4:  # bytes of a character at most; a stream may never end
            printed.extend(line)

    response = stream_command(chooser.shaper, plan, argv, options, emit)
    wire = response.envelope.render("invariant", include=plan.envelope, debug=plan.debug)
    emit(orjson.dumps(wire, option=orjson.OPT_APPEND_NEWLINE))
    close_and_record(chooser, plan, response.raw, printed.decode(errors="replace"))
    return response.exit_code


_LONGEST: Final = 8 * 1024 * 1024  # bytes of a line that are waited for


def stream_command(
    shaper: Shaper, plan: Plan, argv: Sequence[str], options: CommandOptions, emit: Callable[[bytes], None]
) -> CommandResponse:
    """Run a command, emit each line of its output shaped as JSON, and return how it ended."""
    lines = LineShaper(shaper, replace(plan, dialect="none"), emit)
    stdout, stderr = new_capture(shaper, plan, lines.take), new_capture(shaper, plan)
    ended = run_process(argv, options, stdout, stderr)
    finished = Finished(argv, options, ended, stdout, stderr, plan, off=shaper.mode == "off")
    if finished.ended.not_started is not None:
        return not_started_response(finished)
    lines.finish()
    envelope = respond_to_stream(shaper, finished, {"lines": lines.count})
    exit_code = int(getattr(envelope.meta, "exit_code", OURS))
    return CommandResponse(lambda: envelope, exit_code, "", raw=stdout.text() + stderr.text())


class LineShaper:
    """Takes JSON lines and emits each shaped."""

    def __init__(self, shaper: Shaper, plan: Plan, emit: Callable[[bytes], None]) -> None:
        self._shaper, self._plan, self._emit = shaper, plan, emit
        self._waiting = bytearray()
        self._pieces = Pieces()
        self.count = 0

    def take(self, chunk: bytes) -> None:
        """Take the next bytes, and emit the lines that they complete."""
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
