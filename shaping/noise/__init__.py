"""Noise of payloads that nobody wrote a config for: rules that take it and leave every answer."""

from __future__ import annotations

from shaping.noise.engine import reduce
from shaping.noise.rule import NoiseRule
from shaping.noise.text import reduce_text

__all__ = ["NoiseRule", "reduce", "reduce_text"]
