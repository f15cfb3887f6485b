"""What goes out besides a tool's data: other messages and members, without secrets and private fields."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar
from urllib.parse import unquote

import orjson

from shaping.cleaning import WITHHELD, data_in, protect, replaced
from shaping.cleaning.call import limit_value
from shaping.mcp.parts import TEXT_MEMBERS, binary_members, is_text, read_data
from shaping.parsers.json import write_json
from shaping.paths import FieldPlan, compile_fields, deep_path
from shaping.paths.strings import PRIVATE_MARK
from shaping.redaction import SplitKeyRedactor, log_fault, redact
from shaping.redaction.credentials import PRIVATE_KEY
from shaping.redaction.redact import rules_for

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from mcp.shared.exceptions import MCPError

    from shaping.paths.strings import Unreadable
    from shaping.response import Warned
    from shaping.settings.plan import Plan, Redact
    from shaping.shaper import Shaper

logger = logging.getLogger("shaping")

# The members of a result's `_meta` that are ours.
META_KEY = "shaping"
ERROR_KEY = "shaping/error"


def well_formed(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a result whose content is a list of blocks and whose `_meta` is an object, as all who read it expect.

    A server may send any JSON there: a block that is no object becomes a text, and `_meta` that is none goes.
    """
    content, meta = result.get("content", []), result.get("_meta", {})
    if isinstance(content, list) and all(map(_is_block, content)) and isinstance(meta, dict):
        return result
    logger.warning("a result has content or _meta that the protocol does not allow; it is read as text")
    out = {key: value for key, value in result.items() if key != "_meta" or isinstance(meta, dict)}
    if content is None:
        del out["content"]
    elif "content" in result:
        out["content"] = [_as_block(block) for block in (content if isinstance(content, list) else [content])]
    return out


def _is_block(block: Any) -> bool:
    return isinstance(block, dict) and (block.get("type") != "text" or isinstance(block.get("text"), str))


def _as_block(block: Any) -> dict[str, Any]:
    if _is_block(block):
        return dict(block)
    if isinstance(block, dict):
        return {**block, "text": _as_text(block.get("text", ""))}
    return {"type": "text", "text": _as_text(block)}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else write_json(value).decode()


def is_for_model(result: Mapping[str, Any]) -> bool:
    """Return whether a result holds anything that a model reads; a promise to answer later, or a question, does not."""
    return "content" in result or "structuredContent" in result


