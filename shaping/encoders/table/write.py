"""Write a table: what holds for all rows, the columns, then the rows, each with what belongs under it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from shaping.encoders.table.cells import line
from shaping.encoders.table.layout import NO_COLUMNS
from shaping.encoders.table.model import Given, Items, Lookup, Text

if TYPE_CHECKING:
    from shaping.encoders.table.layout import Layout, Steps

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")


def write(label: str, layout: Layout, indent: int) -> list[str]:
    """Return a whole table as lines; an element holds several where something stands under a row."""
    return [*schema(label, layout, indent), *rows(layout, indent)]


def write_text(label: str, value: str, indent: int) -> str:
    """Return a string under its label: on the same line, or as it is on so many lines of its own."""
    pad = " " * indent
    if "\n" in value and (value.replace("\n", " ").isprintable() or not _CONTROL.search(value)):
        return f"{pad}{label}, {value.count(chr(10)) + 1} lines:\n{value}"
    return f"{pad}{label}: {line(value)}"


def schema(label: str, layout: Layout, indent: int) -> list[str]:
    """Return the lines above the rows: label, what is the same in all rows, columns, tables inside."""
    pad = " " * indent
    fixed = f", all with {','.join(layout.fixed)}" if layout.fixed else ""
    lines = [f"{pad}{label}{fixed}:", f"{pad}{','.join(layout.header) or NO_COLUMNS}"]
    for steps, node, inner in layout.under:
        path = ".".join(steps)
        if type(node) is Items and inner:
            lines += schema(f"{path}{{}}" if node.keyed else f"{path}[]", inner, indent + 1)
        elif type(node) is Lookup and inner:
            lines += write(f"{path}[{node.table.count}] by {node.key}", inner, indent + 1)
        elif type(node) is Given:
            key = ".".join((*steps[:-1], node.key))
            lines.append(f"{pad} {key}[{len(node.cells)}] gives {path}:")
            lines += [f"{pad} {cell},{told}" for cell, told in node.cells.items()]
    return lines


def rows(layout: Layout, indent: int) -> list[str]:
    """Return one text a row, with what stands under it."""
    lines = [" " * indent + row for row in layout.rows] if indent else layout.rows
    if layout.also:
        pad = " " * (indent + 1)
        lines = [f"{row}\n{pad}(also {told})" if told else row for row, told in zip(lines, layout.also, strict=True)]
    lists = [(steps, node, inner) for steps, node, inner in layout.under if type(node) is Items and inner]
    labels = shortest([steps for steps, _, _ in lists])
    for (_, items, inner), label in zip(lists, labels, strict=True):
        lines = _with_items(lines, label, items, rows(inner, indent + 1), indent + 1)
    for steps, node, _ in layout.under:
        if type(node) is Text:
            lines = _with_text(lines, ".".join(steps), node, indent + 1)
    return lines


def _with_text(lines: list[str], label: str, node: Text, indent: int) -> list[str]:
    tags = _tags(node)
    write = _write_json if node.as_json else write_text
    if not tags:
        return [
            row if value is None else f"{row}\n{write(label, value, indent)}"
            for row, value in zip(lines, node.values, strict=True)
        ]
    out, said = [], set[str]()
    for row, value in zip(lines, node.values, strict=True):
        if value is None:
            out.append(row)
            continue
        named = f"{label}={tags[value]}" if value in tags else label
        out.append(f"{row}\n{' ' * indent}{named}" if value in said else f"{row}\n{write(named, value, indent)}")
        said.update([value] if value in tags else [])
    return out


def _write_json(label: str, value: str, indent: int) -> str:
    return f"{' ' * indent}{label}: {value}"


def _tags(node: Text) -> dict[str, str]:
    """Give numbers to the texts that come back: each is said in the first of its rows, with its number."""
    present = [value for value in node.values if value is not None]
    if not node.repeats or len(known := dict.fromkeys(present)) == len(present):
        return {}
    counts = Counter(present)
    return {value: f"#{number}" for number, value in enumerate((value for value in known if counts[value] > 1), 1)}


def shortest(paths: list[Steps]) -> list[str]:
    """Return for each path its shortest end that no other one has."""
    return [".".join(_end(path, paths)) for path in paths]


def _end(path: Steps, paths: list[Steps]) -> Steps:
    for size in range(1, len(path)):
        if sum(1 for other in paths if other[-size:] == path[-size:]) == 1:
            return path[-size:]
    return path


def _with_items(lines: list[str], label: str, node: Items, inner: list[str], indent: int) -> list[str]:
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
