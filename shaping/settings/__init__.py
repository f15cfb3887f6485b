"""response_config.json: where it is found, its model, and the plan that it gives each tool."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    # The model is slow to import: a command with the bundled config does without it.
    if name != "Config":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.model"), name)
