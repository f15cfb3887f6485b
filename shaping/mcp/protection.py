"""What goes out in a tool's result besides its data, without secrets and private fields, and with our own `_meta`."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import orjson

from shaping.cleaning import WITHHELD, data_in, protect, replaced
from shaping.mcp.parts import TEXT_MEMBERS, binary_members, is_text, read_data
from shaping.parsers.json import write_json
from shaping.paths import FieldPlan, compile_fields, deep_path
from shaping.paths.strings import PRIVATE_MARK
from shaping.present import Presented, known_meta
from shaping.redaction import SplitKeyRedactor, log_fault, redact
from shaping.redaction.credentials import PRIVATE_KEY
from shaping.response import Warned, grouped, is_never_sent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from shaping.mcp.sessions import ResultContext
    from shaping.paths.strings import Unreadable
    from shaping.response import Shaped
    from shaping.settings.plan import Plan

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


_KNOWN = frozenset({"content", "structuredContent", "_meta"})  # all other members of a result are the server's own
_USUAL = (("isError", False), ("isError", True), ("resultType", "complete"))  # but for these, which hold no secret
# What the protocol itself says in an object of its own: by these words a client reads it, so that no path means them.
_FIXED = {
    "type": re.compile(r"[a-z_]{1,40}"),
    "role": re.compile("user|assistant"),
    "mimeType": re.compile(r"[a-z]{1,20}/[\w.+-]{1,100}"),
    "mode": re.compile("form|url"),
    "level": re.compile("debug|info|notice|warning|error|critical|alert|emergency"),
    "status": re.compile("working|input_required|completed|failed|cancelled"),
}
_HOLDERS = frozenset({"text", "message", "data"})  # a path with such a name is meant for what is in them
_INSIDE = "said by a tool"  # stands for the name of a holder while it is looked into
_REQUIRED = frozenset({"text", "uri", "name", "message"})  # without them an object of the protocol is none
_IS_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PARAMETER = re.compile(r"([?&;#/]([^?&;#/=]{1,400})=)([^?&;#/{}]+)")
NO_ADDRESS = "data:,"
_SPLIT = "[withheld: a private field stands in several blocks]"


def protect_around(result: Mapping[str, Any], plan: Plan) -> tuple[Mapping[str, Any], list[Warned]]:
    """Take secrets and private fields out of a tool's result but for its data, which is shaped.

    The members of `_meta` that only shaping writes go too: a server's own would be believed.
    """
    result, plan = without_forged(result), plan.anywhere
    cleaner = ObjectCleaner(plan)
    # The data of an error is also its message, of which nothing private is to be known.
    all_of_it = result.get("isError") is True and plan.private is not None
    if plan.private is not None:
        data = {"content"} if all_of_it else {"content", "structuredContent"}
        result = clean_members(result, plan.private.apply, data)
    elif plan.redact.off:
        return result, []
    usual = [name for name in result if name in _KNOWN or (name, result[name]) in _USUAL]
    if len(usual) < len(result):
        result = clean_members(result, partial(cleaner.redacted, place="result."), usual)
    if result.get("content"):
        clean = [
            cleaner.block(block, f"content[{place}].", () if all_of_it or not is_text(block) else ("text",))
            for place, block in enumerate(cleaner.across_blocks(result["content"]))
        ]
        result = {**result, "content": clean}
    if result.get("_meta"):
        result = {**result, **cleaner.redacted({"_meta": result["_meta"]})}
    return result, cleaner.hits


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


def clean_members(
    value: Mapping[str, Any], clean: Callable[[dict[str, Any]], Mapping[str, Any]], skipped: Collection[str] = ()
) -> dict[str, Any]:
    """Clean an object as a whole but for the members to skip; the order of its members stays."""
    out = {
        **clean({name: member for name, member in value.items() if name not in skipped}),
        **{name: member for name, member in value.items() if name in skipped},
    }
    return {name: out[name] for name in (*value, *out) if name in out}


def clean_address(address: str, private: FieldPlan) -> str:
    """Take the values of private parameters out of an address, which stays one."""
    if address.lstrip()[:5].lower() == "data:":
        return NO_ADDRESS if names_private(address, private) else address
    # A value may be the name of what another parameter holds.
    is_label = any(private.is_label(unquote(found[3])) for found in _PARAMETER.finditer(address))

    def value(found: re.Match[str]) -> str:
        is_private = is_label or private.is_label(found[2]) or names_private(found[3], private)
        return found[1] if is_private else found[0]

    return _PARAMETER.sub(value, address)


def names_private(text: Any, private: FieldPlan) -> bool:
    """Return whether a text is more than the name of a private field and holds one."""
    return isinstance(text, str) and private.apply([text]) != [text]


def _text_in(block: Mapping[str, Any]) -> str | None:
    """Return the text of a block, of what a resource holds, or of a resource in a block."""
    resource = block.get("resource")
    text = resource.get("text") if isinstance(resource, dict) else block.get("text")
    return text if isinstance(text, str) else None


def _with_text(block: Mapping[str, Any], text: str) -> dict[str, Any]:
    resource = block.get("resource")
    return {**block, "resource": {**resource, "text": text}} if isinstance(resource, dict) else {**block, "text": text}


def _mark(text: str | None, private: FieldPlan) -> str:
    """Return what stands for a text that is withheld whole; nothing for one that is not."""
    notes: list[Unreadable] = []
    kept = "" if text is None else private.apply(text, notes)
    return str(kept) if notes and notes[-1].withheld else ""


@lru_cache(maxsize=64)
def compiled(paths: tuple[str, ...]) -> FieldPlan:
    """Compile paths that hold at any depth."""
    return compile_fields(None, paths, withhold=True).at_any_depth()


class ObjectCleaner:
    """Takes secrets and private fields out of objects of the protocol; `hits` are warnings of the secrets."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.hits: list[Warned] = []

    def block(self, block: Mapping[str, Any], place: str = "", skipped: Collection[str] = ()) -> Mapping[str, Any]:
        """Clean a content block, or the resource in one, but for its base64 and the members to skip."""
        if "text" in skipped and not block.keys() - TEXT_MEMBERS:
            return block
        resource = block.get("resource")
        if isinstance(resource, dict):
            block = {**block, "resource": self.block(resource, f"{place}resource.")}
            skipped = {*skipped, "resource"}
        return self.protocol_object(block, place, {*binary_members(block), *skipped})

    def protocol_object(
        self, value: Mapping[str, Any], place: str = "", skipped: Collection[str] = ()
    ) -> dict[str, Any]:
        """Clean an object that the protocol defines: it stays valid where a path has the name of a member of it."""
        private, rules = self._plan.private, self._plan.redact
        if private is not None:
            value = _keep_form(value, private, private.apply, skipped)
        clean = partial(self.redacted, place=place)
        if not rules.paths or rules.off:
            return clean_members(value, clean, skipped)
        return _keep_form(value, compiled(rules.paths), clean, skipped)

    def other_object(self, value: Mapping[str, Any], skipped: Collection[str]) -> dict[str, Any]:
        """Clean an object of which paths may take any member, but for those to skip."""
        private = self._plan.private
        value = value if private is None else clean_members(value, private.apply, skipped)
        return clean_members(value, self.redacted, skipped)

    def redacted(self, value: Mapping[str, Any], place: str = "") -> Mapping[str, Any]:
        """Mask secrets in an object that stands in a place."""
        rules = self._plan.redact
        if rules.off or not value:
            return value
        clean, found = redact(value, values=rules.values, names=rules.names, paths=tuple(map(deep_path, rules.paths)))
        self.hits.extend(replaced(hit.rule, f"{place}{hit.path}") for hit in found)
        return clean  # type: ignore[no-any-return]  # an object stays one

    def across_blocks(self, blocks: Sequence[Any]) -> Sequence[Any]:
        """Take out of blocks the secrets and private texts that begin in one and go on in the next."""
        if len(blocks) < 2:
            return blocks
        if self._plan.redact.values and not self._plan.redact.off:
            blocks = self._without_split_keys(blocks)
        return blocks if self._plan.private is None else self._without_continuations(blocks, self._plan.private)

    def _without_split_keys(self, content: Sequence[Any]) -> Sequence[Any]:
        """Take out of blocks what belongs to a private key that begins or ends in another one."""
        texts = [_text_in(block) for block in content]
        clean = SplitKeyRedactor().clean(texts)
        if clean is texts:
            return content
        out = list(content)
        for place, (old, new) in enumerate(zip(texts, clean, strict=True)):
            if new is not None and new is not old:
                out[place] = _with_text(content[place], new)
                self.hits.append(replaced(PRIVATE_KEY.name, f"content[{place}]"))
        return out

    def _without_continuations(self, content: Sequence[Any], private: FieldPlan) -> list[Any]:
        """Withhold the texts behind one that is withheld, up to one that is data: what it names may go on in them."""
        written = [_text_in(block) for block in content]
        texts = [None if text is None or data_in(text, self._plan) is not None else text for text in written]
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


