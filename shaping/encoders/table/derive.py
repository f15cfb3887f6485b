"""Find columns that follow from others and what rows repeat, to write it once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from shaping.encoders.table.cells import MISSING, VALUE, Missing, dumped, name
from shaping.encoders.table.model import Constant, Derived, Leaf, Node

Records: TypeAlias = "list[dict[str, Any]]"

# What one asks of a single record, however many agree: how it is, and whose it is.
_STATES = frozenset({"state", "status", "conclusion", "phase", "outcome", "result", "verdict", "health", VALUE})
_PEOPLE = frozenset({"author", "user", "assignee", "owner", "creator", "reporter", "sender", "actor", "from", "by"})
_NAMES = frozenset({"login", "name", "username", "displayname", "display_name"})

_LONG_NAME = 24  # characters of a name that is too long to stand in each row
_BY_CHANCE = 8  # characters up to which two columns of two values each may agree by chance


@dataclass(slots=True)
class TableContext:
    """What may be written once, and what has been seen in the table at hand."""

    repeats: bool
    constants: bool
    lossless: bool = True  # whether lists and JSON in strings keep their order
    count: int = 0
    tagged: dict[str, str] = field(default_factory=dict)  # the tags of all that recurs, throughout the text
    # By the ends of their cells, or the first of their values, so that few columns are compared and none is hashed.
    seen: dict[tuple[str, str] | bytes, list[tuple[Sequence[Any], str]]] = field(default_factory=dict)

    def within(self, rows: int) -> TableContext:
        """Return a context for another table of so many rows."""
        return TableContext(self.repeats, self.constants, self.lossless, rows, self.tagged)

    def trial(self) -> TableContext:
        """Return a context for a form that may not be taken: its tags are its own until `take` adds them."""
        return replace(self, tagged=dict(self.tagged))

    def take(self, trial: TableContext) -> None:
        """Remember the tags of a form that was taken."""
        self.tagged.update(trial.tagged)

    def tag(self, text: str) -> str:
        """Return a tag for a text that nothing else has."""
        return self.tagged.setdefault(text, f"#{len(self.tagged) + 1}")

    def known(self, cells: list[str], path: str) -> str | None:
        """Return the path of a column with these cells seen before; remember this one where there is none."""
        return self._first((cells[0], cells[-1]), cells, path)

    def known_values(self, column: Sequence[Any], path: str) -> str | None:
        """Return the path of a column with these values, written the same, likewise."""
        return self._first(dumped(column[0]), column, path)

    def _first(self, ends: tuple[str, str] | bytes, column: Sequence[Any], path: str) -> str | None:
        alike = self.seen.setdefault(ends, [])
        for other, first in alike:
            # As Python has it, 1 is 1.0 and true.
            if other == column and dumped(other) == dumped(column):
                return None if first == path else first
        alike.append((column, path))
        return None


class ColumnPath(NamedTuple):
    """Where a column stands: its name, the path to it from the row, how deep."""

    label: str
    path: str
    depth: int


def copied(source: str, at: ColumnPath) -> Derived | None:
    """Return a column as a copy of another one, unless its path cannot stand in a placeholder."""
    return Derived(at.label, f"{{{source}}}") if is_source(source) else None


def said_once(cells: list[str], context: TableContext, at: ColumnPath) -> Node:
    """Return a column as a constant or as another column's copy where it is one."""
    first = cells[0]
    if first and first == cells[-1] and cells.count(first) == len(cells):
        return throughout(first, len(cells), context, at)
    return repeated(cells, context, at)


def repeated(cells: list[str], context: TableContext, at: ColumnPath) -> Node:
    """Return a column that is not the same throughout as another column's copy where it is one."""
    if context.repeats and context.count > 1:
        known = context.known(cells, at.path)
        # Two columns of yes and no may agree by chance.
        worth = (
            known
            and sum(map(len, cells)) > len(known) + len(at.path) + 8
            and (len(cells[0]) > _BY_CHANCE or len(set(cells)) > 2)
        )
        if worth and (copy := copied(str(known), at)):
            return copy
    return Leaf(at.label, cells)


