"""Our own text form: records as rows under one header, everything around them as an outline of names and values."""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import orjson

from shaping.encoders.table.cells import FORMS, KEY, MISSING, ONLY, VALUE, Members, name, opened, quoted
from shaping.encoders.table.derive import TableContext, siblings
from shaping.encoders.table.header import TableError, read_members, read_path
from shaping.encoders.table.infer import keyed, keyed_scalars, table
from shaping.encoders.table.parse import TableLines, read_table, read_text
from shaping.encoders.table.series import read_lists, read_series, write_lists, write_series
from shaping.encoders.table.write import write_table, write_text
from shaping.parsers.json import read_json
from shaping.response import ABSENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.response import Json


__all__ = ["VERSION", "decode", "encode", "holds_records"]

VERSION = 11  # of the format in docs/table-format.md; whatever changes a written text changes it


_NOTE = re.compile(rf"{ABSENT}: |\(")  # a line that is about the data: no name begins so
_MANY, _SHORTER = 16, 0.85  # scalars of an object, and the part of their JSON that two columns of them must stay below
_WIDE = 24  # columns of rows without names, or with empty cells
_HEADERS = frozenset({"columns", "headers", "header", "fields", "column_names", "columnnames", "names"})
_KINDS = ("type", "kind", "__typename", "resourceType", "object", "$type", "@type", "event", "event_type", "rtype")
_PARTS = re.compile(r"\[(\d+)\], written as (\d+) lists one after the other:")
_FEW, _FOR = 4, " for {"  # lists of names and values that are rows
_ENTRY_KEYS = frozenset({"key", "name", "k", "field", "header", "label"})
_ENTRY_VALUES = frozenset({"value", "v", "val"})
_LISTS = re.compile(r"\[(\d+)\] lists of \{")
_MAY_BE_JSON = re.compile(r"[{\[](?=.{40})", re.DOTALL)
_FORM = re.compile(rf", ({'|'.join(FORMS)}):(?: (.*))?")
_DERIVED = re.compile(r': \{([^"{}]+)\}(.*)')  # no JSON, nor any string that stands bare
_SCALARS = frozenset({str, int, float, bool, type(None)})
_DEEP = 24  # deeper nests are written as JSON


def encode(value: Json, *, repeats: bool = True, constants: bool = True, lossless: bool = True) -> str:
    """Return a value as an outline with tables; a value without records is compact JSON."""
    lines = _outline("", value, TableContext(repeats, constants, lossless), 0)
    return "\n".join(lines) if lines else quoted(value)


def decode(text: str) -> Json:
    """Return the value that a text stands for; notes above and below it are no part of the value."""
    try:
        value: Json = read_json(text)
    except orjson.JSONDecodeError:
        return _read(TableLines(text.split("\n")))
    return value


def _read(lines: TableLines) -> Json:
    while (lines.peek() or "").startswith("("):
        lines.take()
    try:
        value: Json = read_json(lines.peek() or "")
        lines.take()
    except orjson.JSONDecodeError:
        value = _read_lines(lines, 0)
    if any(not _NOTE.match(line) for line in lines.lines[lines.at :]):
        raise TableError(f"expected the end at line {lines.at + 1}, got {lines.peek()!r}")
    return value


def _outline(label: str, value: Json, context: TableContext, indent: int, names: Sequence[str] = ()) -> list[str]:
    """Return a value as lines, or nothing where it belongs on one line as JSON."""
    if indent > _DEEP:
        return []
    if type(value) is str:
        return _json_text(label, value, context, indent) if label and _MAY_BE_JSON.match(value) else []
    if type(value) is list:
        return _list(label, value, context, indent, names)
    if type(value) is dict and value:
        lists = write_lists(label, value, indent) if label else []
        keyed = _keyed(label, value, context, indent) or _keyed_scalars(label, value, context, indent)
        return lists or keyed or _object(label, value, context, indent)
    return []


def _list(label: str, value: list[Json], context: TableContext, indent: int, names: Sequence[str] = ()) -> list[str]:
    if len(value) == 1 and type(value[0]) is dict:
        return _object(f"{label}{ONLY}", value[0], context, indent)
    if len(value) < 2 or set(map(type, value)) != {dict}:
        found = write_series(value)
        if found:
            return [f"{' ' * indent}{label}{found}"]
        return _rows(label, value, context, indent, names) or write_lists(label, value, indent)
    rows: list[dict[str, Json]] = value  # type: ignore[assignment]
    if not (runs := _runs(rows) if context.repeats else []):
        return write_table(f"{label}[{len(rows)}]", table(rows, context), indent)
    in_parts, trial = context.trial(), context.trial()
    parts = [f"{' ' * indent}{label}[{len(rows)}], written as {len(runs)} lists one after the other:"]
    for run in runs:
        parts += _list("", run, in_parts, indent + 1) or [f"{' ' * (indent + 1)}{quoted(run)}"]
    whole = write_table(f"{label}[{len(rows)}]", table(rows, trial), indent)
    shorter = sum(map(len, parts)) < sum(map(len, whole))
    context.take(in_parts if shorter else trial)
    return parts if shorter else whole


