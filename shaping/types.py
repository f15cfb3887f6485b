"""The vocabulary: the few words every other module is written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"

Reason: TypeAlias = Literal[
    "fields",  # the config's include_only or exclude_fields
    "private",  # a path that never leaves
    "tier",  # exclude_when_tier
    "null",
    "empty",
    "default",
    "links",
    "opaque",
    "bulk",
    "boilerplate",
    "items",  # a list's tail, cut to a budget or to max_items
    "string",  # the middle of a long string
    "depth",  # a subtree, cut to a budget
]


@dataclass(frozen=True, slots=True)
class Omission:
    """Something a stage left out: where, how many, why, at what price, and how to ask it back."""

    path: str  # in the path language; every element of a list is `[]`, a cut tail is `[40:100]`
    count: int
    reason: Reason
    tokens: int | None = None
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the reader should know about the response: a stable code, where, and a sentence."""

    code: str
    message: str
    path: str | None = None
