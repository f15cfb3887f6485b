"""Lines of a text that differ in a few words, or that come again: what they share is written once.

`#1=Get:{} http://x.dev/{} amd64` is a line with places for words, and stands before the first line of its kind.
`#1 4 zlib` stands for that line with these words in their order; `{1}` is the first of them again, and `{…}` stands for
several words. `#1 (3 lines):` stands above lines of words alone, each indented by one space. Every line keeps
its place in the text; only how far its columns are padded with blanks is lost, and a carriage return at the end of a
line.

Of lines that come again the first is marked, and the others are written as its mark: `&3: MTU 1500` is a line that
comes again, `&3` is that line again, `&3-7` are the lines from `&3:` to `&7:`, one after the other, and `&3 x4` is a
line four times. A legend stands above the text.

`[3 lines, order:… each] 1 7 8` are lines of one word each, `order:1`, `order:7` and `order:8`.

Lines that were found in files, `src/a.py:12:text`, stand below their file's path as `12:text`; a legend above says so.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby, zip_longest
from os.path import commonprefix
from typing import TYPE_CHECKING, Final

from shaping.encoders.templates import (
    GAP_PRICE,
    JSON_LINE,
    LEAST,
    MOST,
    PLACE,
    LineGroup,
    alike,
    filled,
    indent_of,
    told_apart,
)
from shaping.parsers.sections import is_diff
from shaping.parsers.terminal import error_lines, find_traces
from shaping.parsers.yaml import looks_like_yaml
from shaping.tokens import cheap, count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    Words = Sequence[str]

LARGEST: Final = 200_000  # characters of a text
_RUN: Final = 4  # of them in a row, from which their tag is written once
_LONGEST: Final = 2000  # characters of a line; a longer one is a document
_PAYS: Final = 8  # characters that a tag must save in each of its lines
_SHORT: Final = 32  # characters of a line without places for words, below which it has no tag
_ENDS: Final = 8  # words that lines of different lengths may begin or end with
_WORTH, _UNSURE = 0.85, 0.15  # of the tokens of a text is what it may cost written short; by which a guess may be wrong
# Of the characters of a text is what must be saved, by some of its lines and by all: they say roughly what tokens say.
_LIKELY, _ENOUGH = 0.05, 0.075
_SOURCE_LINES: Final = 0.25  # of the lines of a text are those of source code
_MOSTLY: Final = 0.5  # of the lines of a text report an error
_SAMPLE, _UNEVEN = 128, 0.618034  # lines by which a long text is judged first, and how they are spread over it

_OWN = re.compile(
    r"\n(?:#\d+(?:[ =]|$)|… |\(?&\d|\[\d+ lines)", re.MULTILINE
)  # a line that would be taken for one of ours
# How a page, JSON and a script begin, but not a line with `<13>` or `[main]` before its words, nor an object in a line.
_DOCUMENT = re.compile(r"\s*(?:<(?!\d+>)|\{(?!\".*\}\n)|\[(?![^\[\]{}\n]*\] ))\S|#!")
_SOURCE = re.compile(
    r"^[ \t]*+(?:def |class |import |from \S+ import |return\b|elif |else:|try:|#include|function |const |let |var "
    r"|public |private |if \(|for \(|//|/\*|</?[a-zA-Z!])|[;{}][ \t]*$",
    re.MULTILINE,
)
# Where `grep -n` and `git blame` found a line. Another number after it is the column of a compiler's message.
_LOCATION = re.compile(r"^(?:\^?[0-9a-f]{7,40} [^\n]*?\d+\) |(?:[^\s:]+[:-])?\d+[:-](?!\d+[:-]))", re.MULTILINE)
_INDENTED = re.compile(r"^(?: {2}|\t)[ \t]*\S", re.MULTILINE)
_WIDE_GAP = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
_TAGGED = re.compile(r"#(\d+)(?:=(.*)|( \((\d+) lines\):)|(?: (.*))?)")

_NAME, _LAST_WORD = re.compile(r"[\w.@:/+~%-]{1,80}"), re.compile(r"(?:[^\W_]*|.)\Z")
_NAMES = re.compile(rf"^(?:{_NAME.pattern}+\r?\n){{19}}", re.MULTILINE)
_LIST, _ROW = 20, 100  # lines of one word from which they stand in one line, and how many stand in it at most
_LISTED = re.compile(r"\[\d+ lines(?:, (\S+)… each)?\] (.*)")

_PATHS_LEGEND: Final = "(each path{} stands above the lines found in it)"
_BELOW_PATHS = re.compile(re.escape(_PATHS_LEGEND).replace(re.escape("{}"), "(?: in (.*))?"))
_FOUND_IN = re.compile(r"([^\s:()]*[/\\.][^\s:()]*)(?::(?=\d+:)|(?=\(\d+,\d+\): ))")
_NUMBERED = re.compile(r"\d+([:-])|\(\d+,\d+\): ")  # in a file, as `grep` or a compiler writes it
_BETWEEN: Final = frozenset({"--", ""})  # lines that `grep -C` and others write between what they found in one file

LEGEND: Final = "(&1-3 = the lines marked &1: to &3:, again)"
_MARK_PAYS: Final = 24  # characters that a mark must save
_MARKS_SAVE: Final = 0.1  # of the characters of a text is what marks must save
_HAS_WORD = re.compile(r"[^\W_]")
_MARKED = re.compile(r"&(\d+): (.*)")
_AGAIN = re.compile(r"&(\d+)(?:-(\d+))?(?: x(\d+))?")
_ONLY_AGAIN = re.compile(rf"{_AGAIN.pattern}(?: {_AGAIN.pattern})*")


def encode(text: str) -> str:
    """Return a text with lines that are much alike written short, where that saves at least 15% of its tokens.

    A line that reports an error stays as it is, the first of several of one kind in a row, unless most lines do; and so
    do diffs and source code, which somebody may search or edit.
    """
    if (
        len(text) > LARGEST
        or text.count("\n") < LEAST - 1
        or _DOCUMENT.match(text)
        or _OWN.search(f"\n{text}")
        or _BELOW_PATHS.match(text)
        or is_diff(text)
    ):
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    written, marked = _in_kinds(lines), mark(lines)
    ways = [written] if _pays(written, text) else []
    if marked and _pays(in_marks := f"{LEGEND}\n{_in_kinds(marked)}", text) and not _is_source(lines):
        ways.append(in_marks)
    if _NAMES.search(text) and (listed := _in_lists(lines)):
        in_lists = _in_kinds(listed)
        # Blanks in place of ends of lines are as many characters, but fewer tokens.
        ways += [in_lists] if count(in_lists) <= _WORTH * count(text) else []
    if below := below_paths(lines):
        located = "\n".join(below if _is_source(lines) else [below[0], _in_kinds(below[1:])])
        ways += [located] if _pays(located, text) else []
    return min(ways, key=count) if len(ways) > 1 else ways[0] if ways else text


def _pays(written: str, text: str) -> bool:
    """Whether a writing of a text saves enough of its tokens, which are counted where a guess is not sure."""
    if len(written) >= len(text):
        return False
    part = cheap(written) / cheap(text)
    if abs(part - _WORTH) < _UNSURE:
        part = count(written) / count(text)
    return part <= _WORTH


def _in_kinds(lines: Words) -> str:
    """Write the lines, those that share a template by its tag and their words, where that may save enough."""
    text = "\n".join(lines)
    some = _some_of(lines)
    # Most long texts are told by a part of them, and a part is as cheap as a short text.
    if some is not lines and (not _promise(some, _groups(some), _LIKELY) or _is_source(some)):
        return text
    errors = _errors(lines)
    traces = set[int]().union(*(trace.lines for trace in find_traces(lines, errors)))
    others = [at for at, line in enumerate(lines) if at not in traces and not line.startswith("&")]
    groups = _groups(lines, set(others).difference(errors))
    # An error stays as it is, for whoever looks for it, unless one of its kind stands right above.
    of_errors = _groups(lines, set(others).intersection(errors)) if len(errors) > LEAST else []
    if not _promise(lines, [*groups, *of_errors], _ENOUGH):
        return text
    kinds = [group.kind() for group in groups]
    kinds += [kind for group in of_errors if (kind := group.kind().below_another()).rows]
    # What saves little in each line, and a short line that is always the same, is easier to read than a tag.
    kinds = [
        kind
        for kind in kinds
        if kind.saved >= _PAYS * len(kind.rows) and (any(kind.rows.values()) or len(kind.template.strip()) >= _SHORT)
    ]
    kinds = sorted(sorted(kinds, key=lambda kind: kind.saved)[-MOST:], key=lambda kind: min(kind.rows))
    if sum(kind.saved for kind in kinds) < _ENOUGH * len(text) or _is_source(lines):
        return text
    legend = {min(kind.rows): f"#{number}={kind.template}" for number, kind in enumerate(kinds, 1)}
    tags = {at: (f"#{number}", words) for number, kind in enumerate(kinds, 1) for at, words in kind.rows.items()}
    return "\n".join(_written(lines, tags, legend))


def decode(text: str) -> str:
    """Return the text that was written short, with the same gap where columns were padded and plain ends of lines."""
    templates: dict[str, list[str]] = {}
    lines: list[str] = []
    tag, left = "", 0
    first, _, rest = text.partition("\n")
    are_below = _BELOW_PATHS.fullmatch(first) is not None
    for line in (rest if first == LEGEND or are_below else text).split("\n"):
        found = _TAGGED.fullmatch(line) if not left else None
        if left:
            lines.append(filled(templates[tag], line[1:]))
            left -= 1
        elif found is not None and found[2] is not None:
            templates[found[1]] = PLACE.split(found[2])
        elif found is None or found[1] not in templates:
            lines.append(line)
        elif found[3]:
            tag, left = found[1], int(found[4])
        else:
            lines.append(filled(templates[found[1]], found[5] or ""))
    if first == LEGEND:
        return "\n".join(unmark(lines))
    return "\n".join(with_paths([first, *lines]) if are_below else _out_of_lists(lines))


def _in_lists(lines: Words) -> list[str]:
    """Return the lines with many in a row that are one word each in one line, or none where there are not so many."""
    errors = _errors(lines)
    listed: list[str] = []
    for is_word, numbered in groupby(enumerate(lines), lambda line: _is_name(line[1]) and line[0] not in errors):
        run = [line for _, line in numbered]
        if not is_word or len(run) < _LIST:
            listed += run
            continue
        for start in range(0, len(run), _ROW):
            names = run[start : start + _ROW]
            shared = _LAST_WORD.sub("", commonprefix(names))  # noqa: RUF071 (cut at a mark that divides words)
            row = [name.removeprefix(shared) for name in names]
            listed.append(f"[{len(row)} lines{f', {shared}… each' if shared else ''}] {' '.join(row)}")
    return listed if len(listed) < len(lines) and not _is_source(lines) else []


def _out_of_lists(lines: Words) -> Iterator[str]:
    """Return the lines, those of one word each that stand in one line at their places."""
    for line in lines:
        if listed := _LISTED.fullmatch(line):
            yield from (f"{listed[1] or ''}{word}" for word in listed[2].split(" "))
        else:
            yield line


def _errors(lines: Words) -> list[int]:
    """Return the indexes of the lines that report an error, or none where most do, as a linter's."""
    found = error_lines(lines)
    return found if len(found) <= _MOSTLY * len(lines) else []


