"""What a tool can fail with, said in its description, where a model reads it when it chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from shaping.errors import registry

if TYPE_CHECKING:
    from collections.abc import Iterable

LEAD = "Errors: "


class Tool(Protocol):
    """What has a description and says what it can fail with, as a spec does."""

    @property
    def description(self) -> str:
        """What the tool is for."""

    @property
    def codes(self) -> Iterable[str]:
        """The codes it can return."""


def describe(tool: Tool | str, codes: Iterable[str] = ()) -> str:
    """Append the codes a tool can return as one short line, in place of such a line that is already there."""
    description, codes = (tool, codes) if isinstance(tool, str) else (tool.description, tool.codes)
    known = dict.fromkeys(_known(code) for code in codes)
    body = "\n".join(line for line in description.rstrip().splitlines() if not line.startswith(LEAD)).rstrip()
    if not known:
        return body
    return f"{body}\n{LEAD}{', '.join(known)}".lstrip("\n")


def _known(code: str) -> str:
    """Give the canonical spelling of a registered code; an unknown one is refused with the nearest that exists."""
    registry.definition(code)
    return registry.canonical(code)
