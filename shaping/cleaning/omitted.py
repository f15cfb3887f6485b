"""What the config left out of a value, listed exactly: by fields, by tier, by `private`, by pruning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from shaping.paths import compile_fields
from shaping.paths.grammar import write_trail
from shaping.response import Omission

if TYPE_CHECKING:
    from shaping.cleaning import Cleaned
    from shaping.paths.grammar import Trail
    from shaping.response import Reason
    from shaping.settings import Plan

_SAMPLES: Final = 16  # values of one place by which all of them are priced


@dataclass(frozen=True, slots=True)
class OmittedMembers:
    """An omission, and some of the values that it left out."""

    omission: Omission
    samples: tuple[Any, ...] = ()


def members_missing(before: Any, after: Any, reason: Reason | None = None) -> list[OmittedMembers]:
    """List the members that a value lacks, the elements of a list together; each by what it was, or by one reason."""
    gone: dict[tuple[Trail, Reason], list[Any]] = {}
    _compare(before, after, None, gone, reason)
    return [
        OmittedMembers(Omission(write_trail(trail, general=True), len(values), why), tuple(values[:_SAMPLES]))
        for (trail, why), values in gone.items()
    ]


def omitted_by_fields(cleaned: Cleaned, plan: Plan) -> list[OmittedMembers]:
    """List what the config's paths left out: worked out when somebody asks, because few do."""
    fields, raw = cleaned.fields, cleaned.raw if cleaned.original is None else cleaned.original
    if fields is None:
        return []
    if cleaned.original is not None and not fields.rename and not fields.selective and plan.private is None:
        # Only members are gone, and none has another name: what is left tells it, without applying a rule again.
        try:
            return members_missing(raw, cleaned.selected, "fields")
        except _UnlikeError:
            pass
    return [OmittedMembers(omission) for omission in _with_reasons(fields.left_out(raw), raw, plan)]


def _with_reasons(omissions: list[Omission], raw: object, plan: Plan) -> list[Omission]:
    """Distinguish what is held back, and cannot be asked for, from what a list of fields leaves out."""
    held = plan.private
    if held is None:
        return omissions
    private = frozenset(plan.private_paths)
    reasons: dict[str, Reason] = {}
    for rule in held.exclude:
        reason: Reason = "private" if rule in private else "tier"
        for omission in compile_fields(None, [rule], opener=held.opener).left_out(raw):
            reasons.setdefault(omission.path, reason)
    listed = [replace(omission, reason=reasons.get(omission.path, omission.reason)) for omission in omissions]
    # Values whose names stand elsewhere are held back too, and no list of fields knows of them.
    known = {omission.path for omission in omissions}
    return [*listed, *(omission for omission in held.left_out(raw, "private") if omission.path not in known)]


class _UnlikeError(Exception):
    """Two values differ by more than members that are gone."""


def _compare(
    before: Any, after: Any, trail: Trail, gone: dict[tuple[Trail, Reason], list[Any]], reason: Reason | None
) -> None:
    if before is after:
        return
    if type(before) is dict and type(after) is dict:
        for key, item in before.items():
            if key not in after and reason is None and type(item) is dict and item:
                # Dropped because all of its members are null or empty, which is not the same as empty.
                _compare(item, {}, (trail, key), gone, reason)
            elif key not in after:
                gone.setdefault(((trail, key), reason or _kind(item)), []).append(item)
            elif after[key] is not item:
                _compare(item, after[key], (trail, key), gone, reason)
    elif type(before) is list and type(after) is list and len(before) == len(after):
        inside = (trail, 0)  # all elements are one place
        for old, new in zip(before, after, strict=True):
            if old is not new:
                _compare(old, new, inside, gone, reason)
    else:
        raise _UnlikeError


def _kind(value: Any) -> Reason:
    return "null" if value is None else "empty" if type(value) in {dict, list} else "default"
