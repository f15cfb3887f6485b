"""What a shaped result says of itself to programs, at no cost to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.response import grouped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.response import Shaped, Warned
    from shaping.settings import Plan

MARK = "shaping"
ERROR = "shaping/error"
# Counting takes longer than all the rest of shaping; a result of more characters is counted only under debug.
_COUNTED = 1000


def is_passed_on(result: Mapping[str, Any]) -> bool:
    """Say whether a result is not ours to touch: shaped already, a question back, or a promise to answer later."""
    if MARK in (result.get("_meta") or {}):
        return True
    return result.get("resultType") not in (None, "complete") or "inputRequests" in result or "task" in result


def marked(
    result: Mapping[str, Any],
    plan: Plan,
    shaped: Sequence[Shaped],
    *,
    raw: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Add our mark to a result: by which profile and config, at what cost (`raw` is it before), with what left out."""
    about: dict[str, Any] = {"profile": plan.profile, "config": plan.config_hash}
    warnings = [warning(warned) for one in shaped for warned in one.warnings]
    if shaped:
        about |= _about(shaped[0])
    if len(shaped) == 1 and raw is not None and (plan.debug or _small(raw)):
        about["tokens"] = {"before": int(shaped[0].tokens.before), "after": _after(result, shaped[0])}
    if warnings:
        about["warnings"] = warnings
    meta = {**(result.get("_meta") or {}), MARK: about, **more}
    return {**result, "_meta": meta}


def _after(result: Mapping[str, Any], shaped: Shaped) -> int:
    """Count what the model reads: where the point of the data is one text, that text and not the JSON around it."""
    texts = [block["text"] for block in result.get("content") or () if block.get("type") == "text"]
    if len(texts) != 1 or texts[0] == shaped.text:
        return int(shaped.tokens.after)
    from shaping.tokens import count  # noqa: PLC0415 (most results are written as they were shaped)

    return int(count(texts[0], shaped.plan.tokenizer))


def _about(shaped: Shaped) -> dict[str, Any]:
    meta = shaped.envelope.meta
    said: dict[str, Any] = {
        "ref": meta.ref,
        "cursor": meta.cursor,
        "etag": meta.etag,
        "truncated": meta.truncated or None,
        "not_modified": meta.not_modified or None,
    }
    about = {name: value for name, value in said.items() if value is not None}
    if shaped.plan.omissions in {"list", "full"} and (listed := grouped(shaped.omissions)):
        about["omissions"] = [_omission(omission) for omission in listed]
        # Data alone has no place for a ref, so here is where a program finds it.
        if shaped.expandable and "ref" not in about:
            about["ref"] = shaped.ref
    return about


def _omission(omission: Any) -> dict[str, Any]:
    said = {"path": omission.path, "count": omission.count, "reason": omission.reason, "tokens": omission.tokens}
    return {name: value for name, value in said.items() if value is not None}


def warning(warned: Warned) -> dict[str, Any]:
    """Write a warning as programs read it."""
    said = {"code": warned.code, "message": warned.message, "path": warned.path}
    return {name: value for name, value in said.items() if value}


def _small(result: Mapping[str, Any]) -> bool:
    texts = sum(len(block.get("text", "")) for block in result.get("content") or ())
    return 0 < texts <= _COUNTED
