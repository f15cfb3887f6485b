"""What goes out besides a tool's data: other messages and members, without secrets and private fields."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

import orjson

from shaping.cleaning import WITHHELD, data_in, protect, replaced
from shaping.cleaning.call import limit_value
from shaping.mcp.definitions import (
    ANSWER_WORDS,
    DEFINITIONS,
    NO_ADDRESS,
    clean_address,
    clean_definition,
    clean_members,
)
from shaping.mcp.parts import TEXT_MEMBERS, binary_members, is_text, read_data
from shaping.parsers.json import write_json
from shaping.paths import FieldPlan, compile_fields, deep_path
from shaping.paths.strings import PRIVATE_MARK
from shaping.redaction import SplitKeyRedactor, log_fault, redact
from shaping.redaction.credentials import PRIVATE_KEY
from shaping.redaction.redact import rules_for

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mcp.shared.exceptions import MCPError

    from shaping.paths.strings import Unreadable
    from shaping.response import Warned
    from shaping.settings.plan import Plan
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


ValueT = TypeVar("ValueT")
_KNOWN = frozenset({"content", "structuredContent", "_meta"})  # all other members of a result are the server's own
_USUAL = (("isError", False), ("isError", True), ("resultType", "complete"))  # but for these, which hold no secret
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
_LOG_LINES = 50  # after the first that one may go on with
_SPLIT = "[withheld: a private field stands in several blocks]"


def protect_around(result: Mapping[str, Any], plan: Plan) -> tuple[Mapping[str, Any], list[Warned]]:
    """Take secrets and private fields out of a tool's result but for its data, which is shaped.

    The members of `_meta` that only shaping writes go too: a server's own would be believed.
    """
    result, plan = without_forged(result), plan.anywhere
    hits: list[Warned] = []
    # The data of an error is also its message, of which nothing private is to be known.
    all_of_it = result.get("isError") is True and plan.private is not None
    if plan.private is not None:
        data = {"content"} if all_of_it else {"content", "structuredContent"}
        result = clean_members(result, plan.private.apply, data)
    elif plan.redact.off:
        return result, hits
    usual = [name for name in result if name in _KNOWN or (name, result[name]) in _USUAL]
    if len(usual) < len(result):
        result = clean_members(result, partial(_redacted, plan=plan, place="result.", hits=hits), usual)
    if result.get("content"):
        blocks = enumerate(_clean_across_blocks(result["content"], plan, hits))
        clean = [
            _clean_block(block, plan, f"content[{place}].", hits, () if all_of_it or not is_text(block) else ("text",))
            for place, block in blocks
        ]
        result = {**result, "content": clean}
    if result.get("_meta"):
        result = {**result, **_redacted({"_meta": result["_meta"]}, plan, "", hits)}
    return result, hits


def without_forged(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take out the members of `_meta` that only shaping writes: a server's own would be believed."""
    meta = result.get("_meta") or {}
    if META_KEY not in meta and ERROR_KEY not in meta:
        return result
    kept = {key: value for key, value in meta.items() if key not in {META_KEY, ERROR_KEY}}
    return {key: kept if key == "_meta" else value for key, value in result.items() if key != "_meta" or kept}


