"""Secrets are replaced by marks, before anything leaves; when in doubt, closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.types import Warned

if TYPE_CHECKING:
    from shaping.types import Draft


def redact(value: Any, draft: Draft) -> Any:
    """Replace what the redaction rules match, and warn of each place so that nobody writes a mark back unawares."""
    rules = draft.plan.redact
    if rules.off:
        return value
    from shaping.redaction import redact as redact_value  # noqa: PLC0415 (patterns compile at the first response)

    clean, hits = redact_value(value, values=rules.values, names=rules.names, paths=rules.paths)
    for hit in hits:
        draft.warnings.append(Warned("REDACTED", f"a value matched the rule {hit.rule} and was replaced", hit.path))
    return clean
