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

_NAMING = re.compile(
    r"(?:display|field|column|attribute|property|header|parameter|metric)?(?:name|key|id)"
    r"|field|column|attribute|property|header|label|title|parameter|metric|variable|question|type|kind|system|dt|th"
)
_HOLDING = re.compile(
    r".*values?|val|v|content|contents|data|text|answer|result|amount|dd|td"
    r"|(?:from|to|old|new|before|after|previous|current|prior)(?:string|display)?"
)
_LABEL = re.compile(r"[^\W\d][\w .()/%#-]{0,60}")  # what the name of a row looks like
_LONGEST_NAME = 120
_DEEPEST = 200
_FARTHEST = 4  # objects around a header within which its rows are looked for
_ROWS_DEEPEST = 8  # objects and lists around its rows, in those
_DELIMITERS = ",;\t|"
_SCALARS = (str, int, float)


@dataclass(slots=True)
class _OpenHeaders:
    """The headers of an object whose rows are looked for: the wanted columns by the number of all."""

    columns: dict[int, Columns] = field(default_factory=dict)
    far: dict[int, int] = field(default_factory=dict)  # how many objects were left in search of the rows
    lists: set[int] = field(default_factory=set)  # the ids of the headers themselves
    matched: set[int] = field(default_factory=set)

    def add(self, width: int, wanted: Columns, far: int = 0) -> None:
        self.columns[width] = self.columns.get(width, frozenset()) | wanted
        self.far[width] = min(far, self.far.get(width, far))

    def pass_on(self, around: _OpenHeaders) -> None:
        """Give those that no row was found for to the object around this one."""
        around.lists |= self.lists
        for width, wanted in self.columns.items():
            if width not in self.matched and self.far[width] < _FARTHEST:
                around.add(width, wanted, self.far[width] + 1)


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
        return self._array(value, place) if type(value) is list and value else value

    def _object(self, value: dict[str, Any], place: Place, around: _OpenHeaders) -> dict[str, Any]:
        nested: list[str] = []
        named: list[str] = []
        for key, item in value.items():
            if type(item) is str:
                if _fits(_NAMING, key) and self._is_wanted(item):
                    named.append(key)
            elif type(item) is dict or type(item) is list:
                nested.append(key)
        if named and any(_fits(_HOLDING, key) or _is_series(item) for key, item in value.items() if key not in named):
            return {key: item if key in named else self.replace(item, (*place, key)) for key, item in value.items()}
        if "th" in named:  # an HTML table of one column
            around.add(1, frozenset({0}), 1)
        return self._with_nested(value, nested, place, around) if nested else value

    def _with_nested(
        self, value: dict[str, Any], nested: list[str], place: Place, around: _OpenHeaders
    ) -> dict[str, Any]:
        headers, new = _OpenHeaders(), {}
        for key in nested:
            item = value[key]
            wanted = self._header(item) if type(item) is list else frozenset()
            # Two texts of which the first is wanted are a header if there are rows, and else a name and its value.
            new[key] = item if wanted and _is_pair(item) else self._look(item, (*place, key), headers)
            if wanted:
                headers.add(len(item), wanted)
                headers.lists.add(id(new[key]))
        if headers.columns:
            for key in nested:
                new[key] = self._below(new[key], headers, (*place, key), _ROWS_DEEPEST)
            for key in nested if 2 in headers.columns and 2 not in headers.matched else ():
                if _is_pair(new[key]) and id(new[key]) in headers.lists:
                    new[key] = self._array(new[key], (*place, key))
                    headers.lists.add(id(new[key]))
            headers.pass_on(around)
        return value if all(new[key] is value[key] for key in nested) else {**value, **new}

    def _array(self, value: list[Any], place: Place) -> list[Any]:
        if len(value) == 2 and self._is_wanted(value[0]):
            return [value[0], self.replace(value[1], (*place, 1))]
        if type(value[0]) is dict and value[0].keys() == {"th"} and self._is_wanted(value[0]["th"]):
            return [self.replace(item, (*place, at)) if at else item for at, item in enumerate(value)]
        if type(value[0]) is str and (delimiter := self._delimiter(value[0])):
            return [
                self.replace(item, (*place, at)) if at and type(item) is str and delimiter in item else item
                for at, item in enumerate(value)
            ]
        if taken := self._taken(value):
            return [self._row(item, taken[at], (*place, at)) for at, item in enumerate(value)]
        out = value
        for at, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                new = self._look(item, (*place, at), _OpenHeaders())
                if new is not item:
                    out = list(value) if out is value else out
                    out[at] = new
        return out

    def _taken(self, value: list[Any]) -> list[Columns]:
        """Return the cells of each row that a header or the row's own first cell names; nothing where there is none."""
        first = _cells(value[0])
        if first is None:
            return []
        columns = self._header(first) if len(value) > 1 else frozenset()
        rows = [cells for item in value if (cells := _cells(item, loose=bool(columns))) is not None]
        if len(rows) < len(value):
            return []
        labels = all(type(cells[0]) is str and _LABEL.fullmatch(cells[0]) for cells in rows if cells)
        taken = []
        for at, cells in enumerate(rows):
            # The first row is a header, an entry, or both, where nothing tells them apart.
            is_entry = bool(cells) and self._is_wanted(cells[0]) and (labels or not columns or at > 0)
            entry = frozenset(range(1, len(cells))) if cells and is_entry else frozenset[int]()
            taken.append(entry | columns if at else entry)
        return taken if any(taken) else []

    def _below(self, value: Any, headers: _OpenHeaders, place: Place, depth: int) -> Any:
        """Replace the cells of the wanted columns in every table below a value."""
        if id(value) in headers.lists or type(value) not in (dict, list) or not depth:
            return value
        if type(value) is dict:
            members = {key: self._below(item, headers, (*place, key), depth - 1) for key, item in value.items()}
            if 1 in headers.columns and type(members.get("td")) in _SCALARS:
                members["td"] = self.replace(members["td"], (*place, "td"))
                headers.matched.add(1)
            return value if all(map(_same, members.values(), value.values())) else members
        if not any(type(item) in (dict, list) for item in value):
            return self._row(value, self._columns(value, headers), place)
        by_column: Columns = frozenset()
        if len(value) in headers.columns and not any(len(_cells(item) or ()) in headers.columns for item in value):
            by_column = self._columns(value, headers)
        new = [
            self.replace(item, (*place, at)) if at in by_column else self._below(item, headers, (*place, at), depth - 1)
            for at, item in enumerate(value)
        ]
        # Cells may be objects, so a list of them may be a row as well.
        row = frozenset() if any(type(item) is list for item in value) else self._columns(value, headers)
        new = [self.replace(item, (*place, at)) if at in row else item for at, item in enumerate(new)]
        return value if all(map(_same, new, value)) else new

    def _columns(self, row: list[Any], headers: _OpenHeaders) -> Columns:
        if len(row) not in headers.columns:
            return frozenset()
        headers.matched.add(len(row))
        return headers.columns[len(row)]

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
        if not cells or not _names(cells[0]):
            return frozenset()
        names = [_names(cell) for cell in cells]
        if not all(names):
            return frozenset()
        return frozenset(at for at, found in enumerate(names) if any(map(self._is_wanted, found)))

    def _delimiter(self, line: str) -> str:
        """Return what stands between the names of a line, where one of them is wanted."""
        found = (one for one in _DELIMITERS if one in line and len(line) < 20 * _LONGEST_NAME)
        return next((one for one in found if any(self._is_wanted(cell.strip(" \"'")) for cell in line.split(one))), "")

    def _is_wanted(self, name: Any) -> bool:
        return type(name) is str and len(name) <= _LONGEST_NAME and self.wanted(name)