def _is_name(line: str) -> bool:
    return _NAME.fullmatch(line) is not None


def _some_of(lines: Words) -> Words:
    """Return lines from all over a long text, or all of one that is not long."""
    if len(lines) < 2 * _SAMPLE:
        return lines
    # No two of them are equally far apart, because records are.
    return [lines[at] for at in sorted({int(len(lines) * (step * _UNEVEN % 1)) for step in range(_SAMPLE)})]


def _promise(lines: Words, groups: Sequence[LineGroup], part: float) -> bool:
    """Whether groups of lines may save so much of the characters, if every wide gap were in one of them."""
    text = "\n".join(lines)
    missing = part * len(text) - sum(group.saved for group in groups)
    return missing <= 0 or (bool(groups) and GAP_PRICE * len(_WIDE_GAP.findall(text)) >= missing)


def _is_source(lines: Words) -> bool:
    text = "\n".join(lines)
    bare, located = _LOCATION.subn("", JSON_LINE.sub("", text))
    found = len(_SOURCE.findall(bare)) + (len(_INDENTED.findall(bare)) if located * 2 > len(lines) else 0)
    return found > _SOURCE_LINES * len(lines) or looks_like_yaml(text)


def _written(lines: Words, tags: Mapping[int, tuple[str, str]], legend: Mapping[int, str]) -> Iterator[str]:
    """Write the lines, those with a tag by their words, several in a row below it, and first what the tag means."""
    at = 0
    while at < len(lines):
        if at in legend:
            yield legend[at]
        tag, words = tags.get(at, ("", ""))
        end = at + 1
        while words and end in tags and tags[end][0] == tag:
            end += 1
        if not tag:
            yield lines[at]
        elif end - at < _RUN:
            yield from (f"{tag} {tags[row][1]}".rstrip() for row in range(at, end))
        else:
            yield f"{tag} ({end - at} lines):"
            yield from (f" {tags[row][1]}" for row in range(at, end))
        at = end


