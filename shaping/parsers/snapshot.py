"""Accessibility snapshots: wrappers fold, pieces of a sentence join, and only what can be acted on keeps its id.

Playwright writes elements as `- role "name" [ref=e1]`, Chrome DevTools as `uid=1_1 role "name"`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orjson import JSONDecodeError, loads

if TYPE_CHECKING:
    from collections.abc import Iterator

_TREE = re.compile(r"^ *+- .*(?:\n *+- .*)*+", re.MULTILINE)
# An element with its name, its marks and its words, or words alone.
_LINE = re.compile(
    r'^( *+)- (?:(/?[A-Za-z][\w-]*+)(?: "([^"\\\n]*+(?:\\.[^"\\\n]*+)*+)")?((?: \[[^\]\n]*+\])*+)'
    r"(?::(?: (.*))?)?$|(.*))",
    re.MULTILINE,
)
_REF = re.compile(r" (\[(?:ref|uid|id)=[^\]]*\])")
_POINTER = " [cursor=pointer]"
_UNHEARD = " [aria-hidden]"  # of words that are no part of the name of what they stand in
_CHROME = re.compile(r"^ *uid=\S+ ", re.MULTILINE)
# Words by themselves, with a role or, since version 1, without.
_CHROME_WORDS = re.compile(r'(?P<start> *uid=\S+ (?:(?:StaticText|InlineTextBox) )?)"(?P<words>[^"\n]*)"')
_CHROME_BLANK = re.compile(r'^ *uid=\S+ (?:(?:LineBreak|StaticText|InlineTextBox) )?"[\s|»·•]*"(?:\n|\Z)', re.MULTILINE)
_CHROME_SITE = re.compile(r'^uid=\S+ RootWebArea\b.* url="(https?://[^/"]+)/', re.MULTILINE)
# The end of one and the beginning of the next, where they are no parts of one sentence.
_APART = re.compile(r".*(?:\w\n\w|[.!?:)]\n[A-Z]|.[.!?:]\n[a-z])")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INLINE = _set("text code emphasis strong mark subscript superscript insertion deletion time term definition")
_WRAPPERS = _set("generic none presentation group section")
_ACTED_ON = _set(
    "link button textbox searchbox checkbox radio combobox listbox option slider spinbutton switch tab menuitem"
    " menuitemcheckbox menuitemradio treeitem gridcell iframe"
)
_CELLS = _set("cell gridcell columnheader rowheader")
_NAMES = re.compile(r"\w+")
_CLOSING = (",", ".", ";", ":", ")", "]", "?", "!", "\u2019", "»")
_DEEPEST = 300  # spaces before a line; no page a person reads is nested deeper
_ENOUGH = 8  # nodes with an id from which a text is a tree and not a list that mentions one


@dataclass(slots=True)
class _SnapshotNode:
    role: str
    name: str
    marks: str
    text: str
    children: list[_SnapshotNode]


def is_tree(text: str) -> bool:
    """Whether a text is an outline of elements with ids."""
    if text.count("[ref=") + text.count("[uid=") >= _ENOUGH and text.count("- ") >= _ENOUGH:
        return True
    return text.count("uid=") >= _ENOUGH and len(_CHROME.findall(text)) >= _ENOUGH


def fold_tree(text: str, *, keep_ids: bool) -> str:
    """Return a tree with its wrappers folded; what is not part of a tree stays as it is."""
    if "uid=" in text and _CHROME.search(text):
        return _folded_chrome(text)
    return _TREE.sub(lambda found: _folded(found[0], keep_ids=keep_ids), text)


def _folded_chrome(text: str) -> str:
    """Return Chrome's tree with sentences whole, each with its first id, and links within the site without its name."""
    lines = text.split("\n")
    if site := _CHROME_SITE.search(text):
        start = f' url="{site[1]}/'
        lines = [line if "RootWebArea" in line else line.replace(start, ' url="/') for line in lines]
    return _CHROME_BLANK.sub("", "\n".join(_whole_sentences(lines)))


