"""One typed envelope in Python, written on the wire in a form that clients already parse."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shaping.response import Dialect

if TYPE_CHECKING:
    from shaping.envelope import dialects as dialects
    from shaping.envelope.dialects import DIALECTS, parse, read_wire, recognise
    from shaping.envelope.model import (
        CommandMeta,
        Envelope,
        EnvelopeError,
        HttpMeta,
        LocalMeta,
        McpMeta,
        UpgradeHint,
        command_envelope,
        exit_code_for,
        http_envelope,
        is_envelope,
        local_envelope,
        mcp_envelope,
        presentable,
        unwrap,
    )

__all__ = [
    "DIALECTS",
    "CommandMeta",
    "Dialect",
    "Envelope",
    "EnvelopeError",
    "HttpMeta",
    "LocalMeta",
    "McpMeta",
    "UpgradeHint",
    "command_envelope",
    "exit_code_for",
    "http_envelope",
    "is_envelope",
    "local_envelope",
    "mcp_envelope",
    "parse",
    "presentable",
    "read_wire",
    "recognise",
    "unwrap",
]


def __getattr__(name: str) -> Any:
    # The model takes 60 ms to import: an answer that nobody asks for its envelope does without.
    if name == "dialects":
        return import_module("shaping.envelope.dialects")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "dialects" if name in {"DIALECTS", "parse", "read_wire", "recognise"} else "model"
    return getattr(import_module(f"shaping.envelope.{module}"), name)
