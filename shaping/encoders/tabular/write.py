"""Write a table: what holds for all rows, the columns, then the rows, each with what belongs under it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from shaping.encoders.tabular.cells import line
from shaping.encoders.tabular.nodes import Constant, Given, Group, Items, Leaf, Lookup, Same, Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shaping.encoders.tabular.nodes import Node, Table

Steps: TypeAlias = "tuple[str, ...]"

EMPTY = "-"  # a row, or a header, without any cell; as a value it is always quoted
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def write(label: str, table: Table, indent: int) -> list[str]:
    """Return a whole table as lines; a row's element holds several where something stands under it."""
    return [*schema(label, table, indent), *rows(table, indent)]


def write_text(label: str, value: str, indent: int) -> str:
    """Return a string under its label: on the same line, or as it is on so many lines of its own."""
    pad = " " * indent
    if "\n" in value and (value.replace("\n", " ").isprintable() or not _CONTROL.search(value)):
        return f"{pad}{label}, {value.count(chr(10)) + 1} lines:\n{value}"
    return f"{pad}{label}: {line(value)}"


def schema(label: str, table: Table, indent: int) -> list[str]:
    """Return the lines above the rows: label, what is the same in all rows, columns, tables inside."""
    pad = " " * indent
    fixed = ",".join(_fixed(table.nodes))
    lines = [f"{pad}{label}, all with {fixed}:" if fixed else f"{pad}{label}:"]
    lines.append(pad + (",".join(_header(table.nodes)) or EMPTY))
    for steps, node in _under(table.nodes):
        path = ".".join(steps)
        if type(node) is Items:
            lines += schema(f"{path}{{}}" if node.keyed else f"{path}[]", node.table, indent + 1)
        elif type(node) is Lookup:
            lines += write(f"{path}[{node.table.count}] by {node.key}", node.table, indent + 1)
        elif type(node) is Given:
            key = ".".join((*steps[:-1], node.key))
            lines.append(f"{pad} {key}[{len(node.cells)}] gives {path}:")
            lines += [f"{pad} {cell},{told}" for cell, told in node.cells.items()]
    return lines


def rows(table: Table, indent: int) -> list[str]:
    """Return one text a row, with what stands under it."""
    pad = " " * indent
    cells = list(_cells(table.nodes))
    if not cells:
        lines = [pad + EMPTY] * table.count
    elif all(cells[-1]):
        lines = list(map(",".join, zip(*cells, strict=True)))
        lines = [pad + row for row in lines] if pad else lines
    else:
        lines = [pad + (row.rstrip(",") or EMPTY) for row in map(",".join, zip(*cells, strict=True))]
    under = list(_under(table.nodes))
    lists = [(steps, node) for steps, node in under if type(node) is Items]
    for (_, items), label in zip(lists, shortest([steps for steps, _ in lists]), strict=True):
        lines = _with_items(lines, label, items, indent + 1)
    for steps, node in under:
        if type(node) is Text:
            lines = _with_text(lines, ".".join(steps), node, indent + 1)
    return lines


def _with_text(lines: list[str], label: str, node: Text, indent: int) -> list[str]:
    return [
        row if value is None else f"{row}\n{write_text(label, value, indent)}"
        for row, value in zip(lines, node.values, strict=True)
    ]


def shortest(paths: list[Steps]) -> list[str]:
    """Return for each path its shortest end that no other one has."""
    return [".".join(_end(path, paths)) for path in paths]


def _end(path: Steps, paths: list[Steps]) -> Steps:
    for size in range(1, len(path)):
        if sum(1 for other in paths if other[-size:] == path[-size:]) == 1:
            return path[-size:]
    return path


def _with_items(lines: list[str], label: str, node: Items, indent: int) -> list[str]:
    inner = rows(node.table, indent)
    pad = " " * indent
    out, start = [], 0
    for row, count in zip(lines, node.counts, strict=True):
        if count < 0:
            out.append(row)
            continue
        length = f"{{{count}}}" if node.keyed else f"[{count}]"
        out.append("\n".join([row, f"{pad}{label}{length}:", *inner[start : start + count]]))
        start += count
    return out


def _header(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes:
        if type(node) is Leaf:
            yield node.name
        elif type(node) is Group and (inner := list(_header(node.nodes))):
            yield _nested(node.name, inner)


def _fixed(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes:
        if type(node) is Constant:
            yield f"{node.name}={node.cell}"
        elif type(node) is Same:
            yield f"{node.name}=={node.source}"
        elif type(node) is Group and (inner := list(_fixed(node.nodes))):
            yield _nested(node.name, inner)


def _nested(name: str, inner: list[str]) -> str:
    return f"{name}.{inner[0]}" if len(inner) == 1 else f"{name}{{{','.join(inner)}}}"


def _cells(nodes: Sequence[Node]) -> Iterator[list[str]]:
    for node in nodes:
        if type(node) is Leaf:
            yield node.cells
        elif type(node) is Group:
            yield from _cells(node.nodes)


def _under(nodes: Sequence[Node], prefix: Steps = ()) -> Iterator[tuple[Steps, Node]]:
    """Return what does not stand in the row, each with its path from the row."""
    for node in nodes:
        if type(node) is Group:
            yield from _under(node.nodes, (*prefix, node.name))
        elif type(node) in {Items, Text, Lookup, Given}:
            yield (*prefix, node.name), node
