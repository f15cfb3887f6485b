"""Lines of a text that differ in a few words: what they share is written once.

`#1=Get:{} http://x.dev/{} amd64` is a line with places for words, and stands before the first line of its kind.
`#1 4 zlib` stands for that line with these words in their order, with all that is left of the line in the last place;
`{1}` is the first of them again. `#1 (3 lines):` stands above lines of words alone, each indented by one space.
`#2=status: active` is a line that comes again as `#2`. Every line keeps its place in the text; only how far its columns
are padded with blanks is lost, and a carriage return at the end of a line.

Lines that were found in files, `src/a.py:12:text`, stand below their file's path as `12:text`, and links of Markdown
begin with `/` in place of what most of them begin with; a legend above says so.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from os.path import commonprefix
from typing import TYPE_CHECKING, Final

from shaping.encoders.templates import (
    GAP_PRICE,
    LEAST,
    MOST,
    PLACE,
    Kind,
    LineGroup,
    alike,
    alike_at_first,
    filled,
    following_rows,
    is_odd,
)
from shaping.parsers.sections import is_diff
from shaping.parsers.snapshot import is_tree
from shaping.parsers.terminal import error_lines, find_traces, matcher, without_surrogates
from shaping.parsers.yaml import looks_like_yaml
from shaping.tokens import cheap, count

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

    Words = Sequence[str]

LARGEST: Final = 200_000  # characters of a text
_RUN: Final = 4  # of them in a row, from which their tag is written once
_LONGEST: Final = 2000  # characters of a line; a longer one is a document
_PAYS, _PAYS_BELOW = 8, 2  # characters that must be saved in a line with a tag, and in one below another of its kind
_SHORT: Final = 20  # characters of a line without places for words, below which it has no tag
_WORTH, _UNSURE = 0.9, 0.15  # of the tokens of a text is what it may cost written short; by which a guess may be wrong
# Of the characters of a text is what must be saved, by some of its lines and by all: they say roughly what tokens say.
_LIKELY, _ENOUGH = 0.05, 0.075
_PLENTY: Final = 0.15  # of them is saved, from which no other way to group the lines is tried
_SOURCE_LINES: Final = 0.25  # of the lines of a text are those of source code
_MOSTLY: Final = 0.5  # of the lines of a text report an error
_SAMPLE, _UNEVEN = 128, 0.618034  # lines by which a long text is judged first, and how they are spread over it

# A line that would be taken for one of ours.
_has_own = matcher(r"(?m)^#[0-9]+(?:[ =]|$)")
# How a page, JSON and a script begin, but not a line with `<13>` or `[main]` before its words, nor an object in a line.
_DOCUMENT = re.compile(r"\s*(?:<(?!\d+>)|\{(?!\".*\}\n)|\[(?![^\[\]{}\n]*\] ))\S|#!")
_is_code = matcher(
    r"^[ \t]*(?:def |class |import |from \S+ import |return(?-u:\b)|elif |else:|try:|#include|function |const |let "
    r"|var |public |private |if \(|for \(|//|/\*|</?[a-zA-Z!])|[;{}][ \t]*$"
)
# Where `grep -n` and `git blame` found a line. Another number after it is the column of a compiler's message.
_LOCATION = re.compile(r"^(?:\^?[0-9a-f]{7,40} [^\n]*?\d+\) |(?:[^\s:]+[:-])?\d+[:-](?!\d+[:-]))", re.MULTILINE)
_INDENTED = re.compile(r"^(?: {2}|\t)[ \t]*\S", re.MULTILINE)
_WIDE_GAP = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
_TAGGED = re.compile(r"#(\d+)(?:=(.*)|( \((\d+) lines\):)|(?: (.*))?)")

_PATHS_LEGEND: Final = "(each path{} stands above the lines found in it)"
_BELOW_PATHS = re.compile(re.escape(_PATHS_LEGEND).replace(re.escape("{}"), "(?: in (.*))?"))
_LINKS_LEGEND: Final = "(links that begin with / go on from "
_LEGENDS = re.compile(f"{_BELOW_PATHS.pattern}|{re.escape(_LINKS_LEGEND)}")
_LINKED = re.compile(r"\]\((https?://[^()\s]*/)")
_WORTH_LINKS: Final = 0.93  # of the characters of a text is what it may have without what its links begin with
_may_be_found = matcher(r"(?m)^[^\s:()]*[/\\.][^\s:()]*(?::[0-9]+:|\([0-9]+,[0-9]+\): )")
_FOUND_IN = re.compile(r"([^\s:()]*[/\\.][^\s:()]*)(?::(?=\d+:)|(?=\(\d+,\d+\): ))")
_NUMBERED = re.compile(r"\d+([:-])|\(\d+,\d+\): ")  # in a file, as `grep` or a compiler writes it
_BETWEEN: Final = frozenset({"--", ""})  # lines that `grep -C` and others write between what they found in one file


def encode(text: str) -> str:
    """Return a text with lines that are much alike written short, where that saves at least 10% of its tokens.

    A line that reports an error stays as it is, unless most lines do. So do diffs and source code, which somebody may
    search or edit, and snapshots of pages, whose ids are asked for.
    """
    if len(text) > LARGEST or text.count("\n") < LEAST - 1 or _DOCUMENT.match(text) or _LEGENDS.match(text):
        return text
    plain = without_surrogates(text)
    if _has_own(plain) or is_diff(plain) or is_tree(plain):
        return text
    if base := _base_of_links(text):
        shorter = text.replace(f"]({base}/", "](/")
        return f"{_LINKS_LEGEND}{base})\n{encode(shorter)}"
    lines = text.replace("\r\n", "\n").split("\n")
    written = _in_kinds(lines)
    ways = [written] if _pays(written, text) else []
    if _may_be_found(plain) and (below := below_paths(lines)):
        located = "\n".join(below if _is_source(lines) else [below[0], _in_kinds(below[1:])])
        ways += [located] if _pays(located, text) else []
    return min(ways, key=count) if len(ways) > 1 else ways[0] if ways else text


def _base_of_links(text: str) -> str:
    """Return what most links of Markdown begin with, where a text without it saves enough."""
    if text.count("](http") < LEAST or "](/" in text:
        return ""
    steps = [target.split("/")[:-1] for target in _LINKED.findall(text)]
    bases = Counter("/".join(step[:end]) for step in steps for end in range(3, len(step) + 1))
    base = max(bases, key=lambda base: len(base) * (bases[base] - 1), default="")
    shorter = text.replace(f"]({base}/", "](/")
    return base if len(base) + len(shorter) <= _WORTH_LINKS * len(text) else ""


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
    if some is not lines and (not any(_groups(some, _LIKELY)) or _is_source(some)):
        return text
    errors = _errors(lines)
    whole = set(errors).union(*(trace.lines for trace in find_traces(lines, errors)))
    kinds: Sequence[Kind] = ()
    for groups in _groups(lines, _ENOUGH, whole):
        kinds = max(kinds, _worth_a_tag(groups), key=_saved)
        if _saved(kinds) >= _PLENTY * len(text):
            break
    if _saved(kinds) < max(_ENOUGH * len(text), 1) or _is_source(lines):
        return text
    legend = {min(kind.rows): f"#{number}={kind.template}" for number, kind in enumerate(kinds, 1)}
    tags = {at: (f"#{number}", words) for number, kind in enumerate(kinds, 1) for at, words in kind.rows.items()}
    return "\n".join(_written(lines, tags, legend))


def _saved(kinds: Sequence[Kind]) -> int:
    return sum(kind.saved for kind in kinds)


def _least_saved(rows: Collection[int]) -> int:
    below = following_rows(rows)
    return _PAYS * (len(rows) - below) + _PAYS_BELOW * below


def _worth_a_tag(groups: Iterable[LineGroup]) -> list[Kind]:
    """Return the kinds that save most, in the order in which they come."""
    kinds = [group.kind() for group in groups]
    kinds = [kind for kind in kinds if any(kind.rows.values()) or len(kind.template.strip()) >= _SHORT]
    # What saves little in each line, and a short line that is always the same, is easier to read than a tag.
    kinds = [kind for kind in kinds if kind.saved >= _least_saved(kind.rows)]
    return sorted(sorted(kinds, key=lambda kind: kind.saved)[-MOST:], key=lambda kind: min(kind.rows))


def _groups(lines: Words, part: float, whole: Container[int] = ()) -> Iterator[list[LineGroup]]:
    """Yield ways to group the lines that are alike, without those that stay whole, that may save so much of them."""
    chosen = {at: line for at, line in enumerate(lines) if len(line) <= _LONGEST and at not in whole}
    # By their number of words, the others by their first words; or all by their first words.
    by_length = alike(lines, chosen)
    for groups in (by_length, []) if by_length else ([],):
        found = [*groups, *alike_at_first(lines, _others(chosen, groups))]
        found += _same(lines, _others(chosen, found))
        if _promise(lines, found, part):
            yield found


def _others(chosen: Mapping[int, str], groups: Sequence[LineGroup]) -> list[int]:
    return sorted(chosen.keys() - {row for group in groups for row in group.rows})


def _same(lines: Words, chosen: Sequence[int]) -> Iterator[LineGroup]:
    """Group the lines that come again."""
    again: dict[str, list[int]] = defaultdict(list)
    for at in chosen:
        again[lines[at]].append(at)
    same = [rows for line, rows in again.items() if len(rows) > 1 and len(line.strip()) >= _SHORT and not is_odd(line)]
    found = (LineGroup(lines, {at: lines[at].split() for at in rows}, rows) for rows in same)
    return (group for group in found if group.pays)


def decode(text: str) -> str:
    """Return the text that was written short, with the same gap where columns were padded and plain ends of lines."""
    templates: dict[str, list[str]] = {}
    lines: list[str] = []
    tag, left = "", 0
    first, _, rest = text.partition("\n")
    if first.startswith(_LINKS_LEGEND):
        base = first.removeprefix(_LINKS_LEGEND)[:-1]
        return decode(rest).replace("](/", f"]({base}/")
    are_below = _BELOW_PATHS.fullmatch(first) is not None
    for line in (rest if are_below else text).split("\n"):
        found = _TAGGED.fullmatch(line) if not left else None
        if left:
            lines.append(filled(templates[tag], line[1:]))
            left -= 1
        elif found is not None and found[2] is not None:
            templates[found[1]] = PLACE.split(found[2])
            lines += [found[2]] if len(templates[found[1]]) == 1 else []
        elif found is None or found[1] not in templates:
            lines.append(line)
        elif found[3]:
            tag, left = found[1], int(found[4])
        else:
            lines.append(filled(templates[found[1]], found[5] or ""))
    return "\n".join(with_paths([first, *lines]) if are_below else lines)


def _some_of(lines: Words) -> Words:
    """Return lines from all over a long text, or all of one that is not long."""
    if len(lines) < 2 * _SAMPLE:
        return lines
    # No two of them are equally far apart, because records are.
    return [lines[at] for at in sorted({int(len(lines) * (step * _UNEVEN % 1)) for step in range(_SAMPLE)})]


def _errors(lines: Words) -> list[int]:
    """Return the indexes of the lines that report an error, or none where most do, as a linter's."""
    found = error_lines(lines)
    return found if len(found) <= _MOSTLY * len(lines) else []


