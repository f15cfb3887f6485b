"""None: the data alone, for surfaces that carry the rest in their own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.envelope.dialects import members, schemas

if TYPE_CHECKING:
    from collections.abc import Collection

    from shaping.envelope.model import Envelope


def render(envelope: Envelope[Any], include: Collection[str] = (), debug: bool = False) -> Any:  # noqa: ARG001  one signature for all dialects
    """Return the data; whether the call failed is for the surface to say."""
    return envelope.data


def read(wire: Any) -> members.WireParts:
    """Read anything as data."""
    return members.WireParts(wire)


def parse(wire: Any) -> Envelope[Any]:
    """Read anything as the data of a call that worked."""
    return members.build(read(wire), {"source": "local"})


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the wire form: any value."""
    return schemas.document("none", "The data alone; any JSON value.", schemas.ANY)
