"""The wire forms, one file each with the functions render, read and parse, and how a form is recognised."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple, get_args

from shaping.envelope.dialects import flat, invariant, lean, members, sourced
from shaping.envelope.model import Envelope, EnvelopeError, is_envelope, unknown_dialect
from shaping.response import Dialect

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)


class WireForm(NamedTuple):
    """How one wire form is written, read as far as it goes, and read with every check."""

    render: Callable[[Envelope[Any], Collection[str], bool], Any]
    read: Callable[[Any], members.WireParts]
    parse: Callable[[Any], Envelope[Any]]


# `none` is the data alone, for surfaces that carry the rest in their own way.
_NONE = WireForm(
    lambda envelope, _include, _debug: envelope.data,
    members.WireParts,
    lambda wire: members.build(members.WireParts(wire), {"source": "local"}),
)
FORMS: Mapping[str, WireForm] = {
    "lean": WireForm(lean.render, lean.read, lean.parse),
    "flat": WireForm(flat.render, flat.read, flat.parse),
    "sourced": WireForm(sourced.render, sourced.read, sourced.parse),
    "invariant": WireForm(invariant.render, invariant.read, invariant.parse),
    "none": _NONE,
}


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
    if form is not _NONE and not isinstance(wire, Mapping):
        raise EnvelopeError(f"an envelope in the dialect {dialect!r} is an object, not {type(wire).__name__}")
    return form.parse(wire)


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
