"""Invariant: ok, data, error, warnings and meta, always all five."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import ceil
from typing import Any

from shaping.envelope.dialects import members
from shaping.envelope.model import Envelope, EnvelopeError, exit_code_for
from shaping.errors import ErrorDetail, registry
from shaping.errors.codes import COMMANDS

_ERROR = {
    **{name: name for name in ("code", "message", "detail", "retryable", "retry_after", "phase")},
    "hint": "suggestion",
    "redirect": "redirect",
    "next_actions": "next_actions",
    "similar": "similar",
    "details": "details",
    "docs_url": "docs_url",
}
_META = tuple(name for name in members.ORDER if name != "duration_ms")
RESERVED = frozenset({*members.ORDER, "bare"})


def render(envelope: Envelope[Any], include: Collection[str] = (), debug: bool = False) -> dict[str, Any]:
    """Write an envelope; a bare scalar is written as `{"value": …}` with `meta.bare`."""
    data, bare = _write_data(envelope)
    return {
        "ok": envelope.error is None,
        "data": data,
        "error": None if envelope.error is None else _write_error(envelope.error),
        "warnings": [warned.message for warned in envelope.warnings],
        "meta": _write_meta(envelope, bare, include, debug),
    }


def read(wire: Mapping[str, Any]) -> members.WireParts:
    """Read a wire form."""
    meta, error, ok = members.mapping(wire.get("meta")), wire.get("error"), wire.get("ok")
    found = {**members.read_common(meta), "extensions": members.rest(meta, RESERVED)}
    source = {"source": "command", "exit_code": _exit_code(error, ok)}
    data = _read_data(wire.get("data"), meta)
    return members.WireParts(data, error, wire.get("warnings"), found, source, ok, "error" in wire)


def check(wire: Mapping[str, Any]) -> None:
    """Refuse what has neither data nor error, or lacks a member: the error decides the outcome."""
    meta = wire.get("meta")
    if not isinstance(meta, Mapping):
        raise EnvelopeError("meta is missing; expected an object")
    if "error" not in wire:
        raise EnvelopeError("error is missing; expected an object or null")
    says_nothing = wire.get("data") is None and meta.get("not_modified") is not True
    if wire["error"] is None and (wire.get("ok") is False or says_nothing):
        raise EnvelopeError("error is null; expected an object where ok is false or data is null")


def _write_data(envelope: Envelope[Any]) -> tuple[Any, bool]:
    data = envelope.data
    # A failure has no data by contract, but a partial one is about what it did manage.
    if envelope.error is not None and (data is None or registry.canonical(envelope.error.code) != "PARTIAL_FAILURE"):
        return None, False
    if isinstance(data, (dict, list)) or (data is None and envelope.meta.not_modified):
        return data, False
    return {"value": data}, True


def _read_data(data: Any, meta: Mapping[str, Any]) -> Any:
    if meta.get("bare") is True and isinstance(data, Mapping) and data.keys() == {"value"}:
        return data["value"]
    return data


def _write_error(error: ErrorDetail) -> dict[str, Any]:
    wait = {} if error.retry_after is None else {"retry_after": ceil(error.retry_after)}
    return members.write_error(error, _ERROR, code=COMMANDS.get(error.code, error.code), **wait)


def _exit_code(error: Any, ok: Any) -> int:
    """Infer a command's exit code from the code and the redirect of its error."""
    read = members.read_error(error)
    if not isinstance(read, Mapping) or not isinstance(read.get("code"), str):
        return int(error is not None or ok is False)
    return exit_code_for(ErrorDetail.model_construct(**{"code": "", "message": "", **read}))


def _write_meta(envelope: Envelope[Any], bare: bool, include: Collection[str], debug: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"duration_ms": round(envelope.meta.duration_ms or 0)}
    out |= members.common_members(envelope, include, debug, _META)
    if bare:
        out["bare"] = True
    return members.extended(out, envelope, RESERVED)
