"""The `_meta` of a shaped result: what a program may want to know, and the mark that it has been shaped."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import asdict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import orjson

from shaping.envelope.dialects.members import is_excluded
from shaping.parsers.json import write_json
from shaping.response import grouped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.clients.table import KnownClient
    from shaping.response import Shaped, Warned
    from shaping.settings import Plan

MARK = "shaping"
ERROR = "shaping/error"
# A server may write any mark into its results: only one made with this process's own key is believed.
_KEY = secrets.token_bytes(32)


def is_shaped(result: Mapping[str, Any]) -> bool:
    """Return whether this process has shaped this very result."""
    mark = (result.get("_meta") or {}).get(MARK)
    tag = mark.get("tag") if isinstance(mark, dict) else None
    return isinstance(tag, str) and hmac.compare_digest(tag, _tag(result))


def is_for_model(result: Mapping[str, Any]) -> bool:
    """Return whether a result holds anything that a model reads; a promise to answer later, or a question, does not."""
    return "content" in result or "structuredContent" in result


def with_meta(
    result: Mapping[str, Any],
    plan: Plan,
    shaped: Sequence[Shaped],
    client: KnownClient,
    *,
    marked: bool = True,
    **more: Any,
) -> dict[str, Any]:
    """Add our `_meta` to a result, unless this client's model would read it.

    It is `marked` as shaped where middleware in this process may see it again.
    """
    if client.shows_meta(failed=result.get("isError") is True) and not plan.debug:
        return dict(result)
    about: dict[str, Any] = _about(shaped[0]) if shaped else {}
    if plan.debug:
        about |= {"profile": plan.profile, "config": plan.config_hash}
    if len(shaped) == 1 and plan.debug:
        about["tokens"] = {"before": int(shaped[0].tokens.before), "after": int(shaped[0].tokens.after)}
    warnings = [warning(warned) for one in shaped for warned in one.warnings]
    if warnings:
        about["warnings"] = warnings
    if marked:
        about["tag"] = _tag(result)
    meta = {**(result.get("_meta") or {}), **({MARK: about} if about else {}), **more}
    return {**result, "_meta": meta} if meta else dict(result)


def warning(warned: Warned) -> dict[str, Any]:
    """Write a warning as programs read it."""
    said = {"code": warned.code, "message": warned.message, "path": warned.path}
    return {name: value for name, value in said.items() if value}


def _tag(result: Mapping[str, Any]) -> str:
    body = [result.get("content"), result.get("structuredContent"), bool(result.get("isError"))]
    return blake2b(write_json(body, option=orjson.OPT_SORT_KEYS), key=_KEY, digest_size=12).hexdigest()


def _about(shaped: Shaped) -> dict[str, Any]:
    meta = shaped.envelope.meta
    said: dict[str, Any] = {
        "ref": meta.ref,
        "cursor": meta.cursor,
        "etag": meta.etag,
        "truncated": meta.truncated or None,
        "not_modified": meta.not_modified or None,
        "request_id": meta.request_id,
        "upgrade_hints": [_hint(hint) for hint in meta.upgrade_hints or ()] or None,
    }
    chosen = shaped.plan.envelope
    about = {name: value for name, value in said.items() if value is not None and not is_excluded(name, chosen)}
    if shaped.plan.debug:
        wire = shaped.envelope.render("lean", include=shaped.plan.envelope, debug=True)
        about |= {name: value for name, value in wire.items() if name not in {"data", "error", "omissions"}}
    if shaped.plan.omissions in {"list", "full"} and (listed := grouped(shaped.omissions)):
        about["omissions"] = [_omission(omission) for omission in listed]
        # Data alone has no place for a ref, so here is where a program finds it.
        if shaped.expandable and "ref" not in about:
            about["ref"] = shaped.ref
    return about


def _hint(hint: Any) -> dict[str, Any]:
    return {name: value for name, value in asdict(hint).items() if value is not None}


def _omission(omission: Any) -> dict[str, Any]:
    said = {"path": omission.path, "count": omission.count, "reason": omission.reason, "tokens": omission.tokens}
    return {name: value for name, value in said.items() if value is not None}