def _groups(lines: Words, chosen: Collection[int] | None = None) -> list[LineGroup]:
    """Group the chosen lines by their indentation and number of words, then the others by the words at their ends."""
    short = [at for at, line in enumerate(lines) if (chosen is None or at in chosen) and len(line) <= _LONGEST]
    groups, others, words = alike(lines, short)
    for rows in others.values():
        start = _shared([words[at][:-1] for at in rows])
        end = _shared([words[at][:0:-1] for at in rows])
        longer = sorted(at for at in rows if len(words[at]) > start + end)
        if start + end and len(longer) >= LEAST:
            ends = {at: _ends(lines[at], start, end) for at in longer}
            groups += told_apart(LineGroup(lines, ends, longer, start))
    return groups


def _ends(line: str, start: int, end: int) -> list[str]:
    """Return so many words of a line, what stands between them, and so many words at its end."""
    *first, rest = line.rstrip().split(None, start)
    return [*first, *rest.rsplit(None, end)]


def _shared(lines: list[list[str]]) -> int:
    """Return after how many words the lines have no more in common."""
    found = 0
    places = zip_longest(*(words[:_ENDS] for words in lines)) if len(lines) >= LEAST else ()
    for place, column in enumerate(places, 1):
        counts = Counter(column)
        if 3 * sum(number for word, number in counts.items() if word and number >= LEAST) > len(lines):
            found = place
    return found


