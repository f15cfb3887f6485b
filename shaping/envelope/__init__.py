"""One typed envelope in Python, written on the wire in a form that clients already parse."""

from typing import TYPE_CHECKING

from shaping.response import Dialect, late_names

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

# The model takes 60 ms to import: an answer that nobody asks for its envelope does without.
__getattr__ = late_names(__name__, __all__, ("model", "dialects"))
