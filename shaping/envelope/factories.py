"""How envelopes are made, one factory per source, and how a source's meta is cleaned for shaped data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import time_ns
from typing import Any, TypeVar

from shaping.envelope.model import (
    COMMON,
    CommandMeta,
    CommonMeta,
    Envelope,
    EnvelopeError,
    HttpMeta,
    LocalMeta,
    McpMeta,
    contradicts,
    read_blocks,
)
from shaping.errors import ErrorDetail, registry
from shaping.errors.codes import EXIT_CODES, ExitTable, exit_number
from shaping.errors.texts import scrub_value
from shaping.redaction import scrub
from shaping.response import Warned

T = TypeVar("T")
_Meta = TypeVar("_Meta", LocalMeta, HttpMeta, McpMeta, CommandMeta)


def local_envelope(
    data: T, operation_id: str, *, error: ErrorDetail | None = None, warnings: Iterable[Warned | str] = (), **meta: Any
) -> Envelope[T]:
    """Wrap what a function in this process returned, or why it did not."""
    own = {"operation_id": operation_id, "timestamp": time_ns() // 1_000_000}
    if "timestamp" in meta:
        own["timestamp"] = meta.pop("timestamp")
    return _envelope(data, error, warnings, _meta(LocalMeta, meta, own))


def http_envelope(
    data: T,
    *,
    status: int,
    headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    content_type: str | None = None,
    error: ErrorDetail | None = None,
    warnings: Iterable[Warned | str] = (),
    **meta: Any,
) -> Envelope[T]:
    """Wrap what an HTTP server answered; repeated headers are kept where they come as pairs."""
    pairs = tuple(
        (str(name), str(value)) for name, value in (headers.items() if isinstance(headers, Mapping) else headers)
    )
    if content_type is None:
        content_type = next((value for name, value in pairs if name.lower() == "content-type"), "")
    if status == 304:
        meta = {"not_modified": True, **meta}
    own = {"status": status, "headers": pairs, "content_type": content_type}
    return _envelope(data, error, warnings, _meta(HttpMeta, meta, own))


def mcp_envelope(
    data: T,
    *,
    is_error: bool | None = None,
    content: Iterable[Any] = (),
    structured_content: Any = None,
    protocol_meta: Mapping[str, Any] | None = None,
    error: ErrorDetail | None = None,
    warnings: Iterable[Warned | str] = (),
    **meta: Any,
) -> Envelope[T]:
    """Wrap what an MCP tool answered; `is_error` follows from the error where it is not given."""
    own = {
        "is_error": error is not None if is_error is None else is_error,
        "content": read_blocks(content),
        "structured_content": structured_content,
        "meta": None if protocol_meta is None else dict(protocol_meta),
    }
    return _envelope(data, error, warnings, _meta(McpMeta, meta, own))


def command_envelope(
    data: T,
    *,
    exit_code: int | None = None,
    argv: Iterable[str] = (),
    signal: int | str | None = None,
    state_changing: bool = False,
    error: ErrorDetail | None = None,
    warnings: Iterable[Warned | str] = (),
    **meta: Any,
) -> Envelope[T]:
    """Wrap what a program printed; the exit code follows from the error where it is not given.

    By the contract `retryable` mirrors the table of exit codes, unless the operation is state-changing.
    """
    if error is not None and not state_changing:
        error = _retryable_by_table(error)
    if exit_code is None:
        exit_code = exit_code_for(error)
    own = {"exit_code": exit_code, "argv": tuple(argv), "signal": signal}
    return _envelope(data, error, warnings, _meta(CommandMeta, meta, own))


def _retryable_by_table(error: ErrorDetail) -> ErrorDetail:
    known = registry.find(error.code)
    entry = None if known is None else EXIT_CODES.get(known.exit_code)
    # What differs from the registry was decided for this call.
    if known is None or entry is None or not entry.retryable or error.retryable or known.retryable:
        return error
    return error.model_copy(update={"retryable": True})


def exit_code_for(error: ErrorDetail | None, table: ExitTable = "contract") -> int:
    """Return the number a command exits with for this outcome."""
    if error is None:
        return 0
    known = registry.find(error.code)
    if known is None:
        return 13 if error.redirect is not None else 1
    return exit_number(known.exit_code, table)


def _meta(kind: type[_Meta], given: dict[str, Any], own: dict[str, Any]) -> _Meta:
    """Make a source's meta from its own members and the common ones; all others are extensions."""
    if "ok" in given:
        raise EnvelopeError("ok is derived from the outcome and cannot be set; give an error instead")
    extra = {name: given.pop(name) for name in [*given] if name not in COMMON}
    if extra:
        given["extensions"] = {**given.get("extensions", {}), **extra}
    return kind(**given, **own)


def _envelope(data: T, error: ErrorDetail | None, warnings: Iterable[Warned | str], meta: Any) -> Envelope[T]:
    contradiction = contradicts(error, meta)
    if contradiction:
        raise EnvelopeError(contradiction)
    listed = tuple(w if isinstance(w, Warned) else Warned("", w) for w in warnings)
    return Envelope(data=data, error=error, warnings=listed, meta=meta)


M = TypeVar("M", bound=CommonMeta)

# Headers whose whole value is a credential, whatever it looks like.
_CREDENTIALS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token", "www-authenticate"}
)


def presentable(meta: M) -> M:
    """Return the meta for an envelope with shaped data."""
    if isinstance(meta, McpMeta):
        # The blocks hold the tool's answer before fields, budget and redaction were applied.
        return meta.model_copy(update={"content": (), "structured_content": None, "meta": scrub_value(meta.meta)})
    if isinstance(meta, HttpMeta):
        return meta.model_copy(
            update={"headers": tuple((name, _header_value(name, value)) for name, value in meta.headers)}
        )
    if isinstance(meta, CommandMeta):
        return meta.model_copy(update={"argv": tuple(scrub(word) for word in meta.argv)})
    return meta


def _header_value(name: str, value: str) -> str:
    return "[redacted:header]" if name.lower() in _CREDENTIALS else scrub(value)
