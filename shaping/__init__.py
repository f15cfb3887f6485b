"""Middleware that cuts what AI agents' tools return down to what the agent needs, and loses nothing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shaping import tokens
    from shaping.context import note, using
    from shaping.envelope import Envelope
    from shaping.errors import ToolError
    from shaping.shaper import Shaper
    from shaping.surfaces.decorator import shape
    from shaping.types import Omission, Shaped

__all__ = ["Envelope", "Omission", "Shaped", "Shaper", "ToolError", "note", "shape", "tokens", "using"]

# Each name is imported when it is first used: a program that only decorates does not wait for what it never calls.
_WHERE = {
    "Envelope": "shaping.envelope",
    "Omission": "shaping.types",
    "Shaped": "shaping.types",
    "Shaper": "shaping.shaper",
    "ToolError": "shaping.errors",
    "note": "shaping.context",
    "shape": "shaping.surfaces.decorator",
    "using": "shaping.context",
}


def __getattr__(name: str) -> Any:
    if name == "tokens":
        return import_module("shaping.tokens")
    if name not in _WHERE:
        raise AttributeError(f"module 'shaping' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
