"""Constructs of a JavaScript payload that reach outside of it, found in its syntax tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shaping.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tree_sitter import Node


NAMES = frozenset(
    {"eval", "Function", "require", "importScripts", "Deno", "Bun", "Reflect", "execScript", "WebAssembly", "Worker"}
    | {"SharedWorker", "atob", "unescape"}
)
GLOBALS = frozenset({"globalThis", "window", "global"})
WINDOWS = GLOBALS | {"self", "top", "parent", "frames", "defaultView", "contentWindow"}
# What a snippet may ask of `process`; everything else there ends it, changes it, or loads native code.
PROCESS_FACTS = frozenset(
    {"platform", "version", "versions", "arch", "uptime", "memoryUsage", "cpuUsage", "pid", "title", "hrtime"}
    | {"release", "type"}
)
PROPERTIES = frozenset(
    {"constructor", "__proto__", "eval", "Function", "require", "mainModule", "binding", "_linkedBinding", "dlopen"}
    | {"_load", "getBuiltinModule", "child_process", "execSync", "execFile", "execFileSync", "spawnSync"}
    | {"importScripts"}
    | {"callee", "caller", "fromCharCode", "fromCodePoint", "__defineGetter__", "__defineSetter__", "__lookupGetter__"}
    | {"__lookupSetter__", "getOwnPropertyDescriptor", "getOwnPropertyDescriptors", "prepareStackTrace"}
)
SECRET_WORDS = frozenset({"constructor", "__proto__", "child_process", "mainModule"})
TIMERS = frozenset({"setTimeout", "setInterval", "setImmediate"})
FUNCTIONS = frozenset({"function_expression", "arrow_function", "generator_function", "class", "function"})
STATEMENTS = {
    "import": "dynamic import",
    "import_statement": "import",
    "meta_property": "import.meta",
    "with_statement": "with",
}


def find_construct(code: str) -> str | None:
    """Name the first construct that a payload must not have, or None; text that is not JavaScript is `unparsable`."""
    root = _parse(code)
    if root.has_error:
        return "unparsable"
    try:
        known = _constants(root)
        return next((found for node in _walk(root) if (found := _judge(node, known))), None)
    except TooNestedError:
        return "deeply nested expression"


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


def _walk(root: Node) -> Iterator[Node]:
    """Yield every node in the order of the text, without recursion."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _constants(root: Node) -> dict[str, str]:
    """Return the variables that hold constant text, as far as reading from top to bottom tells."""
    known: dict[str, str] = {}
    for node in _walk(root):
        if node.type == "variable_declarator":
            name, value = node.child_by_field_name("name"), fold(node.child_by_field_name("value"), known)
        elif node.type in {"assignment_expression", "augmented_assignment_expression"}:
            name, value = node.child_by_field_name("left"), fold(node.child_by_field_name("right"), known)
        else:
            continue
        if name is not None and name.type == "identifier" and value is not None:
            before = known.get(source(name), "") if node.type.startswith("augmented") else ""
            known[source(name)] = before + value
    return known


def _judge(node: Node, known: Mapping[str, str]) -> str | None:
    if node.type in STATEMENTS and node.is_named:
        return STATEMENTS[node.type]
    match node.type:
        case "identifier" | "shorthand_property_identifier":
            return _judge_name(node)
        case "property_identifier" | "shorthand_property_identifier_pattern":
            return _judge_property(source(node), node)
        case "subscript_expression":
            return _judge_subscript(node, known)
        case "computed_property_name":
            return _judge_key(fold(node.named_children[0], known))
        case "call_expression":
            return _judge_call(node, known)
        case "string" | "template_string" | "binary_expression" | "augmented_assignment_expression":
            return _judge_text(node, known)
        case _:
            return None


def _judge_name(node: Node) -> str | None:
    name = source(node)
    if "\\" in name:
        return "escaped identifier"
    if name in NAMES:
        return name
    if name == "process":
        return None if _member_read(node) in PROCESS_FACTS else "process"
    if name in GLOBALS and not _is_owner(node) and not _is_compared(node):
        return f"alias of {name}"
    return None


def _member_read(node: Node) -> str | None:
    """Return the property that is read from this very node, where it is written out."""
    parent = node.parent
    if parent is None or parent.type != "member_expression" or not _is_owner(node):
        return None
    return source(parent.child_by_field_name("property"))


