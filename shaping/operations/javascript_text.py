"""What a JavaScript expression says when it is constant: the text it is put together to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tree_sitter import Node

MAX_NESTING = 200
SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
NUMBERED_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\})")


class TooNestedError(Exception):
    """An expression so deep that what it says was not worked out."""


def source(node: Node | None) -> str:
    """Give the text of a node as it was written."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def fold(node: Node | None, known: Mapping[str, str], depth: int = 0) -> str | None:
    """Give the string that an expression is sure to have, or None; `known` holds variables set to constant text."""
    if node is None:
        return None
    if depth > MAX_NESTING:
        raise TooNestedError
    match node.type:
        case "string" | "template_string":
            return _joined((_piece(child, known, depth) for child in node.named_children), "")
        case "identifier":
            return known.get(source(node))
        case "number":
            return source(node)
        case "parenthesized_expression":
            return fold(node.named_children[-1] if node.named_children else None, known, depth + 1)
        case "sequence_expression":
            return fold(node.named_children[-1], known, depth + 1)
        case "binary_expression" if source(node.child_by_field_name("operator")) == "+":
            sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
            return _joined((fold(side, known, depth + 1) for side in sides), "")
        case "call_expression":
            return _fold_call(node, known, depth)
        case _:
            return None


def _piece(node: Node, known: Mapping[str, str], depth: int) -> str | None:
    match node.type:
        case "escape_sequence":
            return unescape(source(node))
        case "template_substitution":
            return fold(node.named_children[0] if node.named_children else None, known, depth + 1)
        case _:
            return source(node)


def unescape(escape: str) -> str:
    r"""Read one escape sequence, such as `\x6f`."""
    if numbered := NUMBERED_ESCAPE.fullmatch(escape):
        point = int(next(group for group in numbered.groups() if group), 16)
        return chr(point) if point <= 0x10FFFF else "\ufffd"
    return SIMPLE_ESCAPES.get(escape[1:], escape[1:])


def _fold_call(node: Node, known: Mapping[str, str], depth: int) -> str | None:
    """Read `['a','b'].join('')` and `'a'.concat('b')`, the two usual ways to hide a name."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or function.type != "member_expression":
        return None
    owner, method = function.child_by_field_name("object"), source(function.child_by_field_name("property"))
    given = [fold(argument, known, depth + 1) for argument in arguments.named_children]
    if method == "join" and owner is not None and owner.type == "array":
        separator = given[0] if given else ","
        parts = (fold(element, known, depth + 1) for element in owner.named_children)
        return None if separator is None else _joined(parts, separator)
    if method == "concat":
        return _joined([fold(owner, known, depth + 1), *given], "")
    return None


def _joined(parts: Iterable[str | None], separator: str) -> str | None:
    known = list(parts)
    return None if any(part is None for part in known) else separator.join(part for part in known if part is not None)
