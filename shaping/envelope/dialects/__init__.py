"""The wire forms, one file each with the functions render, read and check, and how a form is recognised."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple, get_args

from shaping.envelope.dialects import flat, invariant, lean, members, sourced
from shaping.envelope.model import Envelope, EnvelopeError, is_envelope
from shaping.nearest import did_you_mean, nearest
from shaping.response import Dialect

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
_OBJECTS: Mapping[str, Any] = {"lean": lean, "flat": flat, "sourced": sourced, "invariant": invariant}


class WireForm(NamedTuple):
    """How one wire form is written, read as far as it goes, and checked for what it has to have."""

    render: Callable[[Envelope[Any], Collection[str], bool], Any]
    read: Callable[[Any], members.WireParts]
    check: Callable[[Any], None]


FORMS: Mapping[str, WireForm] = {
    **{name: WireForm(form.render, form.read, form.check) for name, form in _OBJECTS.items()},
    # The data alone, for surfaces that carry the rest in their own way.
    "none": WireForm(lambda envelope, _include, _debug: envelope.data, members.WireParts, lambda _wire: None),
}


def form_of(dialect: str) -> WireForm:
    """Return a wire form by its name."""
    if dialect not in FORMS:
        near = did_you_mean(nearest(str(dialect), DIALECTS))
        raise EnvelopeError(f"dialect is {dialect!r}; expected one of {', '.join(sorted(DIALECTS))}.{near}")
    return FORMS[dialect]


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
    dialect = dialect or recognise(wire)
    form = form_of(dialect)
    if dialect in _OBJECTS and not isinstance(wire, Mapping):
        raise EnvelopeError(f"an envelope in the dialect {dialect!r} is an object, not {type(wire).__name__}")
    form.check(wire)
    return members.build(form.read(wire))


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
        return members.build(FORMS[form].read(value))
    except EnvelopeError:
        return None


def _starts_in(path: str, value: Mapping[str, Any]) -> bool:
    return re.split(r"[.\[]", path, maxsplit=1)[0].strip('"') in value
