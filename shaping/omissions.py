"""What was left out of a response: the exact list, and what of it the model is told."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shaping.cleaning.prune import NOTICE, empties_left_out
from shaping.response import Omission
from shaping.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.response import Draft, Reason, Shaped
    from shaping.settings import Plan

# What a config or a profile asks to be dropped is not news under `minimal`; what a rule or a budget took is.
_UNASKED = frozenset({"links", "opaque", "bulk", "boilerplate", "items", "string", "depth"})
# Dropped by the thousand, and all alike: told as one entry each.
_EMPTY = frozenset({"null", "empty", "default"})
# An object keyed by ids has a path for each: a longer list would cost more than it tells.
_LISTED = 40
# Members that the short line names of each kind, and what a member is called at the end of its path.
_NAMED, _LAST = 3, re.compile(r"((?:[^.\[\]\"\s]{1,40}\.)?[^.\[\]\"\s]{1,40})(?:\[\])*$")
# What is counted, where it is not called as the reason is.
_COUNTED = {"string": "characters", "depth": "members"}
# Told, because every absence is; neither priced nor to be asked for.
_HELD = frozenset({"private", "tier"})
# How the reader of each surface asks for what was left out.
_ASK = {"mcp": "shaping_expand ref={}", "command": "shaping expand {}", "python": "ref {}"}


def all_omissions(draft: Draft) -> tuple[Omission, ...]:
    """List everything that was left out, exactly."""
    if draft.asked is None:
        draft.asked = tuple(_asked_omissions(draft))
    return (*draft.asked, *draft.omissions)


def _asked_omissions(draft: Draft) -> list[Omission]:
    plan = draft.filter
    found: list[Omission] = []
    if plan is not None:
        found += _with_reasons(plan.left_out(draft.raw), draft)
    if draft.before_prune is not None:
        found += empties_left_out(draft.before_prune, draft.plan.prune)
    return found


def _with_reasons(omissions: list[Omission], draft: Draft) -> list[Omission]:
    """Tell what is held back, and cannot be asked for, from what a list of fields leaves out."""
    held = draft.plan.private
    if held is None:
        return omissions
    from shaping.paths import compile_fields  # noqa: PLC0415 (few configs hold anything back)

    private = frozenset(draft.plan.private_paths)
    reasons: dict[str, Reason] = {}
    for rule in held.exclude:
        reason: Reason = "private" if rule in private else "tier"
        for omission in compile_fields(None, [rule], opener=held.opener).left_out(draft.raw):
            reasons.setdefault(omission.path, reason)
    return [replace(omission, reason=reasons.get(omission.path, omission.reason)) for omission in omissions]


def told_omissions(draft: Draft) -> tuple[Omission, ...]:
    """List what was left out as a reader is told it: grouped, each with its price and the ref that brings it back."""
    listed = grouped(all_omissions(draft))
    if not listed:
        return ()
    from shaping.errors import scrub  # noqa: PLC0415 (asked for by few profiles)

    ref = draft.shaper.keep(draft)
    _price(listed, draft)
    told = (
        omission if omission.reason in _HELD else replace(omission, tokens=draft.prices[omission], ref=ref)
        for omission in listed
    )
    # A path is made of keys, which may be secrets too.
    return tuple(told if draft.plan.redact.off else (replace(each, path=scrub(each.path)) for each in told))


def _price(listed: list[Omission], draft: Draft) -> None:
    """Find the prices that are not known yet: while a budget is tried out, most omissions stay the same."""
    from shaping.keeping import plain_raw  # noqa: PLC0415 (asked for by few profiles)
    from shaping.paths.renames import original  # noqa: PLC0415 (the same)
    from shaping.store.pricing import price  # noqa: PLC0415 (the same)

    new = [omission for omission in listed if omission not in draft.prices]
    if not new:
        return
    raw = plain_raw(draft)
    named = [replace(omission, path=original(omission.path, raw, draft.filter)) for omission in new]
    for omission, priced in zip(new, price(named, raw, draft.plan.tokenizer), strict=True):
        draft.prices[omission] = priced.tokens


def said_omissions(draft: Draft) -> dict[str, Any]:
    """Give the envelope members that tell of omissions: nothing, one short line, or the list with prices."""
    if draft.plan.omissions in {"list", "full"}:
        told = told_omissions(draft) if draft.plan.dialect != "none" else ()
        if draft.shaper.facts.expandable:
            return {"omissions": told, "ref": draft.ref} if told else {}
        return {"omissions": tuple(replace(omission, ref=None) for omission in told)}
    if not draft.shaper.facts.expandable:
        return _members_gone(draft)
    if not _worth_a_line(draft):
        return {}
    ref = draft.shaper.keep(draft)
    # Bare data has no member for the line: it is told below the data.
    line = line_of(draft) if draft.plan.dialect != "none" else ""
    return {} if ref is None else {"omissions": line, "ref": ref}


def _members_gone(draft: Draft) -> dict[str, Any]:
    """Tell who cannot expand of members that a budget took: lists tell of their tails, and texts of their middles."""
    gone = [each for each in draft.omissions if each.reason == "depth"] if draft.plan.dialect != "none" else []
    return {"omissions": _line(gone, draft.plan)} if gone else {}


def notice(draft: Draft) -> str:
    """Say below bare data what was left out and how to ask for it; nothing where nothing unasked is missing."""
    if draft.call.page is not None:
        return _page_notice(draft)
    if draft.terse:
        return "\n(cut)" if draft.truncated else ""
    parts = [f"{listed.path or 'items'}: {listed.shown} of {listed.total} shown" for listed in draft.shown]
    if draft.shaper.facts.expandable and _worth_a_line(draft):
        ref = draft.shaper.keep(draft)
        parts += _beside(draft)
        parts += [] if ref is None else [_ASK[draft.plan.surface].format(ref)]
        parts += [f"cursor={draft.cursor}"] if draft.truncated and draft.cursor else []
    elif draft.truncated:
        parts += _beside(draft)
    return f"\n({'; '.join(parts)})" if parts else ""


def _beside(draft: Draft) -> list[str]:
    """Say what was left out beside the tails of lists, which are told one by one."""
    listed = {"items"} if draft.shown else set()
    missing = [each for each in draft.omissions if each.reason in _UNASKED - listed]
    return [_line(missing, draft.plan)] if missing else []


def _page_notice(draft: Draft) -> str:
    parts = [f"{draft.call.page}; cursor={draft.cursor}"] if draft.cursor else []
    parts += [f"to see whose: path={draft.call.whose}"] if draft.call.whose else []
    return f"\n({'; '.join(parts)})" if parts else ""


def grouped(omissions: Iterable[Omission]) -> list[Omission]:
    """Tell nulls, empties and defaults as one entry each, and of everything else the first few dozen by path."""
    alike: dict[Reason, list[Omission]] = {}
    listed: list[Omission] = []
    for omission in omissions:
        if omission.reason in _EMPTY or len(listed) >= _LISTED:
            alike.setdefault(omission.reason, []).append(omission)
        else:
            listed.append(omission)
    return [*listed, *(_as_one(found) for found in alike.values())]


def _as_one(omissions: list[Omission]) -> Omission:
    if len(omissions) == 1:
        return omissions[0]
    return Omission("**", sum(omission.count for omission in omissions), omissions[0].reason)


def line_of(draft: Draft) -> str:
    """Say in one short line how much was left out that nobody asked to leave out, and why."""
    return _line((omission for omission in draft.omissions if omission.reason in _UNASKED), draft.plan)


def untold(shaped: Shaped) -> str:
    """Say in one short line what is missing of a response that does not tell it itself, nulls and empties last."""
    plan = shaped.plan
    if plan.omissions in {"list", "full"} and plan.dialect != "none":
        return ""
    # That a member was null or an empty list is no difference to who wonders where it is.
    alike = (replace(each, reason="empty") if each.reason == "null" else each for each in shaped.omissions)
    missing = [each for each in alike if each.reason in _UNASKED | _EMPTY]
    return _line(sorted(missing, key=lambda each: each.reason in _EMPTY), plan) if missing else ""


def _line(omissions: Iterable[Omission], plan: Plan) -> str:
    counts: dict[str, int] = {}
    names: dict[str, dict[str, None]] = {}
    for omission in omissions:
        counts[omission.reason] = counts.get(omission.reason, 0) + omission.count
        known = names.setdefault(omission.reason, {})
        if len(known) <= _NAMED:
            known.update(dict.fromkeys(_LAST.findall(omission.path)))
    told = ", ".join(f"{_counted(count, reason)}{_few(list(names[reason]))}" for reason, count in counts.items())
    if not plan.redact.off and any(names.values()):
        from shaping.errors import scrub  # noqa: PLC0415 (few answers leave something out)

        told = scrub(told)
    return f"left out: {told}"


def _counted(count: int, reason: str) -> str:
    word = _COUNTED.get(reason, reason)
    return counted(count, word[:-1]) if word.endswith("s") else f"{count:,} {word}"


def _few(names: list[str]) -> str:
    """Name the first of the members that were left out: what a reader does not know of, it cannot ask for."""
    more = ", …" if len(names) > _NAMED else ""
    return f" ({', '.join(names[:_NAMED])}{more})" if names else ""


def _worth_a_line(draft: Draft) -> bool:
    """Whether something unasked is missing, and more of it than the line itself costs."""
    return draft.truncated or draft.spared > NOTICE
