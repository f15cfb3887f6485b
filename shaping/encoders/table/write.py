"""Write a table: what holds for all rows, what stands below them, the header, then the rows."""

from __future__ import annotations

from collections.abc import Sequence

from shaping.encoders.table.cells import BELOW, EMPTY, line
from shaping.encoders.table.header import ALL_WITH
from shaping.encoders.table.model import (
    REST,
    Also,
    Constant,
    Derived,
    Group,
    Items,
    Leaf,
    Legend,
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
# A header without any name: its rows are not written, because they say nothing.
NO_COLUMNS = "(the rows differ in nothing else)"
_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n\r"})


def write_table(label: str, table: Table, indent: int) -> list[str]:
    """Return a whole table as lines; an element holds several where something stands below a row."""
    pad, laid = " " * indent, _Layout(table, indent)
    return [f"{pad}{label}{laid.fixed}:", *laid.above, *laid.legends(), f"{pad}{laid.header}", *laid.rows()]


def write_text(label: str, value: str, indent: int) -> str:
    """Return a string after its label: on the same line, or on so many indented lines of its own."""
    pad = " " * indent
    if "\n" in value and not _has_controls(value):
        lines = value.split("\n")
        block = "\n".join([f"{pad} {each}" if each else "" for each in lines])
        return f"{pad}{label}, {len(lines)} lines:\n{block}"
    return f"{pad}{label}: {line(value)}"


def _has_controls(text: str) -> bool:
    """Return whether a text has characters that no line of its own could show, a return inside a line among them."""
    # Ten times as fast as a search for them, and most of what is written of a long text.
    whole = text.encode(errors="surrogatepass")
    return len(whole.translate(None, _CONTROLS)) < len(whole) or text.count("\r") > text.count("\r\n")


class _Layout:
    """The nodes of a table sorted by where they are written, in one walk; its rows begin after so many spaces."""

    def __init__(self, table: Table, indent: int) -> None:
        self._table, self._indent, self._pad = table, indent, " " * (indent + 1)
        self._cells: list[list[str]] = []  # column by column
        self._also: list[list[str]] = []  # the names and values of single rows that stand in brackets below them
        self._but: list[list[str]] = []
        self._below: list[list[str]] = []  # what else stands below the rows, a text a row or nothing
        self._tags: dict[str, str] = {}
        names, constants, _, declared = self._sort(table.nodes, "")
        self.header = ",".join(names) or NO_COLUMNS
        # What all rows have stands at the end of the line at hand, or on lines of its own where it is long.
        whole = ",".join(constants)
        self.fixed = f"{ALL_WITH}{whole}" if constants and len(whole) <= _LONG_LINE else ""
        self.above = [] if self.fixed or not constants else _in_lines(constants, f"{self._pad}{ALL_LINE}")
        if table.sections:
            self.above.append(f"{self._pad}{SECTIONS}")
        self.above += declared

    def legends(self) -> list[str]:
        """Return a line for each tag that stands in the rows and below them: all of them directly above the header."""
        return [f"{self._pad}{tag}={cell}" for tag, cell in self._tags.items()]

    def rows(self) -> list[str]:
        """Return one text a row, with what stands below it."""
        cells, count, pad = self._cells, self._table.count, self._pad[1:]
        below = [*self._noted(self._also, "also"), *self._noted(self._but, "but"), *self._below]
        if not cells and not below:
            return []
        lines = list(map(",".join, zip(*cells, strict=True))) if cells else [EMPTY] * count
        if cells and not all(cells[-1]):
            lines = [each.rstrip(",") or EMPTY for each in lines]
        if pad:
            lines = [pad + each for each in lines]
        if not below and not self._table.sections:
            return lines
        above = [said and f"{pad}{SECTION}{said}" for said in self._table.sections] or [""] * count
        return ["\n".join(filter(None, parts)) for parts in zip(above, lines, *below, strict=True)]

    def _noted(self, noted: list[list[str]], word: str) -> list[list[str]]:
        found = [texts for texts in noted if any(texts)]
        if not found:
            return []
        together = [",".join(filter(None, texts)) for texts in zip(*found, strict=True)]
        return [[text and f"{self._pad}({word} {text})" for text in together]]

    def _sort(self, nodes: Sequence[Node], prefix: str) -> tuple[list[str], list[str], list[str], list[str]]:
        """Return the names of columns, what all and what most rows have by name, and what is said before the header."""
        names: list[str] = []
        constants: list[str] = []
        usual: list[str] = []
        rounded: list[str] = []
        packed: list[str] = []
        declared: list[str] = []
        for node in nodes:
            if type(node) is Leaf:
                names.append(f"{node.name}={node.pattern}" if node.pattern else node.name)
                self._cells.append(node.cells)
                if node.float32:
                    rounded.append(prefix + node.name)
                elif node.shared:
                    begin = f"{self._pad}{prefix}{node.name}: {node.shared}, written {REST}"
                    declared.append(begin)
            elif type(node) is Constant:
                constants.append(f"{node.name}={node.cell}")
            elif type(node) is Group:
                also, but = len(self._also), len(self._but)
                said = self._sort(node.nodes, f"{prefix}{node.name}.")
                names += _nested(node.name, said[0])
                constants += _nested(node.name, said[1])
                usual += _nested(node.name, said[2])
                declared += said[3]
                self._also[also:] = [[text and f"{node.name}{{{text}}}" for text in each] for each in self._also[also:]]
                self._but[but:] = [[text and f"{node.name}.{text}" for text in each] for each in self._but[but:]]
            elif type(node) is Derived:
                declared.append(f"{self._pad}{prefix}{node.name}={node.template}")
            elif type(node) is Usual:
                usual.append(f"{node.name}={node.cell}")
                self._but.append([text and f"{node.name}={text}" for text in node.rows])
            elif type(node) is Also:
                self._also.append(node.rows)
            elif type(node) is Legend:
                self._tags |= node.cells
            elif type(node) is Packed:
                packed.append(f"{self._pad}({node.form}: {prefix}{node.name})")
            elif isinstance(node, (Text, Record, Items)):
                names.append(node.name)
                self._cells.append(node.cells)
                self._stand_below(node, prefix + node.name, declared)
        first = [f"{self._pad}(float32, shortest digits: {','.join(rounded)})"] if rounded else []
        first += packed
        if usual and not prefix:
            first.append(f"{self._pad}{USUALLY}{','.join(usual)}")
        return names, constants, usual, first + declared

    def _stand_below(self, node: Text | Record | Items, label: str, declared: list[str]) -> None:
        if isinstance(node, Text):
            texts = [_text(node, label, value, self._pad) if value is not None else "" for value in node.values]
            self._below.append(texts)
            return
        inner = _Layout(node.table, self._indent + 1)
        self._tags |= inner._tags
        if isinstance(node, Record):
            declared += self._declared(label, inner)
            rows = iter(inner.rows() or [f"{self._pad}{EMPTY}"] * node.table.count)
            at = len(self._pad)
            self._below.append([f"{self._pad}{label}: {next(rows)[at:]}" if one == BELOW else "" for one in node.cells])
            return
        declared += self._declared(f"{label}[]", inner)
        lines, at, found = inner.rows(), 0, []
        for count in node.counts:
            found.append("\n".join([f"{self._pad}{label}[{count}]:", *lines[at : at + count]]) if count else "")
            at += count
        self._below.append(found)

    def _declared(self, label: str, inner: _Layout) -> list[str]:
        """Return the line with the columns of a nested table, and those that belong to it."""
        return [f"{self._pad}{label}: {inner.header}{inner.fixed}", *inner.above]


def _nested(name: str, inner: list[str]) -> list[str]:
    if len(inner) < 2:
        return [f"{name}.{one}" for one in inner]
    return [f"{name}{{{','.join(inner)}}}"]


def _in_lines(constants: list[str], start: str) -> list[str]:
    lines: list[list[str]] = [[]]
    for constant in constants:
        if lines[-1] and len(",".join([*lines[-1], constant])) > _LONG_LINE:
            lines.append([])
        lines[-1].append(constant)
    return [f"{start}{','.join(line)}" for line in lines]


def _text(node: Text, label: str, value: str, pad: str) -> str:
    if node.as_series:
        return f"{pad}{label}{value}"
    named = f"{label}={node.tags[value]}" if value in node.tags else label
    return f"{pad}{named}: {value}" if node.as_json else write_text(named, value, len(pad))
