"""How things are told in words: how many there are, and which of several one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Container

T = TypeVar("T")


def counted(count: int, noun: str) -> str:
    """Write how many there are of something: `1 token`, `1,024 tokens`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def free_name(name: T, taken: Container[T | str]) -> T | str:
    """Give a name that is not taken: itself, or the first of `name (2)`, `name (3)` and so on."""
    free: T | str = name
    number = 2
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free