def _runs(rows: list[dict[str, Json]]) -> list[list[Json]]:
    """Return records of several kinds, those of one kind after the other, as a list for each kind, or nothing."""
    if len(rows) < _MANY:
        return []
    kind = next((key for key in _KINDS if key in rows[0] and all(type(row.get(key)) is str for row in rows)), None)
    runs: list[list[Json]] = [list(same) for _, same in groupby(rows, key=itemgetter(kind))] if kind else []
    return runs if 2 < len(runs) <= len(rows) // 2 and Members(rows).are_ragged(rarely=0) else []


def _rows(label: str, value: list[Any], context: TableContext, indent: int, names: Sequence[str]) -> list[str]:
    """Return lists of one length, as databases and spreadsheets give rows, as a table, where that is shorter."""
    if len(value) < _FEW or set(map(type, value)) != {list} or len(sizes := set(map(len, value))) != 1:
        return []
    size = sizes.pop()
    kinds = {type(item) for row in value for item in row}
    if not 2 < size <= _WIDE or not context.repeats:
        return []
    of = ""
    if kinds == {dict}:
        if (entries := _entries(value)) is None:
            return []
        of, names, value = entries
    elif len(value) < _MANY or not kinds <= _SCALARS:
        return []
    elif len(names) != size:
        names = [str(number) for number in range(1, size + 1)]
    records: list[dict[str, Json]] = [dict(zip(names, row, strict=True)) for row in value]
    head = f"{label}[{len(value)}] lists of {of}{{{','.join(map(name, names))}}}"
    trial = context.trial()
    lines = write_table(head, table(records, trial), indent)
    plain = [] if of else write_lists(label, value, indent)
    if not of and sum(map(len, lines)) + len(lines) >= _SHORTER * (sum(map(len, plain)) + len(plain)):
        return []
    context.take(trial)
    return lines


def _entries(lists: list[list[dict[str, Any]]]) -> tuple[str, list[str], list[list[Any]]] | None:
    """Return lists of a name and a value that all have the same names as rows: the two members, the names, the rows."""
    first = lists[0]
    if len(first[0]) != 2 or {tuple(item) for each in lists for item in each} != {tuple(first[0])}:
        return None
    key, value = first[0]
    if key.lower() not in _ENTRY_KEYS or value.lower() not in _ENTRY_VALUES:
        return None
    names = [item[key] for item in first]
    if set(map(type, names)) != {str} or len(set(names)) < len(names):
        return None
    if any([item[key] for item in each] != names for each in lists):
        return None
    return f"{{{name(key)},{name(value)}}} for ", names, [[item[value] for item in each] for each in lists]


def _keyed(label: str, value: dict[str, Json], context: TableContext, indent: int) -> list[str]:
    """Return an object whose members are records of one shape as a table with their names as a column."""
    if not holds_records(value):
        return []
    return write_table(f"{label}{{{len(value)}}}", keyed(list(value), list(value.values()), context), indent)  # type: ignore[arg-type]  # records


def holds_records(value: dict[str, Json]) -> bool:
    """Return whether the members of an object are records of one shape, so that they may be rows of a table."""
    records = [record for record in value.values() if type(record) is dict and record]
    if len(records) < 4 or len(records) < len(value) or any(KEY in record or VALUE in record for record in records):
        return False
    common, every = set(records[0]).intersection(*records), set(records[0]).union(*records)
    # Records whose nulls were dropped have less in common; in a narrow table a few empty cells are easy to see.
    is_filled = common and len(every) <= _WIDE and 2 * sum(map(len, records)) >= len(every) * len(records)
    return bool(is_filled) or 2 * len(common) >= max(map(len, records))


def _keyed_scalars(label: str, value: dict[str, Json], context: TableContext, indent: int) -> list[str]:
    """Return an object of many scalars as a table of names and values, where that is much shorter."""
    if len(value) < _MANY or not set(map(type, value.values())) <= _SCALARS or not context.repeats:
        return []
    trial = context.trial()
    lines = write_table(f"{label}{{{len(value)}}}", keyed_scalars(value, trial), indent)
    if sum(map(len, lines)) + len(lines) >= _SHORTER * len(quoted(value)):
        return []
    context.take(trial)
    return lines


