"""One typed envelope in Python, written on the wire in a form that clients already parse."""

from shaping.envelope.dialects import DIALECTS, parse, read_wire, recognise
from shaping.envelope.factories import (
    command_envelope,
    exit_code_for,
    http_envelope,
    local_envelope,
    mcp_envelope,
    presentable,
)
from shaping.envelope.model import (
    CommandMeta,
    Envelope,
    EnvelopeError,
    HttpMeta,
    LocalMeta,
    McpMeta,
    TextBlock,
    UpgradeHint,
    is_envelope,
    unwrap,
)
from shaping.response import Dialect

__all__ = [
    "DIALECTS",
    "CommandMeta",
    "Dialect",
    "Envelope",
    "EnvelopeError",
    "HttpMeta",
    "LocalMeta",
    "McpMeta",
    "TextBlock",
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
