"""Redacting: secrets are replaced by marks before anything leaves; when in doubt, the answer is withheld."""

from __future__ import annotations

import logging
from dataclasses import replace
from traceback import format_tb
from typing import TYPE_CHECKING, Any

from shaping.errors import scrub
from shaping.errors.detail import changed_texts, scrub_error
from shaping.redaction import redact as replace_secrets
from shaping.response import NOTHING, StepNotes, Warned
from shaping.values.plain import to_plain

if TYPE_CHECKING:
    from shaping.errors import ErrorDetail
    from shaping.response import CallContext
    from shaping.settings import Plan


def redact(value: Any, plan: Plan) -> tuple[Any, StepNotes]:
    """Replace what the redaction rules match, and warn of each place so that nobody writes a mark back unawares."""
    rules = plan.redact
    if rules.off:
        return value, NOTHING
    clean, hits = replace_secrets(value, values=rules.values, names=rules.names, paths=rules.paths)
    return clean, StepNotes(tuple(replaced(hit.rule, hit.path) for hit in hits)) if hits else NOTHING


def replaced(rule: str, path: str) -> Warned:
    """Warn that a mark stands where a value stood."""
    return Warned("REDACTED", f"a value matched the rule {rule} and was replaced", path)


def without_secrets(warned: Warned) -> Warned:
    """Return the warning with secrets taken out of its message and path."""
    return Warned(warned.code, scrub(warned.message), None if warned.path is None else scrub(warned.path))


def scrub_call(call: CallContext, plan: Plan) -> CallContext:
    """Take secrets and private fields out of the error and the envelope that others described a call by."""
    error, source, names = call.error, call.source, plan.redact.names
    if plan.private is not None and error is not None:
        error = error_without_private(error, plan)
        call = replace(call, error=error)
    if plan.redact.off or (error is None and (source is None or not source.warnings)):
        return call
    if source is not None:
        said: dict[str, Any] = {"warnings": tuple(without_secrets(warned) for warned in source.warnings)}
        if source.error is not None:
            said["error"] = scrub_error(source.error, names=names)
        source = source.model_copy(update=said)
    return replace(call, error=None if error is None else scrub_error(error, names=names), source=source)


def error_without_private(error: ErrorDetail, plan: Plan) -> ErrorDetail:
    """Take private fields out of all that an error says; the same error where there are none."""
    return error if plan.private is None else changed_texts(error, plan.private.at_any_depth().apply)


WITHHELD = "[withheld: redaction failed]"


def fail_safe(value: Any, plan: Plan) -> Any:
    """Return the value as plain data without private paths and secrets; where that fails too, only a mark."""
    try:
        return without_held(to_plain(value, closed=plan.closed), plan)
    except Exception as fault:  # noqa: BLE001 (whatever it is, what cannot be redacted must not leave)
        log_fault("the answer of %r is withheld, because redaction failed with %s\n%s", plan.tool, fault)
        return WITHHELD


def without_held(data: Any, plan: Plan) -> Any:
    """Take private paths and secrets out of plain data that the steps of cleaning never saw."""
    rules = plan.redact
    kept = data if plan.private is None else plan.private.apply(data)
    return kept if rules.off else replace_secrets(kept, values=rules.values, names=rules.names, paths=rules.paths)[0]


def log_fault(message: str, tool: str, fault: Exception) -> None:
    """Log where a fault happened and of what kind it is; its message may hold a part of the answer."""
    try:
        places = scrub("".join(format_tb(fault.__traceback__)))
    except Exception:  # noqa: BLE001 (where redaction itself is at fault, only what needs none can be logged)
        places = ""
    logging.getLogger("shaping").error(message, tool, type(fault).__name__, places)