def _whole_sentences(lines: list[str]) -> Iterator[str]:
    """Join the words that Chrome writes piece by piece; blanks alone go."""
    start, pieces = "", [""]
    for line in lines:
        found = _CHROME_WORDS.fullmatch(line)
        if found and _indent(start) == _indent(line) and not _APART.fullmatch(f"{pieces[-1]}\n{found['words'][:1]}"):
            pieces.append(found["words"])
            continue
        if (words := "".join(pieces)).strip():
            yield f'{start}"{words}"'
        start, pieces = (found["start"], [found["words"]]) if found else ("", [""])
        if not found:
            yield line
    if (words := "".join(pieces)).strip():
        yield f'{start}"{words}"'


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line else -1


def _folded(tree: str, *, keep_ids: bool) -> str:
    if ("[ref=" not in tree and "[uid=" not in tree) or f"\n{' ' * _DEEPEST}" in tree:
        return tree
    lines: list[str] = []
    for run in _runs(_read(tree, keep_ids=keep_ids), keep_ids=keep_ids):
        _emit(run, 0, lines, keep_ids=keep_ids)
    return "\n".join(lines)


def _read(tree: str, *, keep_ids: bool) -> list[_SnapshotNode]:
    """Return the outermost elements of a tree; what stands in a wrapper stands in its place."""
    nodes: list[_SnapshotNode] = []
    # The elements around a line: their indentation, what is in them, and whether that keeps its ids.
    around = [(-1, nodes, keep_ids)]
    for blanks, role, name, marks, text, words in _LINE.findall(tree):
        if words[:1] == "'" and (end := words.rfind("'")) > 0:
            whole = words[1:end].replace("''", "'") + words[end + 1 :]
            _, role, name, marks, text, words = _LINE.findall(f"- {whole}")[0]  # noqa: PLW2901 (the line without quotes)
        indent = len(blanks)
        while around[-1][0] >= indent:
            around.pop()
        _, siblings, by_id = around[-1]
        # A wrapper is nothing by itself; with an id, words that stand alone in it are one piece.
        is_said = name or _POINTER in marks or "[active]" in marks or (by_id and text)
        if role in _WRAPPERS and not is_said:
            siblings += [_SnapshotNode("text", "", "", _unquoted(text), [])] if text else []
            around.append((indent, siblings, by_id))
            continue
        # That a link or a button can be pointed at goes without saying.
        marks = marks and marks.replace(_POINTER if role in _ACTED_ON else _UNHEARD, "")  # noqa: PLW2901 (the line's without it)
        node = _SnapshotNode(role or "text", name, marks, _unquoted(text) if text[:1] == '"' else text or words, [])
        siblings.append(node)
        around.append((indent, node.children, by_id and role != "link"))
    return nodes


def _unquoted(text: str) -> str:
    try:
        return str(loads(text)) if text[0] == text[-1] == '"' else text
    except JSONDecodeError:
        return text


def _emit(node: _SnapshotNode | str, depth: int, lines: list[str], *, keep_ids: bool) -> None:
    pad = " " * depth
    if isinstance(node, str):
        lines.append(f"{pad}- {node}")
        return
    cells = _row_of(node, keep_ids=keep_ids) if node.role == "row" else None
    if cells:
        lines.append(f"{pad}- row{_marks(node, keep_ids=keep_ids)}: {cells}")
        return
    head = f"{pad}- {node.role}"
    if node.name:
        head += f' "{node.name}"'
    head += _marks(node, keep_ids=keep_ids)
    runs = _runs(node.children, keep_ids=keep_ids) if node.children else []
    if node.text:
        runs.insert(0, node.text)
    if len(runs) == 1 and isinstance(runs[0], str):
        # What stands in a list is an item of it.
        lines.append(f"{pad}- {runs[0]}" if head.endswith("- listitem") else f"{head}: {runs[0]}")
        return
    lines.append(f"{head}:" if runs else head)
    for run in runs:
        _emit(run, depth + 1, lines, keep_ids=keep_ids)


