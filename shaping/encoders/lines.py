"""Lines of a text that differ in a few words: what they share is written once.

`#1=Get:{} http://x.dev/{} amd64` is a line with places for words, and stands before the first line of its kind.
`#1 4 zlib` stands for that line with these words in their order; `{1}` is the first of them again, and `{…}` stands for
several words. `#1 (3 lines):` stands above lines of words alone, each indented by one space. Every line keeps its place
in the text; only how far its columns are padded with blanks is lost.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from shaping.parsers.sections import is_diff
from shaping.parsers.terminal import error_lines, find_traces
from shaping.parsers.yaml import looks_like_yaml
from shaping.tokens import cheap, count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    Words = Sequence[str]

LARGEST: Final = 200_000  # characters of a text
_LEAST: Final = 5  # lines of one kind
_MOST: Final = 24  # kinds of lines: more templates stand too far from their lines for a reader
_RUN: Final = 4  # of them in a row, from which their tag is written once
_TAG, _GAP_PRICE, _PLACE_PRICE = 4, 3, 4  # characters of which a tag, a wide gap and a place have the price
_AFFIX: Final = 3  # characters that the words of a column begin or end with, from which they are part of the template
_PAYS: Final = 40  # characters that a kind of lines must save: a reader looks each of them up
_LONGEST: Final = 2000  # characters of a line; a longer one is a document
_SPLITS: Final = 6  # words by which lines of one kind are told apart, one after the other
_COLUMNS: Final = 4  # that are tried for that: those with the fewest different words
_ENDS: Final = 8  # words that lines of different lengths may begin or end with
_WORTH, _UNSURE = 0.85, 0.15  # of the tokens of a text is what it may cost written short; by which a guess may be wrong
# Of the characters of a text is what must be saved, by some of its lines and by all: they say roughly what tokens say.
_LIKELY, _ENOUGH = 0.05, 0.075
_SOURCE_LINES: Final = 0.25  # of the lines of a text are those of source code
_SAMPLE, _UNEVEN = 128, 0.618034  # lines by which a long text is judged first, and how they are spread over it

_OWN = re.compile(r"^(?:#\d+(?:[ =]|$)|… )", re.MULTILINE)  # a line that would be taken for one of ours
# How a page, JSON and a script begin, but not a line with `<13>` or `[main]` before its words.
_DOCUMENT = re.compile(r"\s*(?:<(?!\d+>)|\{|\[(?![^\[\]{}\n]*\] ))\S|#!")
_SOURCE = re.compile(
    r"^[ \t]*(?:def |class |import |from \S+ import |return\b|elif |else:|try:|#include|function |const |let |var "
    r"|public |private |if \(|for \(|//|/\*|</?[a-zA-Z!])|[;{}][ \t]*$",
    re.MULTILINE,
)
# Where `grep -n` and `git blame` found a line. Another number after it is the column of a compiler's message.
_LOCATION = re.compile(r"^(?:\^?[0-9a-f]{7,40} [^\n]*?\d+\) |(?:[^\s:]+[:-])?\d+[:-](?!\d+[:-]))", re.MULTILINE)
_INDENTED = re.compile(r"^(?: {2}|\t)[ \t]*\S", re.MULTILINE)
# Braces would be taken for places, and other blanks than spaces and tabs for parts of words.
_ODD = re.compile(r"[{}\x00-\x08\x0b-\x1f\x7f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_GAP = re.compile(r"[ \t]+")
_WIDE_GAP = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
_DIVIDING: Final = frozenset("/\\=:,;()[]<>|\"'`")  # what stands between the parts of a word
_ENCLOSING: Final = frozenset("()[]<>\"'`,;")  # what is worth writing once even where it stands alone
_PATH = re.compile(r"(?:\w+://)?[^:]*(?:/|:+)|")  # the folder of a file, or the file of a line in it
_TAGGED = re.compile(r"#(\d+)(?:=(.*)|( \((\d+) lines\):)|(?: (.*))?)")
_PLACE = re.compile(r"\{(\d*|…)\}")


class _Kind(NamedTuple):
    """Lines that share a template: its text, and the words of each line by its index."""

    template: str
    rows: Mapping[int, str]
    saved: int  # characters

    def after_the_first(self) -> _Kind:
        """Return the lines but the first."""
        first = min(self.rows)
        return self._replace(rows={at: words for at, words in self.rows.items() if at != first})


def encode(text: str) -> str:
    """Return a text with lines that differ in a few words written short, where that saves at least 15% of its tokens.

    Of the lines that report one kind of error the first stays as it is, and so do tracebacks, diffs and source code,
    which somebody may search or edit.
    """
    if (
        len(text) > LARGEST
        or text.count("\n") < _LEAST - 1
        or _DOCUMENT.match(text)
        or _OWN.search(text)
        or is_diff(text)
    ):
        return text
    lines = text.split("\n")
    some = _some_of(lines)
    # Most long texts are told by a part of them, and a part is as cheap as a short text.
    if some is not lines and (not _promise(some, _groups(some), _LIKELY) or _is_source(some)):
        return text
    errors = error_lines(lines)
    traces = set[int]().union(*(trace.lines for trace in find_traces(lines, errors)))
    others = [at for at in range(len(lines)) if at not in traces]
    groups = _groups(lines, set(others).difference(errors))
    # Errors are no rows among other lines, and the first of a kind stays as it is, for whoever searches for it.
    of_errors = _groups(lines, set(others).intersection(errors)) if len(errors) > _LEAST else []
    if not _promise(lines, [*groups, *of_errors], _ENOUGH) or _is_source(lines):
        return text
    kinds = [group.kind() for group in groups] + [group.kind().after_the_first() for group in of_errors]
    kinds = sorted(sorted(kinds, key=lambda kind: kind.saved)[-_MOST:], key=lambda kind: min(kind.rows))
    if sum(kind.saved for kind in kinds) < _ENOUGH * len(text):
        return text
    legend = {min(kind.rows): f"#{number}={kind.template}" for number, kind in enumerate(kinds, 1)}
    tags = {at: (f"#{number}", words) for number, kind in enumerate(kinds, 1) for at, words in kind.rows.items()}
    written = "\n".join(_written(lines, tags, legend))
    part = cheap(written) / cheap(text)
    if abs(part - _WORTH) < _UNSURE:
        part = count(written) / count(text)
    return written if part <= _WORTH else text


def decode(text: str) -> str:
    """Return the text that was written short, with the same gap where columns were padded."""
    templates: dict[str, list[str]] = {}
    lines: list[str] = []
    tag, left = "", 0
    for line in text.split("\n"):
        found = _TAGGED.fullmatch(line) if not left else None
        if left:
            lines.append(_filled(templates[tag], line[1:]))
            left -= 1
        elif found is not None and found[2] is not None:
            templates[found[1]] = _PLACE.split(found[2])
        elif found is None or found[1] not in templates:
            lines.append(line)
        elif found[3]:
            tag, left = found[1], int(found[4])
        else:
            lines.append(_filled(templates[found[1]], found[5] or ""))
    return "\n".join(lines)


def _filled(template: list[str], said: str) -> str:
    """Put words into the places of a template; its odd parts say which word again, the next one, or several."""
    places = template[1::2]
    new = [place for place in places if not place.isdecimal()]
    words = said.split(" ", max(0, new.index("…") if "…" in new else len(new) - 1))
    words[-1:] = words[-1].rsplit(" ", len(new) - len(words))
    following = iter(words)
    filled = (words[int(place) - 1] if place.isdecimal() else next(following) for place in places)
    return template[0] + "".join(f"{word}{after}" for word, after in zip(filled, template[2::2], strict=True))


def _some_of(lines: Words) -> Words:
    """Return lines from all over a long text, or all of one that is not long."""
    if len(lines) < 2 * _SAMPLE:
        return lines
    # No two of them are equally far apart, because records are.
    return [lines[at] for at in sorted({int(len(lines) * (step * _UNEVEN % 1)) for step in range(_SAMPLE)})]


def _promise(lines: Words, groups: Sequence[_Group], part: float) -> bool:
    """Whether groups of lines may save so much of the characters, if every wide gap were in one of them."""
    text = "\n".join(lines)
    missing = part * len(text) - sum(group.saved for group in groups)
    return missing <= 0 or (bool(groups) and _GAP_PRICE * len(_WIDE_GAP.findall(text)) >= missing)


def _is_source(lines: Words) -> bool:
    text = "\n".join(lines)
    bare, located = _LOCATION.subn("", text)
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


def _groups(lines: Words, chosen: Collection[int] | None = None) -> list[_Group]:
    """Group the chosen lines by their indentation and number of words, then the others by the words at their ends."""
    alike: dict[tuple[str, int], list[int]] = defaultdict(list)
    words: dict[int, list[str]] = {}
    odd = _ODD.search("\n".join(lines)) is not None
    for at, line in enumerate(lines):
        if (chosen is None or at in chosen) and 0 < len(line) <= _LONGEST and not (odd and _ODD.search(line)):
            words[at] = line.split()
            alike[_indent(line), len(words[at])].append(at)
    groups: list[_Group] = []
    others: dict[str, list[int]] = defaultdict(list)
    for (indent, number), rows in alike.items():
        new = _told_apart(_Group(lines, words, rows), _SPLITS) if number and len(rows) >= _LEAST else []
        groups += new
        taken = {at for group in new for at in group.rows}
        others[indent] += [at for at in rows if at not in taken]
    for rows in others.values():
        start, end = (_shared(words, rows, from_end=from_end) for from_end in (False, True))
        longer = sorted(at for at in rows if len(words[at]) > start + end)
        if start + end and len(longer) >= _LEAST:
            ends = {at: _ends(lines[at], start, end) for at in longer}
            groups += _told_apart(_Group(lines, ends, longer, start), _SPLITS)
    return groups


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _ends(line: str, start: int, end: int) -> list[str]:
    """Return so many words of a line, what stands between them, and so many words at its end."""
    *first, rest = line.rstrip().split(None, start)
    return [*first, *rest.rsplit(None, end)]


def _shared(words: Mapping[int, list[str]], rows: list[int], *, from_end: bool) -> int:
    """Return after how many words, from the start or from the end, the lines have no more in common."""
    found = 0
    for place in range(_ENDS) if len(rows) >= _LEAST else ():
        counts = Counter(words[at][-1 - place if from_end else place] for at in rows if len(words[at]) > place + 1)
        if 3 * sum(number for number in counts.values() if number >= _LEAST) > len(rows):
            found = place + 1
    return found


def _told_apart(group: _Group, splits: int) -> list[_Group]:
    """Return one group of lines that pays, or several where that is shorter."""
    best, parts = group.saved, list[_Group]()
    for column in group.telling() if splits else ():
        split = group.split(column)
        if (saved := sum(max(0, part.saved) for part in split)) > best:
            best, parts = saved, split
    if parts:
        return [found for part in parts for found in _told_apart(part, splits - 1)]
    return [group] if len(group.rows) >= _LEAST and group.pays else []


class _Group:
    """Lines with as many columns of words: which of these are the same, and how many characters that saves."""

    def __init__(
        self, lines: Words, words: Mapping[int, list[str]], rows: list[int], several: int | None = None
    ) -> None:
        self._lines, self._words, self.rows = lines, words, rows
        self._several = several  # the column that may hold several words
        self._columns = list(zip(*(words[at] for at in rows), strict=True))
        same = again = 0
        differing: set[Words] = set()
        for column in self._columns:
            if column.count(column[0]) == len(column):
                same += len(column[0]) + 1
            elif column in differing:
                again += len("".join(column)) + len(column)
            else:
                same += sum(map(len, _around(column)))
                differing.add(column)
        self.saved = (same - _TAG) * len(rows) + again - same - _PLACE_PRICE * len(self._columns) - _TAG

    @property
    def pays(self) -> bool:
        return self.saved >= _PAYS or self.saved + _GAP_PRICE * self._gaps[1] >= _PAYS

    def telling(self) -> list[int]:
        """Return the columns whose words may tell kinds of lines apart; that of paths as `~at`."""
        counts = {at: len(set(column)) for at, column in enumerate(self._columns)}
        few = (at for at in counts if 1 < counts[at] <= len(self.rows) // 2)
        paths = [~at for at in counts if counts[at] > len(self.rows) // 2 and "/" in self._columns[at][-1]]
        return sorted(few, key=counts.__getitem__)[:_COLUMNS] + paths[:1]

    def split(self, column: int) -> list[_Group]:
        """Return the lines apart by their word in a column, or by its path; those with seldom ones together."""
        keys: Words = self._columns[column if column >= 0 else ~column]
        if column < 0:
            keys = [found[0] for key in keys if (found := _PATH.match(key))]  # which matches nothing too
        counts = Counter(keys)
        least = max(_LEAST, len(self._lines) // _MOST)
        parts: dict[str | None, list[int]] = defaultdict(list)
        for row, key in zip(self.rows, keys, strict=True):
            parts[key if counts[key] >= least else None].append(row)
        if len(parts) == 1:
            return []
        return [_Group(self._lines, self._words, part, self._several) for part in parts.values()]

    def kind(self) -> _Kind:
        """Write what the lines share as a template."""
        gaps, wide = self._gaps
        parts = [_indent(self._lines[self.rows[0]])]
        places: dict[Words, int] = {}
        for at, (column, gap) in enumerate(zip(self._columns, gaps, strict=True)):
            if column.count(column[0]) == len(column):
                parts += [column[0], gap]
                continue
            before, after = _around(column)
            inner = tuple(word[len(before) : len(word) - len(after)] for word in column)
            name = str(places[inner]) if inner in places else "…" if at == self._several else ""
            places.setdefault(inner, len(places) + 1)
            parts += [before, f"{{{name}}}", after, gap]
        words = map(" ".join, zip(*places, strict=True)) if places else [""] * len(self.rows)
        return _Kind("".join(parts), dict(zip(self.rows, words, strict=True)), self.saved + _GAP_PRICE * wide)

    @cached_property
    def _gaps(self) -> tuple[list[str], int]:
        """Return the narrowest gap after each column, and how many gaps of all lines are wide."""
        last = len(self._columns) - 1
        start = last if self._several is None else self._several
        found = [_GAP.findall(self._lines[at].strip()) for at in self.rows]
        columns = zip(*(gaps[:start] + gaps[len(gaps) - last + start :] for gaps in found), strict=True)
        return [*(min(column, key=len) for column in columns), ""], sum(len(gap) > 1 for gaps in found for gap in gaps)


def _around(column: Words) -> tuple[str, str]:
    """Return what all words of a column begin and end with, up to a mark that divides words; names stay whole."""
    first, last = column[0], column[-1]
    before = _common(column) if first[0] == last[0] else 0
    turned = [word[: before - 1 if before else None : -1] for word in column] if first[-1] == last[-1] else []
    after = _common(turned) if turned else 0
    # Something must be left of every word.
    if (before or after) and min(map(len, column)) <= before + after:
        return "", ""
    return first[:before], turned[0][:after][::-1] if after else ""


def _common(column: Words) -> int:
    """Return how many characters all words begin with, the last of them a mark that divides words."""
    low, high = min(column), max(column)
    end = len(low)
    while end and (low[:end] != high[:end] or low[end - 1] not in _DIVIDING):
        end -= 1
    return end if end >= _AFFIX or not _ENCLOSING.isdisjoint(low[:end]) else 0
