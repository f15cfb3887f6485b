"""Constructs of a JavaScript payload that reach outside of it, found in its syntax tree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from shaping.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tree_sitter import Node

_WORDS = orjson.loads(Path(__file__).with_name("guard.json").read_bytes())["javascript"]
NAMES, PROPERTIES, WINDOWS = (frozenset(_WORDS[kind]) for kind in ("names", "properties", "windows"))
# Texts that no ordinary snippet has: whatever is given one may look the member up.
BLOCKED_TEXTS = frozenset(_WORDS["texts"])
# What a snippet may ask of `process`; everything else there ends it, changes it, or loads native code.
PROCESS_FACTS = frozenset(_WORDS["process_facts"])
TIMERS = frozenset(_WORDS["timers"])
TEXTS = frozenset({"string", "template_string", "binary_expression"})
MAX_DEPTH = 300
NUMBERED_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\})")


def find_construct(code: str) -> str | None:
    """Name the first construct that a payload must not have, or None; text that is not JavaScript is `unparsable`."""
    root = _parse(code)
    if root.has_error:
        return "unparsable"
    if is_deeper(root, lambda node: node.children, MAX_DEPTH):
        return "deeply nested expression"
    return next((found for node in _walk(root) if (found := _judge(node))), None)


def _parse(code: str) -> Node:
    try:
        import tree_sitter_javascript  # noqa: PLC0415 (an extra)
        from tree_sitter import Language, Parser  # noqa: PLC0415 (an extra)
    except ImportError:
        raise ToolError(
            "DEPENDENCY_UNAVAILABLE",
            'checking JavaScript needs an extra: pip install "shaping[js]"; without it no JavaScript is evaluated',
        ) from None
    return Parser(Language(tree_sitter_javascript.language())).parse(code.encode("utf-8", "replace")).root_node


def _walk(root: Node | None) -> Iterator[Node]:
    """Yield every node in the order of the text, without recursion."""
    waiting = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def is_deeper(root: Any, children: Callable[[Any], Iterable[Any]], limit: int) -> bool:
    """Walk level by level and each node once, so that neither depth nor a cycle can exhaust the machine."""
    level = [root]
    for _ in range(limit):
        level = [*{id(child): child for node in level for child in children(node)}.values()]
        if not level:
            return False
    return True


def _source(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def _field(node: Node | None, name: str) -> Node | None:
    return node.child_by_field_name(name) if node is not None else None


def _text(node: Node | None) -> str:
    """Return the pieces of text in an expression, joined: what `'con' + 'structor'` says."""
    parts = (part for part in _walk(node) if part.type in {"string_fragment", "escape_sequence"})
    return "".join(unescape(_source(part)) if part.type == "escape_sequence" else _source(part) for part in parts)


def unescape(escape: str) -> str:
    r"""Read one escape sequence, such as `\x6f`; of any other than a numbered one, the character."""
    if numbered := NUMBERED_ESCAPE.fullmatch(escape):
        point = int(next(group for group in numbered.groups() if group), 16)
        return chr(point) if point <= 0x10FFFF else "\ufffd"
    return escape[1:]


def _judge(node: Node) -> str | None:
    match node.type:
        case "identifier" | "shorthand_property_identifier":
            return _judge_name(node)
        case "property_identifier" | "shorthand_property_identifier_pattern":
            return _judge_property(node)
        case "subscript_expression":
            return _judge_subscript(node)
        case "computed_property_name":
            return _judge_key(node.named_children[0])
        case "call_expression":
            return _judge_call(node)
        case "string" | "template_string" | "binary_expression":
            text = _text(node)
            return f"text {text}" if text in BLOCKED_TEXTS else None
        case statement:
            return _WORDS["statements"].get(statement) if node.is_named else None


def _judge_name(node: Node) -> str | None:
    name, parent = _source(node), node.parent
    if "\\" in name:
        return "escaped identifier"
    if name in NAMES:
        return name
    if name == "process":
        return None if _member_read(node) in PROCESS_FACTS else name
    compared = parent is not None and parent.type in {"unary_expression", "binary_expression"}
    if name in {"globalThis", "window", "global"} and not compared and _field(parent, "object") != node:
        return f"alias of {name}"
    return None


def _member_read(node: Node) -> str | None:
    """Return the property that is read from this very node, where it is written out."""
    parent = node.parent
    return _source(_field(parent, "property")) if parent and _field(parent, "object") == node else None


def _judge_property(node: Node) -> str | None:
    name, member = _source(node), node.parent
    if "\\" in name:
        return "escaped identifier"
    if name == "constructor" and member and (member.type == "method_definition" or _member_read(member) == "name"):
        return None
    if name == "process" and member:
        # A method of that name, as of a queue, is not the process.
        owner = _source(_field(member, "object")).partition("[")[0].rsplit(".", 1)[-1].strip("?() ")
        is_method = _field(member.parent, "function") == member and owner not in WINDOWS
        return None if is_method or _member_read(member) in PROCESS_FACTS else name
    return f"property {name}" if name in PROPERTIES else None


def _judge_subscript(node: Node) -> str | None:
    owner, index = _field(node, "object"), _field(node, "index")
    bare = _source(owner).strip("() ").rsplit(".", 1)[-1]
    if index is not None and index.type == "string":
        name = _text(index)
        refused = name in PROPERTIES or (bare in WINDOWS and name in NAMES | {"process"})
        return f"property {name}" if refused else None
    if bare in WINDOWS - {"this"}:  # methods of a class look members of `this` up
        return "computed member of a global object"
    if any(part.type in {"function_expression", "arrow_function", "class"} for part in _walk(owner)):
        return "computed member of a function"
    return _judge_key(index)


def _judge_key(key: Node | None) -> str | None:
    """Judge a name that is computed: harmless unless its text is part of a blocked name, or is made by a call."""
    text = _text(key)
    if text in PROPERTIES:
        return f"property {text}"
    calls = any(part.type == "call_expression" for part in _walk(key))
    return "computed name" if text and (calls or any(text in name for name in PROPERTIES)) else None


def _judge_call(node: Node) -> str | None:
    function, arguments = _field(node, "function"), _field(node, "arguments")
    if function is None or arguments is None:
        return None
    if function.type == "subscript_expression":
        is_known = all(part.type != "identifier" for part in _walk(_field(function, "index")))
        return None if is_known else "call of a computed member"
    called = _source(_field(function, "property") or function)
    first = arguments.named_children[0] if arguments.named_children else None
    return f"text run by {called}" if called in TIMERS and first is not None and first.type in TEXTS else None