def protect_result(result: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Return a result that is not shaped, without secrets and private fields; base64 in it stays as it is."""
    out = dict(protect_around(result, plan)[0])
    if "content" in out:
        out["content"] = [
            {**block, "text": _protect_text(block["text"], plan)} if isinstance(block.get("text"), str) else block
            for block in out["content"]
        ]
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

    @property
    def _is_on(self) -> bool:
        return self._shaper.mode == "on"

    def _plan(self, tool: str = "") -> Plan:
        """Return a tool's plan with what is private or masked of any: a resource or a log belongs to none of them."""
        plan = self._shaper.plan(tool, surface="mcp")
        paths = self._shaper.loaded_config.private_paths
        return plan.replace(
            private=_compiled(paths) if paths else None,
            redact=replace(plan.redact, paths=tuple(map(deep_path, self._shaper.loaded_config.masked_paths))),
        )

    def _private_or_masked(self) -> FieldPlan | None:
        """Return the private and the masked paths of all tools as one, for what a mask would break: it is left out."""
        config = self._shaper.loaded_config
        paths = (*config.private_paths, *map(deep_path, config.masked_paths))
        return _compiled(paths) if paths else None

    def resource_or_prompt(self, name: str, wire: dict[str, Any], uri: str = "") -> dict[str, Any]:
        """Clean a resource that was read or a prompt, by the rules for its name; `uri` is what was asked for."""
        if not self._is_on:
            return wire
        plan = self._plan(name)
        said = _with_blocks(wire, lambda blocks: _clean_across_blocks(blocks, plan, []))

        def block(value: Mapping[str, Any]) -> Mapping[str, Any]:
            return _clean_block(value, plan, skipped=("uri",) if value.get("uri") == uri else ())

        def message(value: Mapping[str, Any]) -> dict[str, Any]:
            content = value.get("content")
            blocks = [content] if isinstance(content, dict) else content if _is_objects(content) else None
            skipped = {"role"} if _is_fixed("role", value.get("role")) else set()
            out = _clean_other_object(value, plan, skipped if blocks is None else {*skipped, "content"})
            if blocks is None:
                return out
            clean = [block(one) for one in blocks]
            return {**out, "content": clean[0] if isinstance(content, dict) else clean}

        of_items = {"contents": block, "messages": message}
        items = {
            name: [clean(one) for one in said[name]] for name, clean in of_items.items() if _is_objects(said.get(name))
        }
        out = {**_clean_other_object(said, plan, items), **items}
        return wire if out == wire else out

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
        plan = self._plan()
        if keys is not None and method.startswith("notifications/"):
            params = self.without_key_rest(params, keys)
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
        return {**own, **_clean_protocol_object(rest, plan)}

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

    def recorded_tools(self, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Take private fields out of the definitions of tools as they are kept on disk, whatever the mode."""
        private = self._private_or_masked()
        return tools if private is None else clean_definition(tools, private)

    def error(self, error: Any, tool: str = "") -> Any:
        """Clean the words and the data of a JSON-RPC error, and cut them to the budget."""
        if not isinstance(error, dict) or not self._is_on:
            return self.protect(error)
        plan, code = self._plan(tool), {"code"} if isinstance(error.get("code"), int) else set()
        clean = clean_members(error, partial(_clean_protocol_object, plan=plan), code)
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
        return self._is_on and bool(self._private_or_masked() or rules_for(line.decode(errors="replace")).rules)


def _is_objects(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _clean_across_blocks(blocks: Sequence[Any], plan: Plan, hits: list[Warned]) -> Sequence[Any]:
    """Take out of blocks the secrets and private texts that begin in one and go on in the next."""
    if len(blocks) < 2:
        return blocks
    if plan.redact.values and not plan.redact.off:
        blocks = _without_split_keys(blocks, hits)
    return blocks if plan.private is None else _without_continuations(blocks, plan.private, plan)


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


@lru_cache(maxsize=64)
def _compiled(paths: tuple[str, ...]) -> FieldPlan:
    return compile_fields(None, paths, withhold=True).at_any_depth()


def _clean_block(
    block: Mapping[str, Any],
    plan: Plan,
    place: str = "",
    hits: list[Warned] | None = None,
    skipped: Collection[str] = (),
) -> Mapping[str, Any]:
    """Clean a content block, or the resource in one, but for its base64 and the members to skip."""
    if "text" in skipped and not block.keys() - TEXT_MEMBERS:
        return block
    resource = block.get("resource")
    if isinstance(resource, dict):
        block = {**block, "resource": _clean_block(resource, plan, f"{place}resource.", hits)}
        skipped = {*skipped, "resource"}
    return _clean_protocol_object(block, plan, place, hits, {*binary_members(block), *skipped})


def _clean_protocol_object(
    value: Mapping[str, Any],
    plan: Plan,
    place: str = "",
    hits: list[Warned] | None = None,
    skipped: Collection[str] = (),
) -> dict[str, Any]:
    """Clean an object that the protocol defines: it stays valid where a path has the name of a member of it."""
    if plan.private is not None:
        value = _keep_form(value, plan.private, plan.private.apply, skipped)
    redacted = partial(_redacted, plan=plan, place=place, hits=hits)
    if not plan.redact.paths or plan.redact.off:
        return clean_members(value, redacted, skipped)
    return _keep_form(value, _compiled(plan.redact.paths), redacted, skipped)


def _keep_form(
    value: Mapping[str, Any],
    protected: FieldPlan,
    clean: Callable[[dict[str, Any]], Mapping[str, Any]],
    skipped: Collection[str],
) -> dict[str, Any]:
    """Clean an object by a function, but for the protocol's own words, and put back the members that it requires."""
    fixed = {name for name in value if _is_fixed(name, value[name])}
    holders = [name for name in value if name in _HOLDERS and name not in skipped and protected.is_label(name)]
    said = dict(value)
    if "uri" not in skipped and isinstance(said.get("uri"), str):
        said["uri"] = clean_address(said["uri"], protected)
    out = clean_members(said, clean, {*fixed, *skipped, *holders})
    out |= {name: clean({_INSIDE: value[name]}).get(_INSIDE, PRIVATE_MARK) for name in holders}
    out |= dict.fromkeys(_REQUIRED & said.keys() - out.keys(), PRIVATE_MARK)
    if isinstance(out.get("uri"), str) and not _IS_ADDRESS.match(out["uri"]):
        out["uri"] = NO_ADDRESS
    return {name: out[name] for name in (*value, *out) if name in out}


def _clean_other_object(value: Mapping[str, Any], plan: Plan, skipped: Collection[str]) -> dict[str, Any]:
    """Clean an object of which paths may take any member, but for those to skip."""

    def clean(looked: dict[str, Any]) -> Mapping[str, Any]:
        return _redacted(looked if plan.private is None else plan.private.apply(looked), plan, "", None)

    return clean_members(value, clean, skipped)


def _redacted(value: Mapping[str, Any], plan: Plan, place: str, hits: list[Warned] | None) -> Mapping[str, Any]:
    """Mask secrets in an object; `hits` takes a warning for each, with its place."""
    rules = plan.redact
    if rules.off or not value:
        return value
    clean, found = redact(value, values=rules.values, names=rules.names, paths=tuple(map(deep_path, rules.paths)))
    if hits is not None:
        hits.extend(replaced(hit.rule, f"{place}{hit.path}") for hit in found)
    return clean  # type: ignore[no-any-return]  # an object stays one


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


def _protect_text(text: str, plan: Plan) -> Any:
    data = read_data(text) if plan.private is not None else None
    if isinstance(data, dict | list) and (clean := protect(data, plan)) != data:
        return orjson.dumps(clean).decode()
    return protect(text, plan)
