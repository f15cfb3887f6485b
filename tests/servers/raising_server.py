"""A FastMCP server whose one tool raises an exception of Python's with the words that it is given."""

from __future__ import annotations

import builtins

from fastmcp import FastMCP

server = FastMCP("raising")


@server.tool
def raise_it(words: str, kind: str = "ValueError") -> None:
    """Raise a ValueError, or another kind."""
    raise getattr(builtins, kind)(words)


if __name__ == "__main__":
    server.run(show_banner=False)
