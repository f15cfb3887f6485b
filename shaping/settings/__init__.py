"""response_config.json: where it is looked for, what it may say, and what it comes to for each tool."""

from __future__ import annotations

from shaping.settings.bundled import bundled
from shaping.settings.generation import Generation
from shaping.settings.layers import Origin
from shaping.settings.load import load
from shaping.settings.model import Config, StoreSettings
from shaping.settings.plan import Overrides, Plan, Prune, Redact, Surface
from shaping.settings.problems import ConfigError, Problem
from shaping.settings.resolve import Choice

__all__ = [
    "Choice",
    "Config",
    "ConfigError",
    "Generation",
    "Origin",
    "Overrides",
    "Plan",
    "Problem",
    "Prune",
    "Redact",
    "StoreSettings",
    "Surface",
    "bundled",
    "load",
]
