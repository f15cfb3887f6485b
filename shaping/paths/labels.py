"""Values that a private name labels from outside: the name is a value itself (a cell, a heading, a `name`), not a key.

An object, a list or a table around such a label can be read in several ways. What belongs to the label in any of them
is replaced: what stands beside a list must not decide how it is read. Where the shape tells which cells of a table are
meant (rows as long as their header) those go; where not, all go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
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
    r"(?:.*(?:columns?|cols?|headers?|fields?)|t?head|schema|names|keys|labels|attributes|variables|metrics?)(?:names?|metadata|info)?"
)
_INDEX = re.compile(r"index|indices|multiindex")  # under these are names of rows
# Keys that tell the place of a column and nothing else: in such objects, the names of columns are values.
_POSITION = re.compile(r"[a-z]{1,2}|(?:c|col|column|field|f|cell|unnamed|empty)?\d*")
_NAME_LIKE = re.compile(r"[^\W\d][\w .()/%#-]{0,60}")
_DIGIT = re.compile(r"\d")
_DATA = re.compile(r"\s*[{\[].*[\"'].*[}\]]\s*", re.DOTALL)  # a text that is not the name of something, but holds some
_LONGEST_NAME = 400
_DEEPEST = 200
_LABEL_DEEPEST = 4  # objects around a name that hold nothing else
_FARTHEST = 8  # objects around a header within which its rows are looked for
_ROWS_DEEPEST = 16  # objects and lists around its rows, in those
_HEADER_ROWS = 10  # rows or lines among which a header is looked for
_MOST_WORDS = 4  # of a heading: a longer text is a sentence
_ASKS = re.compile(r"[:=]\s*$")  # ends so: its value follows
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
    # The members and elements that some reading of the data takes for private, by the id of what they stand in.
    taken: dict[int, set[str | int]] = field(default_factory=dict)

    def run(self, value: Any) -> Any:
        """Return the value with what was found replaced: the same object where there is nothing."""
        self._look(value, 0, _OpenHeaders())
        return self._replaced(value, ()) if self.taken else value

    def _replaced(self, value: Any, place: Place) -> Any:
        if type(value) not in (dict, list) or len(place) > 2 * _DEEPEST:
            return value
        taken = self.taken.get(id(value), ())
        items = value.items() if type(value) is dict else enumerate(value)
        new = {
            key: self.replace(item, (*place, key)) if key in taken else self._replaced(item, (*place, key))
            for key, item in items
        }
        if type(value) is list:
            return or_unchanged(value, list(new.values()))
        return or_unchanged(value, {key: item for key, item in new.items() if item is not GONE})

    def _take(self, value: Any, keys: Iterable[str | int]) -> None:
        self.taken.setdefault(id(value), set()).update(keys)

    def _take_all(self, value: Any, at: str | int) -> None:
        """Take a member or an element: the members of an object, or the whole."""
        item = value[at]
        self._take(*((item, item) if type(item) is dict else (value, (at,))))

    def _look(self, value: Any, depth: int, around: _OpenHeaders) -> None:
        """Look into a value; `around` receives the headers in it that have no rows yet."""
        if depth > _DEEPEST:
            return
        if type(value) is dict:
            self._object(value, depth, around)
        elif type(value) is list:
            self._list(value, depth, around)

    def _object(self, value: dict[str, Any], depth: int, around: _OpenHeaders) -> None:
        labels = self._labels(value) or self._paths(value)
        if labels:
            self._take(value, (key for key, item in value.items() if key not in labels and not _describes(key, item)))
        headers = _OpenHeaders()
        for key, item in value.items():
            is_header = key not in labels and self._add_header(key, item, headers)
            if is_header:
                headers.lists[id(item)] = item
            if is_header and is_flat(item):
                self._pairs(item, in_turn=not _fits(_HEADING, key))
            else:
                self._look(item, depth + 1, _OpenHeaders() if key in labels else headers)
        self._positional(list(value.values()))
        if headers.columns:
            found = [self._below(item, headers, _ROWS_DEEPEST) for item in value.values()]
            for key in headers.keys & value.keys():
                self._take(value, (key,))
            if not any(found) and headers.heading and 0 in headers.far.values():
                # No row fits the header beside it: what may be rows goes.
                self._take(value, (key for key, item in value.items() if headers.may_have_rows(item)))
            headers.pass_on(around)

    def _labels(self, value: dict[str, Any]) -> set[str]:
        return {key for key, item in value.items() if self._is_label(item, key)}

    def _paths(self, value: dict[str, Any]) -> set[str]:
        """Return the keys of lists that end with a private name, in an object of scalars: they may be its path."""
        lists = {key for key, item in value.items() if type(item) in (dict, list)}
        return {key for key in lists if len(lists) == 1 < len(value) and self._is_path(value[key])}

    def _is_path(self, item: Any) -> bool:
        return is_flat(item) and bool(item) and self._is_name(item[-1])

    def _is_label(self, item: Any, key: str = "", depth: int = 0) -> bool:
        """Return whether a value is a private name, or holds nothing but one and what describes it."""
        if type(item) is str:
            return self._is_name(item) or (bool(key) and _fits(_NAMING, key) and self.is_sentence(item))
        if type(item) is list:
            if len(item) == 1 and not key and depth <= _LABEL_DEEPEST:
                return self._is_label(item[0], "", depth + 1)
            if is_flat(item):
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
        while type(item) is list and len(item) == 1 and type(item[0]) is list:
            item = item[0]
        names = _names_of_columns(item) if heading or _fits(_INDEX, key) else item
        heading = heading and not (is_flat(names) and any(type(one) is str and one.isdigit() for one in names))
        columns = self._columns(names) if type(names) is list else frozenset()
        if heading and type(names) is list:
            columns |= {at for at, cell in enumerate(names) if any(map(self.is_sentence, _texts(cell)))}
        if not columns:
            return False
        headers.add(len(names), columns)
        if heading and any(self._is_column(names[at]) or self._is_label(names[at], "name") for at in columns):
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
        return frozenset(at for at, cell in enumerate(cells) if any(map(self._is_heading, _texts(cell))))

    def _is_column(self, cell: Any) -> bool:
        return self._is_heading(cell) if type(cell) is str else self._is_label(cell)

    def _is_heading(self, text: str) -> bool:
        return self._is_name(text) or (len(text.split()) <= _MOST_WORDS and self.is_sentence(text))

    def _list(self, value: list[Any], depth: int, around: _OpenHeaders) -> None:
        self._pairs(value, in_turn=True)
        if is_flat(value):
            return
        self._positional(value)
        headers, header = _OpenHeaders(), -1
        rows = [self._cells(item) for item in value]
        entries = all(_is_name_like(cells[0]) for cells in rows if cells)  # each row may be a name and its values
        for at, (item, cells) in enumerate(zip(value, rows, strict=True)):
            labels = {one for one, cell in enumerate(cells) if (at < _HEADER_ROWS or not one) and self._is_column(cell)}
            is_header = header < 0 and at < len(value) - 1 and bool(labels and self._columns(cells))
            if not (labels and is_flat(item)):
                self._look(item, depth + 1, _OpenHeaders() if labels else headers)
            if not labels:
                continue
            self._pairs(cells, in_turn=not is_header)
            if is_header:
                header, headers.heading = at, True
                headers.add(len(cells), frozenset(labels))
                headers.keys |= set(map(str, labels))
            elif header >= 0 and headers.columns.get(len(rows[header]), frozenset()) & labels:  # no header, as it seems
                self._cut(rows[header], min(headers.columns[len(rows[header])]))
            has_number = any(type(cell) in (int, float) for cell in cells[min(labels) :])
            if not is_header or has_number or (0 in labels and (entries or at > 0)):
                self._cut(cells, min(labels))
            headers.lists |= {id(one): one for one in (item, cells)}
        if headers.heading:
            for item in value:
                self._below(item, headers, _ROWS_DEEPEST, nested=True)
            headers.pass_on(around)

    def _positional(self, rows: list[Any]) -> None:
        """Take the columns of rows that are objects by position, one of which holds the names of the columns."""
        objects = [row for row in rows if type(row) is dict and all(_fits(_POSITION, key) for key in row)]
        for header in objects[:_HEADER_ROWS]:
            if all(cell is None or _is_name_like(cell) for cell in header.values()):
                columns = {key for key, cell in header.items() if cell is not None and self._is_heading(cell)}
                for row in objects if columns else ():
                    self._take(row, columns & row.keys() if row is not header else ())

    def _cells(self, item: Any) -> list[Any]:
        """Return the cells of a row: a list, or an object that holds little but a list of cells and is no label."""
        if type(item) is list:
            return item
        if type(item) is not dict or len(item) > 2:
            return []
        nested = [member for member in item.values() if type(member) in (dict, list)]
        cells = nested[0] if len(nested) == 1 and type(nested[0]) is list else []
        return [] if any(map(_holds_more, cells)) or (cells and self._labels(item)) else cells

    def _cut(self, cells: list[Any], label: int) -> None:
        """Take the cells of a row behind a label."""
        self._take(cells, range(label + 1, len(cells)))

    def _pairs(self, value: list[Any], *, in_turn: bool) -> None:
        """Take what follows a label in a list; `in_turn` also where it may be a list of nothing but names."""
        are_names = all(map(_is_name_like, value))
        in_turn = in_turn and len(value) % 2 == 0
        behind = False  # a label
        nested = [type(item) in (dict, list) for item in value]
        is_mixed = not all(nested)
        for at, item in enumerate(value[:-1]):
            if nested[at] and is_mixed and self._is_path(item):
                self._take(value, range(at + 1, len(value)))
                break
            if nested[at]:
                behind = not behind and len(item) == 1 and self._is_label(item) and not _is_alike(item, value[at + 1])
            else:
                # A plain word may be the next of a list of names.
                asks = not (are_names and _is_word(value[at + 1])) or (in_turn and at % 2 == 0) or _ASKS.search(item)
                behind = bool(asks) and self._is_name(item)
            if behind:
                self._take_all(value, at + 1)
                if value[at + 1] == "" and not _is_name_like(item):  # a heading, and a blank line below it
                    self._take(value, range(at + 2, min(at + 3, len(value))))

    def _below(self, value: Any, headers: _OpenHeaders, depth: int, *, nested: bool = False) -> bool:
        """Take the cells of the private columns in every table below a value, and return whether there are any."""
        if id(value) in headers.lists or type(value) not in (dict, list) or not depth:
            return False
        if type(value) is dict:
            columns: Collection[str | int] = headers.keys & value.keys()
            items = value.values()
        else:
            columns, items = frozenset(), value
            if not any(type(item) is list for item in value):
                is_row = nested or not any(map(_holds_more, value))
                columns = headers.cells(value, nested=nested) if is_row else frozenset()
            elif len(value) in headers.columns and _may_be_columns(value, headers.columns):
                columns = headers.cells(value, nested=True)
            nested = True
        if columns:
            self._take(value, columns)
        found = [self._below(item, headers, depth - 1, nested=nested) for item in items]
        return bool(columns) or any(found)

    def _is_name(self, name: Any) -> bool:
        return type(name) is str and len(name) <= _LONGEST_NAME and not _DATA.fullmatch(name) and self.is_private(name)


def or_unchanged(value: Any, new: Any) -> Any:
    """Return the new container, or the old one where nothing in it changed."""
    if len(value) != len(new):
        return new
    pairs = zip(value.values(), new.values(), strict=True) if type(value) is dict else zip(value, new, strict=True)
    return value if all(one is other for one, other in pairs) else new


def _is_alike(label: Any, item: Any) -> bool:
    """Return whether what follows an object with a name alone has a name of its own."""
    return type(label) is type(item) is dict and all(_is_word(item.get(key)) for key in label)


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
        names = item.split(_delimiter(item) or None) if len(item) < 20 * _LONGEST_NAME else []
        return names if len(names) > 1 else item
    if type(item) is dict and item and all(type(one) is int for one in item.values()):
        return sorted(item, key=lambda key: int(item[key]))
    if type(item) is list and item and all(is_flat(one) and len(one) > 1 for one in item):  # names of several levels
        return [{str(level): name for level, name in enumerate(one)} for one in item]
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


def is_flat(value: Any) -> bool:
    """Return whether a value is a list of scalars."""
    return type(value) is list and not any(type(item) in (dict, list) for item in value)


def _holds_more(cell: Any) -> bool:
    return type(cell) is list or (type(cell) is dict and any(type(item) in (dict, list) for item in cell.values()))


def _texts(cell: Any) -> list[str]:
    """Return the texts by which a cell of a header may name its column."""
    cell = cell[0] if type(cell) is list and len(cell) == 1 else cell
    if type(cell) is not dict or len(cell) > _WIDEST:
        return [cell] if type(cell) is str else []
    return [one for key, one in cell.items() if type(one) is str and (len(cell) == 1 or not _fits(_ABOUT, key))]


@lru_cache(maxsize=4096)
def _fits(pattern: re.Pattern[str], key: Any) -> bool:
    return pattern.fullmatch(re.sub(r"[\W_]", "", str(key)).lower()) is not None
