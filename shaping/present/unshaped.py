"""What goes out when shaping is switched off, only observes, or fails: the tool's answer, never less."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from shaping.cleaning.redact import fail_safe, log_fault, scrub_warning
from shaping.envelope import local_envelope
from shaping.response import Shaped, Warned
from shaping.tokens import Tokens
from shaping.values.plain import to_plain

if TYPE_CHECKING:
    from shaping.envelope import Envelope
    from shaping.response import CallContext
    from shaping.settings import Plan

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
    def written(self) -> tuple[str, str]:
        """The text and the name of its form."""
        return _json(self.value), "json"

    @cached_property
    def tokens(self) -> Tokens:
        """What it cost before and after."""
        if self.would_be is not None:
            return self.would_be.tokens
        before = self.call.text_before or (lambda: _json(self.envelope.data))
        return Tokens(before=before, after=lambda: self.text, tokenizer=self.plan.tokenizer)


def untouched(value: Any, plan: Plan, call: CallContext) -> Unshaped:
    """Hand on the very value, as SHAPING=off asks."""
    return Unshaped(plan, call, value, local_envelope(value, plan.tool, error=call.error))


def observed(value: Any, would_be: Shaped) -> Unshaped:
    """Hand on the very value with the tokens that shaping would have saved, as SHAPING=observe asks."""
    shaped = replace(untouched(value, would_be.plan, would_be.call), would_be=would_be)
    if logger.isEnabledFor(logging.INFO):
        tokens = would_be.tokens
        logger.info("%s: %d tokens, %d if shaped", would_be.plan.tool, tokens.before, tokens.after)
    return shaped


def unshaped(raw: Any, plan: Plan, call: CallContext, fault: Exception) -> Unshaped:
    """Hand on the whole data with a warning after a fault in shaping; redaction alone fails closed."""
    log_fault("shaping %r failed with %s; its answer goes out unshaped\n%s", plan.tool, fault)
    warning = Warned("SHAPING_FAULT", f"shaping failed ({type(fault).__name__}); this answer is unshaped")
    warnings = (*map(scrub_warning, call.warnings), warning)
    envelope = local_envelope(
        fail_safe(raw, plan), plan.tool, error=call.error, warnings=warnings, request_id=call.request_id
    )
    wire = envelope.render(plan.dialect, include=plan.envelope | {"warnings"}, debug=plan.debug)
    return Unshaped(plan, call, wire, envelope)


def _json(value: Any) -> str:
    plain = to_plain(value)
    return plain if isinstance(plain, str) else orjson.dumps(plain).decode()