def _is_owner(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.child_by_field_name("object") == node


def _is_compared(node: Node) -> bool:
    return node.parent is not None and node.parent.type in {"unary_expression", "binary_expression"}


def _judge_property(name: str, node: Node) -> str | None:
    if "\\" in name:
        return "escaped identifier"
    member = node.parent
    if name == "constructor" and member is not None and (member.type == "method_definition" or _is_only_named(member)):
        return None
    if name == "process" and member is not None:
        return None if _is_harmless_process(member) else "process"
    return _judge_key(name)


def _is_harmless_process(member: Node) -> bool:
    """Whether `x.process` is a method of something else that is called, or is asked for a fact."""
    owner = source(member.child_by_field_name("object")).partition("[")[0].rsplit(".", 1)[-1].strip("?() ")
    called = member.parent is not None and member.parent.child_by_field_name("function") == member
    return _member_read(member) in PROCESS_FACTS or (called and owner not in WINDOWS | {"this"})


def _is_only_named(member: Node) -> bool:
    """Whether `x.constructor` is asked for its name and nothing else."""
    return _member_read(member) == "name"


def _judge_key(name: str | None) -> str | None:
    return f"property {name}" if name in PROPERTIES else None


def _judge_subscript(node: Node, known: Mapping[str, str]) -> str | None:
    owner, index = node.child_by_field_name("object"), node.child_by_field_name("index")
    name = fold(index, known)
    bare = source(owner).strip("() ")
    if name is None:
        return _judge_dynamic(owner, index, bare)
    if bare.rsplit(".", 1)[-1] in WINDOWS | {"this"} and name in NAMES | {"process"}:
        return f"property {name}"
    return _judge_key(name)


def _judge_dynamic(owner: Node | None, index: Node | None, bare: str) -> str | None:
    """Judge an index that is only known when the code runs: harmless on data, not on what holds every name."""
    if bare in WINDOWS or (bare == "this" and not _inside(owner, "class_body")):
        return "computed member of a global object"
    if any(child.type in FUNCTIONS for child in _unwrapped(owner)):
        return "computed member of a function"
    if any(child.type in {"string", "template_string", "array"} for child in _receivers(index)):
        return "computed name"
    return None


def _inside(node: Node | None, kind: str) -> bool:
    while node is not None and node.type != kind:
        node = node.parent
    return node is not None


def _unwrapped(node: Node | None) -> list[Node]:
    while node is not None and node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[-1]
    return [node] if node is not None else []


def _receivers(index: Node | None) -> Iterator[Node]:
    """Yield the literals on which an index expression calls methods, as in `'tixe'.split('')`."""
    for node in _walk(index) if index is not None else ():
        if node.type == "call_expression" and (function := node.child_by_field_name("function")) is not None:
            yield from _unwrapped(function.child_by_field_name("object"))


def _judge_call(node: Node, known: Mapping[str, str]) -> str | None:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return None
    if function.type == "subscript_expression" and fold(function.child_by_field_name("index"), known) is None:
        return "call of a computed member"
    called = function.child_by_field_name("property") if function.type == "member_expression" else function
    first = arguments.named_children[0] if arguments.named_children else None
    if source(called) in TIMERS and first is not None and _is_text(first, known):
        return f"text run by {source(called)}"
    return None


def _is_text(node: Node, known: Mapping[str, str]) -> bool:
    return node.type in {"string", "template_string", "binary_expression"} or fold(node, known) is not None


def _judge_text(node: Node, known: Mapping[str, str]) -> str | None:
    if node.type == "augmented_assignment_expression":
        text = known.get(source(node.child_by_field_name("left")))
    else:
        text = fold(node, known)
    return f"text {text}" if text in SECRET_WORDS else None


MAX_NESTING = 200
SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
NUMBERED_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\})")


class TooNestedError(Exception):
    """An expression so deep that what it says was not worked out."""


def source(node: Node | None) -> str:
    """Return the text of a node as it was written."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def fold(node: Node | None, known: Mapping[str, str], depth: int = 0) -> str | None:
    """Return the string that an expression is sure to have, or None; `known` holds variables set to constant text."""
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
