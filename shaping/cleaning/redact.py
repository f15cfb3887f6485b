"""Redacting: secrets are replaced by marks before anything leaves; when in doubt, the answer is withheld."""

from __future__ import annotations

import logging
from traceback import format_tb
from typing import TYPE_CHECKING, Any

from shaping.redaction import redact, scrub
from shaping.response import NOTHING, StepNotes, Warned
from shaping.values.plain import to_plain

if TYPE_CHECKING:
    from shaping.settings import Plan


def redact_value(value: Any, plan: Plan) -> tuple[Any, StepNotes]:
    """Replace what the redaction rules match, and warn of each place so that nobody writes a mark back unawares."""
    rules = plan.redact
    if rules.off:
        return value, NOTHING
    clean, hits = redact(value, values=rules.values, names=rules.names, paths=rules.paths)
    return clean, StepNotes(tuple(replaced(hit.rule, hit.path) for hit in hits)) if hits else NOTHING


def replaced(rule: str, path: str) -> Warned:
    """Warn that a mark stands where a value stood."""
    return Warned("REDACTED", f"a value matched the rule {rule} and was replaced", path)


def scrub_warning(warned: Warned) -> Warned:
    """Return the warning with secrets taken out of its message and path."""
    return Warned(warned.code, scrub(warned.message), None if warned.path is None else scrub(warned.path))


WITHHELD = "[withheld: redaction failed]"


def fail_safe(value: Any, plan: Plan) -> Any:
    """Return the value as plain data without private paths and secrets; where that fails too, only a mark."""
    try:
        return without_private_and_secrets(to_plain(value, closed=plan.closed), plan)
    except Exception as fault:  # noqa: BLE001 (whatever it is, what cannot be redacted must not leave)
        log_fault("the answer of %r is withheld, because redaction failed with %s\n%s", plan.tool, fault)
        return WITHHELD


def without_private_and_secrets(data: Any, plan: Plan) -> Any:
    """Take private paths and secrets out of plain data that the steps of cleaning never saw."""
    rules = plan.redact
    kept = data if plan.private is None else plan.private.apply(data)
    return kept if rules.off else redact(kept, values=rules.values, names=rules.names, paths=rules.paths)[0]


def log_fault(message: str, tool: str, fault: Exception) -> None:
    """Log where a fault happened and of what kind it is; its message may hold a part of the answer."""
    try:
        places = scrub("".join(format_tb(fault.__traceback__)))
    except Exception:  # noqa: BLE001 (where redaction itself is at fault, only what needs none can be logged)
        places = ""
    logging.getLogger("shaping").error(message, tool, type(fault).__name__, places)
