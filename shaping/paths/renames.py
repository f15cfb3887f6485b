"""Paths in the names that a tool gave, and in the names that a reader is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.paths import PathError, parse
from shaping.paths.grammar import Deep, Glob, Index, Name, Path, Slice
from shaping.paths.rules import settle

if TYPE_CHECKING:
    from shaping.paths import FieldPlan
    from shaping.paths.grammar import Step
    from shaping.paths.rules import State


def original(path: str, raw: Any, plan: FieldPlan | None) -> str:
    """Write a path in the names of the raw value; one that is in those names already stays as it is."""
    if plan is None or not differs(path, plan):
        return path
    try:
        steps = parse(path).steps
    except PathError:
        return path
    return str(Path(tuple(_renamed_back(steps, [raw], plan.state))))


def shown(path: str, plan: FieldPlan | None) -> str:
    """Write a path in the names that a reader is shown, as far as the rules alone tell."""
    if plan is None or not plan.rename:
        return path
    found: list[Step] = []
    state = plan.state
    for step in parse(path).steps:
        # Below a `**` the rules of any depth hold, and those are the ones that stay.
        verdict = state.member(step.key) if isinstance(step, Name) else None
        found.append(step if verdict is None else Name(verdict.name))
        state = state if verdict is None else verdict.state
    return str(Path(tuple(found)))


def differs(path: str, plan: FieldPlan | None) -> bool:
    """Whether a path may read otherwise in the raw value: fields are renamed, or elements not asked for are gone."""
    return plan is not None and bool(path) and (bool(plan.rename) or (plan.selective and "[" in path))


def _renamed_back(steps: tuple[Step, ...], nodes: list[Any], state: State) -> list[Step]:
    found: list[Step] = []
    for at, step in enumerate(steps):
        if isinstance(step, Deep | Glob):
            return [*found, *steps[at:]]
        if not isinstance(step, Name):
            step = _placed(step, nodes) if state.partial else step  # noqa: PLW2901 (the same step, in the raw value)
            nodes = [item for node in nodes if isinstance(node, list) for item in _elements(node, step)]
            found.append(step)
            continue
        objects = [node for node in _passed_through(nodes) if isinstance(node, dict)]
        key = next((key for node in objects if (key := _key_of(step.key, node, state)) is not None), step.key)
        verdict = state.member(key)
        if verdict is None:
            return [*found, *steps[at:]]
        found.append(Name(key))
        nodes, state = [node[key] for node in objects if key in node], verdict.state
    return found


def _key_of(name: str, node: dict[str, Any], state: State) -> str | None:
    """Find the key whose value is written under a name."""
    kept = [(key, verdict.name) for key in node if (verdict := state.member(key)) is not None]
    return next((key for key, written in settle(kept).items() if written == name), None)


def _placed(step: Step, nodes: list[Any]) -> Step:
    """Count the elements that a list of fields leaves out: of those, scalars are not what was asked for."""
    if len(nodes) != 1 or not isinstance(nodes[0], list):
        return step
    kept = [at for at, item in enumerate(nodes[0]) if isinstance(item, dict | list)]
    if isinstance(step, Index):
        return Index(kept[step.at]) if step.at < len(kept) else step
    if not isinstance(step, Slice):
        return step
    end = len(nodes[0])
    start = kept[step.start] if step.start is not None and step.start < len(kept) else step.start and end
    stop = kept[step.stop - 1] + 1 if step.stop is not None and 0 < step.stop <= len(kept) else step.stop and end
    return Slice(start, stop)


def _passed_through(nodes: list[Any]) -> list[Any]:
    """Go through lists to what is in them, as paths do."""
    while any(isinstance(node, list) for node in nodes):
        nodes = [item for node in nodes for item in (node if isinstance(node, list) else [node])]
    return nodes


def _elements(node: list[Any], step: Step) -> list[Any]:
    if isinstance(step, Index):
        return node[step.at : step.at + 1]
    return node[step.start : step.stop] if isinstance(step, Slice) else node
