"""What goes out when shaping is switched off, only watches, or fails: the tool's answer, never less."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import orjson

from shaping.envelope import local_envelope
from shaping.stages.intake import plain_or_careful
from shaping.stages.measure import tokens_of
from shaping.types import Draft, Shaped, Warned

if TYPE_CHECKING:
    from shaping.settings import Plan
    from shaping.shaper import Shaper
    from shaping.types import Call

_MASKED = "[withheld: redaction failed]"

observations = logging.getLogger("shaping.observe")


def untouched(value: Any, plan: Plan, call: Call, shaper: Shaper) -> Shaped:
    """Hand on the very value, as SHAPING=off asks."""
    draft = Draft(plan, call, value, shaper, data=value)
    draft.envelope = local_envelope(value, call.tool, error=call.error)
    draft.encoding = "json"
    draft.make_text = lambda: _text(plain_or_careful(value))
    draft.make_tokens = lambda: tokens_of(draft)
    return Shaped(value, draft)


def observed(value: Any, would_be: Shaped, call: Call, shaper: Shaper) -> Shaped:
    """Hand on the very value with the tokens that shaping would have saved, as SHAPING=observe asks."""
    shaped = untouched(value, would_be.plan, call, shaper)
    shaped.__dict__["tokens"] = tokens = would_be.tokens
    if observations.isEnabledFor(logging.INFO):
        observations.info("%s: %d tokens, %d if shaped", call.tool, tokens.before, tokens.after)
    return shaped


def unshaped(value: Any, plan: Plan, call: Call, shaper: Shaper, fault: Exception) -> Shaped:
    """Hand on the whole data with a warning after a fault in shaping; redaction alone fails closed."""
    warning = Warned("SHAPING_FAULT", f"shaping failed ({type(fault).__name__}); this answer is unshaped")
    draft = Draft(plan, call, value, shaper, [warning])
    draft.data = _safe(value, plan)
    draft.envelope = local_envelope(draft.data, call.tool, error=call.error, warnings=draft.warnings)
    wire = draft.envelope.render(plan.dialect, include=plan.envelope | {"warnings"}, debug=plan.debug)
    draft.encoding = "json"
    draft.make_text = lambda: _text(wire)
    draft.make_tokens = lambda: tokens_of(draft)
    return Shaped(wire, draft)


def _safe(value: Any, plan: Plan) -> Any:
    """Take out what must never leave: private paths and secrets; if that fails too, everything."""
    from shaping.redaction import redact  # noqa: PLC0415 (patterns compile at the first response)

    try:
        data = plain_or_careful(value, closed=plan.closed)
        if plan.private is not None:
            data = plan.private.apply(data)
        rules = plan.redact
        return data if rules.off else redact(data, values=rules.values, names=rules.names, paths=rules.paths)[0]
    except Exception:
        logging.getLogger("shaping").exception("redaction failed; the answer is withheld")
        return _MASKED


def _text(wire: Any) -> str:
    return wire if isinstance(wire, str) else orjson.dumps(wire).decode()
