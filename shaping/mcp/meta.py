"""Our own `_meta` of a result, and the mark by which this process knows what it has shaped."""

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
    from collections.abc import Collection, Mapping, Sequence

    from shaping.clients import KnownClient
    from shaping.response import Shaped, Warned
    from shaping.settings import Plan

MARK = "shaping"
ERROR = "shaping/error"
# A server may write any mark into its results: only one made with this process's own key is believed.
_KEY = secrets.token_bytes(32)


def is_shaped(result: Mapping[str, Any]) -> bool:
    """Return whether this process has shaped this very result."""
    meta = result.get("_meta")
    mark = meta.get(MARK) if isinstance(meta, dict) else None
    tag = mark.get("tag") if isinstance(mark, dict) else None
    return isinstance(tag, str) and hmac.compare_digest(tag, _tag(result))


def without_forged(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take out the members of `_meta` that only shaping writes: a server's own would be believed."""
    meta = result.get("_meta") or {}
    if MARK not in meta and ERROR not in meta:
        return result
    kept = {key: value for key, value in meta.items() if key not in {MARK, ERROR}}
    return {key: kept if key == "_meta" else value for key, value in result.items() if key != "_meta" or kept}


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


def with_warnings(result: dict[str, Any], hits: Collection[Warned]) -> dict[str, Any]:
    """Add what redaction replaced to the warnings of a shaped result, where it carries any `_meta` of ours."""
    if not hits or MARK not in (result.get("_meta") or {}):
        return result
    about = dict(result["_meta"][MARK])
    about["warnings"] = [*about.get("warnings", ()), *(warning(hit) for hit in hits)]
    return {**result, "_meta": {**result["_meta"], MARK: about}}


def warning(warned: Warned) -> dict[str, Any]:
    """Write a warning as programs read it."""
    return _filled({"code": warned.code, "message": warned.message, "path": warned.path})


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
        "upgrade_hints": [_filled(asdict(hint)) for hint in meta.upgrade_hints or ()] or None,
    }
    chosen = shaped.plan.envelope
    about = {name: value for name, value in _filled(said).items() if not is_excluded(name, chosen)}
    if shaped.plan.debug:
        wire = shaped.envelope.render("lean", include=shaped.plan.envelope, debug=True)
        about |= {name: value for name, value in wire.items() if name not in {"data", "error", "omissions"}}
    if shaped.plan.omissions in {"list", "full"} and (listed := grouped(shaped.omissions)):
        told = ("path", "count", "reason", "tokens")
        about["omissions"] = [_filled({name: getattr(one, name) for name in told}) for one in listed]
        # Data alone has no place for a ref, so here is where a program finds it.
        if shaped.expandable and "ref" not in about:
            about["ref"] = shaped.ref
    return about


def _filled(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, "")}
