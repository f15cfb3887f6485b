"""The field rules of a plan, compiled: for an answer, for a failed one, and for what is private."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.paths import FieldPlan


def field_plans(said: Mapping[str, Any], tier: str | None) -> dict[str, Any]:
    """Compile the field rules that were decided, each None where there is nothing to do."""
    include, exclude, back = said["include_only"], said["exclude_fields"], said["include_on_error"]
    rename, private = said["rename"], said["private"]
    held_back = (*said["exclude_when_tier"].get(tier, ()), *private)
    fields = failing = _compiled(include, (*exclude, *held_back), rename)
    if back:
        # What comes back on error outranks exclude_fields, never a tier or a private path.
        excluded = [path for path in exclude if not any(_takes(path, wanted) for wanted in back)]
        failing = _compiled(None if include is None else (*include, *back), (*excluded, *held_back), rename)
    return {"fields": fields, "error_fields": failing, "private": _compiled(None, private, {})}


def _compiled(include: Sequence[str] | None, exclude: Sequence[str], rename: Mapping[str, str]) -> FieldPlan | None:
    if include is None and not exclude and not rename:
        return None
    from shaping.paths import compile_fields  # noqa: PLC0415 (the compiler is loaded with the first plan that filters)
    from shaping.stages.intake import open_value  # noqa: PLC0415 (stages import the plan for its types)

    return compile_fields(include, exclude, rename or None, opener=open_value)


def _takes(exclude: str, wanted: str) -> bool:
    """Say whether one rule drops what another path names."""
    from shaping.paths import compile_fields  # noqa: PLC0415 (as above)

    sample = _sample(wanted)
    return bool(compile_fields(None, [exclude]).apply(sample) != sample)


def _sample(path: str) -> Any:
    """Make the smallest data in which a path finds something."""
    from shaping.paths import parse  # noqa: PLC0415 (as above)
    from shaping.paths.grammar import Glob, Name  # noqa: PLC0415 (as above)

    data: Any = 0
    for step in reversed(parse(path).steps):
        if isinstance(step, Name):
            data = {step.key: data}
        elif isinstance(step, Glob):
            data = {step.pattern.replace("*", "_"): data}
    return data
