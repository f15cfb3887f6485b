"""Sourced: data and meta, with the data's source in meta, in camelCase and epoch milliseconds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic.alias_generators import to_camel

from shaping.envelope.dialects import members
from shaping.envelope.model import SOURCES, Envelope, EnvelopeError, HttpMeta, read_block
from shaping.errors import from_exit_code, from_status, make_error
from shaping.errors.codes import OPERATIONS

_WIRE = {name: to_camel(name) for name in members.ORDER}
OWN: Mapping[str, Mapping[str, str]] = {
    "local": {"operation_id": "operationId", "timestamp": "timestamp"},
    "http": {"status": "statusCode", "headers": "headers", "content_type": "contentType"},
    "mcp": {"is_error": "isError", "content": "content", "structured_content": "structuredContent", "meta": "_meta"},
    "command": {"exit_code": "exitCode", "argv": "argv", "signal": "signal"},
}
_ERROR = {name: to_camel(name) for name in members.ERROR}
_COMMON = frozenset({*_WIRE, *_WIRE.values(), "source", "error", "warnings", "extensions"})
RESERVED = {source: _COMMON.union(own, own.values()) for source, own in OWN.items()}


def render(envelope: Envelope[Any], include: Collection[str] = (), debug: bool = False) -> dict[str, Any]:
    """Write an envelope as exactly data and meta; an error and warnings are members of meta."""
    common = members.common_members(envelope, include, debug)
    meta = {"source": envelope.meta.source, **_write_own(envelope, debug)}
    meta |= {_WIRE[name]: value for name, value in common.items()}
    error = envelope.error
    if error is not None:
        meta["error"] = members.write_error(error, _ERROR, code=OPERATIONS.get(error.code, error.code))
    elif debug:
        meta["error"] = None
    meta |= members.warnings_member(envelope, include, debug)
    return {"data": envelope.data, "meta": members.extended(meta, envelope, RESERVED[envelope.meta.source])}


def read(wire: Mapping[str, Any]) -> members.WireParts:
    """Read a wire form by its source; a failed outcome without an error gets one."""
    meta = members.mapping(wire.get("meta"))
    source = str(meta.get("source"))
    own = _read_own(meta, OWN.get(source, {}))
    extensions = {**members.rest(meta, RESERVED.get(source, _COMMON)), **members.mapping(meta.get("extensions"))}
    # By either spelling: JSON of the model itself is in snake_case.
    common = {name: meta.get(theirs, meta.get(name)) for name, theirs in _WIRE.items()}
    found = {**members.read_common(common), "extensions": extensions}
    error = meta.get("error", wire.get("error"))
    error = _implied(own) if error is None else error
    warnings = meta.get("warnings", wire.get("warnings"))
    return members.WireParts(wire.get("data"), error, warnings, found, {"source": source, **own}, error is None)


def check(wire: Mapping[str, Any]) -> None:
    """Refuse what does not name its source."""
    source = members.mapping(wire.get("meta")).get("source")
    if not isinstance(source, str) or source not in SOURCES:
        raise EnvelopeError(f"meta.source is missing; expected one of {', '.join(sorted(SOURCES))}")


def _write_own(envelope: Envelope[Any], debug: bool) -> dict[str, Any]:
    meta = envelope.meta
    values = {theirs: members.member_json(getattr(meta, ours)) for ours, theirs in OWN[meta.source].items()}
    if isinstance(meta, HttpMeta):
        values["headers"] = joined(meta.headers)
    return {name: value for name, value in values.items() if debug or value is not None}


def _read_own(meta: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, Any]:
    found = {ours: meta.get(theirs, meta.get(ours)) for ours, theirs in own.items()}
    if "headers" in found:
        found["headers"] = _pairs(found["headers"])
    if "content" in found:
        found["content"] = [*map(read_block, found["content"] if isinstance(found["content"], list) else ())]
    return {name: value for name, value in found.items() if value is not None}


def joined(headers: Iterable[tuple[str, str]]) -> dict[str, str | list[str]]:
    """Join repeated headers as fetch does; cookies contain commas and stay separate."""
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        grouped.setdefault(name.lower(), []).append(value)
    return {
        name: values if name == "set-cookie" and len(values) > 1 else ", ".join(values)
        for name, values in grouped.items()
    }


def _pairs(headers: Any) -> Any:
    if not isinstance(headers, Mapping):
        return headers
    return tuple(
        (name, value) for name, given in headers.items() for value in (given if isinstance(given, list) else [given])
    )


def _implied(own: Mapping[str, Any]) -> dict[str, Any] | None:
    """Make the error for a failure that only the source's own members show: a flag, a status, an exit code."""
    status, exit_code = own.get("status"), own.get("exit_code")
    if own.get("is_error") is True:
        texts = [block["text"] for block in own.get("content", ()) if block["type"] == "text"]
        return dict(make_error("INTERNAL_ERROR", "\n".join(texts) or "The tool reported an error."))
    if isinstance(status, int) and status >= 400:
        headers = own.get("headers")
        pairs = headers if isinstance(headers, tuple) else ()
        return dict(from_status(status, headers={name: value for name, value in pairs if isinstance(value, str)}))
    if isinstance(exit_code, int) and exit_code != 0:
        return dict(from_exit_code(exit_code, signal=own.get("signal"), foreign=True))
    return None
