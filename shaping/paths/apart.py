"""Values that stand apart from their names: below a header, behind the first cell of a row, beside a `name`.

Where two readings of a table are possible, the values of both are taken: this is for what must not leave.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Place: TypeAlias = tuple[str | int, ...]
Columns: TypeAlias = frozenset[int]

# Keys of what names the rest of an object; all of that goes, but for what describes the field.
_NAMING = re.compile(
    r"(?:display|field|column|attribute|property|header|parameter|metric)?(?:name|key)|n|k|attrs?|attributes|properties"
    r"|field|column|attribute|property|header|label|parameter|param|metric|variable|question|term|dt|th|"
)
_DESCRIBING = re.compile(
    r".*type|kind|op|id|uid|units?|currency|description|desc|help|hint|doc|format|label|title|displayname|alias|path"
    r"|required|nullable|optional|readonly|unique|hidden|visible|sortable|inline|index|position|ordinal|order"
    r"|length|width|precision|scale|table|schema|category|group"
)
# Beside a name that stands under any other key, only what is called a value goes.
_HOLDING = re.compile(
    r".*values?|val|v|content|contents|data|text|answer|result|amount|body|display|formatted|raw|dd|td|rows"
    r"|(?:from|to|old|new|before|after|previous|current|prior)(?:string|display)?"
)
# Keys of headers: their rows may stand in other elements of a list, and have other widths.
_HEADING = re.compile(
    r"(?:.*(?:columns?|cols?|headers?|fields?)|schema|names|keys|labels|attributes|variables|metrics?)(?:names?|metadata|info)?"
)
_CELL_NAMING = re.compile(rf"(?:{_NAMING.pattern})|text|title|id")
_LABEL = re.compile(r"[^\W\d][\w .()/%#-]{0,60}")  # what the name of a row looks like
_LONGEST_NAME = 400
_DEEPEST = 200
_FARTHEST = 8  # objects around a header within which its rows are looked for
_ROWS_DEEPEST = 16  # objects and lists around its rows, in those
_HEADER_ROWS = 10  # rows or lines among which a header is looked for
_DELIMITERS = ",;\t|"
_SCALARS = (str, int, float)


@dataclass(slots=True)
class _OpenHeaders:
    """The headers of an object whose rows are looked for: the wanted columns by the number of all."""

    columns: dict[int, Columns] = field(default_factory=dict)
    far: dict[int, int] = field(default_factory=dict)  # how many objects were left in search of the rows
    keys: set[str] = field(default_factory=set)  # keys that stand for wanted columns in rows that are objects
    lists: set[int] = field(default_factory=set)  # the ids of the headers themselves
    matched: set[int] = field(default_factory=set)
    heading: bool = False  # whether one of them stands under a key of headers
    delimiter: str = ""  # stands between the names of one that is a text; its rows are texts too

    def add(self, width: int, wanted: Columns, far: int = 0) -> None:
        self.columns[width] = self.columns.get(width, frozenset()) | wanted
        self.far[width] = min(far, self.far.get(width, far))

    def pass_on(self, around: _OpenHeaders) -> None:
        """Give those that no row was found for to the object around this one."""
        around.lists |= self.lists
        for width, wanted in self.columns.items():
            if width not in self.matched and self.far[width] < _FARTHEST:
                around.add(width, wanted, self.far[width] + 1)
                around.keys |= self.keys
                around.heading |= self.heading

    def cells(self, row: list[Any], *, nested: bool) -> Columns:
        """Return the wanted cells of a row; one of a table may be longer or shorter than the header beside it."""
        if len(row) in self.columns:
            if nested:
                self.matched.add(len(row))
            return self.columns[len(row)]
        if not (nested and self.heading):
            return frozenset()
        near = [(width, wanted) for width, wanted in self.columns.items() if not self.far[width]]
        return frozenset[int]().union(*(_shifted(wanted, len(row) - width) for width, wanted in near))


@dataclass(frozen=True, slots=True)
class NamedApart:
    """Replaces the values whose names stand elsewhere and are wanted."""

    wanted: Callable[[str], bool]
    replace: Callable[[Any, Place], Any]

    def run(self, value: Any) -> Any:
        """Return the value with what was found replaced: the same object where there is nothing."""
        return self._look(value, (), _OpenHeaders())

    def _look(self, value: Any, place: Place, around: _OpenHeaders) -> Any:
        """Look into a value; `around` receives the headers in it that have no rows yet."""
        if len(place) > _DEEPEST:
            return value
        if type(value) is dict:
            return self._object(value, place, around)
        return self._array(value, place, around) if type(value) is list and value else value

    def _object(self, value: dict[str, Any], place: Place, around: _OpenHeaders) -> dict[str, Any]:
        named = {key for key, item in value.items() if self._names_others(key, item)}
        if named:
            is_name = any(_fits(_NAMING, key) for key in named)
            taken = {
                key
                for key, item in value.items()
                if key not in named
                and (not _fits(_DESCRIBING, key) if is_name else _fits(_HOLDING, key) or _is_series(item))
            }
            if taken:
                return {key: self.replace(item, (*place, key)) if key in taken else item for key, item in value.items()}
        if "th" in named:  # an HTML table of one column
            around.add(1, frozenset({0}), 1)
        return self._with_nested(value, place, around)

    def _names_others(self, key: Any, item: Any) -> bool:
        """Return whether a member holds a wanted name: itself, or in an object that stands for the name."""
        if type(item) is dict and len(item) <= 20 and _fits(_NAMING, key):
            return any(map(self._is_wanted, _names(item)))
        return type(item) is str and self._is_wanted(item)

    def _with_nested(self, value: dict[str, Any], place: Place, around: _OpenHeaders) -> dict[str, Any]:
        headers, new = _OpenHeaders(), dict(value)
        for key, item in value.items():
            heading = _fits(_HEADING, key)
            names = _heading_names(item) if heading else item
            wanted = self._header(names) if type(names) is list else frozenset()
            # Two texts of which the first is wanted are a header if there are rows, and else a name and its value.
            if not (wanted and _is_flat(item)):
                new[key] = self._look(item, (*place, key), headers)
            if wanted:
                headers.add(len(names), wanted)
                headers.lists.add(id(new[key]))
                if heading:
                    headers.heading = True
                    headers.keys |= _keys_of_columns(item, names, wanted)
                    headers.delimiter = _delimiter(item) if type(item) is str else headers.delimiter
        if headers.columns:
            for key, item in new.items():
                new[key] = self._below(item, headers, (*place, key), _ROWS_DEEPEST)
            for key, item in new.items() if not headers.matched else ():
                if id(item) in headers.lists and _is_flat(item) and not headers.keys:
                    new[key] = self._flat(item, (*place, key))
                    headers.lists.add(id(new[key]))
            headers.pass_on(around)
        return value if all(map(_same, new.values(), value.values())) else new

    def _array(self, value: list[Any], place: Place, around: _OpenHeaders) -> list[Any]:
        if _is_flat(value):
            return self._flat(value, place)
        if taken := self._taken(value):
            return [self._row(item, taken[at], (*place, at)) for at, item in enumerate(value)]
        headers, out, name = _OpenHeaders(), list(value), None
        for at, item in enumerate(value):
            if type(item) is not dict:
                out[at] = self._look(item, (*place, at), headers)
            elif name is None or name in item:
                out[at] = self._look(item, (*place, at), headers)
                name = self._only_name(item)
            else:  # `[{"label": "salary"}, {"value": 1}]`
                out[at] = {key: self.replace(member, (*place, at, key)) for key, member in item.items()}
        if headers.heading:
            out = [self._below(item, headers, (*place, at), _ROWS_DEEPEST) for at, item in enumerate(out)]
            headers.pass_on(around)
        return value if all(map(_same, out, value)) else out

    def _only_name(self, item: dict[str, Any]) -> str | None:
        """Return the key of the wanted name that an object consists of."""
        key = next(iter(item)) if len(item) == 1 else None
        return key if key is not None and _fits(_NAMING, key) and self._is_wanted(item[key]) else None

    def _flat(self, value: list[Any], place: Place) -> list[Any]:
        """Replace what follows a name in a list of names and values, and the lines below a line of names."""
        taken: set[int] = set()
        for at, item in enumerate(value[:-1]):
            if type(item) is not str:
                continue
            if self._is_wanted(item):
                if (at % 2 == 0 and len(value) % 2 == 0) or item.rstrip().endswith((":", "=")):
                    taken.add(at + 1)
            elif at < _HEADER_ROWS and (like := self._line(item)):
                taken.update(below for below in range(at + 1, len(value)) if like(value[below]))
        return (
            [self.replace(item, (*place, at)) if at in taken else item for at, item in enumerate(value)]
            if taken
            else value
        )

    def _line(self, line: str) -> Callable[[Any], bool] | None:
        """Return the test whether another line has as many cells as this one, where a cell of this one is wanted."""
        for delimiter in (*_DELIMITERS, None) if len(line) < 20 * _LONGEST_NAME else ():  # None: any white space
            cells = line.split(delimiter)
            if len(cells) > 1 and any(map(self._is_wanted, cells)):
                width = len(cells)
                if delimiter is not None:
                    return lambda other: type(other) is str and delimiter in other
                return lambda other: type(other) is str and len(other.split()) == width
        return None

    def _taken(self, value: list[Any]) -> list[Columns]:
        """Return the cells of each row that a header or a cell of the row itself names; nothing where there is none."""
        rows = [_cells(item, loose=at > 0) for at, item in enumerate(value)]
        if rows[0] is None and type(value[0]) is dict:
            return []
        if any(cells is None and type(item) is dict for item, cells in zip(value, rows, strict=True)):
            return []
        labels = all(type(cells[0]) is str and _LABEL.fullmatch(cells[0]) for cells in rows if cells)
        header, columns = -1, frozenset[int]()
        taken: list[Columns] = []
        for at, cells in enumerate(map(_or_empty, rows)):
            below = _shifted(columns, len(cells) - len(_or_empty(rows[header]))) if columns else columns
            looked_at = range(len(cells)) if at < _HEADER_ROWS else {0, *columns}
            named = [one for one in looked_at if one < len(cells) and any(map(self._is_wanted, _names(cells[one])))]
            entry = frozenset(range(min(named) + 1, len(cells))) if named else frozenset[int]()
            if named and not columns and at < len(value) - 1 and (found := self._header(cells)):
                header, columns = at, found
                # The row is a header, an entry, or both, where nothing tells them apart.
                is_label = 0 in named and (labels or at > 0)
                entry = entry if is_label or any(type(cells[one]) in (int, float) for one in entry) else frozenset()
            elif columns.intersection(named):
                taken[header] |= frozenset(range(min(columns) + 1, len(_or_empty(rows[header]))))
            taken.append(entry | below)
        return taken if any(taken) else []

    def _below(self, value: Any, headers: _OpenHeaders, place: Place, depth: int, *, nested: bool = False) -> Any:
        """Replace the cells of the wanted columns in every table below a value."""
        if type(value) is str and headers.delimiter and headers.delimiter in value and id(value) not in headers.lists:
            return self.replace(value, place)
        if id(value) in headers.lists or type(value) not in (dict, list) or not depth:
            return value
        if type(value) is dict:
            return self._below_object(value, headers, place, depth)
        if _is_flat(value) and not headers.delimiter:
            # A header of one column may have a plain list of values.
            one = headers.heading and not nested and headers.far.get(1) == 0
            return self._row(value, frozenset(range(len(value))) if one else headers.cells(value, nested=nested), place)
        by_column: Columns = frozenset()
        if len(value) in headers.columns and (
            _may_be_columns(value) or not any(len(_cells(item) or ()) in headers.columns for item in value)
        ):
            by_column = headers.cells(value, nested=True)
        new = [
            self.replace(item, (*place, at))
            if at in by_column
            else self._below(item, headers, (*place, at), depth - 1, nested=True)
            for at, item in enumerate(value)
        ]
        # Cells may be objects, so a list of them may be a row as well.
        row = frozenset() if any(type(item) is list for item in value) else headers.cells(value, nested=nested)
        new = [self.replace(item, (*place, at)) if at in row else item for at, item in enumerate(new)]
        return value if all(map(_same, new, value)) else new

    def _below_object(self, value: dict[str, Any], headers: _OpenHeaders, place: Place, depth: int) -> dict[str, Any]:
        keys = headers.keys | ({"td"} if 1 in headers.columns else set())
        members = {
            key: self.replace(item, (*place, key))
            if key in keys and (key != "td" or type(item) in _SCALARS)
            else self._below(item, headers, (*place, key), depth - 1)
            for key, item in value.items()
        }
        return value if all(map(_same, members.values(), value.values())) else members

    def _row(self, item: Any, taken: Columns, place: Place) -> Any:
        """Replace some cells of a row, and look into the others."""
        if type(item) is dict:
            new = {key: self._row(cells, taken, (*place, key)) for key, cells in item.items()}
            return item if all(map(_same, new.values(), item.values())) else new
        if type(item) is not list:
            return item
        cells = [
            self.replace(cell, (*place, at)) if at in taken else self._look(cell, (*place, at), _OpenHeaders())
            for at, cell in enumerate(item)
        ]
        return item if all(map(_same, cells, item)) else cells

    def _header(self, cells: list[Any]) -> Columns:
        """Read a list as the names of columns, and return those that are wanted."""
        names = [_names(cell) for cell in cells]
        if not all(
            found or cell is None or type(cell) in (int, float) for found, cell in zip(names, cells, strict=True)
        ):
            return frozenset()
        return frozenset(at for at, found in enumerate(names) if any(map(self._is_wanted, found)))

    def _is_wanted(self, name: Any) -> bool:
        return type(name) is str and len(name) <= _LONGEST_NAME and self.wanted(name)


def _shifted(columns: Columns, wider: int) -> Columns:
    """Return the cells that may belong to columns in a row that is wider than its header."""
    return frozenset(at + more for at in columns for more in range(max(wider, 0) + 1))


def _delimiter(line: str) -> str:
    return next((one for one in _DELIMITERS if one in line), "")


def _heading_names(item: Any) -> Any:
    """Return the names of a header in order: a list, a line, or an object of positions and names."""
    if type(item) is str:
        return item.split(_delimiter(item)) if _delimiter(item) and len(item) < 20 * _LONGEST_NAME else item
    if type(item) is dict and item and all(type(one) is int for one in item.values()):
        return sorted(item, key=lambda key: int(item[key]))
    return list(item.values()) if type(item) is dict and all(type(one) is str for one in item.values()) else item


def _keys_of_columns(item: Any, names: list[Any], wanted: Columns) -> set[str]:
    """Return the keys by which objects below a header may name its wanted columns: positions and ids."""
    by_key = list(item) if type(item) is dict else []
    ids = {name for at in wanted if type(names[at]) is dict for name in _names(names[at])}
    return {str(at) for at in wanted} | ids | {str(by_key[at]) for at in wanted if by_key and at < len(by_key)}


def _may_be_columns(value: list[Any]) -> bool:
    """Return whether lists may be columns: not where the values of each are of several types."""
    kinds = [{type(cell) for cell in item if cell is not None} for item in value if type(item) is list]
    return bool(kinds) and not all(len(one) > 1 for one in kinds)


def _or_empty(cells: list[Any] | None) -> list[Any]:
    return cells or []


def _is_flat(value: Any) -> bool:
    return type(value) is list and not any(type(item) in (dict, list) for item in value)


def _cells(item: Any, *, loose: bool = False) -> list[Any] | None:
    """Return the cells of a row: a list, or an object that holds little but a list of cells; below a header, any."""
    if type(item) is list:
        return item
    if type(item) is not dict or len(item) > 2:
        return None
    if loose:
        return next(
            (one for one in item.values() if type(one) is list and not all(type(cell) is list for cell in one)), None
        )
    nested = [member for member in item.values() if type(member) in (dict, list)]
    cells = nested[0] if len(nested) == 1 and type(nested[0]) is list else None
    return None if cells is None or any(map(_holds_lists, cells)) else cells


def _holds_lists(cell: Any) -> bool:
    return type(cell) is list or (type(cell) is dict and any(type(item) in (dict, list) for item in cell.values()))


def _names(cell: Any) -> list[str]:
    """Return the names that a cell of a header holds: its text, or those of its members that name it."""
    if type(cell) is str:
        return [cell]
    if type(cell) is not dict or len(cell) > 20:
        return []
    texts = [(key, item) for key, item in cell.items() if type(item) is str]
    return [item for key, item in texts if len(cell) == 1 or _fits(_CELL_NAMING, key)]


def _is_series(value: Any) -> bool:
    return type(value) is list and bool(value) and all(type(item) in (int, float) for item in value)


@lru_cache(maxsize=4096)
def _fits(pattern: re.Pattern[str], key: Any) -> bool:
    return pattern.fullmatch(re.sub(r"[\W_]", "", str(key)).lower()) is not None


def _same(one: object, other: object) -> bool:
    return one is other
