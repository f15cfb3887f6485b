"""A response read without trusting it: every member has its type or is absent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import orjson

from shaping.envelope import Envelope, dialects
from shaping.envelope.dialects.members import from_lean
from shaping.envelope.model import COMMON, SOURCES
from shaping.errors import ErrorDetail, ToolError, from_exit_code, from_status
from shaping.errors.detail import Phase, Redirect, RedirectReason

Form: TypeAlias = Literal["lean", "flat", "sourced", "invariant", "none", "mcp"]

LONGEST_WAIT = 10.0**9  # seconds; whatever claims more, NaN included, is not a duration
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


def read_wire(wire: Any, form: Form | None = None) -> WireReading:
    """Read any wire form; the form is recognised first, because each has its own rules about what may be absent."""
    if isinstance(wire, (Envelope, ErrorDetail, ToolError)):
        return _from_model(wire)
    inner = getattr(wire, "envelope", None)
    if isinstance(inner, Envelope):
        return _from_model(inner)
    plain = _plain(wire, form)
    if not isinstance(plain, Mapping) or form == "none":
        return WireReading("none", data=plain)
    return _READERS[form or recognise(plain)](plain)


def recognise(wire: Mapping[str, Any]) -> Form:
    """Tell the form of a JSON object by the members that only it has."""
    if isinstance(wire.get("content"), list) and ("isError" in wire or "structuredContent" in wire):
        return "mcp"
    whole = dialects.recognise(wire)
    return whole if whole != "none" else _guess(wire)


def _guess(wire: Mapping[str, Any]) -> Form:
    """Tell what a damaged envelope was meant to be, so that its damage is found and not taken for data."""
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
    if isinstance(model, ToolError):
        return WireReading("sourced", ok=False, error=model.detail)
    if isinstance(model, ErrorDetail):
        return WireReading("sourced", ok=False, error=model)
    warnings = tuple(warned.message for warned in model.warnings)
    return WireReading("sourced", model.ok, model.data, model.error, warnings=warnings, meta=model.meta.model_dump())


def _invariant(wire: Mapping[str, Any]) -> WireReading:
    meta, data = _mapping(wire.get("meta")), wire.get("data")
    if meta.get("bare") is True and isinstance(data, Mapping):
        data = data.get("value")
    return WireReading(
        "invariant",
        ok=_typed(wire.get("ok"), bool),
        data=data,
        error=read_error(wire.get("error")),
        says_error="error" in wire,
        warnings=_sentences(wire.get("warnings")),
        meta=meta,
    )


def _sourced(wire: Mapping[str, Any]) -> WireReading:
    meta = {_snake(key): value for key, value in _mapping(wire.get("meta")).items()}
    failed = (
        meta.get("is_error") is True or _at_least(meta.get("status_code"), 400) or _at_least(meta.get("exit_code"), 1)
    )
    said = wire.get("error", meta.get("error"))
    error = read_error({_snake(key): value for key, value in said.items()} if isinstance(said, Mapping) else said)
    if failed and error is None:
        error = implied_error(meta) or read_error(_text_of(meta.get("content")) or None)
    warnings = _sentences(wire.get("warnings", meta.get("warnings")))
    return WireReading("sourced", not failed and error is None, wire.get("data"), error, warnings=warnings, meta=meta)


def _flat(wire: Mapping[str, Any]) -> WireReading:
    ok, meta = _typed(wire.get("ok"), bool), _mapping(wire.get("_meta"))
    warnings = _sentences(wire.get("warnings", meta.get("warnings")))
    if ok is False or (isinstance(wire.get("code"), str) and isinstance(wire.get("error"), str)):
        return WireReading("flat", ok, wire.get("result"), read_error(wire), warnings=warnings, meta=meta)
    rest = {key: value for key, value in wire.items() if key not in {"ok", "_meta"}}
    data = rest["result"] if rest.keys() == {"result"} else rest
    return WireReading("flat", ok, data, warnings=warnings, meta=meta)


def _lean(wire: Mapping[str, Any]) -> WireReading:
    meta = {**wire, **_mapping(wire.get("meta"))}
    warnings = _sentences(wire.get("warnings"))
    return WireReading("lean", data=wire.get("data"), error=read_error(wire.get("error")), warnings=warnings, meta=meta)


def _none(wire: Mapping[str, Any]) -> WireReading:
    return WireReading("none", data=wire)


def _mcp(wire: Mapping[str, Any]) -> WireReading:
    """Read an MCP result, whose payload may itself be one of the forms that cannot be mistaken for data."""
    outer = _mapping(wire.get("_meta"))
    meta = {**outer, **_mapping(outer.get("shaping"))}
    payload = wire.get("structuredContent")
    if payload is None:
        payload = _text_of(wire.get("content"))
    inner = _READERS[recognise(payload)](payload) if isinstance(payload, Mapping) else WireReading("none", data=payload)
    if wire.get("isError") is True:
        # Beside the text stands what it leaves out for the model's sake: whether to retry, and the phase.
        told = read_error(outer.get("shaping/error")) or inner.error or read_error(meta.get("error"))
        return WireReading("mcp", ok=False, error=told or read_error(payload), meta=meta)
    if inner.form in {"invariant", "flat", "sourced"}:
        return inner
    return WireReading("mcp", ok=True, data=payload, warnings=_sentences(meta.get("warnings")), meta=meta)


_READERS = {"invariant": _invariant, "sourced": _sourced, "flat": _flat, "lean": _lean, "none": _none, "mcp": _mcp}


def read_error(said: Any) -> ErrorDetail | None:
    """Read an error in any spelling; whatever is there but has no code is an INTERNAL_ERROR."""
    if said is None or said is False:
        return None
    if not isinstance(said, Mapping):
        return ErrorDetail(code="INTERNAL_ERROR", message=str(said)[:2000])
    retryable, retry_after = _typed(said.get("retryable"), bool), said.get("retry_after")
    return ErrorDetail(
        code=_text(said, "code") or from_lean(_text(said, "error_code") or "INTERNAL_ERROR"),
        message=_text(said, "message", "error") or "",
        hint=_text(said, "hint", "suggestion"),
        retryable=retryable,
        http=_typed(said.get("http"), int),
        retry_after=retry_after if retryable is not False and _is_duration(retry_after) else None,
        phase=said["phase"] if said.get("phase") in get_args(Phase) else None,
        next_actions=tuple(a for a in _items(said.get("next_actions")) if isinstance(a, str)),
        similar=tuple(_items(said.get("similar", said.get("similar_refs")))),
        details=_strings_only(said.get("details", said.get("error_details"))),
        detail=_text(said, "detail"),
        redirect=_redirect(said.get("redirect")),
        docs_url=_text(said, "docs_url"),
    )


def _redirect(said: Any) -> Redirect | None:
    """Read a redirect that names a command; one that does not say permanent holds for this call only."""
    command = said.get("command") if isinstance(said, Mapping) else None
    if not isinstance(command, str) or not command.strip():
        return None
    reason = said.get("reason")
    return Redirect(
        command=command,
        permanent=said.get("permanent") is True,
        reason=reason if reason in get_args(RedirectReason) else None,
    )


def _text_of(content: Any) -> Any:
    """Give the text of an MCP result's blocks, as JSON where it is JSON."""
    blocks = [block.get("text") for block in _items(content) if isinstance(block, Mapping)]
    text = "\n".join(block for block in blocks if isinstance(block, str))
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def _sentences(said: Any) -> tuple[str, ...]:
    """Give warnings as sentences; absent or of no known kind means none."""
    texts = (item.get("message") if isinstance(item, Mapping) else item for item in _items(said))
    return tuple(text for text in texts if isinstance(text, str))


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _strings_only(value: Any) -> dict[str, Any] | None:
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else None


