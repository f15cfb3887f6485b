"""Where a command listens: HOST:PORT as it is written, and whether that place is free."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

from shaping.cli.output import stopped

if TYPE_CHECKING:
    from collections.abc import Mapping

_LAST = 65_535
# What a program is told; people read the system's own words.
_CODES: Mapping[int, str] = {errno.EADDRINUSE: "CONFLICT", errno.EACCES: "PERMISSION_DENIED"}


def listening_at(text: str) -> tuple[str, int]:
    """Return the host and the port of an address that is free, or end with what is wrong with it."""
    host, port = address(text)
    try:
        family, kind, number, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, number) as trial:
            # As servers do: a place that was left a moment ago can be taken again.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(place)
    except OSError as problem:
        code = _CODES.get(problem.errno or 0, "BAD_ARGUMENT")
        said = f"cannot listen at {host}:{port}: {problem.strerror or problem}"
        raise stopped(said, 1, code=code, hint="Choose another address.") from None
    return host, port


def address(text: str) -> tuple[str, int]:
    """Read HOST:PORT, or PORT alone for loopback."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()):
        raise stopped(f"{text!r} is not an address; expected HOST:PORT, or PORT alone for loopback")
    # A number too long to be read as one is no port either.
    if len(port) > len(str(_LAST)) or not 1 <= int(port) <= _LAST:
        raise stopped(f"{port} is not a port; expected 1 to {_LAST}")
    return host.strip("[]") or "127.0.0.1", int(port)
