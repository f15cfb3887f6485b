"""Terminal output as plain lines: escape sequences carried out, progress and repeats collapsed, error lines found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from pydantic_core import SchemaValidator, core_schema


def matcher(pattern: str) -> Callable[[str | bytes], bool]:
    """Make the test of whether a text has a match, by Rust's engine, which is twenty times faster."""
    # It takes no lone surrogates, and a word boundary must be one of ASCII: one that knows Unicode is slow.
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")).isinstance_python


_ERROR = (
    r"(?:^|[^\w-])(?:errors?|err!|fatal|fail(?:ed|ure|ures|ing)?|panic(?:ked)?|exceptions?|traceback|critical|cannot"
    r"|can't|couldn't|could not|unable to|undefined|unresolved|not found|no such|denied|refused|aborted|abort"
    r"|segmentation fault|core dumped|killed|conflict|timed out|invalid|unexpected|unrecogni[sz]ed"
    r"|(?:unknown|illegal|missing) (?:\w+ )?(?:option|command|subcommand|flag|switch|argument|operand))(?:[^\w-]|$)"
    r"|(?-i:[A-Z]\w*(?:Error|Exception))(?-u:\b)|^e\s|^\s*(?:not ok|[✗✖✘])\s|:\d+:\d+:\s"
)
# In one line, or in many at once: most texts have few lines that report an error.
_has_error_word = matcher(f"(?im){_ERROR}")
_TOGETHER: Final = 16  # lines
_NO_ERROR = re.compile(
    r"\b(?:0|no)\s+(?:errors?|failures?|failed|problems?|conflicts?)\b"
    r"|\b0\s+(?:(?!and\b|but\b|of\b|with\b)[a-z]+\s+){1,2}(?:errors|failures)\b",  # 0 output buffer failures
    re.IGNORECASE,
)
_may_say_no_error = matcher(r"(?i)(?:0|no)\s+(?:[a-z]+\s+){0,2}(?:error|fail|problem|conflict)")
_HEADING: Final = "Traceback (most recent call last)"
_FRAME = re.compile(r"\s+(?:at\s|\.\.\.\s\d+\s)")
_CAUSE = re.compile(r"\s*(?:Caused by|Suppressed): ")


def is_error_line(line: str) -> bool:
    """Return whether a line reports an error; "0 errors" does not."""
    line = without_surrogates(line)
    return _has_error_word(line) and (not _NO_ERROR.search(line) or _has_error_word(_NO_ERROR.sub("", line)))


def without_surrogates(text: str) -> str:
    """Return a text that the engine can read."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def error_lines(lines: Sequence[str]) -> list[int]:
    """Return the indexes of the lines that report an error, the exceptions of tracebacks included."""
    found: list[int] = []
    for start in range(0, len(lines), _TOGETHER):
        some = lines[start : start + _TOGETHER]
        text = "\n".join(some)
        if _has_error_word(without_surrogates(text)):
            plain = text.isascii() and not _may_say_no_error(text)
            is_error = _has_error_word if plain else is_error_line
            found += [at for at, line in enumerate(some, start) if is_error(line)]
    exceptions = {at for trace in find_traces(lines, found) for at in trace.exceptions}
    return sorted(exceptions.union(found)) if exceptions else found


class Trace(NamedTuple):
    """A traceback: its lines, and those of them that name an exception."""

    lines: range
    exceptions: Sequence[int]


def find_traces(lines: Sequence[str], errors: Iterable[int]) -> list[Trace]:
    """Find the tracebacks that begin with an error line."""
    traces: list[Trace] = []
    for at in errors:
        if traces and at < traces[-1].lines.stop:
            continue
        trace = _python_trace(lines, at) or _stack_trace(lines, at)
        if trace is not None:
            traces.append(trace)
    return traces


def _python_trace(lines: Sequence[str], at: int) -> Trace | None:
    column = lines[at].find(_HEADING)
    if column < 0 or at + 1 == len(lines):
        return None
    # The heading can stand behind the time of a log's line, and its frames below at the margin.
    if lines[at][:column].strip() and lines[at + 1][:1].isspace():
        column = 0
    end = at + 1
    while end < len(lines) - 1 and (lines[end][column : column + 1].isspace() or not lines[end].strip()):
        end += 1
    return Trace(range(at, end + 1), (end,))


def _stack_trace(lines: Sequence[str], at: int) -> Trace | None:
    """Find the frames of Java, JavaScript and C#, which stand below their exception."""
    # A log's line can report the error before the line of the exception.
    named = next((named for named, line in enumerate(lines[at + 1 : at + 3], at) if _FRAME.match(line)), None)
    if named is None:
        return None
    end = named + 1
    while end < len(lines) and (_FRAME.match(lines[end]) or _CAUSE.match(lines[end])):
        end += 1
    causes = (cause for cause in range(named + 1, end) if _CAUSE.match(lines[cause]))
    return Trace(range(at, end), (named, *causes))


COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*m")
_STEP = re.compile(
    r"\x1b\[(?P<number>\d*)[0-9;:?<=>]*[ -/]*(?P<move>[@-~])"  # move, erase, colour
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links and other strings for the terminal
    r"|\x1b[ -/]*[0-~]?"
    r"|(?P<control>[\x00-\x08\x0b-\x1f\x7f])"
    r"|(?P<line>\n)"
    r"|(?P<text>[^\x00-\x08\x0a-\x1f\x7f]+)"
)
_BAR = re.compile(r"[\d.,:#=>█▉▊▋▌▍▎▏▓▒░━╸╺─\-|/\\ ]+")
_OLD_LINES, _DISTINCT = 4, 0.9  # lines that end in a carriage return, and the part of them that comes once
_PERCENT = re.compile(r"(\d{1,3})(?:\.\d+)?\s?%")
# A percentage alone could be anybody's number: progress ends with it, counts with it, draws it or has a speed.
_PROGRESS = re.compile(r"%\s*[\])|]?\s*$|%\s*\(\d+/\d+\)|[█▉▊▋▌▍▎▏▓▒░━╸]|[#=>]{5}|\d\s?[KMG]?i?B/s")
# When a line was written: a date, a time, the klog header with its thread.
_STAMP = re.compile(
    r"(?:[IWEF]\d{4}\s+)?\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?"
    r"(?:\s+\d+(?=\s))?\s+"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NULS = re.compile(r"\x00+\n?")


def clean_lines(text: str) -> list[str]:
    """Return the lines that stand on the screen in the end, blank runs as one, repeats with their number."""
    lines = [line.rstrip() for line in render_terminal(text).split("\n")]
    return list(count_repeats(_settled(lines) if "%" in text else lines))


def render_terminal(text: str) -> str:
    """Carry out what the text tells a terminal to do; an error that would be painted over stays as a line."""
    plain = _with_line_feeds(_separated(COLOURS.sub("", text.replace("\r\n", "\n"))))
    return _Screen().show(plain) if _CONTROLS.search(plain) else plain


def _with_line_feeds(text: str) -> str:
    """Return a text whose lines end in a carriage return alone, as old programs write, with line feeds."""
    if "\r" not in text or "\n" in text or "\x1b" in text or _PROGRESS.search(text) or _PERCENT.search(text):
        return text
    lines = text.split("\r")
    # A display that is painted over comes back to what it showed.
    return "\n".join(lines) if len(lines) > _OLD_LINES and len(set(lines)) > len(lines) * _DISTINCT else text


def _separated(text: str) -> str:
    """Return what `-z` and `-print0` end by a NUL as lines; names run together are other names."""
    # Where NULs are a third and more, they are the upper halves of wide characters.
    between = 0 < text.count("\x00") * 3 <= len(text)
    return _NULS.sub("\n", text) if between else text


class _Screen:
    """As much of a terminal as progress displays use."""

    # Columns; a program that moves beyond is not painting a line. A wider row stays as it is, and what would be painted
    # over it begins a new one: painting it again and again would cost its width each time.
    _FURTHEST: Final = 1000

    def __init__(self) -> None:
        self._rows = [""]
        self._tells_error = [False]  # of each row
        self._row = self._column = 0

    def show(self, text: str) -> str:
        for step in _STEP.finditer(text):
            if step["text"]:
                self._put(step["text"])
            elif step["line"]:
                self._down()
            elif step["control"]:
                self._leave_wide_row()
                self._control(step["control"])
            elif step["move"]:
                self._leave_wide_row()
                self._move(step["move"], int(step["number"][:4] or 0))
        return "\n".join(self._rows)

    def _put(self, text: str) -> None:
        row, start = self._rows[self._row].ljust(self._column), self._column
        self._column += len(text)
        self._rows[self._row] = row[:start] + text + row[self._column :]
        # What is written is looked at once, and not the whole row with each step.
        self._tells_error[self._row] |= is_error_line(text)

    def _down(self) -> None:
        if self._row + 1 == len(self._rows):
            self._begin_row()
        else:
            self._row, self._column = self._row + 1, 0

    def _begin_row(self) -> None:
        self._row, self._column = self._row + 1, 0
        self._rows.insert(self._row, "")
        self._tells_error.insert(self._row, False)

    def _leave_wide_row(self) -> None:
        if len(self._rows[self._row]) > self._FURTHEST:
            self._begin_row()

    def _control(self, control: str) -> None:
        if control == "\r":
            if self._tells_error[self._row]:
                self._begin_row()
            self._column = 0
        elif control == "\b":
            self._column = max(0, self._column - 1)

    def _move(self, move: str, number: int) -> None:
        by = number or 1
        if move in "AF":
            self._row = max(0, self._row - by)
        elif move in "BE":
            self._row = min(len(self._rows) - 1, self._row + by)
        elif move == "C":
            self._column = min(self._FURTHEST, self._column + by)
        elif move == "D":
            self._column = max(0, self._column - by)
        elif move == "G":
            self._column = min(self._FURTHEST, by - 1)
        elif move == "K":
            self._erase(number)
        if move in "EF":
            self._column = 0

    def _erase(self, part: int) -> None:
        if self._tells_error[self._row]:
            return
        row = self._rows[self._row]
        self._rows[self._row] = {0: row[: self._column], 1: " " * self._column + row[self._column :]}.get(part, "")


def _settled(lines: list[str]) -> Iterator[str]:
    """Of progress told line by line, keep the last."""
    for _, group in groupby(lines, _kind):
        same = list(group)
        yield from same[-1:] if _rises(same) else same


def _kind(line: str) -> str:
    return _BAR.sub("", line) + "%" if _is_progress(line) else line


def _rises(lines: list[str]) -> bool:
    if not _is_progress(lines[0]):
        return False
    parts = [int(found[1]) for line in lines if (found := _PERCENT.search(line))]
    return parts == sorted(parts) and parts[-1] - parts[0] >= 2


def _is_progress(line: str) -> bool:
    return "%" in line and bool(_PERCENT.search(line) and _PROGRESS.search(line)) and not is_error_line(line)


def count_repeats(lines: Iterable[str], least: int = 2) -> Iterator[str]:
    """Write lines that repeat so often once with their number, even where each has its own time; blank ones as one."""
    for _, group in groupby(lines, _unstamped):
        first, *more = group
        if not first and len(more) + 1 >= least:
            yield first
        elif first and len(more) + 1 >= least:
            yield f"{first} (x{len(more) + 1:,})"
        else:
            yield from (first, *more)


def _unstamped(line: str) -> str:
    stamp = _STAMP.match(line)
    # A line that is nothing but its time is told apart from the next by it.
    return line[stamp.end() :] or line if stamp else line
