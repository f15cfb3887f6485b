"""What a server says besides its tools' results, without secrets and private fields: definitions, resources, logs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

from shaping.cleaning import protect
from shaping.cleaning.call import limit_value
from shaping.mcp.protection import ObjectCleaner, clean_address, clean_members, compiled, is_fixed, names_private
from shaping.paths import deep_path
from shaping.paths.strings import PRIVATE_MARK
from shaping.redaction import SplitKeyRedactor
from shaping.redaction.redact import rules_for
from shaping.values import to_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mcp.shared.exceptions import MCPError

    from shaping.paths import FieldPlan
    from shaping.settings.plan import Plan
    from shaping.shaper import Shaper

ValueT = TypeVar("ValueT")
MethodT = TypeVar("MethodT", bound="Callable[..., Any]")
# Answers that describe what a server has: the names and descriptions in them are no data of its tools.
DEFINITIONS = frozenset(
    {"initialize", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"}
)
# Members of a definition: words about what there is, schemas, and parts that are definitions in turn. All others may
# hold data.
_WORDS = frozenset({"name", "title", "description", "instructions", "uri", "uriTemplate", "mimeType", "version"})
_ADDRESSES = frozenset({"uri", "uriTemplate"})
# What the protocol asks for in a notification, whatever is said in it.
_NOTIFIED = {"notifications/progress": ("progressToken", "progress", "total")}
_REQUESTS = ("elicitation/create", "sampling/createMessage", "roots/list")
_LOG_LINES = 50  # after the first that one may go on with
ANSWER_WORDS = frozenset({"instructions", "protocolVersion"})  # of an answer that holds definitions
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


def _at_any_depth(clean: MethodT) -> MethodT:
    """Let a method clean a message that is nested deeper than it can follow: opened, that ends before."""

    @wraps(clean)
    def cleaned(*args: Any) -> Any:
        try:
            return clean(*args)
        except (RecursionError, TypeError):  # the latter is what orjson raises
            return clean(*(to_plain(one, closed=True) if isinstance(one, dict | list) else one for one in args))

    return cast("MethodT", cleaned)


class MessageProtection:
    """Takes secrets and private fields out of messages that are not shaped; what has none comes back as it is."""

    def __init__(self, shaper: Shaper) -> None:
        self._shaper = shaper
        self._begun: dict[str, list[str]] = {}  # lines of each server's log that the next one may go on with
        self._keys: defaultdict[str, SplitKeyRedactor] = defaultdict(SplitKeyRedactor)  # of each server's log

    @property
    def _is_on(self) -> bool:
        return self._shaper.mode == "on"

    def _plan(self, tool: str = "") -> Plan:
        """Return a tool's plan with what is private or masked of any: a resource or a log belongs to none of them."""
        plan = self._shaper.plan(tool, surface="mcp")
        paths = self._shaper.loaded_config.private_paths
        return plan.replace(
            private=compiled(paths) if paths else None,
            redact=replace(plan.redact, paths=tuple(map(deep_path, self._shaper.loaded_config.masked_paths))),
        )

    def _private_or_masked(self) -> FieldPlan | None:
        """Return the private and the masked paths of all tools as one, for what a mask would break: it is left out."""
        config = self._shaper.loaded_config
        paths = (*config.private_paths, *map(deep_path, config.masked_paths))
        return compiled(paths) if paths else None

    @_at_any_depth
    def resource_or_prompt(self, name: str, wire: dict[str, Any], uri: str = "") -> dict[str, Any]:
        """Clean a resource that was read or a prompt, by the rules for its name; `uri` is what was asked for."""
        if not self._is_on:
            return wire
        cleaner = ObjectCleaner(self._plan(name))
        said = _with_blocks(wire, cleaner.across_blocks)

        def block(value: Mapping[str, Any]) -> Mapping[str, Any]:
            return cleaner.block(value, skipped=("uri",) if value.get("uri") == uri else ())

        def message(value: Mapping[str, Any]) -> dict[str, Any]:
            content = value.get("content")
            blocks = [content] if isinstance(content, dict) else content if _is_objects(content) else None
            skipped = {"role"} if is_fixed("role", value.get("role")) else set()
            out = cleaner.other_object(value, skipped if blocks is None else {*skipped, "content"})
            if blocks is None:
                return out
            clean = [block(one) for one in blocks]
            return {**out, "content": clean[0] if isinstance(content, dict) else clean}

        of_items = {"contents": block, "messages": message}
        items = {
            name: [clean(one) for one in said[name]] for name, clean in of_items.items() if _is_objects(said.get(name))
        }
        out = {**cleaner.other_object(said, items), **items}
        return wire if out == wire else out

    @_at_any_depth
    def protect(self, said: ValueT, method: str = "") -> ValueT:
        """Take secrets and private fields out of whatever else a server says in answer to a method, or by itself."""
        if not self._is_on:
            return said
        plan, protected, clean = self._plan(), self._private_or_masked(), said
        if method in DEFINITIONS:
            clean = said if protected is None else clean_definition(said, protected, ANSWER_WORDS)
            # The names and paths in a definition are those of its schemas.
            plan = plan.replace(private=None, redact=replace(plan.redact, names=False, paths=()))
        clean = protect(clean, plan)
        return said if clean == said else clean

    def params(self, method: str, params: Any, keys: SplitKeyRedactor | None = None) -> Any:
        """Clean the parameters of a message, which stays one: what the protocol asks for stays beside a label.

        `keys` knows of the private key that an earlier notification began.
        """
        if not self._is_on or not isinstance(params, dict):
            return self.protect(params)
        if keys is not None and method.startswith("notifications/"):
            params = self.without_key_rest(params, keys)
        return self._params(method, params)

    @_at_any_depth
    def _params(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        plan = self._plan()
        own = {
            name: value
            for name, value in params.items()
            if (name in _NOTIFIED.get(method, ()) and type(value) in (int, float))
            and not (plan.private and plan.private.is_label(name))
        }
        if method == "sampling/createMessage" and _is_objects(params.get("messages")):
            own |= self.resource_or_prompt("", {"messages": params["messages"]})
        if method == "elicitation/create" and isinstance(params.get("requestedSchema"), dict):
            schema = self.protect({"inputSchema": params["requestedSchema"]}, "tools/list")["inputSchema"]
            own["requestedSchema"] = schema
        rest = {name: value for name, value in params.items() if name not in own}
        return {**own, **ObjectCleaner(plan).protocol_object(rest)}

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
        private = self._private_or_masked() if self._is_on else None
        if goes_on and private is not None and private.is_named_in(before[0]):
            clean = PRIVATE_MARK if line.strip() else line
        else:
            clean = self.protect(lines)[-1]
        if clean != line or (private is not None and private.is_named_in(line)) or (goes_on and not line.strip()):
            self._begun[server] = lines
        return clean

    def without_key_rest(self, said: ValueT, keys: SplitKeyRedactor) -> ValueT:
        """Take out of a message of a log what belongs to a private key of an earlier one."""
        return keys.clean(said) if self._is_on and self._plan().redact.values else said

    @_at_any_depth
    def recorded_tools(self, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Take private fields out of the definitions of tools as they are kept on disk, whatever the mode."""
        private = self._private_or_masked()
        return tools if private is None else clean_definition(tools, private)

    @_at_any_depth
    def error(self, error: Any, tool: str = "") -> Any:
        """Clean the words and the data of a JSON-RPC error, and cut them to the budget."""
        if not isinstance(error, dict) or not self._is_on:
            return self.protect(error)
        plan, code = self._plan(tool), {"code"} if isinstance(error.get("code"), int) else set()
        clean = clean_members(error, ObjectCleaner(plan).protocol_object, code)
        said = {name: clean[name] for name in ("message", "data") if name in clean}
        cut = limit_value(said, 1, plan)
        clean = clean if cut is said else {**clean, "message": "", "data": None, **cut}
        return error if clean == error else clean

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
        return self._is_on and bool(self._private_or_masked() or rules_for(None, line).rules)


def _is_objects(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


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


def clean_definition(said: Any, private: FieldPlan, names: Collection[str] = _WORDS) -> Any:
    """Take private fields out of a definition, or several; its `names`, and those in its schemas, are no data."""
    if isinstance(said, list):
        return [clean_definition(one, private) for one in said]
    if not isinstance(said, dict):
        return private.apply(said)
    words = {key for key in said.keys() & set(names) if isinstance(said[key], str)}
    parts = {key for key in said.keys() & (_SCHEMAS | _PARTS) if isinstance(said[key], dict | list)}
    if private.is_label(said.get("name")) or private.is_label(said.get("title")):
        said = {key: value for key, value in said.items() if key in words | parts or isinstance(value, bool)}
    cleaned = {key: clean_address(said[key], private) for key in words & _ADDRESSES}
    cleaned |= {
        key: (_clean_whole_schema if key in _SCHEMAS else clean_definition)(said[key], private) for key in parts
    }
    return clean_members({**said, **cleaned}, private.apply, words | parts)


def _clean_whole_schema(schema: Any, private: FieldPlan) -> Any:
    """Take private fields out of a schema; what a private property refers to is a part of it."""
    refs: set[str] = set()
    known = -1
    while known < len(refs):
        known = len(refs)
        clean = _clean_schema(schema, private, refs)
    return clean


def _clean_schema(schema: Any, private: FieldPlan, refs: set[str], *, held: bool = False) -> Any:
    """Take private fields out of the data in a schema; of a property that is one (`held`) only what it is stays.

    What such a property refers to is added to `refs`, which are held too.
    """
    if isinstance(schema, list):
        return [_clean_schema(one, private, refs, held=held) for one in schema]
    if not isinstance(schema, dict):
        return private.apply(schema)
    held = held or _is_private_schema(schema, private)
    if held and isinstance(schema.get("$ref"), str):
        refs.add(schema["$ref"])
    schema = {key: value for key, value in schema.items() if not _tells_value(key, schema, private)}
    named = {key for key in schema.keys() & _SCHEMAS_BY_NAME if isinstance(schema[key], dict)}
    inner = {key for key in schema.keys() & _SUBSCHEMAS if isinstance(schema[key], dict | list)}
    out: dict[str, Any] = {}
    for key, value in clean_members(schema, private.apply, named | inner | _SCHEMA_WORDS).items():
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


def _is_private_schema(schema: dict[str, Any], private: FieldPlan) -> bool:
    """Return whether a schema has a private title, or one of those that it is put together of."""
    parts = [one for key in ("anyOf", "allOf", "oneOf") if isinstance(schema.get(key), list) for one in schema[key]]
    return any(private.is_label(one.get("title")) for one in (schema, *parts) if isinstance(one, dict))


def _tells_value(key: str, schema: dict[str, Any], private: FieldPlan) -> bool:
    """Return whether a member of a schema is a text with a private field in it, or the values of a private name."""
    if key not in _SCHEMA_TEXTS:
        return False
    texts = schema[key] if isinstance(schema[key], list) else [schema[key]]
    names = schema.get("enumNames")
    is_named = key == "enum" and isinstance(names, list) and any(map(private.is_label, names))
    return is_named or any(names_private(text, private) for text in texts)
