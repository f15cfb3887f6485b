"""CSV and TSV: a line of names, and rows that all have as many cells."""

from __future__ import annotations

import csv
from typing import Any

from shaping.parsers.rows import LARGEST, are_names, records


def parse(text: str) -> list[dict[str, Any]] | None:
    """Return the records of a text of separated values with a header line."""
    first = text[:10_000].split("\n", 1)[0]
    delimiter = "\t" if "\t" in first else ","
    if delimiter not in first or len(text) > LARGEST:
        return None
    try:
        if not are_names(next(csv.reader([first.rstrip("\r")], delimiter=delimiter, strict=True), [])):
            return None
        rows = list(csv.reader(text.splitlines(), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    names, body = rows[0], rows[1:]
    # Prose has commas too, and a space after each.
    if not body or not are_names(names) or any(cell[:1] == " " for row in rows[:9] for cell in row):
        return None
    return records(names, body)