def _keep_form(
    value: Mapping[str, Any],
    protected: FieldPlan,
    clean: Callable[[dict[str, Any]], Mapping[str, Any]],
    skipped: Collection[str],
) -> dict[str, Any]:
    """Clean an object by a function, but for the protocol's own words, and put back the members that it requires."""
    fixed = {name for name in value if is_fixed(name, value[name])}
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


def is_fixed(name: str, value: Any) -> bool:
    """Return whether a member of an object is a word of the protocol's own."""
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


# What a result says of itself in its `_meta`.

# A server may write any mark into its results: only one made with this process's own key is believed.
_KEY = secrets.token_bytes(32)
_META_NAMES: Final = ("ref", "cursor", "etag", "truncated", "not_modified", "request_id")


def is_shaped(result: Mapping[str, Any]) -> bool:
    """Return whether this process has shaped this very result."""
    meta = result.get("_meta")
    mark = meta.get(META_KEY) if isinstance(meta, dict) else None
    tag = mark.get("tag") if isinstance(mark, dict) else None
    return isinstance(tag, str) and tag.isascii() and hmac.compare_digest(tag, _tag(result))


def with_meta(
    result: Mapping[str, Any], shaped: Sequence[Shaped], context: ResultContext, **more: Any
) -> dict[str, Any]:
    """Add our `_meta` to a result, unless this client's model would read it."""
    plan = context.plan
    if context.client.shows_meta(failed=result.get("isError") is True) and not plan.debug:
        return dict(result)
    about: dict[str, Any] = _about(shaped[0]) if shaped else {}
    if plan.debug:
        about |= {"profile": plan.profile, "config": plan.config_hash}
    if len(shaped) == 1 and plan.debug:
        about["tokens"] = {"before": int(shaped[0].tokens.before), "after": int(shaped[0].tokens.after)}
    warnings = [warned for one in shaped for warned in one.warnings]
    if not context.relay:
        about["tag"] = _tag(result)
    if warnings or (about and context.hits):
        about["warnings"] = [warning(warned) for warned in (*warnings, *context.hits)]
    meta = {**(result.get("_meta") or {}), **({META_KEY: about} if about else {}), **more}
    return {**result, "_meta": meta} if meta else dict(result)


