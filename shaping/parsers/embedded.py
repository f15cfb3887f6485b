"""Data with a sentence around it: a line that introduces JSON, or JSON in a fence."""

from __future__ import annotations

import re
from typing import NamedTuple

from shaping.parsers.data import read_text

_FENCE = re.compile(r"```(?:json|JSON|python)?\n(.*?)\n```", re.DOTALL)
_START = re.compile(r"\n(?=[\[{])")
_MOST = 0.8  # of the text must be data: in a page of prose, JSON is an example
_LEAST = 600  # characters of data


class Embedded(NamedTuple):
    """Where data stands in a text, and what it is."""

    start: int
    end: int
    value: object


def find_data(text: str) -> Embedded | None:
    """Return the data that a text is mostly made of, if there is any."""
    spans = [found.span(1) for found in _FENCE.finditer(text)]
    if not spans and (found := _START.search(text)):
        spans = [(found.end(), len(text))]
    if len(spans) != 1:
        return None
    start, end = spans[0]
    if end - start < max(_LEAST, _MOST * len(text)):
        return None
    value = read_text(text[start:end])
    return None if value is None else Embedded(start, end, value)
