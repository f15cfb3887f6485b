"""The second phase: Cleaned -> cut <-> wrap <-> write <-> count -> Shaped, in a loop until it fits its budget."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping import envelope as envelopes
from shaping.budget.fit import Budget, Fitted, fit_value
from shaping.cleaning import Cleaned, redact_value, restore_empties
from shaping.encoders import encode, encode_lines
from shaping.present.notices import (
    missing_fields,
    noise_notice,
    notice,
    omission_members,
    tool_notice,
    tool_warnings,
)
from shaping.present.original import Original
from shaping.redaction import log_fault
from shaping.response import (
    TOOL_WARNING,
    CallContext,
    Facts,
    Lengths,
    Listed,
    Omission,
    Shaped,
    Warned,
    cached_property,
)
from shaping.store.keeper import NOT_KEPT, Originals
from shaping.tokens import Tokens, count, counter
from shaping.tokens.sampling import costs_at_most
from shaping.values import MARK, BigInteger, mark_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.envelope import Envelope
    from shaping.settings.plan import Plan

# What an envelope may add to its data, in bytes, before it is counted.
_ENVELOPE = 256
# Bytes of JSON that cost more than any notice of a cut.
_LONGEST_NOTICE = 4000
# Bytes of JSON that no form of the data writes in one token; tokens of the line that tells a ref.
_BYTES_PER_TOKEN, _REF_LINE = 40, 80


def present(
    cleaned: Cleaned,
    plan: Plan,
    call: CallContext,
    facts: Facts,
    originals: Originals,
    *,
    timings: Mapping[str, float],
    may_cut: bool = True,
) -> Shaped | None:
    """Wrap cleaned data, and cut it where its text would be over the plan's budget.

    Return None for data that is over the budget and may not be cut; nothing of it is kept behind a ref or in a file.
    """
    original = Original(cleaned, plan, call, call.owner or facts.session_id, originals)
    if _empties_come_back(original):
        cleaned = restore_empties(cleaned, plan)
        original = replace(original, cleaned=cleaned)
    response = Presented(plan, call, facts, cleaned, original, Fitted(cleaned.value), timings=timings)
    if not _surely_fits(cleaned, plan):
        if may_cut:
            cut = _fit(response)
            response = response if _is_cut_dearer(cut, response) else _with_file(cut)
        elif not _fits_whole(response):
            return None
    response.value  # noqa: B018 (wrapped now, so that a fault is met here and not by the reader)
    return response


def _empties_come_back(original: Original) -> bool:
    """Whether null and empty members stay, because the envelope would list their absence at a higher price."""
    cleaned, plan = original.cleaned, original.plan
    if cleaned.without_empties is cleaned.with_empties or cleaned.omissions or plan.empties.asked:
        return False
    return plan.omissions == "list" and plan.dialect != "none" and not original.absent_pays


def _fits_whole(whole: Presented) -> bool:
    """Whether all of an answer is within its budget, written as it would go out and counted."""
    plan, value, most = whole.plan, whole.cleaned.value, whole.plan.max_tokens
    if fit_value(value, Budget(None, plan.max_items, plan.max_string), lambda _: "", len).value is not value:
        return False
    if most is None:
        return True
    if (whole.cleaned.size or 0) > most * _BYTES_PER_TOKEN:
        return False
    if whole.says_ref:  # to write the line that tells it would keep what it names
        whole, most = replace(whole, facts=replace(whole.facts, expandable=False)), most - _REF_LINE
    exact, renders = counter(plan.tokenizer).exact, (_text, _as_json) if whole.call.as_json else (_text,)
    budget = Budget.of(plan)._replace(max_tokens=most)
    return all(budget.holds(render(whole), exact) for render in renders)


@dataclass(eq=False, repr=False)  # not frozen: that takes as long as wrapping a small answer
class Presented(Shaped):
    """One way to present a response: all of its data or a cut of it, and everything that follows from that."""

    plan: Plan
    call: CallContext
    facts: Facts
    cleaned: Cleaned
    original: Original
    fitted: Fitted
    terse: bool = False  # the budget is smaller than what the envelope would say about itself
    timings: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def envelope(self) -> Envelope[Any]:
        """The typed envelope."""
        return wrap(self)

    @cached_property
    def value(self) -> Any:
        """The wire form of the dialect."""
        return wire_value(self)

    @cached_property
    def text_and_encoding(self) -> tuple[str, str]:
        """The text and the name of its form."""
        try:
            return write(self)
        except Exception as fault:  # noqa: BLE001 (a fault of an encoder must not cost the tool's answer)
            log_fault("writing the answer of %r failed with %s; it goes out as JSON\n%s", self.plan.tool, fault)
            return orjson.dumps(self.value).decode(), "json"

    @cached_property
    def notice(self) -> str:
        """The line below bare data that says what was left out and how to ask for it."""
        says_nothing = self.call.page is None and not (self.worth_a_line or self.cleaned.warnings)
        return "" if says_nothing else notice(self)

    @property
    def absent(self) -> Mapping[str, tuple[str, ...]]:
        """The names of members that were dropped because they are null or empty, by that reason."""
        return self.original.absent

    @property
    def absent_line(self) -> str:
        """The line of the text that names the null and empty members that were dropped; empty where it has none."""
        line = self.original.absent_line
        return line if line and self.text.removesuffix(self.notice).endswith(line) else ""

    @cached_property
    def tokens(self) -> Tokens:
        """What it cost before and after."""
        return Tokens(before=self.text_before, after=lambda: self.text, tokenizer=self.plan.tokenizer)

    @cached_property
    def omissions(self) -> tuple[Omission, ...]:
        """Everything that was left out, exactly: where, how many and why."""
        return (*self.original.omissions, *self.fitted.omissions)

    @property
    def ref(self) -> str | None:
        """The handle for `expand`; the original is kept when it is first asked for."""
        return self.original.ref

    @property
    def expandable(self) -> bool:
        """Whether the reader has a way to ask for what was left out."""
        return self.facts.expandable

    @cached_property
    def truncated(self) -> bool:
        """Whether a budget cut something."""
        return bool(self.fitted.omissions) or self.call.cursor is not None

    @property
    def shown(self) -> tuple[Listed, ...]:
        """Of each list that was cut, how many elements are shown of how many."""
        return self.fitted.lists

    @cached_property
    def cursor(self) -> str | None:
        """Where the next page starts, if there is one."""
        if self.call.cursor is not None or self.fitted.position is None:
            return self.call.cursor
        return self.original.cursor(self.fitted.position)

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """What the reader should know."""
        lost = self.facts.expandable and self.says_ref and self.ref is None
        return (*self.cleaned.warnings, NOT_KEPT) if lost else self.cleaned.warnings

    @property
    def etag(self) -> str | None:
        """A tag of the shaped data, where the plan or the caller asked for one."""
        return self._tag if wants_tag(self.plan, self.call.if_none_match) else None

    @cached_property
    def _tag(self) -> str:
        return tag_of(self.fitted.value)

    @property
    def not_modified(self) -> bool:
        """Whether the data is what the caller has already."""
        tag = self.call.if_none_match
        return tag is not None and self.call.error is None and tag == self.etag

    @property
    def says_ref(self) -> bool:
        """Whether the reader is told a ref by which to ask for what was left out."""
        if not self.facts.expandable or self.call.page is not None:
            return False
        if self.worth_a_line:
            return True
        return self.plan.omissions == "list" and self.plan.dialect != "none" and bool(self.omissions)

    @property
    def worth_a_line(self) -> bool:
        """Whether a budget cut something, or noise rules took something, which they do only where it pays to say so."""
        return self.truncated or self.cleaned.saved > 0

    def within(self, max_tokens: int, max_lengths: Lengths = ()) -> Shaped:
        """Return this response, cut where its text has more tokens than that, or is longer."""
        plan = self.plan.replace(max_tokens=max_tokens, max_lengths=max_lengths)
        return _with_file(_fit(replace(self, plan=plan, fitted=Fitted(self.cleaned.value))))

    def text_before(self) -> str:
        """Return what the client would have shown its model: the server's own text, or the raw value's JSON."""
        return self.original.text_before()


def _surely_fits(cleaned: Cleaned, plan: Plan) -> bool:
    """Whether an answer is within its budget by its bytes alone: no text has more tokens than bytes."""
    if plan.max_items is not None or plan.max_string is not None:
        return False
    if plan.max_tokens is None:
        return True
    compact_json = orjson.dumps(cleaned.value) if cleaned.compact_json is None else cleaned.compact_json
    return len(compact_json) + _ENVELOPE <= plan.max_tokens


def _is_cut_dearer(cut: Presented, whole: Presented) -> bool:
    """Whether the cut data costs as much as all of it, because of what the response says about the cut."""
    plan = whole.plan
    if not cut.truncated or plan.limited_by_call or (plan.max_items is None and plan.max_string is None):
        return False
    if len(orjson.dumps(whole.cleaned.value)) - len(orjson.dumps(cut.fitted.value)) > _LONGEST_NOTICE:
        return False
    exact, render = counter(plan.tokenizer).exact, _as_json if whole.call.as_json else _text
    tokens = exact(render(whole))
    return tokens <= exact(render(cut)) and (plan.max_tokens is None or tokens <= plan.max_tokens)


def _text(response: Presented) -> str:
    return response.text


def _as_json(response: Presented) -> str:
    # Bare data has its notice below it in the text.
    return orjson.dumps(response.value).decode() + (response.notice if response.plan.dialect == "none" else "")


def _fit(whole: Presented) -> Presented:
    """Try cuts until one fits: each is wrapped and written as it would go out, and counted exactly."""
    plan, exact = whole.plan, counter(whole.plan.tokenizer).exact
    response = _cut(whole, _as_json if whole.call.as_json else _text, exact)
    # Where the wire value goes out, its JSON is what is fitted; a log or a terminal may be shown the text.
    if whole.call.as_json and not Budget.of(plan).holds(response.text, exact):
        response = _cut(whole, lambda one: max(_as_json(one), _text(one), key=exact), exact)
    return response


def _with_file(cut: Presented) -> Presented:
    """Write the file that a cut answer names; where that cannot be done, cut again, with a ref in its place."""
    file = cut.original.file if cut.truncated else None
    if file is None or not any(file.path.name in render(cut) for render in (_text, _as_json)) or file.write():
        return cut
    plan = cut.plan.replace(overflow="ref")
    original = replace(cut.original, plan=plan)
    return _fit(replace(cut, plan=plan, original=original, fitted=Fitted(cut.cleaned.value), terse=False))


def _cut(whole: Presented, render: Callable[[Presented], str], exact: Callable[[str], int]) -> Presented:
    """Return the largest cut that fits."""
    response, fitted = _largest(whole, render, exact)
    data = whole.cleaned.value
    if not fitted.fits or (isinstance(data, str | list | dict) and data and not fitted.value):
        # What is said about the cut would take all of the budget: then it is only said that there was one.
        plan = whole.plan.replace(debug=False)
        response, _ = _largest(replace(whole, terse=True, plan=plan), render, exact)
    return response


def _largest(
    whole: Presented, render: Callable[[Presented], str], exact: Callable[[str], int]
) -> tuple[Presented, Fitted]:
    plan = whole.plan
    tried: list[Presented] = []

    def text(cut: Fitted) -> str:
        tried.append(replace(whole, fitted=cut))
        return render(tried[-1])

    fitted = fit_value(whole.cleaned.value, Budget.of(plan), text, exact, size=whole.cleaned.size)
    # What was rendered to be counted is not rendered again to go out.
    rendered = (one for one in reversed(tried) if one.fitted.value is fitted.value)
    return next(rendered, None) or replace(whole, fitted=fitted), fitted


# A response as it goes out: its data in an envelope of the plan's dialect, and the text for a model.


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
    is_plain_success = plan.dialect == "lean" and not (plan.envelope or plan.debug or call.error or call.source)
    if is_plain_success and not _says_more(response):
        return {"data": response.fitted.value}
    # Data that is empty because of a wrong name in the config says so, whatever else is told.
    include = plan.envelope | {"warnings"} if missing_fields(response) else plan.envelope
    return response.envelope.render(plan.dialect, include=include, debug=plan.debug)


def _says_more(response: Presented) -> bool:
    """Whether a plain success has more to tell than its data: a warning, or metadata that is told where it is known."""
    warned = response.cleaned.warnings and (missing_fields(response) or tool_warnings(response))
    return bool(warned or known_meta(response))


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
    named = text + original.absent_line
    if original.absent_pays and _costs_no_more(named, response):
        return named
    if response.plan.empties.asked:
        return text

    def in_place() -> str:
        whole, kind = _write_data(redact_value(cleaned.with_empties, response.plan)[0], response)
        return whole if kind == encoding else named

    forms: list[Callable[[], str]] = [lambda: named]
    if response.fitted.value is cleaned.value and not cleaned.omissions:
        forms.insert(encoding != "json", in_place)
    return next((form for form in (write() for write in forms) if _costs_no_more(form, response)), text)


def _costs_no_more(text: str, response: Presented) -> bool:
    return len(text) <= response.original.length_before and not _is_dearer_than_sent(text, response)


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
