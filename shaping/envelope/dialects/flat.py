"""Flat: the payload, or the members of an error, at the root, with `ok` and `_meta`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import orjson

from shaping.envelope.dialects import members
from shaping.envelope.model import Envelope, EnvelopeError
from shaping.errors import registry
from shaping.response import is_never_sent

# A payload that has one of these goes under `result`, like a list or a scalar, so that what is read is what was meant.
TAKEN = frozenset({"ok", "_meta", "result"})
_ERROR = {**members.ERROR, "message": "error", "similar": "similar_refs"}
_META = tuple(name for name in members.ORDER if name not in {"estimated_tokens", "duration_ms", "session_id"})
RESERVED = frozenset({*members.ORDER, "elapsed_ms", "warnings"})


def render(envelope: Envelope[Any], include: Collection[str] = (), debug: bool = False) -> dict[str, Any]:
    """Write an envelope; `_meta` always has the cost and the duration of the answer."""
    error = envelope.error
    if error is None:
        body = _payload(envelope.data)
    else:
        known = registry.find(error.code)
        http = error.http or (500 if known is None else known.http)
        required = {"hint": error.hint or "", "retryable": bool(error.retryable), "http": http}
        body = members.write_error(error, _ERROR, **required)
        if envelope.data is not None:
            body["result"] = envelope.data
    return {"ok": error is None, **body, "_meta": _write_meta(envelope, body, include, debug)}


def read(wire: Mapping[str, Any]) -> members.WireParts:
    """Read a wire form; the members at the root are an error's or the data's."""
    ok, meta = wire.get("ok"), members.mapping(wire.get("_meta"))
    found = {**members.read_common(meta), "extensions": members.rest(meta, RESERVED)}
    if meta.get("elapsed_ms") is not None:
        found["duration_ms"] = meta["elapsed_ms"]
    failed = ok is False or (isinstance(wire.get("code"), str) and isinstance(wire.get("error"), str))
    # A hint is always present in this form, so an empty one means none.
    error = {name: v for name, v in wire.items() if name not in TAKEN and (name, v) != ("hint", "")} if failed else None
    source = {"source": "local", "operation_id": meta.get("tool_id") or ""}
    return members.WireParts(_read_payload(wire, failed), error, meta.get("warnings"), found, source, ok)


def check(wire: Mapping[str, Any]) -> None:
    """Refuse what has no `ok` or no `_meta`."""
    if not isinstance(wire.get("_meta"), Mapping) or not isinstance(wire.get("ok"), bool):
        raise EnvelopeError("ok or _meta is missing; expected a boolean and an object")


def _payload(data: Any) -> dict[str, Any]:
    if isinstance(data, dict) and TAKEN.isdisjoint(data):
        return dict(data)
    return {"result": data}


def _read_payload(wire: Mapping[str, Any], failed: bool) -> Any:
    if "result" in wire or failed:
        return wire.get("result")
    return {name: value for name, value in wire.items() if name not in TAKEN}


def _write_meta(envelope: Envelope[Any], body: dict[str, Any], include: Collection[str], debug: bool) -> dict[str, Any]:
    meta = envelope.meta
    out: dict[str, Any] = {
        "estimated_tokens": _estimate(body) if meta.estimated_tokens is None else meta.estimated_tokens,
        "elapsed_ms": meta.duration_ms or 0,
    }
    if (meta.session_id is not None or debug) and not is_never_sent("session_id", include):
        out["session_id"] = meta.session_id
    out |= members.common_members(envelope, include, debug, _META)
    out |= members.warnings_member(envelope, include, debug)
    return members.extended(out, envelope, RESERVED)


def _estimate(body: dict[str, Any]) -> int:
    # Four characters a token is the contract's own rule where nobody has counted.
    return -(-len(orjson.dumps(body, default=str)) // 4)