def throughout(cell: str, rows: int, context: TableContext, at: ColumnPath) -> Node:
    """Return a column of one cell as a constant, unless it is what one asks of each record."""
    if context.constants and context.count > 1 and not is_asked_of_a_record(at.path, cell):
        return Constant(at.label, cell)
    return Leaf(at.label, [cell] * rows)


def is_asked_of_a_record(path: str, cell: str) -> bool:
    """Return whether a column is what one asks of each record, so that it stands in each row unless it is long."""
    return len(cell) <= _LONG_NAME and _is_asked(path)


@lru_cache(maxsize=4096)
def _is_asked(path: str) -> bool:
    owner, _, label = path.lower().rpartition(".")
    return label in _NAMES and owner in _PEOPLE if owner else label in _STATES or label in _PEOPLE


_WORTH = 24  # characters that a template must save beyond its own
_LITERAL = 8  # characters without which a template is no shorter to read than what it says
_LONG_SOURCE = 16  # characters of a source, from which any template is shorter
_SHORT = 4  # characters from which one column found in another is no coincidence in two rows
_TEXTS = frozenset({str, int})
_SOURCES = _TEXTS | {Missing}
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:", re.ASCII)
_OPERATORS = "/?&#+;.,!|@"  # with which a placeholder of a URI template (RFC 6570) begins, and none of ours
_ODD_LITERAL = re.compile(r"[\x00-\x1f\x7f]|\{(?![" + re.escape(_OPERATORS) + "])")
_LINK = re.compile(r"https?://")
_NESTS = frozenset({dict, list})
_AGAIN, _WORTH_LINES = 40, 120  # characters of an object that comes again, and those that an outline must save
PLACEHOLDER = re.compile(r"\{(?![" + re.escape(_OPERATORS) + r"])([^{}]+)\}")


def templates(columns: Mapping[str, list[Any]], prefix: str) -> dict[str, str]:
    """Return the members that are another one with something around it in every record, as templates.

    Sources are members of the same record. One is never derived itself, so that nobody has to follow two steps.
    """
    targets = {key: texts for key, column in columns.items() if _may_be_derived(column) and (texts := _strings(column))}
    sizes = {key: sum(map(len, filter(None, texts))) for key, texts in targets.items()}
    derived: dict[str, str] = {}
    sources: dict[tuple[int, int], list[tuple[str, str, str]]] = {}
    known: dict[str, list[str | None] | None] = {}
    for key in sorted(sizes, key=sizes.__getitem__):
        if sizes[key] < _WORTH:
            continue
        target = targets[key]
        present = [at for at, text in enumerate(target) if text is not None] if None in target else range(len(target))
        first, last, least = present[0], present[-1], 1 if len(present) > 2 else _SHORT
        if (first, last) not in sources:
            sources[first, last] = _sources(columns, prefix, first, last)
        one, other = str(target[first]), str(target[last])
        for begin, end, source in sources[first, last]:
            if begin not in one or end not in other or len(begin) < least or source == key or source in derived:
                continue
            if source not in known:
                known[source] = _varied(columns[source])
            if (texts := known[source]) and (template := _template(target, texts, begin, end, prefix + source)):
                if sizes[key] - len(template) - len(key) > _WORTH:
                    derived[key] = template
                break
    return derived


def _sources(columns: Mapping[str, list[Any]], prefix: str, first: int, last: int) -> list[tuple[str, str, str]]:
    """Return the columns that may stand in a template, those with long texts first, by what they have in two rows."""
    found = [
        (begin, end, key)
        for key, column in columns.items()
        if type(column[first]) in _TEXTS
        and type(column[last]) in _TEXTS
        and (begin := str(column[first]))
        and (end := str(column[last]))
        and name(key) == key
        and is_source(prefix + key)
    ]
    return sorted(found, key=lambda source: -len(source[0]))


