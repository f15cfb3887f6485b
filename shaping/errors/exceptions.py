"""Which code stands for which exception, by qualified name so that no optional package is imported to say so."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE: Mapping[str, str] = MappingProxyType(
    {
        "builtins.FileNotFoundError": "FILE_NOT_FOUND",
        "builtins.NotADirectoryError": "INVALID_PATH",
        "builtins.IsADirectoryError": "INVALID_PATH",
        "builtins.FileExistsError": "CONFLICT",
        "builtins.PermissionError": "PERMISSION_DENIED",
        "builtins.TimeoutError": "TIMEOUT",
        "builtins.ConnectionError": "UNAVAILABLE",
        "builtins.ProcessLookupError": "NOT_RUNNING",
        "builtins.InterruptedError": "ABORTED",
        "builtins.NotImplementedError": "NOT_IMPLEMENTED",
        "builtins.ImportError": "DEPENDENCY_UNAVAILABLE",
        "builtins.MemoryError": "RESOURCE_EXHAUSTED",
        "builtins.RecursionError": "RESOURCE_EXHAUSTED",
        "builtins.ValueError": "BAD_ARGUMENT",
        "builtins.SyntaxError": "BAD_ARGUMENT",
        "builtins.UnicodeError": "BAD_RESPONSE",
        "json.decoder.JSONDecodeError": "BAD_RESPONSE",
        "socket.gaierror": "UNAVAILABLE",
        "ssl.SSLError": "UNAVAILABLE",
        "subprocess.TimeoutExpired": "TIMEOUT",
        "urllib.error.URLError": "UNAVAILABLE",
        "shaping.errors.catalogue.UnknownCodeError": "NOT_FOUND",
        # Of packages that tools commonly use.
        "aiohttp.client_exceptions.ClientConnectionError": "UNAVAILABLE",
        "click.exceptions.UsageError": "BAD_ARGUMENT",
        "httpx.DecodingError": "BAD_RESPONSE",
        "httpx.TimeoutException": "TIMEOUT",
        "httpx.TransportError": "UNAVAILABLE",
        "msgspec.DecodeError": "BAD_RESPONSE",
        "msgspec.ValidationError": "BAD_ARGUMENT",
        "redis.exceptions.ConnectionError": "UNAVAILABLE",
        "redis.exceptions.TimeoutError": "TIMEOUT",
        "requests.exceptions.ConnectionError": "UNAVAILABLE",
        "requests.exceptions.Timeout": "TIMEOUT",
    },
)


def look_up(kind: type[BaseException], table: Mapping[str | type, str] | Mapping[str, str]) -> str | None:
    """Find the code for an exception type: its own entry, else that of the nearest class it derives from."""
    for ancestor in kind.__mro__:
        for name in _names(ancestor):
            if name in table:
                return table[name]  # type: ignore[index]  # either mapping may be asked for either kind of key
    return None


def _names(kind: type) -> tuple[str | type, ...]:
    qualified = f"{kind.__module__}.{kind.__qualname__}"
    return (kind, qualified, kind.__qualname__) if kind.__module__ == "builtins" else (kind, qualified)
