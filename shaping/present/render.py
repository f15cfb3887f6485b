"""A response as it goes out: its data in an envelope of the dialect that the plan names, and the text for a model."""

from __future__ import annotations

import re
from hashlib import blake2b
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping import envelope as envelopes
from shaping.cleaning import redact_value
from shaping.encoders import encode, encode_lines
from shaping.present.notices import missing_fields, noise_notice, omission_members, tool_notice, tool_warnings
from shaping.response import TOOL_WARNING, Shaped
from shaping.tokens import count, counter
from shaping.tokens.sampling import costs_at_most
from shaping.values import MARK, BigInteger, mark_numbers

if TYPE_CHECKING:
    from shaping.envelope import Envelope
    from shaping.present import Presented
    from shaping.settings.plan import Plan


def wrap(response: Presented) -> Envelope[Any]:
    """Put the data into an envelope with what is known about the call."""
    plan = response.plan
    envelope = _envelope(response)
    return _priced(envelope, plan) if plan.dialect == "flat" or "estimated_tokens" in plan.envelope else envelope


def wire_value(response: Presented) -> Any:
    """Write the response in the plan's dialect; a plain success in `lean` or `none` needs no envelope for that."""
    plan, call = response.plan, response.call
    if plan.dialect == "none" and call.error is None and call.source is None:
        return None if response.not_modified else response.fitted.value
    plain = plan.dialect == "lean" and not (plan.envelope or plan.debug or call.error or call.source)
    warned = response.cleaned.warnings and (missing_fields(response) or tool_warnings(response))
    if plain and not (warned or known_meta(response)):
        return {"data": response.fitted.value}
    # Data that is empty because of a wrong name in the config says so, whatever else is told.
    include = plan.envelope | {"warnings"} if missing_fields(response) else plan.envelope
    return response.envelope.render(plan.dialect, include=include, debug=plan.debug)


def wants_tag(plan: Plan, known: str | None) -> bool:
    """Whether the plan asks for a tag, or the caller, who knows one."""
    return known is not None or "etag" in plan.envelope or plan.debug


def tag_of(value: Any) -> str:
    """Tag shaped data so that the same data has the same tag, in every process."""
    return blake2b(orjson.dumps(value), digest_size=8).hexdigest()


def _priced(envelope: Envelope[Any], plan: Plan) -> Envelope[Any]:
    """Write the price of the text into the text; the second count includes the number itself."""
    for _ in range(2):
        rendered = envelope.render(plan.dialect, include=plan.envelope, debug=plan.debug)
        price = int(count(encode_value(rendered, plan)[0], plan.tokenizer))
        envelope = envelope.model_copy(update={"meta": envelope.meta.model_copy(update={"estimated_tokens": price})})
    return envelope


