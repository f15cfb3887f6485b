"""Noise in a text that is not data. To add a rule, write a function from text to text and name it in `_RULES`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import cache
from itertools import groupby
from operator import eq

from shaping.encoders.templates import indent_of
from shaping.noise.vocabulary import ELEMENT_ARGUMENTS, LIBRARY_FRAMES, LIBRARY_PACKAGES
from shaping.noise.web_pages import shorten_references, strip_page
from shaping.parsers import head_of
from shaping.parsers.sections import is_diff
from shaping.parsers.snapshot import fold_tree, is_tree
from shaping.parsers.terminal import COLOURS, clean_lines, count_repeats, is_error_line, matcher, without_surrogates
from shaping.response import Omission, Reason

_PYTHON = re.compile(r'\s*File "([^"]+)", line \d+, in .+')
_LIBRARY = re.compile(LIBRARY_FRAMES)
_AT = re.compile(rf"\s+at (?:.*(?:{LIBRARY_FRAMES}).*|(?:{LIBRARY_PACKAGES})[\w.$/]*\(.*\))")
_LONGEST_FRAME = 1000  # characters of the line of one frame
_LEAST = 4  # frames in a row that are worth a line of their own, and lines of source code that have others around them


def shorten_traces(text: str) -> str:
    """Return a text whose stack traces name the frames of the user's own code, and those next to it."""
    if "\n" not in text or ('File "' not in text and "\n\tat " not in text and "\n    at " not in text):
        return text
    return "\n".join(_without_frames(_frames(text.split("\n"))))


def _frames(lines: list[str]) -> Iterator[tuple[bool, list[str]]]:
    """Return the lines frame by frame, each with whether it is a library's; a Python frame has its code below it."""
    at = 0
    while at < len(lines):
        line = lines[at]
        found = _PYTHON.fullmatch(line) if 'File "' in line else None
        if found is None:
            yield "at " in line and len(line) <= _LONGEST_FRAME and bool(_AT.fullmatch(line)), [line]
            at += 1
            continue
        end = at + 1
        deeper = found.start(1) - len('File "') + 1  # blanks
        while end < min(len(lines), at + 4) and len(lines[end]) >= deeper and lines[end][:deeper].isspace():
            end += 1
        yield bool(_LIBRARY.search(found[1])), lines[at:end]
        at = end


def _without_frames(frames: Iterator[tuple[bool, list[str]]]) -> Iterator[str]:
    run: list[list[str]] = []
    for library, lines in frames:
        if library:
            run.append(lines)
            continue
        if run:
            yield from _shortened(run)
            run = []
        yield from lines
    yield from _shortened(run)


def _shortened(run: list[list[str]]) -> Iterator[str]:
    # The first is what the user's own code called, and the last is where it happened.
    if len(run) < _LEAST:
        for frame in run:
            yield from frame
        return
    indent = run[0][0][: len(run[0][0]) - len(run[0][0].lstrip())]
    yield from run[0]
    yield f"{indent}[{len(run) - 2} frames of libraries]"
    yield from run[-1]


# A line of source code below a message, with its number or with what points at the line above it.
_CODE_LINE = re.compile(
    r"[ \t]*+(?P<here>>[ \t]*+)?(?:(?P<number>\d++)[ \t]*+)?(?P<bar>[|│╵+-])(?:[ \t]++(?P<words>\S.*)?)?"
)
_POINTS = r"[ \t]*(?:[|│╵][ \t|_-]*[\^~]|>[ \t]*[0-9]+[ \t]*[|│])"
_points, _has_pointing = re.compile(_POINTS).match, matcher(f"(?m)^{_POINTS}")


def shorten_code_frames(text: str) -> str:
    """Return a text whose messages show the lines of source code that they point at, without those around them."""
    if ("^" not in text and "> " not in text) or not _has_pointing(without_surrogates(text)):
        return text
    kept: list[str] = []
    frame: list[tuple[str, re.Match[str]]] = []
    for line in text.split("\n"):
        if found := _CODE_LINE.fullmatch(line):
            frame.append((line, found))
        else:
            kept += [*_pointed_at(frame), line]
            frame = []
    return "\n".join([*kept, *_pointed_at(frame)])


def _pointed_at(frame: list[tuple[str, re.Match[str]]]) -> Iterator[str]:
    """Return the lines of a frame that are changed or pointed at, and what is said of them; all where none is."""
    changed = [found["bar"] in "+-" for _, found in frame]
    whole = len(frame) < _LEAST or not (any(changed) or any(_points(line) for line, _ in frame))
    said = [bool(found["words"] and not found["number"]) for _, found in frame]
    for at, (line, found) in enumerate(frame):
        below = at + 1 < len(frame) and said[at + 1] and not changed[at + 1]
        if whole or changed[at] or said[at] or found["here"] or (found["number"] and below):
            yield line


