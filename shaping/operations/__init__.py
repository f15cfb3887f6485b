"""Tools from anywhere in one registry: local functions, HTTP APIs, MCP servers, commands."""

from shaping.operations.access import Access, Context, Identity
from shaping.operations.adapters import McpConfig, McpLoader, from_command, from_mcp
from shaping.operations.calls import CallHandler, InProcess, PendingCalls, RedisTransport
from shaping.operations.guard import admit, visible
from shaping.operations.openapi import from_openapi, from_openapi_file, from_openapi_url
from shaping.operations.openapi.client import Auth, HttpConfig
from shaping.operations.registry import Registry
from shaping.operations.schemas import from_schema
from shaping.operations.spec import OperationType, Spec, make_spec, operation, scan

__all__ = [
    "Access",
    "Auth",
    "CallHandler",
    "Context",
    "HttpConfig",
    "Identity",
    "InProcess",
    "McpConfig",
    "McpLoader",
    "OperationType",
    "PendingCalls",
    "RedisTransport",
    "Registry",
    "Spec",
    "admit",
    "from_command",
    "from_mcp",
    "from_openapi",
    "from_openapi_file",
    "from_openapi_url",
    "from_schema",
    "make_spec",
    "operation",
    "scan",
    "visible",
]