def _row_of(row: _SnapshotNode, *, keep_ids: bool) -> str | None:
    """Return the cells of a row in one line, or None where one of them needs more, or the row has a name of its own."""
    cells = []
    for cell in row.children:
        inside: list[str] = [f"- {cell.text}"] if cell.text else []
        for run in _runs(cell.children, keep_ids=keep_ids):
            _emit(run, 0, inside, keep_ids=keep_ids)
        words = " ".join(line[2:] for line in inside) or cell.name
        if cell.role not in _CELLS or "|" in words or any(line[0] == " " for line in inside):
            return None
        if not _is_said(cell.name, words):
            return None
        cells.append(words + _marks(cell, keep_ids=keep_ids))
    line = " | ".join(cells)
    return line if _is_said(row.name, line) else None


def _is_said(name: str, words: str) -> bool:
    return set(_NAMES.findall(name)) <= set(_NAMES.findall(words))


def _runs(nodes: list[_SnapshotNode], *, keep_ids: bool) -> list[_SnapshotNode | str]:
    """Return what stands in an element: pieces of a sentence joined, everything else as it is."""
    runs: list[_SnapshotNode | str] = []
    sentence: list[str] = []
    for child in nodes:
        piece = _inline(child, keep_ids=keep_ids)
        if piece is not None:
            if piece:
                sentence.append(piece)
            continue
        if sentence:
            runs.append(_joined(sentence))
            sentence = []
        runs.append(child)
    if sentence:
        runs.append(_joined(sentence))
    return runs


def _inline(node: _SnapshotNode, *, keep_ids: bool) -> str | None:
    """Return a node as a piece of a sentence, or None where it is a block."""
    if node.role in _INLINE and not (node.marks and _marks(node, keep_ids=False)):
        said = _joined([node.name, node.text]) if node.name and node.text else node.name or node.text
        inner = _inner(said, node.children, keep_ids=keep_ids) if node.children else said
        if inner is None:
            return None
        text = f"`{inner}`" if node.role == "code" and inner else inner
        return text + (_ids(node) if keep_ids else "")
    return _link(node) if node.role == "link" else None


def _link(node: _SnapshotNode) -> str | None:
    address = "".join([child.text for child in node.children if child.role == "/url"])
    inside = [child for child in node.children if child.role != "/url"]
    shown = _inner(node.text, inside, keep_ids=False)
    if shown is None or any(child.role in _ACTED_ON for child in inside):
        return None
    said = shown if node.name in shown else node.name if shown in node.name else f"{node.name}: {shown}"
    return f"[{said}]({address}){_ids(node)}" if address else f"[{said}]{_ids(node)}"


def _inner(text: str, nodes: list[_SnapshotNode], *, keep_ids: bool) -> str | None:
    """Return the words of an element and of what stands in it, or None where that is no sentence."""
    pieces = [text] if text else []
    for child in nodes:
        piece = _inline(child, keep_ids=keep_ids)
        if piece is None:
            return None
        pieces += [piece] if piece else []
    return _joined(pieces)


def _joined(pieces: list[str]) -> str:
    """Join the pieces of a sentence by spaces, but not before what closes one."""
    if len(pieces) < 2:
        return pieces[0] if pieces else ""
    out = ""
    for piece in pieces:
        glue = "" if not out or piece.startswith(_CLOSING) or out.endswith(("(", "[", "“")) else " "
        out += glue + piece
    return out


def _marks(node: _SnapshotNode, *, keep_ids: bool) -> str:
    if keep_ids or not node.marks or node.role in _ACTED_ON or _POINTER in node.marks:
        return node.marks
    return _REF.sub("", node.marks) if node.marks.count("[") > 1 or "[ref=" not in node.marks else ""


def _ids(node: _SnapshotNode) -> str:
    return "".join(_REF.findall(node.marks))
