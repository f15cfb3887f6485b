"""response_config.json: where it is looked for, what it may say, and what it comes to for each tool."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shaping.settings.bundled import bundled
from shaping.settings.plan import Overrides, Plan, Prune, Redact, Surface
from shaping.settings.problems import ConfigError, Problem

if TYPE_CHECKING:
    from shaping.settings.generation import Generation
    from shaping.settings.layers import Origin
    from shaping.settings.live import LiveConfig, shared
    from shaping.settings.loading import load
    from shaping.settings.model import Config, StoreConfig
    from shaping.settings.resolve import Choice

__all__ = [
    "Choice",
    "Config",
    "ConfigError",
    "Generation",
    "LiveConfig",
    "Origin",
    "Overrides",
    "Plan",
    "Problem",
    "Prune",
    "Redact",
    "StoreConfig",
    "Surface",
    "bundled",
    "load",
    "shared",
]

# The model and what stands on it take longer to import than all else: the first config pays, not `import shaping`.
_LATER = {
    "Choice": "resolve",
    "Config": "model",
    "Generation": "generation",
    "LiveConfig": "live",
    "Origin": "layers",
    "StoreConfig": "model",
    "load": "loading",
    "shared": "live",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
