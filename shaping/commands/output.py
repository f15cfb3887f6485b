"""A command's invocation, how it ended, and its outputs cleaned for a reader."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shaping.commands.cut import NumberedLines
from shaping.commands.process import decode
from shaping.parsers.terminal import clean
from shaping.redaction import redact_text
from shaping.settings.context import mode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.commands.cut import Rules
    from shaping.commands.process import Capture, ProcessExit
    from shaping.commands.storage import PartWriter
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
    """One output as lines to show: without secrets, terminal control sequences and lines that the config drops."""

    lines: NumberedLines
    redacted: tuple[str, ...] = ()  # the rules that replaced something
    exact: bool = True  # whether the lines are every byte that was printed
    dropped: tuple[str, ...] = ()  # the lines that `drop_lines` left out


def clean_output(capture: Capture, plan: Plan, rules: Rules) -> CleanedOutput:
    """Clean an output; secrets go first, so that no cut can hide part of one from the redaction rules."""
    if mode() != "off" and not _is_text(capture):
        lines = [f"[{capture.size:,} bytes that are not UTF-8 text]", ""]
        return CleanedOutput(NumberedLines(lines), exact=False)
    if not capture.whole:
        return _clean_ends(capture, plan, rules)
    text, hits = _redacted(withhold_private(capture.text(), plan), plan)
    cleaned = text.split("\n") if mode() == "off" else clean(text)
    kept, dropped = rules.split(cleaned)
    exact = not hits and "\n".join(kept).encode() == capture.held
    return CleanedOutput(NumberedLines(kept), hits, exact, dropped)


def _clean_ends(capture: Capture, plan: Plan, rules: Rules) -> CleanedOutput:
    """Clean an output too large to hold: its two ends, and between them the important lines with their numbers."""
    beginning = withhold_private(decode(capture.held), plan)
    if beginning != decode(capture.held):
        return CleanedOutput(NumberedLines(beginning.split("\n")), exact=False)
    head, hits = _redacted(beginning, plan)
    tail, more = _redacted(decode(capture.end), plan)
    between, lost = capture.important_between()
    middle = [_redacted(line, plan) for _, line in between]
    first, dropped = rules.split(clean(head.removesuffix("\n")))
    last, also = rules.split(clean(tail))
    lines = [*first, *(" ".join(clean(line)) for line, _ in middle), *last]
    numbers = [*range(len(first)), *(len(first) + number for number, _ in between)]
    numbers += range(len(first) + capture.missing_lines, len(first) + capture.missing_lines + len(last))
    redacted = (*hits, *(rule for _, found in middle for rule in found), *more)
    return CleanedOutput(NumberedLines(lines, numbers, lost), redacted, exact=False, dropped=(*dropped, *also))


def _redacted(text: str, plan: Plan) -> tuple[str, tuple[str, ...]]:
    if plan.redact.off:
        return text, ()
    clean_text, hits = redact_text(text, values=plan.redact.values, names=plan.redact.names)
    return clean_text, tuple(hit.rule for hit in hits)


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
