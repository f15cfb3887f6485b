"""Lean: the data or the error, and only those other members that the profile includes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from shaping.envelope.dialects import members
from shaping.envelope.model import Envelope, EnvelopeError
from shaping.errors import ErrorDetail, registry
from shaping.response import is_never_sent

# Members of an error that the contract does not have, written where they are set.
_ERROR_EXTRAS = tuple(name for name in members.ERROR if name not in {"code", "message", "details", "http"})
_HEAD = ("tier", "tool_version", "tool_id", "request_id", "capabilities", "duration_ms")
_MORE = tuple(name for name in members.ORDER if name not in {*_HEAD, "upgrade_hints"})
_NAMES = frozenset({*_HEAD, "error", "upgrade_hints", "warnings", *_MORE, "extensions", "data"})


def render(envelope: Envelope[Any], include: Collection[str] = (), debug: bool = False) -> dict[str, Any]:
    """Write an envelope; a member that is left out is absent, and null only under debug."""
    out = members.common_members(envelope, include, debug, _HEAD)
    if envelope.error is not None or debug:
        out["error"] = None if envelope.error is None else _write_error(envelope.error, include, debug)
    out |= members.common_members(envelope, include, debug, ("upgrade_hints",))
    shown = members.shown_warnings(envelope, include, debug)
    if shown or (debug and "warnings" in include and not is_never_sent("warnings", include)):
        out["warnings"] = members.write_warnings(shown)
    out |= _where_set(envelope, include, debug)
    if envelope.error is None or envelope.data is not None or debug:
        out["data"] = envelope.data
    return out


def read(wire: Mapping[str, Any]) -> members.WireParts:
    """Read a wire form; a member that is absent or null is not set."""
    meta = {**members.read_common(wire), "extensions": wire.get("extensions") or {}}
    source = {"source": "local", "operation_id": wire.get("tool_id") or ""}
    return members.WireParts(wire.get("data"), wire.get("error"), wire.get("warnings"), meta, source)


def check(wire: Mapping[str, Any]) -> None:
    """Refuse what has neither data nor an error."""
    if wire.get("error") is None and "data" not in wire:
        raise EnvelopeError("neither data nor error is there; expected one of them")


def looks_like(wire: Mapping[str, Any]) -> bool:
    """Whether every member is one of lean's, and data or a coded error is among them."""
    if not wire.keys() <= _NAMES:
        return False
    error = wire.get("error")
    return (isinstance(error, Mapping) and "error_code" in error) or (error is None and "data" in wire)


def _where_set(envelope: Envelope[Any], include: Collection[str], debug: bool) -> dict[str, Any]:
    # Under debug the document's own members are written even where null; of ours, only the profile's.
    meta = envelope.meta.__dict__
    names = [name for name in _MORE if members.is_set(meta[name]) or (debug and name in include)]
    out = members.common_members(envelope, include, debug, names)
    if envelope.meta.extensions and (debug or "extensions" in include):
        out["extensions"] = envelope.meta.extensions
    return out


def _write_error(error: ErrorDetail, include: Collection[str], debug: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"error": error.message, "error_code": members.lean_code(error.code)}
    if error.details is not None or debug:
        out["error_details"] = error.details
    if debug or "error" in include:
        names = _ERROR_EXTRAS
    else:
        names = ("retry_after", "next_actions", "similar", "redirect")
        names += ("hint",) if error.has_own_hint else ()
        # For a registered code the reader knows this from the registry.
        names += ("retryable",) if error.retryable and registry.find(error.code) is None else ()
    return members.write_error(error, {name: name for name in names}, **out)
