"""Secrets are replaced by marks, before anything leaves; when in doubt, closed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from shaping.response import Warned

if TYPE_CHECKING:
    from shaping.errors import ErrorDetail
    from shaping.response import Call, Draft
    from shaping.settings import Plan


WITHHELD = "[withheld: redaction failed]"


def redact(value: Any, draft: Draft) -> Any:
    """Replace what the redaction rules match, and warn of each place so that nobody writes a mark back unawares."""
    rules = draft.plan.redact
    if rules.off:
        return value
    clean, hits = _rules()(value, values=rules.values, names=rules.names, paths=rules.paths)
    draft.warnings += [replaced(hit.rule, hit.path) for hit in hits]
    if draft.warnings:
        # Paths are made of keys, and a tool's own warnings of anything.
        draft.warnings = [without_secrets(warned) for warned in draft.warnings]
    return clean


def replaced(rule: str, path: str) -> Warned:
    """Warn that a mark stands where a value stood."""
    return Warned("REDACTED", f"a value matched the rule {rule} and was replaced", path)


def without_held(data: Any, plan: Plan) -> Any:
    """Take out of plain data what must never leave, private paths and secrets, where the stages cannot."""
    from shaping.redaction import redact as replace_secrets  # noqa: PLC0415 (few answers come this way)

    rules = plan.redact
    kept = data if plan.private is None else plan.private.apply(data)
    return kept if rules.off else replace_secrets(kept, values=rules.values, names=rules.names, paths=rules.paths)[0]


def without_secrets(warned: Warned) -> Warned:
    """Give a warning whose words and place hold no secret."""
    from shaping.errors import scrub  # noqa: PLC0415 (few answers are warned about)

    return Warned(warned.code, scrub(warned.message), None if warned.path is None else scrub(warned.path))


def cleaned(call: Call, plan: Plan) -> Call:
    """Take secrets and private fields out of what others said of a call: its error, an envelope of the tool's own."""
    error, source = call.error, call.source
    if plan.private is not None and error is not None:
        error = error_without_private(error, plan)
        call = replace(call, error=error)
    if plan.redact.off or (error is None and (source is None or not source.warnings)):
        return call
    from shaping.errors.detail import scrub_error  # noqa: PLC0415 (few answers are errors)

    if source is not None:
        said: dict[str, Any] = {"warnings": tuple(without_secrets(warned) for warned in source.warnings)}
        if source.error is not None:
            said["error"] = scrub_error(source.error)
        source = source.model_copy(update=said)
    return replace(call, error=None if error is None else scrub_error(error), source=source)


def error_without_private(error: ErrorDetail, plan: Plan) -> ErrorDetail:
    """Take private fields out of an error's words and details; itself where there are none."""
    if plan.private is None:
        return error
    said = {name: getattr(error, name) for name in ("message", "detail", "details")}
    said["next_actions"] = list(error.next_actions)
    kept = plan.private.at_any_depth()
    clean = {name: kept.apply(value) for name, value in said.items()}
    if clean == said:
        return error
    return error.model_copy(update={**clean, "next_actions": tuple(clean["next_actions"])})


@cache
def _rules() -> Any:
    """Load the rules with the first response: their patterns take longer to compile than all else to import."""
    from shaping.redaction import redact as replace_secrets  # noqa: PLC0415 (see above)

    return replace_secrets
