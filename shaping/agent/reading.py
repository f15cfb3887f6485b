"""A response read without trusting it: every member has its type or is absent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import orjson

from shaping.envelope import Envelope, dialects
from shaping.envelope.dialects.members import lenient_error
from shaping.envelope.model import COMMON, SOURCES
from shaping.errors import ErrorDetail, ToolError

Form: TypeAlias = Literal["lean", "flat", "sourced", "invariant", "none", "mcp"]

FIVE = frozenset({"ok", "data", "error", "warnings", "meta"})


class UnreadableError(Exception):
    """A wire form from which nothing can be read."""


@dataclass(frozen=True, slots=True)
class WireReading:
    """A response as far as it could be read."""

    form: Form
    ok: bool | None = None
    data: Any = None
    error: ErrorDetail | None = None
    says_error: bool = True  # whether there was an error member at all, be it null
    warnings: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def flag(self, name: str) -> bool:
        """Whether meta says so; anything but true does not."""
        return self.meta.get(name) is True

    @property
    def cursor(self) -> str | None:
        """Where the next page begins."""
        cursor = self.meta.get("cursor")
        return cursor if isinstance(cursor, str) and cursor else None


def read_response(wire: Any, form: Form | None = None) -> WireReading:
    """Read any wire form; the form is recognised first, because each has its own rules about what may be absent."""
    inner = getattr(wire, "envelope", None)
    model = inner if isinstance(inner, Envelope) else wire
    if isinstance(model, (Envelope, ErrorDetail, ToolError)):
        return _from_model(model)
    plain = _plain(wire, form)
    if not isinstance(plain, Mapping) or form == "none":
        return WireReading("none", data=plain)
    return _read(plain, form or recognise_form(plain))


def recognise_form(wire: Mapping[str, Any]) -> Form:
    """Return the form of a JSON object by the members that only it has."""
    if isinstance(wire.get("content"), list) and ("isError" in wire or "structuredContent" in wire):
        return "mcp"
    whole = dialects.recognise(wire)
    return whole if whole != "none" else _guess(wire)


def _guess(wire: Mapping[str, Any]) -> Form:
    """Return what a damaged envelope was meant to be, so that its damage is found and not taken for data."""
    meta, present = wire.get("meta"), len(FIVE & wire.keys())
    if isinstance(meta, Mapping) and meta.get("source") in tuple(SOURCES) and "ok" not in wire:
        return "sourced"
    if "ok" in wire and ("_meta" in wire or isinstance(wire.get("error"), str)):
        return "flat"
    if ("ok" in wire and present > 1) or present >= 4:
        return "invariant"
    return "lean" if isinstance(wire.get("error"), Mapping) and wire.keys() <= {*FIVE, *COMMON} else "none"


def _plain(wire: Any, form: Form | None) -> Any:
    if isinstance(wire, (str, bytes, bytearray, memoryview)):
        try:
            return orjson.loads(wire)
        except ValueError:
            if form == "none" and isinstance(wire, str):
                return wire
            raise UnreadableError("the response is not JSON") from None
    if hasattr(wire, "model_dump") and not isinstance(wire, type):
        return wire.model_dump(mode="json", by_alias=True, exclude_none=True)
    if wire is None or isinstance(wire, (bool, int, float, list, tuple, Mapping)):
        return wire
    raise UnreadableError(f"the response is a {type(wire).__name__}, not JSON")


def _from_model(model: Envelope[Any] | ErrorDetail | ToolError) -> WireReading:
    if isinstance(model, Envelope):
        warnings = tuple(warned.message for warned in model.warnings)
        meta = model.meta.model_dump()
        return WireReading("sourced", model.ok, model.data, model.error, warnings=warnings, meta=meta)
    return WireReading("sourced", ok=False, error=model.detail if isinstance(model, ToolError) else model)


def _read(wire: Mapping[str, Any], form: Form) -> WireReading:
    if form == "mcp":
        return _mcp(wire)
    parts = dialects.FORMS[form].read(wire)
    return WireReading(
        form,
        ok=parts.ok if isinstance(parts.ok, bool) else None,
        data=parts.data,
        error=lenient_error(parts.error),
        says_error=parts.has_error,
        warnings=_sentences(parts.warnings),
        meta=parts.meta,
    )


def _mcp(wire: Mapping[str, Any]) -> WireReading:
    """Read an MCP result, whose payload may itself be one of the forms that cannot be mistaken for data."""
    outer = _mapping(wire.get("_meta"))
    meta = {**outer, **_mapping(outer.get("shaping"))}
    payload = wire.get("structuredContent")
    if payload is None:
        payload = _text_of(wire.get("content"))
    inner = (
        _read(payload, recognise_form(payload)) if isinstance(payload, Mapping) else WireReading("none", data=payload)
    )
    if wire.get("isError") is True:
        # Beside the text stands what it leaves out for the model's sake: whether to retry, and the phase.
        stated = lenient_error(outer.get("shaping/error")) or inner.error or lenient_error(meta.get("error"))
        return WireReading("mcp", ok=False, error=stated or lenient_error(payload), meta=meta)
    if inner.form in {"invariant", "flat", "sourced", "lean"}:
        return replace(inner, meta={**meta, **inner.meta}) if inner.form == "lean" else inner
    return WireReading("mcp", ok=True, data=payload, warnings=_sentences(meta.get("warnings")), meta=meta)


def _text_of(content: Any) -> Any:
    """Return the text of an MCP result's blocks, as JSON where it is JSON."""
    blocks = [block.get("text") for block in _items(content) if isinstance(block, Mapping)]
    text = "\n".join(block for block in blocks if isinstance(block, str))
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def _sentences(warnings: Any) -> tuple[str, ...]:
    """Return warnings as sentences; absent or of no known kind means none."""
    texts = (item.get("message") if isinstance(item, Mapping) else item for item in _items(warnings))
    return tuple(text for text in texts if isinstance(text, str))


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
