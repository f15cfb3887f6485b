"""What a config can choose: each choice with its value where nobody makes it, and how a stronger config adds to it.

What a choice takes, and the sentence about it, is in `model.py`; what is decided for a call, in `plan.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import or_
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from shaping.parsers import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


Surface: TypeAlias = Literal["python", "mcp", "command"]
NoiseGroup: TypeAlias = Literal["links", "opaque", "bulk", "boilerplate", "repeats", "constants"]
Encoding: TypeAlias = Literal["auto", "json", "table", "markdown", "csv", "toon"]
Channels: TypeAlias = Literal["auto", "both", "text", "structured"]
OmissionsMode: TypeAlias = Literal["none", "line", "list", "full"]
ToolsChanged: TypeAlias = Literal["keep", "announce"]
Overflow: TypeAlias = Literal["ref", "file", "auto"]
OnUnreadable: TypeAlias = Literal["withhold", "pass"]
StoreKind: TypeAlias = Literal["memory", "sqlite", "redis"]
EnvelopeMember: TypeAlias = Literal[
    "error", "warnings", "upgrade_hints", "request_id", "session_id", "duration_ms", "tier", "tool_id", "tool_version",
    "capabilities", "schema_version", "estimated_tokens", "etag", "not_modified", "truncated", "cursor", "ref",
    "config_hash", "timings", "plan",
]  # fmt: skip
LIMITS = frozenset({"max_tokens", "max_items", "max_string"})


@dataclass(frozen=True, slots=True)
class Redact:
    """Which redaction rules apply, with their defaults."""

    values: bool = True
    names: bool = False
    paths: tuple[str, ...] = ()
    off: bool = False

    @property
    def by_place(self) -> bool:
        """Whether fields are masked by their name or path."""
        return not self.off and (self.names or bool(self.paths))


def _union(paths: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*paths, *more)))


def _switch_rules(rules: tuple[str, ...], value: list[str] | dict[str, bool]) -> tuple[str, ...]:
    """Switch noise rules: a list names all that are on, a map changes some."""
    on = dict.fromkeys(value, True) if isinstance(value, list) else {**dict.fromkeys(rules, True), **value}
    return tuple(rule for rule in get_args(NoiseGroup) if on.get(rule))


def _change_members(members: tuple[str, ...], value: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Add and take away members; one that was taken away is marked by `!`, because some are sent unless they are."""
    include, exclude = value.get("include", ()), value.get("exclude", ())
    kept = {*members, *include, *(f"!{member}" for member in exclude)}
    kept -= {*exclude, *(f"!{member}" for member in include if member not in exclude)}
    known = get_args(EnvelopeMember)
    return tuple(member for member in (*known, *(f"!{member}" for member in known)) if member in kept)


def _change_redaction(redact: Redact, value: Any) -> Redact:
    if value in ("off", False):
        return replace(redact, off=True)
    if value is True:
        return replace(redact, off=False, values=True, names=True)
    return replace(redact, **{**value, "off": False, "paths": _union(redact.paths, value.get("paths", ()))})


def masking(redact: Any) -> Any:
    """Return the half of a `redact` that masks more than the default does; None where there is nothing."""
    if isinstance(redact, dict):
        return {name: rule for name, rule in redact.items() if rule} or None
    return True if redact is True else None


class Choice(NamedTuple):
    """One choice: its value where nobody makes it, how a stronger one adds to it, and whether it can only narrow."""

    built_in: Any
    narrows: bool = False  # whether a config of the working tree may make it before it is allowed
    combine: Callable[[Any, Any], Any] | None = None  # None where the stronger one takes the place of the weaker


# What cannot narrow: a new name takes a field out of reach of the user's own rules by name, a pattern for lines can
# take for ever, and an overflow file is written where others may look.
CHOICES: Mapping[str, Choice] = {
    "enabled": Choice(built_in=True),
    "include_only": Choice(None, narrows=True),
    "exclude_fields": Choice((), narrows=True),
    "include_on_error": Choice(()),
    "exclude_when_tier": Choice({}, narrows=True, combine=or_),
    "rename": Choice({}, combine=or_),
    "private": Choice((), narrows=True, combine=_union),
    "on_unreadable": Choice("withhold"),
    "overflow": Choice("ref"),
    "redact": Choice(Redact(), combine=_change_redaction),  # `masking` is what narrows of it
    "defaults": Choice({}, narrows=True, combine=or_),
    "keep_lines": Choice(()),
    "drop_lines": Choice(()),
    "parse": Choice(FORMATS),
    "exit_codes": Choice({}, combine=or_),
    "channels": Choice("auto", narrows=True),
    "typed": Choice(built_in=False, narrows=True),
    "max_items": Choice(None, narrows=True),
    "max_string": Choice(None, narrows=True),
    "envelope": Choice((), narrows=True, combine=_change_members),
    "dialect": Choice(None, narrows=True),  # each surface has its own default, in settings/plan.py
    # From here on every profile in `profiles/` makes the choice; the values are those of a tool that is not enabled.
    "exclude_null_values": Choice(built_in=False, narrows=True),
    "exclude_empty_arrays": Choice(built_in=False, narrows=True),
    "exclude_empty_objects": Choice(built_in=False, narrows=True),
    "exclude_default_values": Choice(built_in=False, narrows=True),
    "prune": Choice((), narrows=True, combine=_switch_rules),
    "encoding": Choice("json", narrows=True),
    "lossless": Choice(built_in=True, narrows=True),
    "max_tokens": Choice(None, narrows=True),
    "omissions": Choice("none", narrows=True),
    "debug": Choice(built_in=False),
    "profile": Choice(None, narrows=True),
}
