"""Long enumerations of versions in a text: those that follow each other as the first and the last."""

from __future__ import annotations

import re

from shaping.encoders.table.series import first_to_last

_VERSION = r"v?\d+(?:\.\d+)+[\w.+-]*"
_ENUMERATION = re.compile(rf"{_VERSION}(?:, ?{_VERSION}){{19,}}")
_LEAST = 19  # commas between versions


def shorten_versions(text: str) -> str:
    """Return a text with `1.4.0 to 1.4.9` in place of all versions between."""
    if text.count(",") < _LEAST:
        return text
    return _ENUMERATION.sub(lambda found: ", ".join(first_to_last(re.split(", ?", found[0]))), text)
