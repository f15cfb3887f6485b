"""Middleware that cuts what AI agents' tools return down to what the agent needs; the rest can be asked back."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shaping import tokens
    from shaping.agent.interpret import interpret
    from shaping.decorator import shape
    from shaping.envelope import Envelope
    from shaping.errors import ToolError
    from shaping.learning.record import Recorder
    from shaping.mcp.fastmcp import ShapingMiddleware
    from shaping.mcp.sdk import shape_server
    from shaping.response import Omission, Shaped, note
    from shaping.settings.chooser import using
    from shaping.shaper import Shaper

__all__ = [
    "Envelope",
    "Omission",
    "Recorder",
    "Shaped",
    "Shaper",
    "ShapingMiddleware",
    "ToolError",
    "interpret",
    "note",
    "shape",
    "shape_server",
    "tokens",
    "using",
]

# Each name is imported when it is first used: a program that only decorates does not wait for what it never calls.
_WHERE = {
    "Envelope": "shaping.envelope",
    "Omission": "shaping.response",
    "Recorder": "shaping.learning.record",
    "Shaped": "shaping.response",
    "Shaper": "shaping.shaper",
    "ShapingMiddleware": "shaping.mcp.fastmcp",
    "ToolError": "shaping.errors",
    "interpret": "shaping.agent",
    "note": "shaping.response",
    "shape": "shaping.decorator",
    "shape_server": "shaping.mcp.sdk",
    "using": "shaping.settings.chooser",
}
_EXTRA = {"ShapingMiddleware": "mcp", "shape_server": "mcp"}


def __getattr__(name: str) -> Any:
    if name == "tokens":
        return import_module("shaping.tokens")
    if name not in _WHERE:
        raise AttributeError(f"module 'shaping' has no attribute {name!r}; it has {', '.join(__all__)}")
    try:
        value = getattr(import_module(_WHERE[name]), name)
    except ModuleNotFoundError as missing:
        if name in _EXTRA and not str(missing.name).startswith("shaping"):
            raise ImportError(f'{name} needs an extra: pip install "shaping[{_EXTRA[name]}]"') from missing
        raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
