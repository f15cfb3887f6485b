"""Write a table: what holds for all rows, what stands below them, the header, then the rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shaping.encoders.table.arrange import columns_of
from shaping.encoders.table.cells import BELOW, EMPTY, line
from shaping.encoders.table.header import ALL_WITH
from shaping.encoders.table.model import (
    COLUMN,
    REST,
    Also,
    Constant,
    Derived,
    Group,
    Items,
    Leaf,
    Legend,
    Lookup,
    Node,
    Packed,
    Record,
    Table,
    Text,
    Usual,
)

USUALLY = "each row, unless (but …) follows it: "
ALL_LINE, _LONG_LINE = "all with ", 120  # characters of a line with what all rows have
SECTION, SECTIONS = "== ", "each == line holds for the rows after it, up to the next"
NO_COLUMNS = (
    "(the rows differ in nothing else)"  # a header without any name: its rows are not written, because they say nothing
)
_DECLARED = (Derived, Lookup, Items, Record)
_BELOW = (Text, Record, Items)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")


def write_table(label: str, table: Table, indent: int) -> list[str]:
    """Return a whole table as lines; an element holds several where something stands below a row."""
    pad = " " * indent
    fixed, more = _all_with(table, indent + 1)
    above = [*more, *_declared_above(table, indent + 1), *_legends(table, indent + 1)]
    return [f"{pad}{label}{fixed}:", *above, f"{pad}{header(table)}", *rows(table, indent)]


def write_text(label: str, value: str, indent: int) -> str:
    """Return a string after its label: on the same line, or on so many indented lines of its own."""
    pad = " " * indent
    if "\n" in value and (value.replace("\n", " ").isprintable() or not _CONTROL.search(value)):
        lines = value.split("\n")
        block = "\n".join([f"{pad} {each}" if each else "" for each in lines])
        return f"{pad}{label}, {len(lines)} lines:\n{block}"
    return f"{pad}{label}: {line(value)}"


def header(table: Table) -> str:
    """Return the names of the columns as they stand above the rows."""
    return ",".join(_names(table.nodes)) or NO_COLUMNS


def rows(table: Table, indent: int) -> list[str]:
    """Return one text a row, with what stands below it."""
    cells = columns_of(table.nodes)
    below = list(_below(table.nodes, (), indent + 1))
    if not cells and not below:
        return []
    lines = list(map(",".join, zip(*cells, strict=True))) if cells else [EMPTY] * table.count
    if cells and not all(cells[-1]):
        lines = [each.rstrip(",") or EMPTY for each in lines]
    if indent:
        pad = " " * indent
        lines = [pad + each for each in lines]
    pad = " " * indent
    above = [line and f"{pad}{SECTION}{line}" for line in table.sections] or [""] * table.count
    if not below and not table.sections:
        return lines
    return ["\n".join(filter(None, parts)) for parts in zip(above, lines, *below, strict=True)]


def _names(nodes: Sequence[Node]) -> list[str]:
    found: list[str] = []
    for node in nodes:
        if type(node) is Leaf and node.pattern:
            found.append(f"{node.name}={node.pattern}")
        elif isinstance(node, COLUMN):
            found.append(node.name)
        elif type(node) is Group:
            found += _nested(node.name, _names(node.nodes))
    return found


def _values(nodes: Sequence[Node], kind: type[Constant | Usual]) -> list[str]:
    """Write what all rows have (`Constant`) or what most of them have (`Usual`), by name."""
    found: list[str] = []
    for node in nodes:
        if type(node) is kind:
            found.append(f"{node.name}={node.cell}")
        elif type(node) is Group:
            found += _nested(node.name, _values(node.nodes, kind))
    return found


def _nested(name: str, inner: list[str]) -> list[str]:
    if len(inner) < 2:
        return [f"{name}.{one}" for one in inner]
    return [f"{name}{{{','.join(inner)}}}"]


def _declared_above(table: Table, indent: int) -> list[str]:
    said = [f"{' ' * indent}{SECTIONS}"] if table.sections else []
    return said + _declarations(table.nodes, indent)


def _declarations(nodes: Sequence[Node], indent: int, prefix: str = "") -> list[str]:
    """Return a line for everything that a reader must know before the header."""
    lines: list[str] = []
    pad = " " * indent
    rounded = [prefix + node.name for node in nodes if type(node) is Leaf and node.float32]
    if rounded:
        lines.append(f"{pad}(float32, shortest digits: {','.join(rounded)})")
    lines += [f"{pad}({node.form}: {prefix}{node.name})" for node in nodes if type(node) is Packed]
    if not prefix and (usually := _values(nodes, Usual)):
        lines.append(f"{pad}{USUALLY}{','.join(usually)}")
    for node in nodes:
        if type(node) is Group:
            lines += _declarations(node.nodes, indent, f"{prefix}{node.name}.")
        elif type(node) is Leaf and node.shared:
            lines.append(f"{pad}{prefix}{node.name}: all begin with {node.shared}, written {REST}")
        elif isinstance(node, _DECLARED):
            lines += _declared(node, f"{prefix}{node.name}", indent)
    return lines


def _declared(node: Node, path: str, indent: int) -> Iterator[str]:
    pad = " " * indent
    if type(node) is Derived:
        yield f"{pad}{path}={node.template}"
    elif type(node) is Lookup:
        yield from _inner(f"{path}[{node.table.count}] by {node.key}", node.table, indent, indent + 2)
        yield from _legends(node.table, indent + 2)
        yield from rows(node.table, indent + 1)
    elif type(node) is Items:
        yield from _inner(f"{path}{{}}" if node.keyed else f"{path}[]", node.table, indent, indent + 1)
    elif type(node) is Record:
        yield from _inner(path, node.table, indent, indent + 1)


def _inner(label: str, table: Table, indent: int, inner: int) -> Iterator[str]:
    """Return the line with the columns of a nested table, and those that belong to it."""
    fixed, more = _all_with(table, inner)
    yield f"{' ' * indent}{label}: {header(table)}{fixed}"
    yield from more
    yield from _declared_above(table, inner)


def _all_with(table: Table, indent: int) -> tuple[str, list[str]]:
    """Return what all rows have, for the end of the line at hand, or on lines of their own where it is long."""
    constants = _values(table.nodes, Constant)
    if not constants:
        return "", []
    whole = ",".join(constants)
    if len(whole) <= _LONG_LINE:
        return f"{ALL_WITH}{whole}", []
    lines: list[list[str]] = [[]]
    for constant in constants:
        if lines[-1] and len(",".join([*lines[-1], constant])) > _LONG_LINE:
            lines.append([])
        lines[-1].append(constant)
    return "", [f"{' ' * indent}{ALL_LINE}{','.join(line)}" for line in lines]


def _legends(table: Table, indent: int) -> list[str]:
    """Return a line for each tag that stands in the rows and below them: all of them directly above the header."""
    pad = " " * indent
    return [f"{pad}{tag}={cell}" for legend in _tags(table.nodes) for tag, cell in legend.cells.items()]


def _tags(nodes: Sequence[Node]) -> Iterator[Legend]:
    for node in nodes:
        if type(node) is Legend:
            yield node
        elif type(node) is Group:
            yield from _tags(node.nodes)
        elif isinstance(node, Items | Record):
            yield from _tags(node.table.nodes)


def _below(nodes: Sequence[Node], path: tuple[str, ...], indent: int) -> Iterator[list[str]]:
    """Return what stands below the rows, a text a row or nothing."""
    pad = " " * indent
    if not path:
        for kind, word in ((Also, "also"), (Usual, "but")):
            noted = [texts for texts in _noted(nodes, kind) if any(texts)]
            together = [",".join(filter(None, texts)) for texts in zip(*noted, strict=True)]
            if noted:
                yield [text and f"{pad}({word} {text})" for text in together]
    for node in nodes:
        if type(node) is Group:
            yield from _below(node.nodes, (*path, node.name), indent)
        elif isinstance(node, _BELOW):
            yield _written_below(node, ".".join((*path, node.name)), indent)


def _noted(nodes: Sequence[Node], kind: type[Also | Usual]) -> list[list[str]]:
    """Return the names and values of single rows that stand in brackets below them."""
    found: list[list[str]] = []
    for node in nodes:
        if type(node) is Also and kind is Also:
            found.append(node.rows)
        elif type(node) is Usual and kind is Usual:
            found.append([text and f"{node.name}={text}" for text in node.rows])
        elif type(node) is Group:
            inner = _noted(node.nodes, kind)
            form = f"{node.name}.{{}}" if kind is Usual else f"{node.name}{{{{{{}}}}}}"
            found += [[text and form.format(text) for text in texts] for texts in inner]
    return found


def _written_below(node: Text | Record | Items, label: str, indent: int) -> list[str]:
    if isinstance(node, Text):
        return [_text(node, label, value, indent) if value is not None else "" for value in node.values]
    if isinstance(node, Record):
        return _records(node, label, indent)
    pad, lines, at, found = " " * indent, rows(node.table, indent), 0, []
    for count in node.counts:
        length = f"{{{count}}}" if node.keyed else f"[{count}]"
        found.append("\n".join([f"{pad}{label}{length}:", *lines[at : at + count]]) if count else "")
        at += count
    return found


def _records(node: Record, label: str, indent: int) -> list[str]:
    pad = " " * indent
    lines = iter(rows(node.table, indent) or [f"{pad}{EMPTY}"] * node.table.count)
    return [f"{pad}{label}: {next(lines)[indent:]}" if cell == BELOW else "" for cell in node.cells]


def _text(node: Text, label: str, value: str, indent: int) -> str:
    if node.as_series:
        return f"{' ' * indent}{label}{value}"
    named = f"{label}={node.tags[value]}" if value in node.tags else label
    return f"{' ' * indent}{named}: {value}" if node.as_json else write_text(named, value, indent)
