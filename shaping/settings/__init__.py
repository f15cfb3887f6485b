"""response_config.json: where it is found, its model, and the plan that it gives each tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaping.response import late_names
from shaping.settings.files import bundled
from shaping.settings.jsonc import ConfigError
from shaping.settings.loading import LoadedConfig, load
from shaping.settings.plan import Overrides, Plan, Redact, StoreConfig, Surface
from shaping.settings.resolve import ResolvedChoice

if TYPE_CHECKING:
    from shaping.settings.model import Config

__all__ = [
    "Config",
    "ConfigError",
    "LoadedConfig",
    "Overrides",
    "Plan",
    "Redact",
    "ResolvedChoice",
    "StoreConfig",
    "Surface",
    "bundled",
    "load",
]

# The model is slow to import: a command with the bundled config does without it.
__getattr__ = late_names(__name__, __all__, ("model",))