_PYTEST = re.compile(r"(\S+?\.py)::(\S+|\S+\[.*\]) (PASSED|SKIPPED|XFAIL)\s*(?:\[ *\d+%\])?")
_PASSED = re.compile(
    r"test .+ \.\.\. ok|\s*--- PASS: \S+ \([\d.]+s\)|=== (?:RUN|PAUSE|CONT) .*|\s*[✓✔√] .+|ok \d+ -? ?.*"
    r"|\S+ \([\w.]+\)(?: \.\.\.)? ok|PASS\s+\S+(?: \([\d.]+ ?m?s\))?"
    r"|\[(?: RUN      |       OK )\] .+|\s+PASS \[ *[\d.]+s\] .+|\S.* > .+ PASSED|\s+Passed \S.* \[<? ?[\d.]+ m?s\]"
    r"|Test Case '.+' (?:started|passed).*| *\d+/\d+ Test +#\d+: .+ Passed +[\d.]+ sec| *Start +\d+: \S+"
)
# What package managers, compilers and build tools print of each step that went well.
_PROGRESS = re.compile(
    r" +(?:Compiling|Checking|Downloading|Downloaded|Fresh|Documenting|Adding|Locking|Unpacking) \S+ v\S+.*"
    r"|\s*(?:Collecting|Downloading|Using cached|Requirement already satisfied:|Obtaining|Installing build dependencies"
    r"|Getting requirements to build|Preparing metadata|Building wheel|Created wheel|Stored in directory:) .+"
    r"|(?:Get|Hit|Ign):\d+ .+|(?:Selecting previously unselected package|Preparing to unpack|Unpacking|Setting up) .+"
    r"|[0-9a-f]{12}: (?:Pulling fs layer|Waiting|Verifying Checksum|Download complete|Pull complete|Already exists)"
    r"|\[INFO\] Download(?:ing|ed) from .+|Download(?:ing|ed)? https?://\S+.*|> Task :\S+(?: [A-Z-]+)?"
    r"|\[\s*\d+(?:%|/\d+)\] (?:Building|Linking|Generating|Built target|Compiling|Scanning|Creating) .+"
    r"|(?:gcc|g\+\+|cc|c\+\+|clang\S*) .+ -c .+|  (?:CC|LD|AR|AS|CXX|CCLD|GEN) +\S+"
    r"|\S+: (?:Refreshing state\.\.\.|Reading\.\.\.|Read complete after|Still (?:creat|modify|destroy|read)ing\.\.\.).*"
    r"|#\d+ (?:(?:extracting )?sha256:\S+ .*|CACHED|DONE [\d.]+s|transferring .+|resolve .+)|go: downloading \S+ v\S+"
    r"| +[-•] (?:Installing|Downloading|Updating|Locking) \S+ \(.+\).*|(?:Fetching|Installing|Using) \S+ \d+\.\S+"
)
_went_well = cache(lambda: matcher(f"(?m)^(?:{_PYTEST.pattern}|{_PASSED.pattern}|{_PROGRESS.pattern})$"))
_CASE = re.compile(r"(.+?)\[(.*)\]")
_MANY = 8  # lines in a row
_LONGEST_TEST = 500  # characters of the line of one test


def shorten_passed(text: str) -> str:
    """Return the output of a test run or a build with what went well in few lines; a failure stays where it is."""
    if not _went_well()(without_surrogates(text)):
        return text
    return "\n".join(_without_passed(text.split("\n")))


def _without_passed(lines: list[str]) -> Iterator[str]:
    for kind, group in groupby(lines, _kind):
        run = list(group)
        if kind is None or len(run) < _MANY:
            yield from run
        elif kind == "passed":
            yield f"[{len(run)} lines of passed tests]"
        elif kind == "progress":
            yield from (run[0], f"[{len(run) - 2} lines of progress]", run[-1])
        else:
            verdict, path = kind.split(" ", 1)
            yield f"{verdict} {path}: {', '.join(_names(run))}"


def _kind(line: str) -> str | None:
    if len(line) > _LONGEST_TEST:
        return None
    if found := _PYTEST.fullmatch(line):
        return f"{found[3]} {found[1]}"
    if _PASSED.fullmatch(line):
        return "passed"
    return "progress" if _PROGRESS.fullmatch(line) and not is_error_line(line) else None


def _names(run: list[str]) -> Iterator[str]:
    """Return the names of tests, those that differ only by their parameters as one."""
    found = [match[2] for line in run if (match := _PYTEST.fullmatch(line))]
    for function, group in groupby(found, lambda name: case[1] if (case := _CASE.fullmatch(name)) else name):
        names = list(group)
        cases = [case[2] for name in names if (case := _CASE.fullmatch(name))]
        yield f"{function}[{' | '.join(cases)}]" if len(cases) == len(names) else ", ".join(names)


_BRANCH = re.compile(r"([│| \u00a0]*+)(?:[├└]─[─┬]*+|(?<=\|)--|[`+]--) ")
_BRANCHES, _DRAWN = 12, 0.9  # lines of a tree, and their part of the text


