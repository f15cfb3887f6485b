"""Our own text form: records as rows under one header, everything around them as an outline of names and values."""

from __future__ import annotations

from shaping.encoders.table.outline import decode, encode

__all__ = ["VERSION", "decode", "encode"]

VERSION = 4  # of the format in docs/table-format.md; whatever changes a written text changes it
