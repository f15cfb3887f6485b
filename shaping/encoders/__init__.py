"""What a model reads: data as text, in the cheapest form that is plain to read."""

from typing import TYPE_CHECKING

from shaping.response import late_names

if TYPE_CHECKING:
    from shaping.encoders import lines as lines
    from shaping.encoders.encoding import FORMATS, Encoded, UnknownEncodingError, decode, encode

__all__ = ["FORMATS", "Encoded", "UnknownEncodingError", "decode", "encode"]

# Small answers need no encoder, and a text that `lines` writes must not wait 15 ms for tables.
__getattr__ = late_names(__name__, __all__, ("encoding", "lines"))
