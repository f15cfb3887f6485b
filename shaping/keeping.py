"""What was left out stays behind a ref: redacted, without private paths, written off the caller's thread."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from shaping.response import Warned, present
from shaping.settings.plan import PRUNE_NOTHING
from shaping.values.intake import plain_or_careful

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.paths import FieldPlan
    from shaping.response import Draft, Shaped
    from shaping.settings import Plan, Surface
    from shaping.shaper import Shaper
    from shaping.store import Keeper
    from shaping.store.expand import Expanded


NOT_KEPT = Warned("NOT_KEPT", "the store is out of reach or full: what was left out cannot be expanded")


def keep(draft: Draft, keeper: Keeper, ttl: float) -> str | None:
    """Keep the raw value of a response and give its ref; None, with a warning, where the store cannot take it."""
    from shaping.store.refs import make_ref  # noqa: PLC0415 (most responses keep nothing)

    secret = keeper.secret
    if secret is not None:
        # Written at once, stored later: whoever owns the raw value may change it as soon as the call is over.
        content = draft.call.written or orjson.dumps(plain_raw(draft))
        owner = draft.call.owner or draft.shaper.facts.session_id
        ref = make_ref(secret, draft.call.tool, content, owner)
        meta = {"tool": draft.call.tool, "owner": owner or "", "surface": draft.plan.surface}
        make = partial(payload, content, draft.plan)  # and not the draft, which holds the whole answer
        if keeper.keep(ref, make, meta=meta, ttl=ttl, size=len(content)):
            return ref
    if NOT_KEPT not in draft.warnings:  # each try at a budget comes by here
        draft.warnings.append(NOT_KEPT)
    return None


def plain_raw(draft: Draft) -> Any:
    """Give the raw value of a response as plain data."""
    return draft.plain if draft.plain is not None else plain_or_careful(draft.raw, closed=draft.plan.closed)


def original_path(draft: Draft, path: str) -> str:
    """Write a path of the shaped data in the names of the raw value, which is what is kept."""
    if draft.filter is None:
        return path
    from shaping.paths.renames import differs, original  # noqa: PLC0415 (most answers are cut, if at all, as they are)

    return original(path, plain_raw(draft), draft.filter) if differs(path, draft.filter) else path


def payload(content: bytes, plan: Plan) -> bytes:
    """Take out what must not even be stored: private paths and secrets."""
    from shaping.redaction import redact_json  # noqa: PLC0415 (runs on the keeper's thread)

    if plan.private is not None:
        content = orjson.dumps(plan.private.apply(orjson.loads(content)))
    rules = plan.redact
    return content if rules.off else redact_json(content, values=rules.values, names=rules.names, paths=rules.paths)


def expanded(
    shaper: Shaper,
    keeper: Keeper,
    ref: str,
    *,
    path: str | None,
    cursor: str | None,
    max_tokens: int | None,
    surface: Surface,
    owner: str | None,
    written: Callable[[Shaped], str] | None = None,
) -> Shaped:
    """Find what a ref stands for and shape one page of it: whole values, no noise rules, the tool's own budget."""
    from shaping.store.expand import expand, recall  # noqa: PLC0415 (asked for after few answers)
    from shaping.tokens import counter  # noqa: PLC0415 (the same)

    kept = recall(keeper, ref, owner=owner)
    shown_by = shaper.plan(kept.meta.get("tool", ""), surface=surface)
    plan = _whole(shown_by)
    found = expand(
        kept,
        ref,
        present(keeper.secret),
        path=None if path is None else _given(path, kept.value, shown_by.fields),
        cursor=cursor,
        private=plan.private,
        max_tokens=max_tokens or shown_by.max_tokens,
        render=lambda page: _text(_page(shaper, plan, page), written),
        counter=counter(plan.tokenizer),
    )
    return _page(shaper, plan, found)


def _given(path: str, value: Any, plan: FieldPlan | None) -> str:
    """Write a path, or each of several, in the names that the tool gave."""
    from shaping.paths.renames import original  # noqa: PLC0415 (asked for after few answers)
    from shaping.store.choose import listed  # noqa: PLC0415 (the same)

    one = original(path, value, plan)
    paths = listed(value, one)
    return one if len(paths) == 1 else ",".join(original(each, value, plan) for each in listed(value, path))


def _whole(plan: Plan) -> Plan:
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


def _text(page: Shaped, written: Callable[[Shaped], str] | None) -> str:
    return page.text if written is None else written(page)


def _page(shaper: Shaper, plan: Plan, page: Expanded) -> Shaped:
    return shaper.shape_by(plan, page.value, page=page.path, cursor=page.cursor, whose=page.whose)
