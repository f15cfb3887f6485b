"""Which operations to serve, and what their list costs a model before it has called anything."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import orjson

from shaping.operations.spec import describe
from shaping.tokens import cheap, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shaping.operations.spec import Spec


# A model carries the list through the whole session; beyond this it is larger than most answers it will ever get.
MAX_TOKENS = 25_000
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 300


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Which operations are wanted; each member that is given narrows, several values of one widen."""

    tags: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # glob patterns: `/repos/*`
    ids: tuple[str, ...] = ()  # glob patterns of operation ids: `repos_*`
    read_only: bool = False

    @property
    def is_open(self) -> bool:
        """Whether nothing was chosen."""
        return self == OperationFilter()

    def takes(self, spec: Spec) -> bool:
        """Whether an operation is wanted."""
        method, path = str(spec.origin.get("method", "")), str(spec.origin.get("path", ""))
        return (
            (not self.tags or not set(self.tags).isdisjoint(spec.tags))
            and (not self.methods or method in {wanted.upper() for wanted in self.methods})
            and (not self.paths or any(fnmatchcase(path, pattern) for pattern in self.paths))
            and (not self.ids or any(_named(spec, pattern) for pattern in self.ids))
            and (not self.read_only or (spec.type != "mutation" and spec.operation_type not in {"command", "eval"}))
        )


def _named(spec: Spec, pattern: str) -> bool:
    names = (spec.id, spec.name, str(spec.origin.get("operation_id") or spec.name))
    return any(fnmatchcase(name, pattern) for name in names)


class TooManyError(ValueError):
    """A list of tools that would cost too much, with what there is to choose from."""

    def __init__(self, specs: Sequence[Spec], tokens: int, limit: int) -> None:
        self.operations, self.tokens, self.limit = len(specs), tokens, limit
        self.tags = Counter(tag for spec in specs for tag in spec.tags)
        super().__init__("\n".join(self._lines(specs)))

    def _lines(self, specs: Sequence[Spec]) -> list[str]:
        reading = sum(spec.type == "query" for spec in specs)
        tags = ", ".join(f"{tag} ({number})" for tag, number in self.tags.most_common(12))
        more = f" and {len(self.tags) - 12} more" if len(self.tags) > 12 else ""
        return [
            (
                f"{self.operations:,} operations are about {self.tokens:,} tokens of tool definitions; "
                f"the limit is {self.limit:,}."
            ),
            f"Choose some: --tag, --method, --path '/a/*', --id 'get_*', or --read-only ({reading:,} only read).",
            *([f"Tags: {tags}{more}."] if tags else []),
            "Or raise the limit: --max-tool-tokens.",
        ]


def choose(specs: Iterable[Spec], choice: OperationFilter, *, limit: int | None = MAX_TOKENS) -> list[Spec]:
    """Return the operations that are wanted; more of them than a model should carry are refused."""
    chosen = [spec for spec in specs if choice.takes(spec)]
    tokens = cost(chosen) if limit is not None else 0
    if limit is not None and tokens > limit:
        raise TooManyError(chosen, tokens, limit)
    return chosen


def cost(specs: Sequence[Spec]) -> int:
    """Count the tokens of the list of tools as a client shows it to its model; MCP has no form for a subscription."""
    texts = [orjson.dumps(tool_definition(spec)).decode() for spec in specs if spec.type != "subscription"]
    if sum(map(len, texts)) > 2_000_000:
        # Far beyond any limit an estimate says enough, and at once.
        return sum(cheap(text) for text in texts)
    return int(count("\n".join(texts)))


def tool_definition(spec: Spec) -> dict[str, Any]:
    """Return a tool as it is listed."""
    return {"name": listed_name(spec), "description": short_description(spec), "inputSchema": input_schema(spec)}


def listed_name(spec: Spec) -> str:
    """Return a name that every client takes: letters, digits, `_` and `-`, at most 64 of them."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", spec.id)
    if len(name) <= LONGEST_NAME:
        return name
    # The end tells operations apart better than the middle does.
    return f"{name[:31]}__{name[-31:]}"


def short_description(spec: Spec) -> str:
    """Return the first paragraphs of a description, as far as they fit, and the codes that a call can fail with."""
    text, start = spec.description, spec.description[:LONGEST_DESCRIPTION]
    if start != text:
        text = start.rsplit("\n\n" if "\n\n" in start else " ", 1)[0].rstrip() + " …"
    return describe(text, spec.codes)


def input_schema(spec: Spec) -> dict[str, Any]:
    """Return the input schema as an object, which the protocol asks for."""
    schema = spec.input.json
    return schema if schema.get("type") == "object" else {"type": "object", **schema}
