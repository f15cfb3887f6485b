"""What the config left out of a value, listed exactly: by fields, by tier, by `private`, by pruning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shaping.cleaning.prune import pruned_members

if TYPE_CHECKING:
    from shaping.cleaning import Cleaned
    from shaping.response import Omission, Reason
    from shaping.settings import Plan


def omitted_by_config(cleaned: Cleaned, plan: Plan) -> list[Omission]:
    """List what fields and pruning left out: worked out when somebody asks, because few do."""
    found: list[Omission] = []
    if cleaned.fields is not None:
        raw = cleaned.raw if cleaned.original is None else cleaned.original
        found += _with_reasons(cleaned.fields.left_out(raw), raw, plan)
    return found + pruned_members(cleaned.selected, cleaned.pruned)


def _with_reasons(omissions: list[Omission], raw: object, plan: Plan) -> list[Omission]:
    """Distinguish what is held back, and cannot be asked for, from what a list of fields leaves out."""
    held = plan.private
    if held is None:
        return omissions
    from shaping.paths import compile_fields  # noqa: PLC0415 (few configs hold anything back)

    private = frozenset(plan.private_paths)
    reasons: dict[str, Reason] = {}
    for rule in held.exclude:
        reason: Reason = "private" if rule in private else "tier"
        for omission in compile_fields(None, [rule], opener=held.opener).left_out(raw):
            reasons.setdefault(omission.path, reason)
    return [replace(omission, reason=reasons.get(omission.path, omission.reason)) for omission in omissions]