def _as_levels(text: str) -> str | None:
    """Return a tree that is drawn with lines, as `tree` and `npm ls` do, as levels of one space, or None."""
    if "─ " not in text and "-- " not in text:
        return None
    lines = text.split("\n")
    found = [_BRANCH.match(line) for line in lines]
    depths = [len(match[1].removesuffix("|")) for match in found if match]
    if len(depths) < max(_BRANCHES, _DRAWN * len(lines) - 3):
        return None
    step = min(filter(None, depths), default=4)
    return "\n".join(
        " " * (len(match[1].removesuffix("|")) // step + 1) + line[match.end() :] if match else line
        for match, line in zip(found, lines, strict=True)
    )


_BLOB = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{400,}={0,2}(?![\w+/])")
# The same in lines, as PEM and mails have it, and as pairs of hexadecimal digits.
_LINE_OF_BYTES = r"[ \t]*(?:[A-Za-z0-9+/]{60,76}|(?:[0-9A-Fa-f]{2}:){12,32})"
_has_bytes = cache(lambda: matcher(rf"[A-Za-z0-9+/]{{400}}|(?m:^{_LINE_OF_BYTES}\r?$)"))
_BYTES = rf"{_LINE_OF_BYTES}(?=\r?$)"
_BYTES_END = r"[ \t]*+(?:[A-Za-z0-9+/]{2,}={1,2}|[A-Za-z0-9+/]{20,}|(?:[0-9A-Fa-f]{2}:)+[0-9A-Fa-f]{2})(?=\r?$)"
_BYTE_LINES = re.compile(rf"^{_BYTES}(?:\r?\n{_BYTES}){{5,}}(?:\r?\n{_BYTES_END})?", re.MULTILINE)
_ANNOUNCED = re.compile(r"(?:-----BEGIN|(?i:base64))[^\n]*\s*\Z")
_NEAR = 200  # characters before bytes in which that may stand
_MOSTLY_BYTES = 0.2  # of a text is what is left of it without them
_REPEATS = 5  # equal lines in a row


def reduce_text(
    text: str, groups: Collection[str], *, arguments: frozenset[str] = frozenset()
) -> tuple[str, list[Omission]]:
    """Return a text without its noise, and what was left out; the same text where there was none."""
    if is_tree(head_of(text)):
        reduced = text
        if "boilerplate" in groups:
            reduced = fold_tree(text, keep_ids=not ELEMENT_ARGUMENTS.isdisjoint(arguments))
        return reduced, [] if reduced == text else [Omission("", 1, "boilerplate")]
    if is_diff(text):
        return text, []
    if "boilerplate" in groups and (folded := _as_levels(text)) is not None:
        return folded, []  # only the drawing is gone
    # Colours are no part of what a text says.
    reduced = COLOURS.sub("", text) if "boilerplate" in groups and "\x1b" in text else text
    reasons: dict[Reason, None] = {}
    for reason, rule in _RULES:
        if reason in groups and (after := rule(reduced)) != reduced:
            reduced = after
            reasons[reason] = None
    # A text of nothing but terminal codes is what the tool said.
    if not reduced.strip() and text.strip():
        return text, []
    return reduced, [Omission("", 1, reason) for reason in reasons]


def _without_base64(text: str) -> str:
    if not _has_bytes()(without_surrogates(text)):
        return text
    text = _BLOB.sub(_size_of, text)
    shorter = _BYTE_LINES.sub(lambda found: _size_of(found) if _is_one_blob(found) else found[0], text)
    # Where hardly anything else is left, the bytes are what was asked for.
    return shorter if len(shorter) > _MOSTLY_BYTES * len(text) else text


def _is_one_blob(found: re.Match[str]) -> bool:
    """Whether lines of bytes belong together: codes and keys, one a line, are of one length and end like each other."""
    *lines, last = found[0].split()
    if (
        last.endswith("=")
        or ":" in found[0]
        or _ANNOUNCED.search(found.string, max(0, found.start() - _NEAR), found.start())
    ):
        return True
    return len(set(map(len, lines))) == 1 and len(last) < len(lines[0])


def _size_of(found: re.Match[str]) -> str:
    # A long run of one case or without digits is a word of some alphabet, a separator, a sequence: not encoded bytes.
    said = "".join(found[0].split())
    if ":" in said:
        return f"{indent_of(found[0])}[hex, {len(said.split(':'))} bytes]"
    if said.isdigit() or said.isalpha() or len(set(said)) < 20:
        return found[0]
    return f"{indent_of(found[0])}[base64, {len(said)} characters]"


def _as_on_screen(text: str) -> str:
    """Return what a terminal shows of a text in the end, and lines that repeat once with their number."""
    if "\x1b" in text or ("\r" in text and "\r" in text.replace("\r\n", "")):
        return "\n".join(clean_lines(text))
    lines = text.split("\n")
    are_equal = bytes(map(eq, lines, lines[1:]))  # each with the next one
    return "\n".join(count_repeats(lines, _REPEATS)) if bytes([True]) * (_REPEATS - 1) in are_equal else text


_RULES: tuple[tuple[Reason, Callable[[str], str]], ...] = (
    ("boilerplate", _as_on_screen),
    ("links", shorten_references),  # before links that come again have no address
    ("boilerplate", strip_page),
    ("bulk", shorten_passed),
    ("bulk", shorten_traces),
    ("bulk", shorten_code_frames),
    ("opaque", _without_base64),
)
