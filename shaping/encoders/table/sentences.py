"""Find sentences that differ only in a few words, as log messages do, to write what they share once."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from shaping.encoders.table.model import Legend

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from shaping.encoders.table.dedupe import TableContext

    Words = Mapping[int, list[str]]

_TIMES, _WORTH = 5, 150  # sentences of one kind, and characters that all of them must save
_WORDS, _SHARED = 3, 16  # words of a sentence, of which at least half are shared, and characters of these
_SPLITS = 3  # words by which sentences that begin alike are told apart
_ODD = re.compile(r"[{}\x00-\x1f\x7f]")
_DIGIT = re.compile(r"\d")
# What stands around a word and is no part of it: `name=`, brackets and quotes.
_BEFORE = re.compile(r"(?:[A-Za-z_.-]+=)?[\"'(\[<]*")
_AFTER = re.compile(r"[\])>\"',;:.]*$")


def in_sentences(column: list[str], context: TableContext) -> tuple[dict[int, str], list[Legend]]:
    """Return the cells of rows whose sentences recur with other words, and the legend of those not written yet."""
    short: dict[int, str] = {}
    new: dict[str, str] = {}
    for template, rows in sentences(column).items():
        is_new = template not in context.tagged
        tag = context.tag(template)
        if is_new:
            new[tag] = template
        short |= {at: f"{tag} {words}" for at, words in rows.items()}
    return short, [Legend(new)] if new else []


def sentences(column: list[str]) -> dict[str, dict[int, str]]:
    """Return templates with `{}` for the words that differ, and for each the words of the rows that it stands for."""
    some = column[0], column[len(column) // 2], column[-1]
    if len(column) < _TIMES or sum(text.count(" ") for text in some) < _WORDS:
        return {}
    groups: dict[tuple[int, str, str], list[int]] = defaultdict(list)
    for at, text in enumerate(column):
        first, _, rest = text.partition(" ")
        groups[rest.count(" "), _mask(first), _mask(rest[rest.rfind(" ") :])].append(at)
    found: dict[str, dict[int, str]] = {}
    for (spaces, *_), rows in groups.items():
        if len(rows) >= _TIMES and spaces + 2 >= _WORDS:
            words = {at: column[at].split(" ") for at in rows}
            found |= dict(_templates(words, rows, _SPLITS))
    return found


def _mask(word: str) -> str:
    return "" if _DIGIT.search(word) else word


def _templates(words: Words, rows: list[int], splits: int) -> Iterator[tuple[str, dict[int, str]]]:
    """Return the template of rows with as many words, or of those of them that share more."""
    if len(rows) < _TIMES:
        return
    columns = list(zip(*(words[at] for at in rows), strict=True))
    differing = {at: len(set(each)) for at, each in enumerate(columns) if each.count(each[0]) < len(each)}
    shared = sum(len(column[0]) + 1 for at, column in enumerate(columns) if at not in differing)
    if differing and shared >= _SHARED and 2 * len(differing) <= len(columns):
        if found := _template(columns, differing, rows):
            yield found
        return
    few = {at: count for at, count in differing.items() if count * _TIMES <= len(rows)}
    if not few or not splits:
        return
    by = min(few, key=few.__getitem__)
    parts: dict[str, list[int]] = defaultdict(list)
    for row, word in zip(rows, columns[by], strict=True):
        parts[word].append(row)
    for part in parts.values():
        yield from _templates(words, part, splits - 1)


def _template(
    columns: Sequence[tuple[str, ...]], differing: Collection[int], rows: list[int]
) -> tuple[str, dict[int, str]] | None:
    parts: list[str] = []
    values: list[list[str]] = []
    for at, column in enumerate(columns):
        if at not in differing:
            parts.append(column[0])
            continue
        before, after = _around(column)
        inner = [word[len(before) : len(word) - len(after)] for word in column]
        if not all(inner) or any("," in word for word in inner):
            return None
        parts.append(f"{before}{{}}{after}")
        values.append(inner)
    template = " ".join(parts)
    if template.count("{}") > len(values) or _ODD.search("".join([template.replace("{}", ""), *map("".join, values)])):
        return None
    saved = (len(template) - 2 * len(values) - 4) * len(rows) - len(template)
    like_json = template[0] == '"' or (template[0] == "[" and template[-1] == "]")
    if saved < _WORTH or like_json or template != template.strip(" "):
        return None
    return template, {row: " ".join(each) for row, each in zip(rows, zip(*values, strict=True), strict=True)}


def _around(column: tuple[str, ...]) -> tuple[str, str]:
    """Return what stands around the word in all rows alike."""
    befores = {found[0] for word in column if (found := _BEFORE.match(word))}
    afters = {found[0] for word in column if (found := _AFTER.search(word))}
    before = befores.pop() if len(befores) == 1 else ""
    after = afters.pop() if len(afters) == 1 else ""
    return before, after
