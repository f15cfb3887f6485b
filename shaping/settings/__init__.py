"""response_config.json: where it is found, its model, and the plan that it gives each tool."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shaping.settings.files import bundled
from shaping.settings.jsonc import ConfigError
from shaping.settings.plan import Overrides, Plan, Redact, Surface

if TYPE_CHECKING:
    from shaping.settings.loading import LoadedConfig, load
    from shaping.settings.model import Config, StoreConfig
    from shaping.settings.resolve import ResolvedChoice

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

# The model and its users are slow to import: loading the first config pays for that, not `import shaping`.
_LATER = {
    "ResolvedChoice": "resolve",
    "Config": "model",
    "LoadedConfig": "loading",
    "StoreConfig": "model",
    "load": "loading",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
