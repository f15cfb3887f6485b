"""What goes out when shaping is switched off, only watches, or fails: the tool's answer, never less."""

from __future__ import annotations

import logging
from traceback import format_tb
from typing import TYPE_CHECKING, Any

import orjson

from shaping.cleaning.redact import WITHHELD, without_held, without_secrets
from shaping.envelope import local_envelope
from shaping.errors import scrub
from shaping.response import Draft, Shaped, Warned
from shaping.stages.measure import tokens_of
from shaping.values.intake import OddError, plain, plain_or_careful
from shaping.values.opening import OneShotError

if TYPE_CHECKING:
    from shaping.response import Call
    from shaping.settings import Plan
    from shaping.shaper import Shaper

observations = logging.getLogger("shaping.observe")


def untouched(value: Any, plan: Plan, call: Call, shaper: Shaper) -> Shaped:
    """Hand on the very value, as SHAPING=off asks."""
    draft = Draft(plan, call, value, shaper, data=value)
    draft.envelope = local_envelope(value, call.tool, error=call.error)
    draft.encoding = "json"
    draft.make_text = lambda: _text(plain_or_careful(value))
    draft.make_tokens = lambda: tokens_of(draft)
    return Shaped(value, draft)


def reads_once(value: Any) -> bool:
    """Whether looking at a value would use it up, as a generator in it does."""
    try:
        plain(value, 0)
    except OddError:
        from shaping.values.careful import take_in_carefully  # noqa: PLC0415 (rarely needed)

        try:
            take_in_carefully(value, reads=False)
        except OneShotError:
            return True
    return False


def observed(value: Any, would_be: Shaped) -> Shaped:
    """Hand on the very value with the tokens that shaping would have saved, as SHAPING=observe asks."""
    draft = would_be._draft  # noqa: SLF001 (the same response, told otherwise)
    shaped = untouched(value, draft.plan, draft.call, draft.shaper)
    shaped.__dict__["tokens"] = tokens = would_be.tokens
    if observations.isEnabledFor(logging.INFO):
        observations.info("%s: %d tokens, %d if shaped", draft.call.tool, tokens.before, tokens.after)
    return shaped


def unshaped(failed: Draft, fault: Exception) -> Shaped:
    """Hand on the whole data with a warning after a fault in shaping; redaction alone fails closed."""
    log_fault("shaping %r failed with %s; its answer goes out unshaped\n%s", failed.plan.tool, fault)
    warning = Warned("SHAPING_FAULT", f"shaping failed ({type(fault).__name__}); this answer is unshaped")
    # The raw value as the stages left it: of a generator that was read, what it gave.
    plan, call = failed.plan, failed.call
    draft = Draft(plan, call, failed.raw, failed.shaper, [*map(without_secrets, call.warnings), warning])
    draft.data = _safe(failed.raw, plan)
    draft.envelope = local_envelope(
        draft.data, call.tool, error=call.error, warnings=draft.warnings, request_id=call.request_id
    )
    wire = draft.envelope.render(plan.dialect, include=plan.envelope | {"warnings"}, debug=plan.debug)
    draft.encoding = "json"
    draft.make_text = lambda: _text(wire)
    draft.make_tokens = lambda: tokens_of(draft)
    return Shaped(wire, draft)


def _safe(value: Any, plan: Plan) -> Any:
    """Take out what must never leave: private paths and secrets; if that fails too, everything."""
    try:
        return without_held(plain_or_careful(value, closed=plan.closed), plan)
    except Exception as fault:  # noqa: BLE001 (whatever it is, what cannot be cleaned must not leave)
        log_fault("the answer of %r is withheld, because redaction failed with %s\n%s", plan.tool, fault)
        return WITHHELD


def log_fault(message: str, tool: str, fault: Exception) -> None:
    """Log where a fault happened and of what kind it is; its own words may hold a part of the answer."""
    try:
        places = scrub("".join(format_tb(fault.__traceback__)))
    except Exception:  # noqa: BLE001 (where redaction itself is at fault, only what needs none can be told)
        places = ""
    logging.getLogger("shaping").error(message, tool, type(fault).__name__, places)


def _text(wire: Any) -> str:
    return wire if isinstance(wire, str) else orjson.dumps(wire).decode()
