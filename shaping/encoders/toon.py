"""TOON, through its own package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shaping.response import Json


class MissingExtraError(ImportError):
    """An encoding needs a package that is not installed."""

    def __init__(self) -> None:
        super().__init__("encoding 'toon' needs an extra: pip install \"shaping[toon]\"")


def encode(value: Json) -> str:
    """Write any value."""
    text: str = _package().encode(value)
    return text


def decode(text: str) -> Json:
    """Read it back."""
    value: Json = _package().decode(text)
    return value


def _package() -> Any:
    try:
        import toon_format  # noqa: PLC0415 (an extra is imported where it is used)
    except ImportError as error:
        raise MissingExtraError from error
    return toon_format
