"""The plan of a response's next pages: kept with its original, so that every page has the form of the first."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import orjson

from shaping.paths import compile_fields
from shaping.settings.plan import PRUNE_NOTHING, Prune

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.paths import FieldPlan
    from shaping.response import CallContext
    from shaping.settings import Plan

_AS_THEY_ARE = ("profile", "noise", "encoding", "lossless", "max_string")


def about_pages(plan: Plan, fields: FieldPlan | None, call: CallContext) -> dict[str, str]:
    """Write down by which choices a response was shaped."""
    paths = None if fields is None else (fields.include, fields.exclude, dict(fields.rename))
    said = {name: getattr(plan, name) for name in _AS_THEY_ARE}
    said |= {"fields": paths, "prune": asdict(plan.prune), "arguments": sorted(call.arguments)}
    return {"plan": orjson.dumps(said).decode()}


def first_page_plan(now: Plan, meta: Mapping[str, str]) -> tuple[Plan, frozenset[str]]:
    """Read the choices back into the plan of now, which still says what is private; and what names noise rules keep."""
    if "plan" not in meta:
        return now, frozenset()
    said: dict[str, Any] = orjson.loads(meta["plan"])
    prune = {**said["prune"], "default_values": tuple(map(tuple, said["prune"]["default_values"]))}
    fields = None if said["fields"] is None else compile_fields(*said["fields"])
    choices = {name: said[name] for name in _AS_THEY_ARE} | {"noise": tuple(said["noise"]), "prune": Prune(**prune)}
    return replace(now, fields=fields, error_fields=fields, **choices), frozenset(said["arguments"])


def whole_plan(plan: Plan) -> Plan:
    """Return a plan that filters nothing: what is asked back comes as it was, less what must never leave."""
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
