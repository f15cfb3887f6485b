"""How numbers are told in sentences."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Write how many there are of something: `1 token`, `1,024 tokens`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