def _typed(value: Any, kind: type[Any]) -> Any:
    return value if type(value) is kind else None


def _text(said: Mapping[str, Any], *names: str) -> str | None:
    return next((value for name in names if isinstance(value := said.get(name), str) and value), None)


def _is_duration(value: Any) -> bool:
    return type(value) in {int, float} and 0 <= value <= LONGEST_WAIT


def _at_least(value: Any, least: int) -> bool:
    return type(value) is int and value >= least


def _snake(name: Any) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in str(name))


def implied_error(meta: Mapping[str, Any]) -> ErrorDetail | None:
    """Describe the failure by the source's own sign, where it is one that a code stands for."""
    status, exit_code = meta.get("status_code"), meta.get("exit_code")
    if type(status) is int and status >= 400:
        return from_status(status, headers=_headers(meta.get("headers")))
    if type(exit_code) is int and exit_code > 0:
        return from_exit_code(exit_code, foreign=True)
    return None


def _headers(said: Any) -> dict[str, str]:
    """Give each header once; the last of several is the one that counts here."""
    if not isinstance(said, Mapping):
        return {}
    single = {name: value[-1] if isinstance(value, list) and value else value for name, value in said.items()}
    return {name: value for name, value in single.items() if isinstance(name, str) and isinstance(value, str)}
