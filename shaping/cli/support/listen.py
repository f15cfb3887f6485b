"""The HOST:PORT that a server command listens at."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

from shaping.cli.support.output import stopped

if TYPE_CHECKING:
    from collections.abc import Mapping

_LAST_PORT = 65_535
_CODES: Mapping[int, str] = {errno.EADDRINUSE: "CONFLICT", errno.EACCES: "PERMISSION_DENIED"}


def free_address(text: str) -> tuple[str, int]:
    """Return the host and the port of an address that is free, or end with the reason why it cannot be used."""
    host, port = parse_address(text)
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, number) as trial:
            # As servers do: a port that was left a moment ago can be taken again.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as problem:
        code = _CODES.get(problem.errno or 0, "BAD_ARGUMENT")
        message = f"cannot listen at {host}:{port}: {problem.strerror or problem}"
        raise stopped(message, 1, code=code, hint="Choose another address.") from None
    return host, port


def parse_address(text: str) -> tuple[str, int]:
    """Read HOST:PORT, or PORT alone for loopback."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()):
        raise stopped(f"{text!r} is not an address; expected HOST:PORT, or PORT alone for loopback")
    # int() refuses numbers of thousands of digits.
    if len(port) > len(str(_LAST_PORT)) or not 1 <= int(port) <= _LAST_PORT:
        raise stopped(f"{port} is not a port; expected 1 to {_LAST_PORT}")
    return host.strip("[]") or "127.0.0.1", int(port)