def mark(lines: Words) -> list[str]:
    """Return the lines with marks for those that come again, or none where few do.

    An error and a heading stay as they are, because they say what the others are about.
    """
    often = _often(lines)
    size = sum(map(len, lines)) + len(lines)
    # More than that no marks save, and most texts are ruled out by it.
    if sum(more * (len(line) + 1) - len("&1: ") for line, more in often.items()) < _MARKS_SAVE * size:
        return []
    errors = _errors(lines)
    frames = set[int]().union(*(trace.lines for trace in find_traces(lines, errors)))
    kept = (_headings(lines) - frames).union(errors)
    again = _often(line for at, line in enumerate(lines) if at not in kept)
    marks: dict[str, int] = {}
    written: list[str] = []
    run: list[int] = []  # the marks of lines that come again, one below the other
    for at, line in enumerate(lines):
        if at not in kept and line in marks:
            run.append(marks[line])
            continue
        if run:
            written += _again(run)
            run = []
        if at not in kept and line in again:
            marks[line] = len(marks) + 1
            written.append(f"&{marks[line]}: {line}")
        else:
            written.append(line)
    written += _again(run)
    return written if sum(map(len, written)) + len(written) < (1 - _MARKS_SAVE) * size else []


def below_paths(lines: Words) -> list[str]:
    """Return the lines that were found in files below the paths of these, or none where they could be misread there."""
    paths = {found[1] for line in lines if (found := _FOUND_IN.match(line))}
    if not paths or any(map(_NUMBERED.match, (*lines, *paths))):
        return []
    place = re.compile(
        f"({'|'.join(map(re.escape, sorted(paths, reverse=True)))})(?:([:-])(?=\\d+\\2)|(?=\\(\\d+,\\d+\\): ))"
    )
    shared = commonprefix([*paths])  # noqa: RUF071 (cut at its last slash)
    folder = shared[: shared.rfind("/") + 1] if len(paths) > 1 else ""
    written = [_PATHS_LEGEND.format(f" in {folder}" if folder else "")]
    path = None
    for line in lines:
        if found := place.match(line):
            if found[1] != path:
                path = found[1]
                written.append(path.removeprefix(folder))
            written.append(line[found.end() :])
        else:
            path = path if line in _BETWEEN else None
            written.append(line)
    return written


