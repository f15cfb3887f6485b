"""Tools from anywhere in one registry: local functions, HTTP APIs, MCP servers, commands.

What has the name of its module is imported from there: `from shaping.operations.from_mcp import from_mcp`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shaping.operations.access import Access, Identity
    from shaping.operations.calls import CallHandler
    from shaping.operations.context import Context
    from shaping.operations.decorate import operation
    from shaping.operations.from_mcp import McpConfig, McpLoader
    from shaping.operations.guard import admit, visible
    from shaping.operations.kinds import OperationType, manifest
    from shaping.operations.openapi import Auth, HttpConfig, from_openapi, from_openapi_file, from_openapi_url
    from shaping.operations.pending import PendingCalls
    from shaping.operations.redis_transport import RedisTransport
    from shaping.operations.registry import Registry
    from shaping.operations.spec import Spec, make_spec
    from shaping.operations.transport import InProcess

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
    "from_openapi",
    "from_openapi_file",
    "from_openapi_url",
    "make_spec",
    "manifest",
    "operation",
    "visible",
]

# Each name is imported when it is first used: who only checks a manifest does not wait for HTTP and MCP.
_WHERE = {
    "access": ("Access", "Identity"),
    "calls": ("CallHandler",),
    "context": ("Context",),
    "decorate": ("operation",),
    "from_mcp": ("McpConfig", "McpLoader"),
    "guard": ("admit", "visible"),
    "kinds": ("OperationType", "manifest"),
    "openapi": ("Auth", "HttpConfig", "from_openapi", "from_openapi_file", "from_openapi_url"),
    "pending": ("PendingCalls",),
    "redis_transport": ("RedisTransport",),
    "registry": ("Registry",),
    "spec": ("Spec", "make_spec"),
    "transport": ("InProcess",),
}
_HOME = {name: home for home, names in _WHERE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shaping.operations' has no attribute {name!r}")
    value = getattr(import_module(f"shaping.operations.{_HOME[name]}"), name)
    globals()[name] = value
    return value
