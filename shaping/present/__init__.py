"""The second phase: Cleaned -> cut <-> wrap <-> write <-> count -> Shaped, in a loop until it fits its budget."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from shaping import envelope as envelopes
from shaping.budget.fit import Budget, Fitted, fit_value
from shaping.cleaning import WITHHELD, Cleaned, protect_or_withhold, redact_warning, restore_empties
from shaping.cleaning.call import clean_envelope, clean_error
from shaping.present.notices import notice
from shaping.present.original import Original
from shaping.present.render import tag_of, wants_tag, wire_value, wrap, write
from shaping.redaction import log_fault
from shaping.response import CallContext, Facts, Lengths, Listed, Omission, Shaped, Warned, cached_property
from shaping.store.keeper import NOT_KEPT, Originals
from shaping.tokens import Tokens, counter
from shaping.values import reads_once, to_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.settings.plan import Plan

logger = logging.getLogger("shaping")

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
    store: Originals,
    *,
    timings: Mapping[str, float],
    may_cut: bool = True,
) -> Shaped | None:
    """Wrap cleaned data, and cut it where its text would be over the plan's budget.

    Return None for data that is over the budget and may not be cut; nothing of it is kept behind a ref or in a file.
    """
    original = Original(cleaned, plan, call, call.owner or facts.session_id, store)
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


# What goes out when shaping is switched off, only observes, or fails: the tool's answer, never less.


@dataclass(frozen=True, eq=False, repr=False)
class Unshaped(Shaped):
    """A response that goes out as it came: nothing is left out of it, and its text is JSON."""

    plan: Plan
    call: CallContext
    wire: Any
    wrapped: Envelope[Any]
    would_be: Shaped | None = None  # what shaping would have made of it, where it only observes

    @property
    def value(self) -> Any:
        """The wire form: the very value, or after a fault its envelope."""
        return self.wire

    @property
    def envelope(self) -> Envelope[Any]:
        """The typed envelope."""
        return self.wrapped

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """What the reader should know."""
        return self.wrapped.warnings

    @cached_property
    def text_and_encoding(self) -> tuple[str, str]:
        """The text and the name of its form."""
        return _json(self.value), "json"

    @cached_property
    def tokens(self) -> Tokens:
        """What it cost before and after."""
        if self.would_be is not None:
            return self.would_be.tokens
        before = self.call.text_before or (lambda: _json(self.envelope.data))
        return Tokens(before=before, after=lambda: self.text, tokenizer=self.plan.tokenizer)


def when_off(value: Any, plan: Plan, call: CallContext) -> Unshaped:
    """Hand on the very value, as SHAPING=off asks."""
    return Unshaped(plan, call, value, call.source or envelopes.local_envelope(value, plan.tool, error=call.error))


def when_observing(value: Any, would_be: Shaped) -> Unshaped:
    """Hand on the very value with the tokens that shaping would have saved, as SHAPING=observe asks."""
    shaped = replace(when_off(value, would_be.plan, would_be.call), would_be=would_be)
    if logger.isEnabledFor(logging.INFO):
        tokens = would_be.tokens
        logger.info("%s: %d tokens, %d if shaped", would_be.plan.tool, tokens.before, tokens.after)
    return shaped


def when_not_enabled(value: Any, plan: Plan, call: CallContext) -> Unshaped:
    """Hand on the very value, or the same without private paths and secrets, as `enabled: false` asks."""
    used_up, clean = reads_once(value), protect_or_withhold(value, plan)
    changed = used_up or clean == WITHHELD or clean != to_plain(value, closed=plan.closed)
    data = clean if changed else value
    envelope = _protected_envelope(data, plan, call)
    bare = plan.dialect == "none"
    wire = data if bare else envelope.render(plan.dialect, include=plan.envelope, debug=plan.debug)
    return Unshaped(plan, call, wire, envelope)


def after_fault(raw: Any, plan: Plan, call: CallContext, fault: Exception) -> Unshaped:
    """Hand on the whole data with a warning after a fault in shaping; redaction alone fails closed."""
    log_fault("shaping %r failed with %s; its answer goes out unshaped\n%s", plan.tool, fault)
    warning = Warned("SHAPING_FAULT", f"shaping failed ({type(fault).__name__}); this answer is unshaped")
    envelope = _protected_envelope(protect_or_withhold(raw, plan), plan, call, warning)
    wire = envelope.render(plan.dialect, include=plan.envelope | {"warnings"}, debug=plan.debug)
    return Unshaped(plan, call, wire, envelope)


def _protected_envelope(data: Any, plan: Plan, call: CallContext, *more: Warned) -> Envelope[Any]:
    """Put data into the envelope that it came in, without its private fields and secrets, or into one of its own."""
    error = _protect_error(call.error, plan)
    warnings = (*(call.warnings if plan.redact.off else map(redact_warning, call.warnings)), *more)
    try:
        source = None if call.source is None else clean_envelope(call.source, plan)
    except Exception as fault:  # noqa: BLE001 (whatever it is, what cannot be redacted must not leave)
        log_fault("the meta of %r is withheld, because redaction failed with %s\n%s", plan.tool, fault)
        source = None
    if source is None:
        return envelopes.local_envelope(data, plan.tool, error=error, warnings=warnings, request_id=call.request_id)
    return source.model_copy(update={"data": data, "error": error, "warnings": (*source.warnings, *warnings)})


def _protect_error(error: ErrorDetail | None, plan: Plan) -> ErrorDetail | None:
    """Return the error without private fields and secrets; where that fails too, only its code."""
    try:
        return None if error is None else clean_error(error, plan)
    except Exception as fault:  # noqa: BLE001 (whatever it is, what cannot be redacted must not leave)
        log_fault("the error of %r is withheld, because redaction failed with %s\n%s", plan.tool, fault)
        return error and type(error)(code=error.code, message=WITHHELD)


def _json(value: Any) -> str:
    plain = to_plain(value)
    return plain if isinstance(plain, str) else orjson.dumps(plain).decode()