def _promise(lines: Words, groups: Sequence[LineGroup], part: float) -> bool:
    """Whether groups of lines may save so much of the characters, if every wide gap were in one of them."""
    text = "\n".join(lines)
    missing = part * len(text) - sum(group.saved for group in groups)
    return missing <= 0 or (bool(groups) and GAP_PRICE * len(_WIDE_GAP.findall(text)) >= missing)


def _is_source(lines: Words) -> bool:
    text = without_surrogates("\n".join(lines))
    bare, located = _LOCATION.subn("", text)
    found = sum(map(_is_code, bare.split("\n"))) + (len(_INDENTED.findall(bare)) if located * 2 > len(lines) else 0)
    return found > _SOURCE_LINES * len(lines) or looks_like_yaml(text)


def _written(lines: Words, tags: Mapping[int, tuple[str, str]], legend: Mapping[int, str]) -> Iterator[str]:
    """Write the lines, those with a tag by their words, several in a row below it, and first what the tag means."""
    at = 0
    while at < len(lines):
        if at in legend:
            yield legend[at]
        tag, words = tags.get(at, ("", ""))
        end = at + 1
        if at in legend and not words:
            at = end  # the template is this line
            continue
        while words and end in tags and tags[end][0] == tag:
            end += 1
        if not tag:
            yield lines[at]
        elif end - at < _RUN:
            yield from (f"{tag} {tags[row][1]}" if tags[row][1] else tag for row in range(at, end))
        else:
            yield f"{tag} ({end - at} lines):"
            yield from (f" {tags[row][1]}" for row in range(at, end))
        at = end


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
