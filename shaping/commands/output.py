"""What is run, and what came of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shaping.commands.process import decode
from shaping.commands.terminal import clean
from shaping.redaction import redact_text
from shaping.settings.context import mode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.commands.cut import Rules
    from shaping.commands.process import Capture, ProcessExit
    from shaping.commands.storage import PartWriter
    from shaping.redaction import Hit
    from shaping.settings import Plan


_LOOK: Final = 64 * 1024  # bytes that tell text from anything else
_ODD: Final = 16


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command to run, and what its caller says about it."""

    argv: tuple[str, ...]
    timeout: float | None = None
    etag: str | None = None
    fields: tuple[str, ...] = ()
    cwd: str | None = None
    env: Mapping[str, str] | None = None
    stdin: bytes | None = None

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment that the command sees."""
        return os.environ if self.env is None else self.env


@dataclass(frozen=True, slots=True)
class CapturedOutput:
    """One output of a program: what was captured, and where the rest of it goes."""

    capture: Capture
    writer: PartWriter | None


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended and what it printed."""

    asked: Invocation
    tool: str
    ended: ProcessExit
    stdout: CapturedOutput
    stderr: CapturedOutput


@dataclass(frozen=True, slots=True)
class CleanedOutput:
    """One output as lines to show: without secrets, repaints and what the config drops."""

    lines: list[str]
    redacted: tuple[str, ...] = ()
    exact: bool = True  # whether the lines are every byte that was printed
    dropped: int = 0


def read(capture: Capture, plan: Plan, rules: Rules) -> CleanedOutput:
    """Make an output ready to be shown; secrets go first, so that no cut can hide one from the rules."""
    if mode() != "off" and not _is_text(capture):
        return CleanedOutput([f"[{capture.size:,} bytes that are not UTF-8 text]", ""], exact=False)
    text = withhold_private(capture.text(), plan)
    hits: list[Hit] = []
    if not plan.redact.off:
        text, hits = redact_text(text, values=plan.redact.values, names=plan.redact.names)
    cleaned = text.split("\n") if mode() == "off" else clean(text)
    lines = rules.left(cleaned)
    exact = capture.whole and not hits and "\n".join(lines).encode() == capture.held
    return CleanedOutput(lines, tuple(hit.rule for hit in hits), exact, len(cleaned) - len(lines))


def _is_text(capture: Capture) -> bool:
    """Whether an output can be read: an image or an archive would cost thousands of tokens and tell nothing."""
    beginning = decode(capture.held[:_LOOK])
    odd = beginning.count("\ufffd")
    # A few odd bytes are a name or a word in another encoding.
    return odd < _ODD or odd * 10 < len(beginning)


def withhold_private(text: str, plan: Plan) -> str:
    """Withhold text that looks like data where paths are private: nobody can find them in what could not be read."""
    if plan.private is None or not text.lstrip().startswith(("{", "[")):
        return text
    return f"[withheld: {len(text):,} characters that could not be read as data and may hold private fields]\n"
