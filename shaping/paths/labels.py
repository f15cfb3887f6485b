"""Values that a private name labels from outside: the name is a value itself (a cell, a heading, a `name`), not a key.

One rule, from the inside out: in the smallest object, list or table around such a label, what it may belong to is
replaced. Where the shape tells which cells are meant (rows as long as their header) those go; where not, all go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from shaping.paths.filter import GONE

Place: TypeAlias = tuple[str | int, ...]
Columns: TypeAlias = frozenset[int]

# Keys under which an object says whose value it holds, and those under which it says more about it than the value.
_NAMING = re.compile(
    r"(?:display|field|column|attribute|property|header|parameter|metric)?(?:name|key)|n|k|attrs?|attributes|properties"
    r"|field|column|attribute|property|header|label|parameter|param|metric|variable|question|term|"
)
_WAY = re.compile(r".*name|.*key|.*path|loc|location|pointer|field|label|n|k")  # under these a list of names is a path
_IDENTIFYING = re.compile(
    r".*type|kind|op|id|uid|index|position|ordinal|order|length|width|precision|scale|path|format"
)
_DESCRIBING = re.compile(
    r"units?|currency|description|desc|help|hint|doc|label|title|displayname|alias|table|schema|category|group"
    r"|required|nullable|optional|readonly|unique|hidden|visible|sortable|inline"
)
_ABOUT = re.compile(r".*type|kind|units?|currency|description|format|class|style")  # is no name of a column
_HEADING = re.compile(
    r"(?:.*(?:columns?|cols?|headers?|fields?)|schema|names|keys|labels|attributes|variables|metrics?)(?:names?|metadata|info)?"
)
_NAME_LIKE = re.compile(r"[^\W\d][\w .()/%#-]{0,60}")
_DIGIT = re.compile(r"\d")
_LONGEST_NAME = 400
_DEEPEST = 200
_LABEL_DEEPEST = 4  # objects around a name that hold nothing else
_FARTHEST = 8  # objects around a header within which its rows are looked for
_ROWS_DEEPEST = 16  # objects and lists around its rows, in those
_HEADER_ROWS = 10  # rows or lines among which a header is looked for
_WIDEST = 20  # members of an object that names a column
_DELIMITERS = ",;\t|"


@dataclass(slots=True)
class _OpenHeaders:
    """The headers whose rows are looked for: the private columns by the number of all."""

    columns: dict[int, Columns] = field(default_factory=dict)
    far: dict[int, int] = field(default_factory=dict)  # how many objects were left in search of the rows
    names: set[str] = field(default_factory=set)  # of all columns
    keys: set[str] = field(default_factory=set)  # by which rows that are objects may call the private columns
    lists: dict[int, Any] = field(default_factory=dict)  # the headers themselves by id, alive so that no row gets it
    matched: set[int] = field(default_factory=set)  # the widths of those whose rows were found
    heading: bool = False  # whether one of them stands under a key of headers

    def add(self, width: int, columns: Columns, far: int = 0) -> None:
        self.columns[width] = self.columns.get(width, frozenset()) | columns
        self.far[width] = min(far, self.far.get(width, far))

    def pass_on(self, around: _OpenHeaders) -> None:
        """Give those that no row was found for to the object around this one."""
        around.lists |= self.lists
        for width, columns in self.columns.items():
            if width not in self.matched and self.far[width] < _FARTHEST:
                around.add(width, columns, self.far[width] + 1)
                around.names |= self.names
                around.keys |= self.keys
                around.heading |= self.heading

    def cells(self, row: list[Any], *, nested: bool) -> Columns:
        """Return the private cells of a row; of one that is not as long as a header near it, all from the first on."""
        if len(row) in self.columns:
            self.matched |= {len(row)} if nested else set()
            return self.columns[len(row)]
        near = [min(columns) for width, columns in self.columns.items() if not self.far[width]]
        return frozenset(range(min(near), len(row)) if nested and self.heading and near else ())

    def may_have_rows(self, item: Any) -> bool:
        """Return whether a value may hold rows, whatever their shape: not objects with the names of columns as keys."""
        inside = list(item.values()) if type(item) is dict else item if type(item) is list else []
        if (
            id(item) in self.lists
            or not inside
            or not (type(item) is list or all(type(one) in (dict, list) for one in inside))
        ):
            return False
        return all(type(one) is not dict or self.names.isdisjoint(one) for one in inside)


@dataclass(frozen=True, slots=True)
class LabelledValues:
    """Replaces the values that private names label."""

    is_private: Callable[[str], bool]
    is_sentence: Callable[[str], bool]  # whether a text is more than a name and holds a private one
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
        return self._list(value, place, around) if type(value) is list and value else value

    def _object(self, value: dict[str, Any], place: Place, around: _OpenHeaders) -> Any:
        if labelled := self._labelled(value):
            return self._members(value, place, labelled)
        headers, new = _OpenHeaders(), dict(value)
        for key, item in value.items():
            is_header = self._add_header(key, item, headers)
            if not (is_header and _is_flat(item)):
                new[key] = self._look(item, (*place, key), headers)
            if is_header:
                headers.lists[id(new[key])] = new[key]
        if not headers.columns:
            return _kept(value, new)
        below = {key: self._below(item, headers, (*place, key), _ROWS_DEEPEST) for key, item in new.items()}
        if _kept(new, below) is new and 0 in headers.far.values():
            below = {key: self._unclear(item, headers, (*place, key)) for key, item in new.items()}
        headers.pass_on(around)
        return _kept(value, below)

    def _unclear(self, item: Any, headers: _OpenHeaders, place: Place) -> Any:
        """Replace what may belong to a header beside it that no row fits: other lists, else what follows its labels."""
        if headers.heading:
            return self.replace(item, place) if headers.may_have_rows(item) else item
        if type(item) is not list or id(item) not in headers.lists:
            return item
        new = self._behind_labels(item, place, item)
        headers.lists[id(new)] = new
        return new

    def _labelled(self, value: dict[str, Any]) -> set[str]:
        """Return the keys of an object whose values belong to a label in it."""
        labels = {key for key, item in value.items() if self._is_label(item, key)}
        return {key for key, item in value.items() if labels and key not in labels and not _describes(key, item)}

    def _is_label(self, item: Any, key: str = "", depth: int = 0) -> bool:
        """Return whether a value is a private name, or an object that holds nothing but one and what describes it."""
        if type(item) is str:
            return self._is_name(item) or (bool(key) and _fits(_NAMING, key) and self.is_sentence(item))
        if type(item) is list:
            if _is_flat(item):
                return bool(key) and _fits(_WAY, key) and any(map(self._is_name, item))
            return depth <= _LABEL_DEEPEST and all(
                type(one) is dict and self._is_label(one, "", depth + 1) for one in item
            )
        if type(item) is not dict or len(item) > _WIDEST or depth > _LABEL_DEEPEST:
            return False
        if key and _fits(_NAMING, key) and any(map(self._is_name, item.values())):
            return True
        if key and _fits(_HEADING, key):  # names by the ids of columns
            return False
        labels = {name for name, one in item.items() if self._is_label(one, name, depth + 1)}
        return bool(labels) and all(name in labels or _describes(name, one) for name, one in item.items())

    def _add_header(self, key: str, item: Any, headers: _OpenHeaders) -> bool:
        """Add a member to the headers if it is one: names of columns, at least one of them private."""
        heading = _fits(_HEADING, key)
        names = _names_of_columns(item) if heading else item
        heading = heading and not (_is_flat(names) and any(type(one) is str and one.isdigit() for one in names))
        columns = self._columns(names) if type(names) is list else frozenset()
        if heading and type(names) is list:
            columns |= {at for at, cell in enumerate(names) if any(map(self.is_sentence, _texts(cell)))}
        if not columns:
            return False
        headers.add(len(names), columns)
        if heading and any(self._is_label(names[at], "name") for at in columns):
            headers.heading = True
            headers.names |= {text for cell in names for text in _texts(cell)}
            headers.keys |= {str(at) for at in columns}
            headers.keys |= {text for at in columns if type(names[at]) is dict for text in _texts(names[at])}
            headers.keys |= {key for at, key in enumerate(item) if at in columns and type(item) is dict}
        return True

    def _columns(self, cells: list[Any]) -> Columns:
        """Read a list as the names of columns, and return those that are private."""
        if not all(_texts(cell) or cell is None or type(cell) in (int, float) or cell == {} for cell in cells):
            return frozenset()
        return frozenset(at for at, cell in enumerate(cells) if any(map(self._is_name, _texts(cell))))

    def _list(self, value: list[Any], place: Place, around: _OpenHeaders) -> list[Any]:
        if _is_flat(value):
            return self._behind_labels(value, place, value)
        headers, new, header = _OpenHeaders(), list(value), -1
        rows = [_cells(item) or [] for item in value]
        entries = all(_is_name_like(cells[0]) for cells in rows if cells)  # each row may be a name and its values
        for at, (item, cells) in enumerate(zip(value, rows, strict=True)):
            labels = {one for one, cell in enumerate(cells) if (at < _HEADER_ROWS or not one) and self._is_label(cell)}
            if not labels:
                new[at] = self._look(item, (*place, at), headers)
                continue
            is_header = header < 0 and at < len(value) - 1 and bool(self._columns(cells))
            if is_header:
                header, headers.heading = at, True
                headers.add(len(cells), frozenset(labels))
            elif header >= 0 and headers.columns.get(len(rows[header]), frozenset()) & labels:  # no header, as it seems
                new[header] = self._cut(value[header], min(headers.columns[len(rows[header])]), (*place, header))
            has_number = any(type(cell) in (int, float) for cell in cells[min(labels) :])
            if not is_header or has_number or (0 in labels and (entries or at > 0)):
                new[at] = self._cut(item, min(labels), (*place, at))
            headers.lists |= {id(one): one for one in (new[at], _cells(new[at]))}
        if headers.heading:
            new = [self._below(item, headers, (*place, at), _ROWS_DEEPEST, nested=True) for at, item in enumerate(new)]
            headers.pass_on(around)
        return self._behind_labels(value, place, _kept(value, new))

    def _cut(self, item: Any, label: int, place: Place) -> Any:
        """Replace the cells of a row behind a label."""
        if type(item) is dict:
            return {key: self._cut(cells, label, (*place, key)) for key, cells in item.items()}
        if type(item) is not list:
            return item
        return [self.replace(cell, (*place, at)) if at > label else cell for at, cell in enumerate(item)]

    def _behind_labels(self, value: list[Any], place: Place, new: list[Any]) -> list[Any]:
        """Replace what follows a label in a list of names and values in turn; `new` is that list as it goes out."""
        taken: set[int] = set()
        are_names = all(map(_is_name_like, value))
        for at, item in enumerate(value[:-1]):
            if type(item) is dict:
                if len(item) == 1 and at not in taken and self._is_label(item) and not _is_alike(item, value[at + 1]):
                    taken.add(at + 1)
            elif self._is_name(item) and not item.lstrip().startswith(("{", "[")):  # which is data
                in_turn = at % 2 == 0 and len(value) % 2 == 0
                # A plain word may be the next of a list of names.
                is_next = are_names and _is_word(value[at + 1]) and not item.rstrip().endswith((":", "="))
                if in_turn or not is_next:
                    taken.add(at + 1)
        return (
            [self._blank(item, (*place, at)) if at in taken else item for at, item in enumerate(new)]
            if taken
            else new
        )

    def _below(self, value: Any, headers: _OpenHeaders, place: Place, depth: int, *, nested: bool = False) -> Any:
        """Replace the cells of the private columns in every table below a value."""
        if id(value) in headers.lists or type(value) not in (dict, list) or not depth:
            return value
        if type(value) is dict:
            members = {
                key: item
                if key in headers.keys
                else self._below(item, headers, (*place, key), depth - 1, nested=nested)
                for key, item in value.items()
            }
            return _kept(value, self._members(members, place, headers.keys))
        if not any(type(item) is list for item in value):
            is_row = nested or not any(map(_holds_more, value))
            columns = headers.cells(value, nested=nested) if is_row else frozenset()
        elif len(value) in headers.columns and _may_be_columns(value, headers.columns):
            columns = headers.cells(value, nested=True)
        else:
            columns = frozenset()
        new = [
            self.replace(item, (*place, at))
            if at in columns
            else self._below(item, headers, (*place, at), depth - 1, nested=True)
            for at, item in enumerate(value)
        ]
        return _kept(value, new)

    def _blank(self, item: Any, place: Place) -> Any:
        if type(item) is dict:
            return self._members(item, place, item)
        return self.replace(item, place)

    def _members(self, value: dict[str, Any], place: Place, labelled: Collection[str]) -> dict[str, Any]:
        """Replace some members of an object; one that nothing stands for goes."""
        new = {key: self.replace(item, (*place, key)) if key in labelled else item for key, item in value.items()}
        return {key: item for key, item in new.items() if item is not GONE}

    def _is_name(self, name: Any) -> bool:
        return type(name) is str and len(name) <= _LONGEST_NAME and self.is_private(name)


def _kept(value: Any, new: Any) -> Any:
    """Return the value itself where nothing in it was replaced."""
    if len(value) != len(new):
        return new
    pairs = zip(value.values(), new.values(), strict=True) if type(value) is dict else zip(value, new, strict=True)
    return value if all(one is other for one, other in pairs) else new


def _is_alike(label: dict[str, Any], item: Any) -> bool:
    """Return whether what follows an object with a name alone has a name of its own."""
    return type(item) is dict and all(_is_word(item.get(key)) for key in label)


def _describes(key: str, item: Any) -> bool:
    """Return whether a member tells something about a field, not its value; digits may be its value."""
    if _fits(_IDENTIFYING, key):
        return type(item) not in (dict, list)
    return _fits(_DESCRIBING, key) and (
        item is None or type(item) is bool or (type(item) is str and not _DIGIT.search(item))
    )


def _delimiter(line: str) -> str:
    return next((one for one in _DELIMITERS if one in line), "")


def _names_of_columns(item: Any) -> Any:
    """Return the names of a header in order: a list, a line, or an object of positions and names."""
    if type(item) is str:
        return item.split(_delimiter(item)) if _delimiter(item) and len(item) < 20 * _LONGEST_NAME else item
    if type(item) is dict and item and all(type(one) is int for one in item.values()):
        return sorted(item, key=lambda key: int(item[key]))
    return list(item.values()) if type(item) is dict and all(map(_texts, item.values())) else item


def _may_be_columns(value: list[Any], widths: Collection[int]) -> bool:
    """Return whether lists may be columns, being as many: not where they are rows, each of several types."""
    kinds = [{type(cell) for cell in item if cell is not None} for item in value if type(item) is list]
    return not any(len(item) in widths for item in value if type(item) is list) or not all(
        len(one) > 1 for one in kinds
    )


def _is_name_like(cell: Any) -> bool:
    return type(cell) is str and _NAME_LIKE.fullmatch(cell) is not None


def _is_word(cell: Any) -> bool:
    return _is_name_like(cell) and not _DIGIT.search(cell)


def _is_flat(value: Any) -> bool:
    return type(value) is list and not any(type(item) in (dict, list) for item in value)


def _cells(item: Any) -> list[Any] | None:
    """Return the cells of a row: a list, or an object that holds little but a list of cells."""
    if type(item) is list:
        return item
    if type(item) is not dict or len(item) > 2:
        return None
    nested = [member for member in item.values() if type(member) in (dict, list)]
    cells = nested[0] if len(nested) == 1 and type(nested[0]) is list else None
    return None if cells is None or any(map(_holds_more, cells)) else cells


def _holds_more(cell: Any) -> bool:
    return type(cell) is list or (type(cell) is dict and any(type(item) in (dict, list) for item in cell.values()))


def _texts(cell: Any) -> list[str]:
    """Return the texts by which a cell of a header may name its column."""
    if type(cell) is not dict or len(cell) > _WIDEST:
        return [cell] if type(cell) is str else []
    return [one for key, one in cell.items() if type(one) is str and (len(cell) == 1 or not _fits(_ABOUT, key))]


@lru_cache(maxsize=4096)
def _fits(pattern: re.Pattern[str], key: Any) -> bool:
    return pattern.fullmatch(re.sub(r"[\W_]", "", str(key)).lower()) is not None
