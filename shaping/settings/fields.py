"""The field rules of a plan, compiled: for an answer, for a failed one, and for what is private."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.paths import FieldPlan
    from shaping.paths.opening import Opener


def field_plans(said: Mapping[str, Any], tier: str | None) -> dict[str, Any]:
    """Compile the field rules that were decided, each None where there is nothing to do."""
    include, exclude, back = said["include_only"], said["exclude_fields"], said["include_on_error"]
    rename, private = said["rename"], said["private"]
    held = (*said["exclude_when_tier"].get(tier, ()), *private)
    closed = bool(held)
    fields = failing = _compiled(include, (*exclude, *held), rename, closed=closed)
    if back and fields is not None:
        from shaping.settings.restore import restoring_plan  # noqa: PLC0415 (few configs say what errors show)

        # What comes back on error outranks exclude_fields, never a tier or a private path.
        failing = restoring_plan(include, exclude, back, held, rename=rename, opener=_opener(closed=closed))
    return {"fields": fields, "error_fields": failing, "private": _compiled(None, held, {}, closed=closed)}


def _compiled(
    include: Sequence[str] | None, exclude: Sequence[str], rename: Mapping[str, str], *, closed: bool
) -> FieldPlan | None:
    if include is None and not exclude and not rename:
        return None
    from shaping.paths import compile_fields  # noqa: PLC0415 (the compiler is loaded with the first plan that filters)

    return compile_fields(include, exclude, rename or None, opener=_opener(closed=closed))


def _opener(*, closed: bool) -> Opener:
    from shaping.values.opening import open_closed, open_value  # noqa: PLC0415 (stages import the plan for its types)

    return open_closed if closed else open_value