def _envelope(response: Presented) -> Envelope[Any]:
    call, meta = response.call, known_meta(response)
    data = None if response.not_modified else response.fitted.value
    if call.source is None:
        warnings = () if response.terse else response.warnings
        return envelopes.local_envelope(data, response.plan.tool, error=call.error, warnings=warnings, **meta)
    kept = call.source.meta.model_copy(update=_settled(meta))
    if isinstance(kept, envelopes.LocalMeta) and not kept.operation_id:  # a form that names neither has none of its own
        own = {"operation_id": response.plan.tool, "timestamp": kept.timestamp or time_ns() // 1_000_000}
        kept = kept.model_copy(update=own)
    warnings = (*call.source.warnings, *response.warnings)
    return call.source.model_copy(update={"data": data, "warnings": warnings, "meta": kept})


def known_meta(response: Presented) -> dict[str, Any]:
    """Collect what is known about the call, leaving out what is not: most calls know nothing and pay nothing."""
    call, plan = response.call, response.plan
    meta: dict[str, Any] = {}
    if call.request_id is not None:
        meta["request_id"] = call.request_id
    if call.upgrade_hints:
        meta["upgrade_hints"] = call.upgrade_hints
    if response.truncated or response.cleaned.cut_short:
        meta["truncated"] = True
    if response.terse:
        return meta
    if response.truncated:
        meta["shown"] = response.shown
        if response.expandable or call.cursor is not None:
            meta["cursor"] = response.cursor
    if wants_tag(plan, call.if_none_match):
        meta |= {"not_modified": True} if response.not_modified else {}
        meta["etag"] = response.etag
    if call.page is None and (plan.omissions == "list" or (plan.omissions == "line" and response.worth_a_line)):
        meta.update(omission_members(response))
    if plan.envelope or plan.debug or plan.dialect != "lean":
        meta.update(_particulars(response))
    return meta


def _settled(meta: dict[str, Any]) -> dict[str, Any]:
    """Return meta as the model holds it, where no factory does."""
    if "upgrade_hints" in meta:
        meta["upgrade_hints"] = tuple(envelopes.UpgradeHint(**hint) for hint in meta["upgrade_hints"])
    extra = {name: meta.pop(name) for name in ("timings", "plan") if name in meta}
    return {**meta, "extensions": extra} if extra else meta


def _particulars(response: Presented) -> dict[str, Any]:
    plan, facts = response.plan, response.facts
    known: dict[str, Any] = {
        "duration_ms": response.call.duration_ms,
        "tool_id": plan.tool or None,
        "tool_version": facts.tool_version,
        "tier": facts.tier,
        "capabilities": facts.capabilities,
        "session_id": facts.session_id,
        "config_hash": plan.config_hash,
    }
    if plan.debug:
        known |= {"timings": dict(response.timings), "plan": _plan_said(response)}
    return {name: value for name, value in known.items() if value is not None}


def _plan_said(response: Presented) -> dict[str, Any]:
    """Describe by which choices a response was shaped."""
    plan = response.plan
    names = ("profile", "encoding", "dialect", "max_tokens", "max_items", "max_string", "noise", "tokenizer")
    raw = orjson.dumps(response.cleaned.plain_raw(plan))
    return {**{name: getattr(plan, name) for name in names}, "noise": list(plan.noise), "raw_bytes": len(raw)}


# Measured: a text this much shorter than compact JSON never has more tokens.
_SHORTER = 0.9
# Of the cost of a text whose layout a table loses.
_TABLE_PAYS = 0.85
# Codes of warnings that are said elsewhere: by a mark in the data, in the notice, or in the log.
_SAID_ELSEWHERE: Final = frozenset({"REDACTED", "NO_SUCH_FIELD", "UNREADABLE_TEXT", "PRIVATE_PATH", TOOL_WARNING})
# Members of a lean envelope that can be told in lines below the data instead.
_IN_LINES: Final = frozenset({"data", "warnings", "omissions", "ref", "truncated", "shown", "cursor"})
_MARKED: Final = re.compile(f'"?{MARK}(-?\\d+){MARK}"?')


def write(response: Presented) -> tuple[str, str]:
    """Write a response and name its form; the bare dialect has no member for a notice, so it stands below the data."""
    bare = response.plan.dialect == "none"
    if bare and response.not_modified:
        return f"not modified{tool_notice(response)}", "text"
    value = response.value
    foldable = response.plan.dialect == "lean" and response.plan.encoding != "json"
    if foldable and value.keys() == {"data"}:
        # An envelope of which nothing but the data is left would only make the text dearer.
        value = value["data"]
    elif foldable and value.keys() <= _IN_LINES and isinstance(value.get("data"), str):
        return _with_lines(response)
    text, encoding = _write_data(value, response)
    only_data = bare or value is not response.value
    text = _with_absent(response, text, encoding, only_data=only_data)
    if only_data and not bare:
        text += noise_notice(response)
    if foldable and not only_data and value.keys() <= _IN_LINES and _is_dearer_than_sent(text, response):
        return _with_lines(response)
    return (text + response.notice if bare else text), encoding


def _with_lines(response: Presented) -> tuple[str, str]:
    """Write the data in its own form, and what an envelope would say about it in lines below.

    Nothing is said of redacted values and withheld texts: the marks in their places say it. Of fields that there are
    none of, the notice says it; a text that an excluded field may stand in is in the log.
    """
    text, encoding = _write_data(response.value["data"], response)
    text = _with_absent(response, text, encoding, only_data=True)
    warnings = () if response.terse else (each for each in response.warnings if each.code not in _SAID_ELSEWHERE)
    return "".join((text, *(f"\n({warned})" for warned in warnings), response.notice)), encoding


def _is_dearer_than_sent(text: str, response: Presented) -> bool:
    """Whether a text costs more than what the tool sent, where nothing was cut."""
    before = response.original.length_before
    # Compact JSON is the cheapest that a tool can have sent.
    if response.truncated or len(text) < _SHORTER * min(before, response.cleaned.length_before or before // 2):
        return False
    exact = counter(response.plan.tokenizer).exact
    return exact(text) > exact(response.text_before())


def pays_as_data(shaped: Shaped, text: str, *, layout: bool) -> bool:
    """Whether data costs no more than the text that it was read from; a layout that is lost must save something."""
    return costs_at_most(shaped.text, text, counter(shaped.plan.tokenizer).exact, _TABLE_PAYS if layout else 1)


def _with_absent(response: Presented, text: str, encoding: str, *, only_data: bool) -> str:
    """Name once what is null or empty: that nobody is assigned, and that nothing was found, are answers.

    Where a short answer would cost more by the line than by the members themselves, they stay in their places.
    """
    original, cleaned = response.original, response.cleaned
    # A page says what its first page said, and an envelope in JSON stays parseable.
    if (
        response.terse
        or response.call.page is not None
        or (encoding == "json" and not only_data)
        or cleaned.with_empties is cleaned.without_empties
        or not original.has_absent
    ):
        return text
    most = original.length_before
    if original.absent_pays and len(text) + len(original.absent_line) <= most:
        return text + original.absent_line
    if response.plan.empties.asked:
        return text
    if encoding == "json" and response.fitted.value is cleaned.value and not cleaned.omissions:
        whole, kind = _write_data(redact_value(cleaned.with_empties, response.plan)[0], response)
        if kind == "json" and len(whole) <= most:
            return whole
    return text + original.absent_line if len(text) + len(original.absent_line) <= most else text


def _write_data(value: Any, response: Presented) -> tuple[str, str]:
    """Write a value as text and name its form; integers beyond 64 bits are the numbers that the tool sent."""
    if type(value) is str and _may_shorten_lines(response):
        return encode_lines(value), "text"
    if not any(warned.code == "BIG_INTEGER" for warned in response.cleaned.warnings):
        compact_json = response.cleaned.compact_json if value is response.cleaned.value else None
        return encode_value(value, response.plan, compact_json)
    if isinstance(value, BigInteger):
        return str(value), "json"
    text, encoding = encode_value(mark_numbers(value), response.plan)
    text = _MARKED.sub(r"\1", text)
    # Where a form has taken a mark apart, or the data has such signs itself, the digits stay strings.
    taken = MARK in text or MARK in orjson.dumps(value).decode()
    return encode_value(value, response.plan) if taken else (text, encoding)


def _may_shorten_lines(response: Presented) -> bool:
    """Whether lines of a text that differ in a few words may be written short: not in pages, cut or verbatim texts."""
    plan = response.plan
    whole = response.call.page is None and not response.truncated
    return whole and "repeats" in plan.noise and plan.encoding != "json" and not plan.verbatim


def encode_value(value: Any, plan: Plan, compact_json: bytes | None = None) -> tuple[str, str]:
    """Write a value in the plan's encoding and name it; a bare string is its own text.

    `compact_json` is the value's, where it is known.
    """
    if isinstance(value, str):
        return value, "text"
    return encode(
        value,
        plan.encoding,
        repeats="repeats" in plan.noise,
        constants="constants" in plan.noise,
        lossless=plan.lossless,
        compact_json=compact_json,
    )
