"""TOON, through its own package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.response import import_extra

if TYPE_CHECKING:
    from shaping.response import Json


def encode(value: Json) -> str:
    """Write any value."""
    text: str = _package().encode(value)
    return text


def decode(text: str) -> Json:
    """Read it back."""
    value: Json = _package().decode(text)
    return value


def _package() -> Any:
    return import_extra("toon_format", "toon", "encoding 'toon'")
