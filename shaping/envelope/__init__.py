"""One typed envelope in Python, spoken on the wire in the contract that clients already parse."""

from shaping.envelope.content import (
    Annotations,
    AudioBlock,
    ContentBlock,
    ImageBlock,
    ResourceBlock,
    ResourceContents,
    ResourceLinkBlock,
    TextBlock,
    read_block,
    read_blocks,
    write_block,
)
from shaping.envelope.detection import is_envelope, unwrap
from shaping.envelope.dialects import DIALECTS, parse, recognise
from shaping.envelope.factories import command_envelope, exit_code_for, http_envelope, local_envelope, mcp_envelope
from shaping.envelope.meta import SOURCES, CommandMeta, HttpMeta, LocalMeta, McpMeta, Meta, UpgradeHint
from shaping.envelope.model import Dialect, Envelope, EnvelopeError
from shaping.envelope.presentable import presentable

__all__ = [
    "DIALECTS",
    "SOURCES",
    "Annotations",
    "AudioBlock",
    "CommandMeta",
    "ContentBlock",
    "Dialect",
    "Envelope",
    "EnvelopeError",
    "HttpMeta",
    "ImageBlock",
    "LocalMeta",
    "McpMeta",
    "Meta",
    "ResourceBlock",
    "ResourceContents",
    "ResourceLinkBlock",
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
    "read_block",
    "read_blocks",
    "recognise",
    "unwrap",
    "write_block",
]
