"""A page of what was asked back: by a path the exact values, by a response's cursor what follows its first page."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import orjson

from shaping.cleaning import clean
from shaping.paths import compile_fields
from shaping.paths.rules import original
from shaping.response import CallContext
from shaping.settings.plan import KEEP_EMPTIES, Empties
from shaping.store.expand import expand
from shaping.store.originals import SHAPED
from shaping.store.parts import listed
from shaping.tokens import counter
from shaping.values.careful import with_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.paths import FieldPlan
    from shaping.response import Shaped
    from shaping.settings import Plan
    from shaping.store.expand import Expanded, Recalled


_AS_THEY_ARE = ("profile", "noise", "encoding", "lossless", "max_string")


def about_pages(plan: Plan, fields: FieldPlan | None, call: CallContext) -> dict[str, str]:
    """Write down by which choices a response was shaped."""
    paths = None if fields is None else (fields.include, fields.exclude, dict(fields.rename))
    said = {name: getattr(plan, name) for name in _AS_THEY_ARE}
    said |= {"fields": paths, "prune": asdict(plan.empties), "arguments": sorted(call.arguments)}
    return {"plan": orjson.dumps(said).decode()}


def first_page_plan(now: Plan, meta: Mapping[str, str]) -> tuple[Plan, frozenset[str]]:
    """Read the choices back into the plan of now, which still says what is private; and what names noise rules keep."""
    if "plan" not in meta:
        return now, frozenset()
    said: dict[str, Any] = orjson.loads(meta["plan"])
    empties = {**said["prune"], "default_values": tuple(map(tuple, said["prune"]["default_values"]))}
    fields = None if said["fields"] is None else compile_fields(*said["fields"])
    choices = {name: said[name] for name in _AS_THEY_ARE} | {"noise": tuple(said["noise"])}
    plan = replace(now, fields=fields, error_fields=fields, empties=Empties(**empties), **choices)
    return plan, frozenset(said["arguments"])


def whole_plan(plan: Plan) -> Plan:
    """Return a plan that filters nothing: what is asked back comes as it was, less what must never leave."""
    return replace(
        plan,
        fields=None,
        error_fields=None,
        empties=KEEP_EMPTIES,
        noise=tuple(rule for rule in plan.noise if rule in {"repeats", "constants"}),
        max_tokens=None,
        max_items=None,
        max_string=None,
    )


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
    private, value, plan = shown_by.private, kept.value, whole_plan(shown_by)
    if cursor is not None and cursor.startswith(SHAPED):
        # The next page of what a response cut: the same data, by the same plan, from where the first page ended.
        first, arguments = first_page_plan(shown_by, kept.meta)
        kept_data = value if private is None else private.apply(value)
        value = clean(kept_data, first, CallContext(arguments=arguments)).value
        # It is shaped as a page once more, which is to find numbers where there were some.
        value = with_numbers(value) if "numbers" in kept.meta else value
        private, plan = None, replace(whole_plan(first), max_string=first.max_string)

    def page(found: Expanded) -> Shaped:
        call = CallContext(page=found.path, cursor=found.cursor, path_with_ids=found.path_with_ids)
        return shape(plan, found.value, call)

    found = expand(
        replace(kept, value=value),
        ref,
        secret,
        path=None if path is None else _raw_paths(path, kept.value, shown_by.fields),
        cursor=cursor,
        private=private,
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
