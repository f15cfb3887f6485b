"""Where a command listens: HOST:PORT as it is written, and whether that place is free."""

from __future__ import annotations

import socket

import typer

_LAST = 65_535


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
        typer.echo(f"cannot listen at {host}:{port}: {problem.strerror or problem}", err=True)
        raise typer.Exit(1) from None
    return host, port


def address(text: str) -> tuple[str, int]:
    """Read HOST:PORT, or PORT alone for loopback."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()):
        typer.echo(f"{text!r} is not an address; expected HOST:PORT, or PORT alone for loopback", err=True)
        raise typer.Exit(2)
    # A number too long to be read as one is no port either.
    if len(port) > len(str(_LAST)) or not 1 <= int(port) <= _LAST:
        typer.echo(f"{port} is not a port; expected 1 to {_LAST}", err=True)
        raise typer.Exit(2)
    return host.strip("[]") or "127.0.0.1", int(port)
