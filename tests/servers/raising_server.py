"""A FastMCP server whose one tool raises a ValueError with the words that it is given."""

from __future__ import annotations

from fastmcp import FastMCP

server = FastMCP("raising")


@server.tool
def raise_it(words: str) -> None:
    """Raise a ValueError."""
    raise ValueError(words)


if __name__ == "__main__":
    server.run(show_banner=False)