ValueT = TypeVar("ValueT")
_KNOWN = frozenset({"content", "structuredContent", "_meta"})  # all other members of a result are the server's own
_USUAL = (("isError", False), ("isError", True), ("resultType", "complete"))  # but for these, which hold no secret
# Answers that describe what a server has: the names and descriptions in them are no data of its tools.
_DEFINITIONS = frozenset(
    {"initialize", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"}
)
# Members of a definition: words about what there is, schemas, and parts that are definitions in turn. All others may
# hold data.
_WORDS = frozenset({"name", "title", "description", "instructions", "uri", "uriTemplate", "mimeType", "version"})
_ADDRESSES = frozenset({"uri", "uriTemplate"})
_PARAMETER = re.compile(r"([?&;#/]([^?&;#/=]{1,400})=)([^?&;#/{}]+)")
_ANSWER_WORDS = frozenset({"instructions", "protocolVersion"})  # of an answer that holds definitions
_SCHEMAS = frozenset({"inputSchema", "outputSchema"})
_PARTS = frozenset(
    {"tools", "prompts", "resources", "resourceTemplates", "arguments", "annotations", "serverInfo", "capabilities"}
)
# Members of a schema: words about a value, schemas by name, and schemas. All others may hold data.
_SCHEMA_WORDS = frozenset({"title", "description", "$comment", "pattern", "$ref", "$id", "required", "enum", "type"})
_SCHEMA_TEXTS = frozenset({"$comment", "pattern", "enum"})  # words in which a value may stand too
_HELD_WORDS = _SCHEMA_WORDS - {"enum", "pattern"} | {"format"}  # what a private property may still say
_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_SUBSCHEMAS = frozenset(
    {"items", "prefixItems", "anyOf", "allOf", "oneOf", "not", "if", "then", "else", "contains", "propertyNames"}
) | {"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems"}
# What the protocol asks for in a notification, whatever is said in it.
_NOTIFIED = {"notifications/progress": ("progressToken", "progress", "total")}
# What the protocol itself says in an object of its own: by these words a client reads it, so that no path means them.
_FIXED = {
    "type": re.compile(r"[a-z_]{1,40}"),
    "role": re.compile("user|assistant"),
    "mimeType": re.compile(r"[a-z]{1,20}/[\w.+-]{1,100}"),
    "mode": re.compile("form|url"),
    "level": re.compile("debug|info|notice|warning|error|critical|alert|emergency"),
    "status": re.compile("working|input_required|completed|failed|cancelled"),
}
_REQUESTS = ("elicitation/create", "sampling/createMessage", "roots/list")
_HOLDERS = frozenset({"text", "message", "data"})  # a path with such a name is meant for what is in them
_INSIDE = "said by a tool"  # stands for the name of a holder while it is looked into
_REQUIRED = frozenset({"text", "uri", "name", "message"})  # without them an object of the protocol is none
_IS_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NO_ADDRESS = "data:,"
_LOG_LINES = 50  # after the first that one may go on with
_SPLIT = "[withheld: a private field stands in several blocks]"


def protect_around(result: Mapping[str, Any], plan: Plan) -> tuple[Mapping[str, Any], list[Warned]]:
    """Take secrets and private fields out of a tool's result but for its data, which is shaped.

    The members of `_meta` that only shaping writes go too: a server's own would be believed.
    """
    result = _without_private(without_forged(result), plan)
    if plan.redact.off:
        return result, []
    hits: list[Warned] = []
    content = result.get("content", [])
    if plan.redact.values and (clean := _without_split_keys(content, hits)) is not content:
        result = {**result, "content": clean}
    own = any(name not in _KNOWN and (name, value) not in _USUAL for name, value in result.items())
    out = dict(_members(result, "result", plan.redact, hits, _KNOWN) if own else result)
    if any(not _is_bare(block) for block in result.get("content") or ()):
        blocks = enumerate(result["content"])
        out["content"] = [
            _block(block, f"content[{place}]", plan.redact, hits, {"text"} if is_text(block) else ())
            for place, block in blocks
        ]
    if result.get("_meta"):
        out["_meta"] = _members(result["_meta"], "_meta", plan.redact, hits, ())
    return (out, hits) if hits else (result, hits)


def without_forged(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take out the members of `_meta` that only shaping writes: a server's own would be believed."""
    meta = result.get("_meta") or {}
    if META_KEY not in meta and ERROR_KEY not in meta:
        return result
    kept = {key: value for key, value in meta.items() if key not in {META_KEY, ERROR_KEY}}
    return {key: kept if key == "_meta" else value for key, value in result.items() if key != "_meta" or kept}


def _is_bare(block: Mapping[str, Any]) -> bool:
    return not block.keys() - TEXT_MEMBERS and is_text(block)


def protect_result(result: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Return a result that is not shaped, without secrets and private fields; base64 in it stays as it is."""
    out = dict(protect_around(result, plan)[0])
    if "content" in out:
        out["content"] = [_protect_block(block, plan) for block in out["content"]]
    if "structuredContent" in out:
        out["structuredContent"] = protect_structure(out["structuredContent"], plan)
    return out


def protect_after_fault(result: Mapping[str, Any], plan: Plan, fault: Exception) -> dict[str, Any]:
    """Return the result redacted and with a warning after a fault in shaping; withheld where redaction fails too."""
    message = f"shaping failed ({type(fault).__name__}); this result is unshaped"
    about = {"warnings": [{"code": "SHAPING_FAULT", "message": message}]}
    try:
        out = protect_result(result, plan)
        return {**out, "_meta": {**(out.get("_meta") or {}), META_KEY: about}}
    except Exception as problem:  # noqa: BLE001 (whatever it is, what cannot be redacted must not leave)
        log_fault("the result of %r is withheld, because redaction failed with %s\n%s", plan.tool, problem)
        return {"content": [{"type": "text", "text": WITHHELD}], "isError": True, "_meta": {META_KEY: about}}


class MessageProtection:
    """Takes secrets and private fields out of messages that are not shaped; what has none comes back as it is."""

    def __init__(self, shaper: Shaper) -> None:
        self._shaper = shaper
        self._begun: dict[str, list[str]] = {}  # lines of each server's log that the next one may go on with
        self._keys: defaultdict[str, SplitKeyRedactor] = defaultdict(SplitKeyRedactor)  # of each server's log

    def answer(self, name: str, wire: dict[str, Any], uri: str = "") -> dict[str, Any]:
        """Clean a resource that was read or a prompt, by the rules for its name; `uri` is what was asked for."""
        plan = self._shaper.plan(name, surface="mcp")
        rules = replace(plan.redact, paths=self._masked)
        if self._shaper.mode != "on":
            return wire
        private = self._private
        said = _with_blocks(wire, partial(_without_split_keys, hits=[])) if rules.values else wire
        if private is not None:
            said = _with_blocks(said, lambda blocks: _without_continuations(blocks, private, plan))

        def members(value: Mapping[str, Any], skipped: Collection[str] = ()) -> dict[str, Any]:
            return dict(_members(_without(value, private, skipped), "", rules, [], skipped))

        def block(value: Mapping[str, Any]) -> Mapping[str, Any]:
            asked_for = {"uri"} if value.get("uri") == uri else set()
            return _block(_without_block(value, private, asked_for), "", rules, [], asked_for)

        def message(value: Mapping[str, Any]) -> dict[str, Any]:
            content = value.get("content")
            skipped = {"role"} if _is_fixed("role", value.get("role")) else set()
            if isinstance(content, dict):
                return {**members(value, {*skipped, "content"}), "content": block(content)}
            if not _is_objects(content):
                return members(value, skipped)
            return {**members(value, {*skipped, "content"}), "content": [block(one) for one in content]}

        of_items = {"contents": block, "messages": message}
        items = {
            name: [clean(one) for one in said[name]] for name, clean in of_items.items() if _is_objects(said.get(name))
        }
        out = {**members(said, items), **items}
        return wire if out == wire else out

    def protect(self, said: ValueT, method: str = "") -> ValueT:
        """Take secrets and private fields out of whatever else a server says in answer to a method, or by itself."""
        if self._shaper.mode != "on":
            return said
        is_definition = method in _DEFINITIONS
        private = self._held if is_definition else self._private
        if private is not None and isinstance(said, dict | list | str):
            kept = _clean_definition(said, private, _ANSWER_WORDS) if is_definition else private.apply(said)
            said = said if kept == said else kept
        rules = self._shaper.plan("", surface="mcp").redact
        if rules.off:
            return said
        # The names and paths in a definition are those of its schemas.
        names, paths = (False, ()) if is_definition else (rules.names, self._masked)
        clean: ValueT = redact(said, names=names, paths=paths)[0]
        return clean

    def params(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Clean the parameters of a message, which stays one: what the protocol asks for stays beside a label."""
        if self._shaper.mode != "on":
            return params
        private = self._private
        own = {
            name: value
            for name, value in params.items()
            if (name in _NOTIFIED.get(method, ()) and type(value) in (int, float))
            and not (private and private.is_label(name))
        }
        if method == "sampling/createMessage" and _is_objects(params.get("messages")):
            own |= self.answer("", {"messages": params["messages"]})
        if method == "elicitation/create" and isinstance(params.get("requestedSchema"), dict):
            own["requestedSchema"] = self.protect({"inputSchema": params["requestedSchema"]}, "tools/list")[
                "inputSchema"
            ]
        rest = {name: value for name, value in params.items() if name not in own}
        held = self._held
        return own | (self.protect(rest) if held is None else _in_form(rest, held, self.protect))

    def input_requests(self, asked: Any, clean: Any) -> Any:
        """Return the requests in a result as they were cleaned; those that a client knows stay requests."""
        if not isinstance(asked, dict) or not isinstance(clean, dict):
            return clean
        known = {
            name: {**clean[name], "method": one["method"], "params": self.params(one["method"], one["params"])}
            for name, one in asked.items()
            if isinstance(one, dict) and isinstance(clean.get(name), dict)
            if one.get("method") in _REQUESTS and isinstance(one.get("params"), dict)
        }
        return clean | known

    def log_line(self, server: str, line: str) -> str:
        """Clean a line of a log of what earlier ones began: a private key, or a text that is withheld."""
        before = self._begun.pop(server, [])
        goes_on = before and (line[:1].isspace() or not line)
        line = self.without_key_rest(line, self._keys[server])
        lines = [*before[:1], *before[1:][-_LOG_LINES:], line] if goes_on else [line]
        private = self._held if self._shaper.mode == "on" else None
        if goes_on and private is not None and private.is_named_in(before[0]):
            clean = PRIVATE_MARK if line.strip() else line
        else:
            clean = self.protect(lines)[-1]
        if clean != line or (private is not None and private.is_named_in(line)) or (goes_on and not line.strip()):
            self._begun[server] = lines
        return clean

    def without_key_rest(self, said: ValueT, keys: SplitKeyRedactor) -> ValueT:
        """Take out of a message of a log what belongs to a private key of an earlier one."""
        is_on = self._shaper.mode == "on" and self._shaper.plan("", surface="mcp").redact.values
        return keys.clean(said) if is_on else said

    def recorded_tools(self, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Take private fields out of the definitions of tools as they are kept on disk, whatever the mode."""
        private = self._held
        return tools if private is None else _clean_definition(tools, private)

    def _error_members(self, error: dict[str, Any], tool: str) -> dict[str, Any]:
        """Clean the members of a JSON-RPC error but for its code."""
        looked = {name: value for name, value in error.items() if name != "code" or not isinstance(value, int)}
        if self._shaper.mode != "on" or not looked:
            return error
        private, rules = self._private, self._shaper.plan(tool, surface="mcp").redact

        def protected(said: dict[str, Any]) -> dict[str, Any]:
            kept: dict[str, Any] = said if private is None else private.apply(said)
            if not rules.off:
                kept = redact(kept, values=rules.values, names=rules.names, paths=self._masked)[0]
            return kept

        held = self._held
        clean = protected(looked) if held is None else _in_form(looked, held, protected)
        return (
            error if clean == looked else {name: value for name, value in error.items() if name not in looked} | clean
        )

    def error(self, error: Any, tool: str = "") -> Any:
        """Clean the words and the data of a JSON-RPC error, and cut them to the budget."""
        if not isinstance(error, dict):
            return self.protect(error)
        clean = self._error_members(error, tool)
        said: dict[str, Any] = {name: clean[name] for name in ("message", "data") if name in clean}
        on = self._shaper.mode == "on"
        cut = limit_value(said, 1, self._shaper.plan(tool, surface="mcp")) if on else said
        return clean if cut is said else {**clean, "message": "", "data": None, **cut}

    def protocol_error(self, error: MCPError, tool: str = "") -> MCPError:
        """Clean the SDK's protocol error."""
        from mcp.shared.exceptions import MCPError as ProtocolError  # noqa: PLC0415 (an extra)

        said = {"message": error.error.message, "data": error.error.data}
        clean = self.error(said, tool)
        if clean is said:
            return error
        return ProtocolError(error.error.code, clean.get("message", ""), clean.get("data"))

    def may_hold_back(self, line: bytes) -> bool:
        """Return whether the bytes of a message may hold a secret, or something private."""
        if self._shaper.mode != "on":
            return False
        held = self._private is not None or self._masked
        return bool(held or rules_for(line.decode(errors="replace")).rules)

    @property
    def _private(self) -> FieldPlan | None:
        """What is private of any tool: a resource, a log or a protocol error belongs to no tool that is known."""
        paths = self._shaper.loaded_config.private_paths
        return _private_plan(paths) if paths else None

    @property
    def _masked(self) -> tuple[str, ...]:
        """What is masked of any tool, at any depth."""
        return tuple(map(deep_path, self._shaper.loaded_config.masked_paths))

    @property
    def _held(self) -> FieldPlan | None:
        """What is private or masked of any tool, where a mask would break a schema or what hides stands apart."""
        paths = (*self._shaper.loaded_config.private_paths, *self._masked)
        return _private_plan(paths) if paths else None


def _is_objects(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _clean_definition(said: Any, private: FieldPlan, names: Collection[str] = _WORDS) -> Any:
    """Take private fields out of a definition, or several; its `names`, and those in its schemas, are no data."""
    if isinstance(said, list):
        return [_clean_definition(one, private) for one in said]
    if not isinstance(said, dict):
        return private.apply(said)
    words = {key for key in said.keys() & set(names) if isinstance(said[key], str)}
    said = {**said, **{key: _clean_address(said[key], private) for key in words & _ADDRESSES}}
    parts = {key for key in said.keys() & (_SCHEMAS | _PARTS) if isinstance(said[key], dict | list)}
    if private.is_label(said.get("name")) or private.is_label(said.get("title")):
        said = {key: value for key, value in said.items() if key in words | parts or isinstance(value, bool)}
    return {
        key: (_clean_whole_schema if key in _SCHEMAS else _clean_definition)(value, private) if key in parts else value
        for key, value in _without(said, private, words | parts).items()
    }


def _clean_address(address: str, private: FieldPlan) -> str:
    """Take the values of private parameters out of an address, which stays one."""
    if address.lstrip()[:5].lower() == "data:":
        return _NO_ADDRESS if _names_private(address, private) else address
    # A value may be the name of what another parameter holds.
    is_label = any(private.is_label(unquote(found[3])) for found in _PARAMETER.finditer(address))

    def value(found: re.Match[str]) -> str:
        is_private = is_label or private.is_label(found[2]) or _names_private(found[3], private)
        return found[1] if is_private else found[0]

    return _PARAMETER.sub(value, address)


def _names_private(text: Any, private: FieldPlan) -> bool:
    """Return whether a text is more than the name of a private field and holds one."""
    return isinstance(text, str) and private.apply([text]) != [text]


def _clean_whole_schema(schema: Any, private: FieldPlan) -> Any:
    """Take private fields out of a schema; what a private property refers to is a part of it."""
    held: set[str] = set()
    refs: dict[str, set[str]] = {}
    todo: list[tuple[Any, str]] = [(schema, "")]  # each place with the definition that it stands in, or `*`
    while todo:
        here, inside = todo.pop()
        if isinstance(here, list):
            todo += [(one, inside) for one in here]
        elif isinstance(here, dict):
            inside = "*" if _is_private_schema(here, private) else inside
            if isinstance(here.get("$ref"), str):
                refs.setdefault(inside, set()).add(here["$ref"])
            for key, value in here.items():
                if key in _SCHEMAS_BY_NAME and isinstance(value, dict):
                    is_definition = key in {"$defs", "definitions"}
                    for name, one in value.items():
                        place = f"#/{key}/{name}" if is_definition else inside
                        todo.append((one, "*" if private.is_label(name) or inside == "*" else place))
                else:
                    todo.append((value, inside))
    found = refs.get("*", set())
    while found:
        held |= found
        found = {ref for place in found for ref in refs.get(place, ())} - held
    return _clean_schema(schema, private, refs=held)


def _is_private_schema(schema: dict[str, Any], private: FieldPlan) -> bool:
    """Return whether a schema has a private title, or one of those that it is put together of."""
    parts = [one for key in ("anyOf", "allOf", "oneOf") if isinstance(schema.get(key), list) for one in schema[key]]
    return any(private.is_label(one.get("title")) for one in (schema, *parts) if isinstance(one, dict))


def _clean_schema(schema: Any, private: FieldPlan, refs: Collection[str], *, held: bool = False) -> Any:
    """Take private fields out of the data in a schema; of a property that is one (`held`) only what it is stays."""
    if isinstance(schema, list):
        return [_clean_schema(one, private, refs, held=held) for one in schema]
    if not isinstance(schema, dict):
        return private.apply(schema)
    held = held or _is_private_schema(schema, private)
    schema = {key: value for key, value in schema.items() if not _tells_value(key, schema, private)}
    named = {key for key in schema.keys() & _SCHEMAS_BY_NAME if isinstance(schema[key], dict)}
    inner = {key for key in schema.keys() & _SUBSCHEMAS if isinstance(schema[key], dict | list)}
    out: dict[str, Any] = {}
    for key, value in _without(schema, private, named | inner | _SCHEMA_WORDS).items():
        if key in named:
            out[key] = {
                name: _clean_schema(
                    one, private, refs, held=held or private.is_label(name) or f"#/{key}/{name}" in refs
                )
                for name, one in value.items()
            }
        elif key in inner:
            out[key] = _clean_schema(value, private, refs, held=held)
        elif not held or key in _HELD_WORDS or isinstance(value, bool):
            out[key] = value
    return out


def _tells_value(key: str, schema: dict[str, Any], private: FieldPlan) -> bool:
    """Return whether a member of a schema is a text with a private field in it, or the values of a private name."""
    if key not in _SCHEMA_TEXTS:
        return False
    texts = schema[key] if isinstance(schema[key], list) else [schema[key]]
    names = schema.get("enumNames")
    is_named = key == "enum" and isinstance(names, list) and any(map(private.is_label, names))
    return is_named or any(_names_private(text, private) for text in texts)


def _without_private(result: Mapping[str, Any], plan: Plan) -> Mapping[str, Any]:
    """Take private fields out of `_meta`, embedded resources, links, and all of an error."""
    if plan.private is None:
        return result
    failed = result.get("isError") is True
    out = dict(_private_members(result, plan, {"content"} if failed else {"content", "structuredContent"}))
    if "content" in result:
        content = _without_continuations(result["content"], plan.private.at_any_depth(), plan)
        out["content"] = [_private_block(block, plan, failed=failed) for block in content]
    return out


def _without_continuations(content: Sequence[Any], private: FieldPlan, plan: Plan) -> list[Any]:
    """Withhold the texts behind one that is withheld, up to one that is data: what it names may go on in them."""
    written = [_text_in(block) for block in content]
    texts = [None if text is None or data_in(text, plan) is not None else text for text in written]
    if len(texts) - texts.count(None) <= 1:
        return list(content)
    marks = [_mark(text, private) for text in texts]
    whole = "".join(text or "" for text in texts)
    if not any(marks) and private.apply(whole) != whole and all(private.apply(text) == text for text in texts):
        marks = [_SPLIT] * len(texts)  # the name itself is in two blocks
    out, mark = [], ""
    for block, text, own, any_text in zip(content, texts, marks, written, strict=True):
        out.append(_with_text(block, mark or own) if text is not None and (mark or own) else block)
        mark = "" if text is None and any_text is not None else mark or own
    return out


def _text_in(block: Mapping[str, Any]) -> str | None:
    """Return the text of a block, of what a resource holds, or of a resource in a block."""
    resource = block.get("resource")
    text = resource.get("text") if isinstance(resource, dict) else block.get("text")
    return text if isinstance(text, str) else None


def _with_text(block: Mapping[str, Any], text: str) -> dict[str, Any]:
    resource = block.get("resource")
    return {**block, "resource": {**resource, "text": text}} if isinstance(resource, dict) else {**block, "text": text}


def _without_split_keys(content: Sequence[Any], hits: list[Warned]) -> Sequence[Any]:
    """Take out of blocks what belongs to a private key that begins or ends in another one."""
    if len(content) < 2:  # a key of one block is found where its text is looked at
        return content
    texts = [_text_in(block) for block in content]
    clean = SplitKeyRedactor().clean(texts)
    if clean is texts:
        return content
    out = list(content)
    for place, (old, new) in enumerate(zip(texts, clean, strict=True)):
        if new is not None and new is not old:
            out[place] = _with_text(content[place], new)
            hits.append(replaced(PRIVATE_KEY.name, f"content[{place}]"))
    return out


def _with_blocks(wire: dict[str, Any], change: Callable[[Sequence[Any]], Sequence[Any]]) -> dict[str, Any]:
    """Change the contents of a resource that was read, or the blocks of all of a prompt's messages, as one row."""
    out = dict(wire)
    if _is_objects(wire.get("contents")):
        out["contents"] = change(wire["contents"])
    if _is_objects(wire.get("messages")):
        contents = [message.get("content") for message in wire["messages"]]
        lists = [one if _is_objects(one) else [one] if isinstance(one, dict) else [] for one in contents]
        blocks = iter(change([block for one in lists for block in one]))
        kept = [[next(blocks) for _ in one] for one in lists]
        out["messages"] = [
            {**message, "content": new if isinstance(old, list) else new[0]} if new else message
            for message, old, new in zip(wire["messages"], contents, kept, strict=True)
        ]
    return out


def _mark(text: str | None, private: FieldPlan) -> str:
    """Return what stands for a text that is withheld whole; nothing for one that is not."""
    notes: list[Unreadable] = []
    kept = "" if text is None else private.apply(text, notes)
    return str(kept) if notes and notes[-1].withheld else ""


def _private_block(block: Mapping[str, Any], plan: Plan, *, failed: bool) -> Mapping[str, Any]:
    # The text of a result is its data, and goes the way of all data.
    as_data = not failed and is_text(block)
    return _without_block(block, plan.anywhere.private, ["text"] if as_data else ())


@lru_cache(maxsize=64)
def _private_plan(paths: tuple[str, ...]) -> FieldPlan:
    return compile_fields(None, paths, withhold=True).at_any_depth()


def _private_members(value: Mapping[str, Any], plan: Plan, skipped: Collection[str]) -> Mapping[str, Any]:
    return _without(value, plan.anywhere.private, skipped)


def _without(value: Mapping[str, Any], private: FieldPlan | None, skipped: Collection[str]) -> Mapping[str, Any]:
    if private is None:
        return value
    looked = {key: member for key, member in value.items() if key not in skipped}
    kept = private.apply(looked)
    return {key: value[key] if key in skipped else kept[key] for key in value if key in skipped or key in kept}


def _without_block(
    block: Mapping[str, Any], private: FieldPlan | None, skipped: Collection[str] = ()
) -> Mapping[str, Any]:
    """Take private fields out of a content block but for its base64 and the members to skip."""
    if private is None:
        return block
    resource = block.get("resource")
    if isinstance(resource, dict):
        block = {**block, "resource": _without_block(resource, private)}
        skipped = {*skipped, "resource"}
    skipped = {*binary_members(block), *skipped}
    return _in_form(block, private, lambda looked: _without(looked, private, skipped), skipped)


def _in_form(
    value: Mapping[str, Any],
    held: FieldPlan,
    clean: Callable[[dict[str, Any]], Mapping[str, Any]],
    skipped: Collection[str] = (),
) -> dict[str, Any]:
    """Clean an object of the protocol that stays one, although a path may have the name of a member of it."""
    fixed = {name: value[name] for name in value if _is_fixed(name, value[name])}
    holders = {name for name in value.keys() & _HOLDERS if name not in skipped and held.is_label(name)}
    said = {name: member for name, member in value.items() if name not in fixed and name not in holders}
    if "uri" not in skipped and isinstance(said.get("uri"), str):
        said["uri"] = _clean_address(said["uri"], held)
    out = {**dict.fromkeys(_REQUIRED & said.keys(), PRIVATE_MARK), **clean(said), **fixed}
    out |= {name: clean({_INSIDE: value[name]}).get(_INSIDE, PRIVATE_MARK) for name in holders}
    if isinstance(out.get("uri"), str) and not _IS_ADDRESS.match(out["uri"]):
        out["uri"] = _NO_ADDRESS
    return {name: out[name] for name in (*value, *out) if name in out}


def _is_fixed(name: str, value: Any) -> bool:
    return name in _FIXED and isinstance(value, str) and _FIXED[name].fullmatch(value) is not None


def protect_structure(structured: Any, plan: Plan) -> Any:
    """Return structured content of any JSON kind without secrets and private fields."""
    plan = plan.anywhere  # a framework may have put the data under a member of its own
    if isinstance(structured, str):
        return _protect_text(structured, plan)
    if not isinstance(structured, dict):
        return protect(structured, plan)
    binary = binary_members(structured)
    clean = protect({key: value for key, value in structured.items() if key not in binary}, plan)
    return {key: structured[key] if key in binary else clean[key] for key in structured if key in {*binary, *clean}}


def _protect_block(block: Any, plan: Plan) -> Any:
    if not isinstance(block.get("text"), str):
        return block
    return {**block, "text": _protect_text(block["text"], plan)}


def _protect_text(text: str, plan: Plan) -> Any:
    data = read_data(text) if plan.private is not None else None
    if isinstance(data, dict | list) and (clean := protect(data, plan)) != data:
        return orjson.dumps(clean).decode()
    return protect(text, plan)


def _block(
    block: Mapping[str, Any], place: str, rules: Redact, hits: list[Warned], skipped: Collection[str] = ()
) -> Mapping[str, Any]:
    """Redact a content block but for its base64 and the members to skip."""
    resource = block.get("resource")
    if isinstance(resource, dict):
        block = {**block, "resource": _members(resource, f"{place}.resource", rules, hits, binary_members(resource))}
        skipped = {*skipped, "resource"}
    skipped = {*binary_members(block), *skipped}
    if not rules.paths:
        return _members(block, place, rules, hits, skipped)
    held = _private_plan(rules.paths)
    return _in_form(block, held, lambda looked: _members(looked, place, rules, hits, skipped), skipped)


def _members(
    value: Mapping[str, Any],
    place: str,
    rules: Redact,
    hits: list[Warned],
    skipped: Collection[str],
) -> Mapping[str, Any]:
    if rules.off:
        return value
    looked = {key: member for key, member in value.items() if key not in skipped}
    paths = tuple(map(deep_path, rules.paths))
    clean, found = redact(looked, values=rules.values, names=rules.names, paths=paths)
    if not found:
        return value
    hits.extend(replaced(hit.rule, f"{place}.{hit.path}") for hit in found)
    return {**clean, **{key: value[key] for key in skipped if key in value}}
