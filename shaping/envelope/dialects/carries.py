"""What survives a dialect: the part of an envelope that comes back when its wire form is parsed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.envelope.meta import Source
    from shaping.envelope.model import Envelope

# Said beside what the contract's own error holds, where there is something to say.
ERROR_EXTRAS = (
    "hint",
    "retryable",
    "retry_after",
    "phase",
    "next_actions",
    "similar",
    "redirect",
    "docs_url",
    "detail",
)


@dataclass(frozen=True, slots=True)
class Carries:
    """What a dialect carries when every member is included; what was left open may come back filled."""

    source: Source | None = "local"  # what meta comes back as; None where the wire tells
    error: frozenset[str] = frozenset()
    meta: frozenset[str] = frozenset()
    warnings: bool = True
    data_on_error: bool = True
    changes: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)  # members that come back otherwise


def lost(before: Envelope[Any], after: Envelope[Any], carries: Carries) -> list[str]:
    """Name what the dialect should have carried and did not."""
    was, now = _carried(before, carries), _carried(after, carries)
    names = [name for name, value in was.items() if value not in (None, ()) and now.get(name) != value]
    return names if carries.source in (None, after.meta.source) else [*names, "source"]


def _carried(envelope: Envelope[Any], carries: Carries) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if envelope.error is None or carries.data_on_error:
        found["data"] = envelope.data
    if carries.warnings:
        found["warnings"] = envelope.warnings
    if envelope.error is not None:
        found |= {f"error.{name}": value for name, value in envelope.error.__dict__.items() if name in carries.error}
    found |= {f"meta.{name}": value for name, value in envelope.meta.__dict__.items() if name in carries.meta}
    return {name: _changed(name, value, carries) for name, value in found.items()}


def _changed(name: str, value: Any, carries: Carries) -> Any:
    change = carries.changes.get(name)
    return value if change is None or value is None else change(value)