def with_paths(lines: Words) -> Iterator[str]:
    """Return the lines that stand below the paths of their files, each behind its path."""
    legend = _BELOW_PATHS.fullmatch(lines[0]) if lines else None
    folder = (legend and legend[1]) or ""
    path = ""
    for line, following in zip(lines[1:], [*lines[2:], ""], strict=False):
        if found := _NUMBERED.match(line):
            yield f"{folder}{path}{found[1] or ''}{line}"
        elif line not in _BETWEEN and _NUMBERED.match(following):
            path = line
        else:
            yield line


def _often(lines: Iterable[str]) -> dict[str, int]:
    """Return the lines that come again so often that a mark pays, and how many times more."""
    # A line that is drawn costs a token or two, however long it is.
    more = ((line, times - 1) for line, times in Counter(lines).items() if times > 1 and _HAS_WORD.search(line))
    return {line: times for line, times in more if times * len(line.strip()) >= _MARK_PAYS}


def unmark(lines: Words) -> Iterator[str]:
    """Return the lines that were marked, each at its place."""
    marked: dict[int, str] = {}
    for line in lines:
        if found := _MARKED.fullmatch(line):
            marked[int(found[1])] = found[2]
            yield found[2]
        elif _ONLY_AGAIN.fullmatch(line):
            for first, last, times in _AGAIN.findall(line):
                for _ in range(int(times or 1)):
                    yield from (marked[number] for number in range(int(first), int(last or first) + 1))
        else:
            yield line


def _headings(lines: Words) -> set[int]:
    """Return the first lines of paragraphs, and those above a line that is indented more."""
    indents = [len(indent_of(line)) for line in lines]
    first = {at for at, before in enumerate(["", *lines[:-1]]) if not before.strip()}
    return first.union(at for at, line in enumerate(lines[1:]) if line.strip() and indents[at + 1] > indents[at])


def _again(run: Sequence[int]) -> Iterator[str]:
    """Write marks in a line, those that follow each other as the first and the last of them."""
    parts: list[list[int]] = []  # the first mark, the last one, and how many times
    for number, same in groupby(run):
        times = len(list(same))
        if parts and times == 1 and parts[-1][1:] == [number - 1, 1]:
            parts[-1][1] = number
        else:
            parts.append([number, number, times])
    if parts:
        yield " ".join(
            f"&{first}" + (f"-{last}" if last > first else "") + (f" x{times}" if times > 1 else "")
            for first, last, times in parts
        )
