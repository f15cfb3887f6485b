"""Telling an envelope from data, before and after JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from shaping.envelope.model import SOURCES, Envelope
from shaping.errors import ToolError

T = TypeVar("T")

# What each source always says, by both spellings; a look-alike names a source and says none of it.
_ALWAYS: Mapping[str, tuple[tuple[tuple[str, ...], type], ...]] = {
    "local": ((("operationId", "operation_id"), str), (("timestamp",), int)),
    "http": ((("statusCode", "status"), int), (("headers",), object)),
    "mcp": ((("isError", "is_error"), bool), (("content",), object)),
    "command": ((("exitCode", "exit_code"), int), (("argv",), object)),
}


def is_envelope(value: Any) -> bool:
    """Whether a value is an envelope, as the model or as JSON that names its source."""
    if isinstance(value, Envelope):
        return True
    if not isinstance(value, Mapping) or "data" not in value:
        return False
    meta = value.get("meta")
    if not isinstance(meta, Mapping):
        return False
    source = meta.get("source")
    return isinstance(source, str) and source in SOURCES and all(_says(meta, *need) for need in _ALWAYS[source])


def unwrap(envelope: Envelope[T]) -> T:
    """Give the data alone, or raise the error."""
    if envelope.error is not None:
        raise ToolError.of(envelope.error)
    return envelope.data


def _says(meta: Mapping[str, Any], names: tuple[str, ...], kind: type) -> bool:
    return any(name in meta and isinstance(meta[name], kind) for name in names)
