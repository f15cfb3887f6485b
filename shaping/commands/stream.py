"""A stream of JSON lines: each shaped as it comes, and an envelope at the end that tells how the command ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.commands.answer import ending
from shaping.commands.capture import decoded
from shaping.commands.clean import painted
from shaping.commands.command import not_run, output
from shaping.commands.process import run
from shaping.commands.ran import Ran, open_text
from shaping.parsers.json import read_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.commands.capture import Capture
    from shaping.commands.ran import Asked
    from shaping.envelope import Envelope
    from shaping.settings import Plan
    from shaping.shaper import Shaper

_LONGEST: Final = 8 * 1024 * 1024  # bytes of a line that are waited for


def stream_command(shaper: Shaper, plan: Plan, asked: Asked, emit: Callable[[bytes], None]) -> Envelope[Any]:
    """Run a command and emit each line of its output shaped, as JSON; give the envelope of its end."""
    stdout, stderr = output(shaper, plan), output(shaper, plan)
    lines = Lines(shaper, replace(plan, dialect="none"), emit, stdout.capture)
    try:
        ended = run(asked, lines, stderr.capture)
    except (OSError, ValueError) as problem:
        return not_run(problem, asked)
    lines.finish()
    return ending(shaper, plan, Ran(asked, plan.tool, ended, stdout, stderr), {"lines": lines.count})


class Lines:
    """Takes bytes, emits shaped lines."""

    def __init__(self, shaper: Shaper, plan: Plan, emit: Callable[[bytes], None], copy: Capture) -> None:
        self._shaper, self._plan, self._emit, self._copy = shaper, plan, emit, copy
        self._waiting = bytearray()
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
            value = open_text(painted(decoded(line)).rstrip(), self._plan)
        self.count += 1
        self._emit(orjson.dumps(self._shaper.shape_by(self._plan, value).value, option=orjson.OPT_APPEND_NEWLINE))