def _object(label: str, value: dict[str, Json], context: TableContext, indent: int) -> list[str]:
    inner = indent + bool(label)
    names = _column_names(value)
    derived = siblings(value) if context.repeats else {}
    outlined = {
        key: [f"{' ' * inner}{name(key)}: {derived[key]}"]
        if key in derived
        else _outline(name(key), member, context, inner, names)
        for key, member in value.items()
    }
    if not any(outlined.values()) and not any(map(_is_page, value.values())):
        return []
    lines = [f"{' ' * indent}{label}:"] if label else []
    for key, member in value.items():
        lines += outlined[key] or [_line(name(key), member, inner)]
    return lines


def _json_text(label: str, value: str, context: TableContext, indent: int) -> list[str]:
    """Return a string of JSON as what it holds, or nothing where no form says how it is written."""
    found = opened([value], exact=context.lossless)
    if found is None:
        return []
    form, (inner,) = found
    pad, trial = " " * indent, context.trial()
    # A table may give the members of records in another order, which is another string.
    if not context.lossless and (lines := _outline("", inner, trial, indent + 1)):
        context.take(trial)
        return [f"{pad}{label}, {form}:", *lines]
    return [f"{pad}{label}, {form}: {quoted(inner)}"]


def _column_names(value: dict[str, Json]) -> Sequence[str]:
    """Return the names of columns that stand beside rows without names."""
    for key, member in value.items():
        if key.lower() in _HEADERS and type(member) is list and set(map(type, member)) == {str}:
            return member if len(set(member)) == len(member) else ()  # type: ignore[return-value]
    return ()


def _line(label: str, value: Json, indent: int) -> str:
    if type(value) is str:
        return write_text(label, value, indent)
    return f"{' ' * indent}{label}: {quoted(value)}"


def _is_page(value: Json) -> bool:
    """Return whether a string is worth lines of its own."""
    return type(value) is str and value.count("\n") > 4


def _read_lines(lines: TableLines, indent: int) -> Json:
    first = lines.peek() or ""
    if first[indent:] == f"{ONLY}:":
        lines.take()
        return [_read_lines(lines, indent + 1)]
    if first.startswith(("[", "{"), indent):
        return _member(lines.take(indent), lines, indent)
    return _read_object(lines, indent)


def _read_object(lines: TableLines, indent: int) -> Json:
    value: dict[str, Json] = {}
    derived: dict[str, re.Match[str]] = {}
    while lines.is_inside(indent) and (indent or not _NOTE.match(lines.peek() or "")):
        label = lines.take(indent)
        (first, *only), at = read_path(label, 0)
        if found := _DERIVED.fullmatch(label, at):
            derived[str(first)] = found
        member = None if found else _member(label[at:], lines, indent)
        value[str(first)] = [member] if only else member
    for key, found in derived.items():
        source = value[found[1]]
        value[key] = f"{source}{found[2]}" if found[2] else source
    return value


def _read_part(lines: TableLines, indent: int) -> list[Json]:
    if (lines.peek() or "").startswith("[{", indent):
        part: list[Json] = read_json(lines.take(indent))
        return part
    return _read_lines(lines, indent)  # type: ignore[return-value]


def _member(rest: str, lines: TableLines, indent: int) -> Json:
    for found in (
        read_text(rest, lines, indent),
        read_series(rest),
        read_lists(rest, lambda: lines.take(indent)),
    ):
        if found is not MISSING:
            member: Json = found
            return member
    if rest == ":":
        return _read_lines(lines, indent + 1)
    if found := _FORM.fullmatch(rest):
        return FORMS[found[1]](read_json(found[2]) if found[2] else _read_lines(lines, indent + 1))
    if found := _PARTS.fullmatch(rest):
        parts = [_read_part(lines, indent + 1) for _ in range(int(found[2]))]
        return [record for part in parts for record in part]
    if found := _LISTS.match(rest):
        columns, end = _read_names(rest, found.end())
        entry = columns
        if rest.startswith(_FOR, end):
            columns, end = _read_names(rest, end + len(_FOR))
        records = read_table(f"[{found[1]}]{rest[end:]}", lines, indent)
        if entry is columns:
            return [[record[column] for column in columns] for record in records]
        key, value = entry
        return [[{key: column, value: record[column]} for column in columns] for record in records]
    records = read_table(rest, lines, indent)
    if rest.startswith("["):
        return records  # type: ignore[return-value]
    return {str(record.pop(KEY)): record.get(VALUE, record) for record in records}


def _read_names(text: str, at: int) -> tuple[list[str], int]:
    """Return the names up to a closing brace, and where that ends."""
    members, end = read_members(text, at)
    return [str(path[0]) for path in members.columns], end + 1
