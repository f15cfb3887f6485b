"""A command's outputs: captured in bounded memory, and cleaned for a reader."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from shaping.budget.cut_text import NumberedLines, Rules
from shaping.encoders import encode_lines
from shaping.parsers import EXACT
from shaping.parsers.terminal import clean_lines, error_lines
from shaping.redaction import StreamRedactor, redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shaping.commands.process import CommandOptions, ProcessExit
    from shaping.commands.storage import PartWriter
    from shaping.envelope import Envelope
    from shaping.response import Shaped
    from shaping.settings.choices import Redact
    from shaping.settings.plan import Plan


WHOLE: Final = 8 * 1024 * 1024  # bytes of one output that are held in memory
EDGE: Final = 256 * 1024  # bytes of either end that are held where there is more
_KEPT_LINES: Final = 2_000  # important lines between the ends that are held: as many of the first as of the last
_LONGEST_LINE: Final = 1024 * 1024  # bytes after which a line is taken for two

# Characters of a command's output that Claude Code's shell is reported to show its model (issue 19901), not measured:
# nobody knows here which agent reads, and what it would not have read is not saved.
SHELL_SHOWS: Final = 30_000

_HUNK: Final = re.compile(r"^@@ -\d+", re.MULTILINE)
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f]")
_SAMPLE: Final = 64 * 1024  # bytes that are looked at to tell text from binary data
_FEW_ODD: Final = 16  # bytes that are not UTF-8 and may be a name or a word in another encoding
# Data, and rows that a table shows in less; other texts are cheaper as they are.
COMMAND_FORMATS: Final = (*EXACT, "csv", "commits", "table")
LONG_TEXT: Final = 600  # characters of an output that may be worth writing in another way
_PRINTS_FILES: Final = re.compile(r"(?:\S*/)?(?:cat|head|tail|sed|nl|bat|less|more)\b")
REDACTED: Final = "secrets redacted"
LEFT_OPEN: Final = "something it started still runs with its outputs open; they were let go"

ImportantLines: TypeAlias = "Callable[[Sequence[str]], list[int]]"


class Capture:
    """One output of a program: all of it up to 8 MiB, else both ends, the important lines between and a line count.

    A writer, made with the first of them, takes the bytes that memory has no room for; `important` returns the indexes
    of lines that must be held; `copy` is called with all bytes as they come.
    """

    def __init__(
        self,
        make_writer: Callable[[], PartWriter] | None = None,
        important: ImportantLines = error_lines,
        *,
        whole: int = WHOLE,
        edge: int = EDGE,
        copy: Callable[[bytes], object] | None = None,
    ) -> None:
        self._make_writer, self._most, self._edge, self._copy = make_writer, whole, edge, copy
        self._head, self._tail = bytearray(), bytearray()
        self._digest = blake2b(digest_size=16)
        self._important, self._middle = important, _LineScan(important)
        self.size = 0
        self.whole = True
        self.writer: PartWriter | None = None

    @property
    def digest(self) -> bytes:
        """A fingerprint of everything that was printed."""
        return self._digest.digest()

    @property
    def held(self) -> bytes:
        """Everything, where it is whole; else its beginning."""
        return bytes(self._head)

    @property
    def end(self) -> bytes:
        """The end of what is not whole, from the start of a line."""
        kept = bytes(self._tail[-self._edge :])
        return kept[kept.find(b"\n") + 1 :]

    @property
    def missing_lines(self) -> int:
        """How many lines there are between the two ends that are held."""
        return self._middle.count - self.end.count(b"\n")

    def important_between(self) -> tuple[list[tuple[int, str]], int]:
        """Return the important lines between the ends, numbered from the end of the head, and how many are not held."""
        missing = self.missing_lines
        kept = [(number, line) for number, line in self._middle.kept if number < missing]
        in_tail = len(self._important(decode(self.end).split("\n")))
        return kept, max(0, self._middle.found - in_tail - len(kept))

    def take(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.size += len(chunk)
        self._digest.update(chunk)
        if self._copy is not None:
            self._copy(chunk)
        if self.whole:
            self._head += chunk
            if len(self._head) > self._most:
                self._overflow()
            return
        self._middle.take(chunk)
        self._pass_on(chunk)

    def text(self) -> str:
        """Return what is held as text, with a line in the place of what is not."""
        if self.whole:
            return decode(self.held)
        head, tail = self.held, self.end
        missing = self.size - len(head) - len(tail)
        return f"{decode(head)}… {missing:,} bytes …\n{decode(tail)}"

    def _overflow(self) -> None:
        all_so_far = bytes(self._head)
        self.whole = False
        cut = all_so_far.rfind(b"\n", 0, self._edge) + 1 or self._edge
        self._head = bytearray(all_so_far[:cut])
        self._middle.take(all_so_far[cut:])
        self._pass_on(all_so_far)

    def _pass_on(self, chunk: bytes) -> None:
        if self._make_writer is not None:
            self.writer = self.writer or self._make_writer()
            self.writer.write(chunk)
        self._tail += chunk
        if len(self._tail) > 4 * self._edge:
            del self._tail[: -self._edge]


class _LineScan:
    """Counts lines that are not held, and holds the important ones among them."""

    def __init__(self, important: ImportantLines) -> None:
        self._important = important
        self._rest = b""
        self._first: list[tuple[int, str]] = []
        self._last: deque[tuple[int, str]] = deque(maxlen=_KEPT_LINES)
        self.count = 0  # lines that have ended
        self.found = 0  # important lines, held or not

    @property
    def kept(self) -> list[tuple[int, str]]:
        return [*self._first, *self._last]

    def take(self, chunk: bytes) -> None:
        data = self._rest + chunk
        end = data.rfind(b"\n") + 1
        if not end and len(data) > _LONGEST_LINE:
            end = len(data)
        block, self._rest = data[:end], data[end:]
        lines = decode(block).split("\n")
        for index in self._important(lines):
            line = (self.count + index, lines[index])
            (self._first if len(self._first) < _KEPT_LINES else self._last).append(line)
            self.found += 1
        self.count += block.count(b"\n")


class ByteRedactor:
    """Takes secrets out of bytes as they come, but for an end that may be part of one; what is no UTF-8 stays."""

    def __init__(self, redact: Redact) -> None:
        self._redactor = None if redact.off else StreamRedactor(names=redact.names, paths=redact.paths)
        self._decoder = getincrementaldecoder("utf-8")("surrogateescape")

    def feed(self, chunk: bytes = b"", *, final: bool = False) -> bytes:
        """Return what goes out after the next bytes; after the `final` ones nothing waits."""
        if self._redactor is None:
            return chunk
        text = self._redactor.feed(self._decoder.decode(chunk, final))
        return _encoded(text + self._redactor.finish() if final else text)

    @property
    def waiting(self) -> int:
        """How many bytes wait."""
        return 0 if self._redactor is None else len(_encoded(self._redactor.held))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def decode(raw: bytes) -> str:
    """Decode UTF-8; bytes that are not become the replacement character."""
    return raw.decode("utf-8-sig" if raw[:3] == b"\xef\xbb\xbf" else "utf-8", "replace")


@dataclass(frozen=True)
class CommandResponse:
    """The text of a command's two outputs in the plan's form, its exit code, and its envelope, made when it is read."""

    make_envelope: Callable[[], Envelope[Any]]
    exit_code: int
    stdout: str
    stderr: str = ""
    raw: str = ""  # what the command printed, as far as it is held
    failure: str = ""  # the line of plain text that says how the command failed
    started: bool = True
    shaped: Shaped | None = None  # the data that the command printed, where it printed data

    @property
    def printed(self) -> str:
        """Both outputs, as they are counted."""
        return self.stdout + self.stderr

    @cached_property
    def envelope(self) -> Envelope[Any]:
        """The envelope of the command, which plain text does without."""
        return self.make_envelope()


@dataclass(frozen=True, slots=True)
class CleanedOutput:
    """One output as lines to show: without secrets, terminal control sequences and lines that the config drops."""

    lines: NumberedLines
    redacted: tuple[str, ...] = ()  # the rules that replaced something
    exact: bool = True  # whether the lines are every byte that was printed
    dropped: tuple[str, ...] = ()  # the lines that `drop_lines` left out


def plain_response(
    make_envelope: Callable[[], Envelope[Any]],
    ended: ProcessExit,
    texts: tuple[str, str],
    *,
    failure: str,
    redacted: bool,
    more: Iterable[str],
) -> CommandResponse:
    """Return a response of plain text, with one line of facts below standard error where there is something to say."""
    out, err = texts
    facts = [*([failure] if failure else []), *([REDACTED] if redacted else []), *more]
    err += "\n" if err and not err.endswith("\n") else ""
    err += f"({'; '.join(facts)})\n" if facts else ""
    return CommandResponse(make_envelope, ended.exit_code, out, err, failure=f"({failure})\n" if failure else "")


@dataclass(frozen=True)
class Finished:
    """A command that has ended: how, and its two outputs, each cleaned when it is first looked at."""

    argv: Sequence[str]
    options: CommandOptions
    ended: ProcessExit
    stdout: Capture
    stderr: Capture
    plan: Plan
    off: bool = False  # whether shaping is off: then nothing but secrets and private fields goes

    @cached_property
    def rules(self) -> Rules:
        """The lines that the config keeps and drops."""
        return Rules() if self.off else Rules.of(self.plan)

    @cached_property
    def out(self) -> CleanedOutput:
        """Standard output."""
        return self._cleaned(self.stdout)

    @cached_property
    def err(self) -> CleanedOutput:
        """Standard error."""
        return self._cleaned(self.stderr)

    @cached_property
    def text(self) -> str:
        """Standard output as plain text, with lines that differ in a few words written short."""
        text = "\n".join(self.out.lines.lines)
        plan, words = self.plan, self.argv
        # A program that prints files prints their bytes.
        prints_files = _PRINTS_FILES.match(words[-1] if len(words) > 1 and words[1] == "-c" else words[0])
        if len(text) < LONG_TEXT or "repeats" not in plan.noise or plan.encoding == "json" or prints_files or self.off:
            return text
        return encode_lines(text)

    def _cleaned(self, capture: Capture) -> CleanedOutput:
        """Clean an output; secrets go first, so that no cut can hide part of one from the redaction rules."""
        if not self.off and not is_text(capture.held):
            lines = [f"[{capture.size:,} bytes that are not UTF-8 text]", ""]
            return CleanedOutput(NumberedLines(lines), exact=False)
        if not capture.whole:
            return _clean_ends(capture, self.plan, self.rules)
        text, hits = _redacted(withhold_private(capture.text(), self.plan), self.plan)
        kept, dropped = self.rules.split(text.split("\n") if self.off else _tidied(text))
        exact = not hits and "\n".join(kept).encode() == capture.held
        return CleanedOutput(NumberedLines(kept), hits, exact, dropped)


def _tidied(text: str) -> list[str]:
    """Return the lines of a text as a terminal shows them; those of a diff, and where little would go, as they are.

    The blank lines of a diff are lines of a file, and without their space they cost no less.
    """
    if _HUNK.search(text) and "\x1b" not in text:
        return text.split("\n")
    lines = clean_lines(text)
    little = (len(text) - sum(map(len, lines)) - len(lines) + 1) * 50 < len(text)
    return text.split("\n") if little and not _CONTROLS.search(text) else lines


def _clean_ends(capture: Capture, plan: Plan, rules: Rules) -> CleanedOutput:
    """Clean an output too large to hold: its two ends, and between them the important lines with their numbers."""
    between, lost = capture.important_between()
    held = [decode(capture.held), decode(capture.end), *(line for _, line in between)]
    if any(withhold_private(one, plan) != one for one in held):
        # What names a private field in one part may have its content in another, or in what is not held.
        return CleanedOutput(
            NumberedLines([f"[withheld: {capture.size:,} bytes with private fields]", ""]), exact=False
        )
    head, hits = _redacted(held[0], plan)
    tail, more = _redacted(held[1], plan)
    middle = [_redacted(line, plan) for _, line in between]
    first, dropped = rules.split(clean_lines(head.removesuffix("\n")))
    last, also = rules.split(clean_lines(tail))
    lines = [*first, *(" ".join(clean_lines(line)) for line, _ in middle), *last]
    numbers = [*range(len(first)), *(len(first) + number for number, _ in between)]
    numbers += range(len(first) + capture.missing_lines, len(first) + capture.missing_lines + len(last))
    redacted = (*hits, *(rule for _, found in middle for rule in found), *more)
    return CleanedOutput(NumberedLines(lines, numbers, lost), redacted, exact=False, dropped=(*dropped, *also))


def _redacted(text: str, plan: Plan) -> tuple[str, tuple[str, ...]]:
    if plan.redact.off:
        return text, ()
    rules = plan.redact
    clean_text, hits = redact(text, values=rules.values, names=rules.names, paths=rules.paths)
    return clean_text, tuple(hit.rule for hit in hits)


def is_text(raw: bytes) -> bool:
    """Return whether bytes are text: an image or an archive would cost thousands of tokens and tell nothing."""
    beginning = decode(raw[:_SAMPLE])
    odd = beginning.count("\ufffd")
    return odd < _FEW_ODD or odd * 10 < len(beginning)


def protect_output(text: str, plan: Plan) -> str:
    """Return an output as it is, without secrets and private fields."""
    return _redacted(withhold_private(text, plan), plan)[0]


def withhold_private(text: str, plan: Plan) -> str:
    """Take private fields out of the data in a text; where it names one and cannot be read, nothing of it is left."""
    if plan.private is None or not text:
        return text
    held = str(plan.private.apply(text))
    shown = "\n".join(clean_lines(held))
    # A name that colours or erased characters take apart is read in what a terminal shows.
    return held if shown == held or plan.private.apply(shown) == shown else str(plan.private.apply(shown))
