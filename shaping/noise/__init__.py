"""What happens to a payload nobody wrote a config for: rules that take noise and leave every answer."""

from __future__ import annotations

from shaping.noise.text import reduce_text
from shaping.noise.walk import reduce
from shaping.parsers.data import read_text

__all__ = ["read_text", "reduce", "reduce_text"]
