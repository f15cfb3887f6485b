"""What a model reads: data as text, in the cheapest form that is plain to read."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shaping.encoders.encoding import FORMATS, Encoded, UnknownEncodingError, decode, encode

__all__ = ["FORMATS", "Encoded", "UnknownEncodingError", "decode", "encode"]


def __getattr__(name: str) -> Any:
    # Small answers need no encoder, and a text that `lines` writes must not wait 15 ms for tables.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("shaping.encoders.encoding"), name)