def warning(warned: Warned) -> dict[str, Any]:
    """Write a warning as programs read it."""
    return _filled({"code": warned.code, "message": warned.message, "path": warned.path})


def _tag(result: Mapping[str, Any]) -> str:
    body = [result.get("content"), result.get("structuredContent"), bool(result.get("isError"))]
    return blake2b(write_json(body, option=orjson.OPT_SORT_KEYS), key=_KEY, digest_size=12).hexdigest()


def _about(shaped: Shaped) -> dict[str, Any]:
    # Most calls have nothing to say of themselves, and need no envelope for that.
    if isinstance(shaped, Presented) and not (shaped.call.source or shaped.call.upgrade_hints):
        known = known_meta(shaped)
    else:
        known = vars(shaped.envelope.meta)
    said = {name: known.get(name) or None for name in _META_NAMES}
    said["upgrade_hints"] = [_filled(asdict(hint)) for hint in known.get("upgrade_hints") or ()] or None
    chosen = shaped.plan.envelope
    about = {name: value for name, value in _filled(said).items() if not is_never_sent(name, chosen)}
    if shaped.plan.debug:
        wire = shaped.envelope.render("lean", include=shaped.plan.envelope, debug=True)
        about |= {name: value for name, value in wire.items() if name not in {"data", "error", "omissions"}}
    if shaped.plan.omissions == "list" and (listed := grouped(shaped.omissions)):
        told = ("path", "count", "reason", "tokens")
        about["omissions"] = [_filled({name: getattr(one, name) for name in told}) for one in listed]
        # Data alone has no place for a ref, so here is where a program finds it.
        if shaped.expandable and "ref" not in about:
            about["ref"] = shaped.ref
    return about


def _filled(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, "")}
