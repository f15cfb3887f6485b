"""The envelope goes on, in the dialect the plan names."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import orjson

from shaping.envelope import local_envelope, presentable
from shaping.envelope.model import UpgradeHint
from shaping.errors import scrub
from shaping.omissions import said_omissions
from shaping.stages.encode import written
from shaping.values.intake import plain_or_careful

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.envelope import Envelope
    from shaping.response import Draft
    from shaping.settings import Plan


def wrap(value: Any, draft: Draft) -> Any:
    """Wrap the data and give the wire form of the dialect."""
    plan, call = draft.plan, draft.call
    if call.if_none_match is not None or "etag" in plan.envelope or plan.debug:
        draft.etag = tag_of(value)
        draft.not_modified = call.error is None and call.if_none_match == draft.etag
    draft.data = None if draft.not_modified else value
    draft.envelope = _envelope(draft)
    if plan.dialect == "flat" or "estimated_tokens" in plan.envelope:
        draft.envelope = _priced(draft.envelope, plan)
    return _rendered(draft.envelope, plan)


def tag_of(value: Any) -> str:
    """Tag shaped data so that the same data has the same tag, in every process."""
    return blake2b(orjson.dumps(value), digest_size=8).hexdigest()


def _rendered(envelope: Envelope[Any], plan: Plan) -> Any:
    return envelope.render(plan.dialect, include=plan.envelope, debug=plan.debug)


def _priced(envelope: Envelope[Any], plan: Plan) -> Envelope[Any]:
    """Write the price of the text into the text; the second count has the number itself in it."""
    from shaping.tokens import count  # noqa: PLC0415 (most responses do not carry their price)

    for _ in range(2):
        price = int(count(written(_rendered(envelope, plan), plan)[0], plan.tokenizer))
        envelope = envelope.model_copy(update={"meta": envelope.meta.model_copy(update={"estimated_tokens": price})})
    return envelope


def _envelope(draft: Draft) -> Envelope[Any]:
    call, meta = draft.call, _meta(draft)
    if call.source is None:
        said = () if draft.terse else draft.warnings
        return local_envelope(draft.data, call.tool, error=call.error, warnings=said, **meta)
    kept = presentable(call.source.meta).model_copy(update=_settled(meta))
    warnings = (*call.source.warnings, *draft.warnings)
    return call.source.model_copy(update={"data": draft.data, "warnings": warnings, "meta": kept})


def _meta(draft: Draft) -> dict[str, Any]:
    """Collect what is known, leaving out what is not: most calls know nothing and pay nothing."""
    call, facts = draft.call, draft.shaper.facts
    meta: dict[str, Any] = {}
    if call.request_id is not None:
        meta["request_id"] = call.request_id
    if call.upgrade_hints:
        meta["upgrade_hints"] = tuple(_without_secrets(hint) for hint in call.upgrade_hints)
    if draft.truncated or draft.cut_short:
        meta["truncated"] = True
    if draft.terse:
        return meta
    if draft.truncated:
        meta["shown"] = draft.shown
        if facts.expandable or call.cursor is not None:
            meta["cursor"] = draft.cursor
    if draft.not_modified:
        meta["not_modified"] = True
    if draft.etag is not None:
        meta["etag"] = draft.etag
    if draft.plan.omissions != "none" and call.page is None:
        meta.update(said_omissions(draft))
    if draft.plan.envelope or draft.plan.debug or draft.plan.dialect != "lean":
        meta.update(_particulars(draft, facts))
    return meta


def _without_secrets(hint: Mapping[str, str]) -> dict[str, str]:
    return {name: scrub(text) for name, text in hint.items()}


def _settled(meta: dict[str, Any]) -> dict[str, Any]:
    """Give meta as the model holds it, where no factory does."""
    if "upgrade_hints" in meta:
        meta["upgrade_hints"] = tuple(UpgradeHint(**hint) for hint in meta["upgrade_hints"])
    extra = {name: meta.pop(name) for name in ("timings", "plan") if name in meta}
    return {**meta, "extensions": extra} if extra else meta


def _particulars(draft: Draft, facts: Any) -> dict[str, Any]:
    known = {
        "duration_ms": draft.call.duration_ms,
        "tool_id": draft.call.tool or None,
        "tool_version": facts.tool_version,
        "tier": facts.tier,
        "capabilities": facts.capabilities,
        "session_id": facts.session_id,
        "config_hash": draft.plan.config_hash,
    }
    if draft.plan.debug:
        known |= {"timings": dict(draft.timings), "plan": _plan_said(draft)}
    return {name: value for name, value in known.items() if value is not None}


def _plan_said(draft: Draft) -> dict[str, Any]:
    """Say by which choices a response was shaped, for somebody who wonders."""
    plan = draft.plan
    said = ("profile", "encoding", "dialect", "max_tokens", "max_items", "max_string", "noise", "tokenizer")
    raw = orjson.dumps(plain_or_careful(draft.raw))
    return {**{name: getattr(plan, name) for name in said}, "noise": list(plan.noise), "raw_bytes": len(raw)}
