"""The wire forms: one file each, with the same three names, and how one is told from another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, get_args

from shaping.envelope.dialects import flat, invariant, lean, none, sourced
from shaping.envelope.model import RENDER, Dialect, Envelope, EnvelopeError, is_envelope, unknown_dialect

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
FORMS: Mapping[str, ModuleType] = MappingProxyType(
    {"lean": lean, "flat": flat, "sourced": sourced, "invariant": invariant, "none": none},
)
RENDER.update({name: form.render for name, form in FORMS.items()})


def recognise(wire: Any) -> Dialect:
    """Return the dialect that a wire form is written in; what carries no envelope is `none`."""
    if not isinstance(wire, Mapping):
        return "none"
    if is_envelope(wire):
        return "sourced"
    if isinstance(wire.get("ok"), bool):
        if isinstance(wire.get("_meta"), Mapping):
            return "flat"
        if "meta" in wire and ("data" in wire or "error" in wire):
            return "invariant"
    return "lean" if lean.looks_like(wire) else "none"


def parse(wire: Any, dialect: Dialect | None = None) -> Envelope[Any]:
    """Read an envelope from its wire form; without a dialect, the one it is written in is recognised."""
    if isinstance(wire, Envelope):
        return wire
    form = FORMS.get(dialect or recognise(wire))
    if form is None:
        raise unknown_dialect(dialect)
    if form is not none and not isinstance(wire, Mapping):
        raise EnvelopeError(f"an envelope in the dialect {dialect!r} is an object, not {type(wire).__name__}")
    read: Envelope[Any] = form.parse(wire)
    return read


def read_wire(value: Any, *, paths: Iterable[str] = ()) -> Envelope[Any] | None:
    """Return the envelope that a tool already answered in, or None where its answer is data.

    `lean` has no member that only it has: where one of the configured `paths` names a member of the answer itself
    (`data.items`), the answer is data. A damaged `invariant` envelope is read as far as it goes.
    """
    if isinstance(value, Envelope):
        return value
    form = recognise(value)
    if form == "none" or (form == "lean" and any(_starts_in(path, value) for path in paths)):
        return None
    try:
        return invariant.parse(value, strict=False) if form == "invariant" else parse(value, form)
    except EnvelopeError:
        return None


def _starts_in(path: str, value: Mapping[str, Any]) -> bool:
    return re.split(r"[.\[]", path, maxsplit=1)[0].strip('"') in value
