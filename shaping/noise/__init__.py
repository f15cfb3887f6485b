"""What happens to a payload nobody wrote a config for: rules that take noise and leave every answer."""

from __future__ import annotations

from shaping.noise.text import reduce_text
from shaping.noise.walk import reduce

__all__ = ["reduce", "reduce_text"]