def _varied(column: list[Any]) -> list[str | None] | None:
    """Return a column as strings, unless all of them are the same."""
    texts = _strings(column)
    return texts if texts is not None and len({*texts} - {None}) > 1 else None


def _may_be_derived(column: list[Any]) -> bool:
    """Return whether a column is not the same throughout, and its first value an address, but not a time."""
    first = column[0] if column[0] is not MISSING else next((value for value in column if value is not MISSING), None)
    if type(first) is not str or not _is_address(first) or _TIME.match(first):
        return False
    return first != column[-1] or column.count(first) < len(column)


def _is_address(text: str) -> bool:
    """Return whether a text has what links, paths and mail addresses have one of."""
    return "/" in text or ":" in text or "@" in text


def is_source(path: str) -> bool:
    """Return whether a path may stand in a placeholder."""
    return path[0] not in _OPERATORS and "{" not in path and "}" not in path


def _strings(column: list[Any]) -> list[str | None] | None:
    """Return a column of strings or whole numbers as strings, None where one is missing; or None."""
    if type(column[0]) not in _SOURCES:
        return None
    kinds = set(map(type, column))
    if kinds == {str}:
        return column
    if not kinds <= _SOURCES or len(kinds - {Missing}) != 1:
        return None
    return [None if value is MISSING else str(value) for value in column]


def _template(target: list[str | None], source: list[str | None], begin: str, end: str, path: str) -> str | None:
    """Return what stands around a source, of which two texts are known, where that is alike in all rows."""
    present = target if None not in target else [text for text in target if text is not None]
    one, other = str(present[0]), present[-1]
    for parts in (one.split(begin), one.rsplit(begin, 1)):
        # The last one tells most of those apart that only seem to fit.
        if end.join(parts) != other or not (written := _written(parts, path, len(begin))):
            continue
        if [None if text is None else text.join(parts) for text in source] == target:
            return written
    return None


def _written(parts: list[str], path: str, size: int) -> str | None:
    """Return a template with a source of this size, unless it could be misread or says little, as links do not."""
    literal = "".join(parts)
    if (len(literal) < _LITERAL and size < _LONG_SOURCE) or not _is_address(literal):
        return None
    if ("{" in literal or not literal.isprintable()) and any(map(_ODD_LITERAL.search, parts)):
        return None
    text = f"{{{path}}}".join(parts)
    return None if text[0] in ' "' or text[-1] in ' "' else text


_FOLLOWS = frozenset("/?#&{")  # with which the rest of a link begins after another one


def siblings(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the members of one object that are another one again, or a link that goes on where another one ends.

    As in a table, a source is never derived itself. There is nothing where that saves too little.
    """
    derived: dict[str, str] = {}
    saved = 0
    nests = [(key, member) for key, member in value.items() if type(member) in _NESTS and member]
    for at, (key, member) in enumerate(nests):
        source = next((first for first, other in nests[:at] if other == member and first not in derived), None)
        if source and _may_name(source) and (said := dumped(member)) == dumped(value[source]) and len(said) > _AGAIN:
            derived[key] = f"{{{source}}}"
            saved += len(said) - len(source)
    links = [(key, member) for key, member in value.items() if type(member) is str and _LINK.match(member)]
    for source, start in sorted(links, key=lambda link: len(link[1])):
        if len(start) < _LONG_SOURCE or source in derived or not _may_name(source):
            continue
        for key, member in links:
            rest = member[len(start) :]
            if key not in derived and rest[:1] in _FOLLOWS and member.startswith(start) and _may_follow(rest):
                derived[key] = f"{{{source}}}{rest}"
                saved += len(start) - len(source)
    return derived if saved > _WORTH_LINES else {}


def _may_name(key: str) -> bool:
    """Return whether a member may stand in a placeholder."""
    return name(key) == key and is_source(key)


def _may_follow(rest: str) -> bool:
    return bool(rest) and not _ODD_LITERAL.search(rest) and rest[-1] != " "
