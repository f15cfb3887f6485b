"""A page of what was asked back: whole values, no noise rules, the tool's own budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shaping.paths.renames import original
from shaping.response import CallContext
from shaping.settings.plan import PRUNE_NOTHING
from shaping.store.expand import expand
from shaping.store.parts import listed
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.paths import FieldPlan
    from shaping.response import Shaped
    from shaping.settings import Plan
    from shaping.store.expand import Expanded, Recalled


def expanded_page(
    kept: Recalled,
    ref: str,
    shown_by: Plan,
    secret: bytes,
    *,
    path: str | None,
    cursor: str | None,
    max_tokens: int | None,
    shape: Callable[[Plan, Any, CallContext], Shaped],
    written: Callable[[Shaped], str] | None = None,
) -> Shaped:
    """Choose a page of what a ref stands for, as much of it as the budget shows, and shape it."""
    plan = whole_plan(shown_by)

    def page(found: Expanded) -> Shaped:
        call = CallContext(page=found.path, cursor=found.cursor, path_with_ids=found.path_with_ids)
        return shape(plan, found.value, call)

    found = expand(
        kept,
        ref,
        secret,
        path=None if path is None else _raw_paths(path, kept.value, shown_by.fields),
        cursor=cursor,
        private=plan.private,
        max_tokens=max_tokens or shown_by.max_tokens,
        render=lambda found: page(found).text if written is None else written(page(found)),
        counter=counter(plan.tokenizer),
    )
    return page(found)


def _raw_paths(path: str, value: Any, fields: FieldPlan | None) -> str:
    """Write a path, or each of several, in the names that the tool gave."""
    one = original(path, value, fields)
    paths = listed(value, one)
    return one if len(paths) == 1 else ",".join(original(each, value, fields) for each in listed(value, path))


def whole_plan(plan: Plan) -> Plan:
    """Give a plan that filters nothing: what is asked back comes as it was, less what must never leave."""
    return replace(
        plan,
        fields=None,
        error_fields=None,
        prune=PRUNE_NOTHING,
        noise=tuple(rule for rule in plan.noise if rule in {"repeats", "constants"}),
        max_tokens=None,
        max_items=None,
        max_string=None,
    )