def _cells(item: Any, *, loose: bool = False) -> list[Any] | None:
    """Return the cells of a row: a list, or an object that holds little but a list of cells; below a header, any."""
    if type(item) is list:
        return item
    if type(item) is not dict or len(item) > 2:
        return None
    if loose:
        return next((member for member in item.values() if type(member) is list), None)
    nested = [member for member in item.values() if type(member) in (dict, list)]
    cells = nested[0] if len(nested) == 1 and type(nested[0]) is list else None
    return None if cells is None or any(map(_holds_lists, cells)) else cells


def _holds_lists(cell: Any) -> bool:
    return type(cell) is list or (type(cell) is dict and any(type(item) in (dict, list) for item in cell.values()))


def _is_pair(value: Any) -> bool:
    return type(value) is list and len(value) == 2 and type(value[0]) is str and type(value[1]) is str


def _names(cell: Any) -> list[str]:
    """Return the names that a cell of a header holds: its text, or those of its members that name it."""
    if type(cell) is str:
        return [cell]
    if type(cell) is not dict or len(cell) > 20:
        return []
    texts = [(key, item) for key, item in cell.items() if type(item) is str]
    return [item for key, item in texts if len(cell) == 1 or key == "text" or _fits(_NAMING, key)]


def _is_series(value: Any) -> bool:
    return type(value) is list and bool(value) and all(type(item) in (int, float) for item in value)


@lru_cache(maxsize=4096)
def _fits(pattern: re.Pattern[str], key: Any) -> bool:
    return pattern.fullmatch(re.sub(r"[_\- ]", "", str(key)).lower()) is not None


def _same(one: object, other: object) -> bool:
    return one is other
