"""What goes out when shaping is switched off, only observes, or fails: the tool's answer, never less."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from shaping import envelope as envelopes
from shaping.cleaning import WITHHELD, protect_or_withhold, redact_warning
from shaping.cleaning.call import clean_envelope, clean_error
from shaping.redaction import log_fault
from shaping.response import CallContext, Shaped, Warned, cached_property
from shaping.tokens import Tokens
from shaping.values import reads_once, to_plain

if TYPE_CHECKING:
    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.settings.plan import Plan

logger = logging.getLogger("shaping")


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
