"""Comma-separated values, quoted as RFC 4180 says; a cell that could be misread is JSON."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from shaping.encoders.flat import records_of, rows_of

if TYPE_CHECKING:
    from shaping.response import Json


def encode(value: Json) -> str | None:
    """Write a list of records; nothing else has rows."""
    rows = rows_of(value)
    if rows is None:
        return None
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().removesuffix("\n")


def decode(text: str) -> Json:
    """Read the records back."""
    # A record without any member is an empty line, which the reader would skip.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    return records_of([row or [""] for row in csv.reader(io.StringIO(text))])
