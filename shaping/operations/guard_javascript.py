"""Constructs of a JavaScript payload that reach outside of it, found in its syntax tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shaping.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

NAMES = frozenset(
    {"eval", "Function", "require", "importScripts", "Deno", "Bun", "Reflect", "execScript", "WebAssembly", "Worker"}
    | {"SharedWorker", "atob", "unescape"}
)
PROPERTIES = frozenset(
    {"constructor", "__proto__", "eval", "Function", "require", "mainModule", "binding", "_linkedBinding", "dlopen"}
    | {"_load", "getBuiltinModule", "child_process", "execSync", "execFile", "execFileSync", "spawnSync"}
    | {"importScripts", "callee", "caller", "fromCharCode", "fromCodePoint", "prepareStackTrace"}
    | {"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"}
    | {"getOwnPropertyDescriptor", "getOwnPropertyDescriptors"}
)
# Texts that no ordinary snippet has: whatever is given one may look the member up.
BLOCKED_TEXTS = frozenset({"constructor", "__proto__", "child_process", "mainModule"})
GLOBALS = frozenset({"globalThis", "window", "global"})
WINDOWS = GLOBALS | {"self", "top", "parent", "frames", "defaultView", "contentWindow", "this"}
# What a snippet may ask of `process`; everything else there ends it, changes it, or loads native code.
PROCESS_FACTS = frozenset(
    {"platform", "version", "versions", "arch", "uptime", "memoryUsage", "cpuUsage", "pid", "title", "hrtime"}
    | {"release", "type"}
)
TIMERS = frozenset({"setTimeout", "setInterval", "setImmediate"})
TEXT_TYPES = frozenset({"string", "template_string"})
STATEMENTS = {
    "import": "dynamic import",
    "import_statement": "import",
    "meta_property": "import.meta",
    "with_statement": "with",
}
MAX_DEPTH = 300
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
NUMBERED_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\})")


def find_construct(code: str) -> str | None:
    """Name the first construct that a payload must not have, or None; text that is not JavaScript is `unparsable`."""
    root = _parse(code)
    if root.has_error:
        return "unparsable"
    if _is_too_deep(root):
        return "deeply nested expression"
    texts = _texts_by_variable(root)
    return next((found for node in _walk(root) if (found := _judge(node, texts))), None)


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


def _is_too_deep(root: Node) -> bool:
    level = [root]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in node.children]
        if not level:
            return False
    return True


def _source(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def _field(node: Node | None, *names: str) -> Node | None:
    """Return the first of the named fields that a node has."""
    return next((found for name in names if node is not None and (found := node.child_by_field_name(name))), None)


def _texts_by_variable(root: Node) -> dict[str, dict[str, None]]:
    """Return, for each variable that is assigned text, the pieces of it that are part of a blocked name."""
    texts: dict[str, dict[str, None]] = {}
    for node in _walk(root):
        if node.type in {"variable_declarator", "assignment_expression", "augmented_assignment_expression"}:
            name, value = _field(node, "name", "left"), _field(node, "value", "right")
            if pieces := _pieces(value, {}):
                texts.setdefault(_source(name), {}).update(dict.fromkeys(filter(_is_blocked, pieces)))
    return texts


def _pieces(node: Node | None, texts: Mapping[str, Mapping[str, None]]) -> list[str]:
    """List the pieces of text in an expression and in its variables, in order."""
    found: list[str] = []
    for part in _walk(node):
        if part.type == "string_fragment":
            found.append(_source(part))
        elif part.type == "escape_sequence":
            found.append(unescape(_source(part)))
        elif part.type == "identifier":
            found += texts.get(_source(part), ())
    return found


def _is_blocked(piece: str) -> bool:
    """Return whether a piece of text is part of a blocked name."""
    return any(piece in name for name in PROPERTIES)


def unescape(escape: str) -> str:
    r"""Read one escape sequence, such as `\x6f`."""
    if numbered := NUMBERED_ESCAPE.fullmatch(escape):
        point = int(next(group for group in numbered.groups() if group), 16)
        return chr(point) if point <= 0x10FFFF else "\ufffd"
    return ESCAPES.get(escape[1:], escape[1:])


def _judge(node: Node, texts: Mapping[str, Mapping[str, None]]) -> str | None:
    match node.type:
        case "identifier" | "shorthand_property_identifier":
            return _judge_name(node)
        case "property_identifier" | "shorthand_property_identifier_pattern":
            return _judge_property(node)
        case "subscript_expression":
            return _judge_subscript(node, texts)
        case "computed_property_name":
            return _judge_key(node.named_children[0], texts)
        case "call_expression":
            return _judge_call(node, texts)
        case "string" | "template_string" | "binary_expression":
            return _judge_text(node)
        case statement:
            return STATEMENTS.get(statement) if node.is_named else None


def _judge_text(node: Node) -> str | None:
    if node.type == "binary_expression" and node.parent is not None and node.parent.type == node.type:
        return None  # a part of what has been judged
    text = "".join(_pieces(node, {}))
    return f"text {text}" if text in BLOCKED_TEXTS else None


def _judge_name(node: Node) -> str | None:
    name, parent = _source(node), node.parent
    if "\\" in name:
        return "escaped identifier"
    if name in NAMES:
        return name
    if name == "process":
        return None if _member_read(node) in PROCESS_FACTS else name
    compared = parent is not None and parent.type in {"unary_expression", "binary_expression"}
    if name in GLOBALS and not compared and _field(parent, "object") != node:
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


def _judge_subscript(node: Node, texts: Mapping[str, Mapping[str, None]]) -> str | None:
    owner, index = _field(node, "object"), _field(node, "index")
    bare = _source(owner).strip("() ")
    if index is not None and index.type in TEXT_TYPES and "template_substitution" not in {n.type for n in _walk(index)}:
        name = "".join(_pieces(index, {}))
        in_window = bare.rsplit(".", 1)[-1] in WINDOWS and name in NAMES | {"process"}
        return f"property {name}" if in_window or name in PROPERTIES else None
    if bare == "process":
        return bare
    if bare in WINDOWS and not (bare == "this" and _is_in_class(node)):
        return "computed member of a global object"
    if any(part.type in {"function_expression", "arrow_function", "class"} for part in _walk(owner)):
        return "computed member of a function"
    return _judge_key(index, texts)


def _is_in_class(node: Node | None) -> bool:
    while node is not None and node.type != "class_body":
        node = node.parent
    return node is not None


def _judge_key(key: Node | None, texts: Mapping[str, Mapping[str, None]]) -> str | None:
    """Judge a name that is computed: harmless unless a piece of text in it is part of a blocked name.

    Variables may hold their pieces in any order, so one piece of a blocked name is enough.
    """
    pieces = _pieces(key, texts)
    name = "".join(pieces)
    if name in PROPERTIES:
        return f"property {name}"
    calls = any(part.type == "call_expression" for part in _walk(key))
    if pieces and (calls or any(map(_is_blocked, pieces))):
        return "computed name"
    return None


def _judge_call(node: Node, texts: Mapping[str, Mapping[str, None]]) -> str | None:
    function, arguments = _field(node, "function"), _field(node, "arguments")
    if function is None or arguments is None:
        return None
    if function.type == "subscript_expression":
        is_known = all(part.type != "identifier" for part in _walk(_field(function, "index")))
        return None if is_known else "call of a computed member"
    called = _source(_field(function, "property") or function)
    first = arguments.named_children[0] if arguments.named_children else None
    if called not in TIMERS or first is None:
        return None
    is_text = first.type in TEXT_TYPES | {"binary_expression"} or _source(first) in texts
    return f"text run by {called}" if is_text else None
