"""The members that dialects share: when each is shown, how it is written and how it is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pydantic import ValidationError

from shaping.envelope.model import COMMON, Envelope, EnvelopeError, MemberChoice, UpgradeHint
from shaping.errors import ErrorDetail
from shaping.response import Listed, Omission, Warned

# Shown where set whatever the profile: without them a reader draws a wrong conclusion or cannot go on.
ALWAYS = frozenset(
    {"request_id", "schema_version", "not_modified", "truncated", "shown", "cursor", "ref", "upgrade_hints"}
)

ORDER = (
    "tier",
    "tool_version",
    "tool_id",
    "request_id",
    "session_id",
    "schema_version",
    "capabilities",
    "duration_ms",
    "estimated_tokens",
    "config_hash",
    "etag",
    "not_modified",
    "truncated",
    "shown",
    "cursor",
    "ref",
    "upgrade_hints",
    "omissions",
)


def is_set(value: Any) -> bool:
    """Whether a member says anything: 0 does, an empty list does not."""
    return value is not None and value is not False and value != ()


def is_excluded(name: str, include: Collection[str]) -> bool:
    """Whether a member is never to be sent."""
    return isinstance(include, MemberChoice) and name in include.excluded


def is_shown(name: str, value: Any, include: Collection[str], debug: bool) -> bool:
    """Whether a member belongs in the output."""
    if is_excluded(name, include):
        return False
    if debug:
        return True
    if not is_set(value):
        return False
    return name in include or name in ALWAYS or (name == "omissions" and isinstance(value, str))


def shown(
    envelope: Envelope[Any], include: Collection[str], debug: bool, names: Iterable[str] = ORDER
) -> dict[str, Any]:
    """Give the common members to show, in order and as JSON."""
    values = envelope.meta.__dict__
    return {name: plain(values[name]) for name in names if is_shown(name, values[name], include, debug)}


def extended(members: dict[str, Any], envelope: Envelope[Any], reserved: Collection[str]) -> dict[str, Any]:
    """Add the extensions that do not pretend to be members of the dialect."""
    extra = {name: value for name, value in envelope.meta.extensions.items() if name not in reserved}
    return {**members, **extra} if extra else members


def plain(value: Any) -> Any:
    """Give a member's value as JSON."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, (UpgradeHint, Omission, Listed)):
        named = ((part.name, getattr(value, part.name)) for part in fields(value))
        return {name: item for name, item in named if item is not None}
    return value


def write_warnings(warnings: Iterable[Warned]) -> list[Any]:
    """Give warnings as JSON: a sentence alone where it has no code."""
    return [_write_warning(warned) for warned in warnings]


def read_warnings(wire: Any) -> tuple[Warned, ...]:
    """Take warnings from the wire; absent means none."""
    if wire is None:
        return ()
    if not isinstance(wire, list):
        raise EnvelopeError(f"warnings is {type(wire).__name__}; expected a list")
    return tuple(_read_warning(item) for item in wire)


def read_common(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Take the common members from the wire; null means not said."""
    return {name: wire[name] for name in ORDER if wire.get(name) is not None}


def rest(wire: Mapping[str, Any], reserved: Collection[str]) -> dict[str, Any]:
    """Take what is not a member of the dialect as extensions."""
    return {name: value for name, value in wire.items() if name not in reserved}


@dataclass(frozen=True, slots=True)
class WireParts:
    """What stands where in a wire form, under our names and not yet checked."""

    data: Any
    error: Any = None  # a dict of an error's members, or whatever stands in its place
    warnings: Any = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    ok: Any = None
    has_error: bool = True  # whether there is an error member at all, be it null


def build(parts: WireParts, source: Mapping[str, Any]) -> Envelope[Any]:
    """Make an envelope of what was read and of its source's own members, checking all of it."""
    if parts.error is not None and not isinstance(parts.error, Mapping):
        raise EnvelopeError(f"error is {type(parts.error).__name__}; expected an object")
    meta = {name: value for name, value in parts.meta.items() if name in COMMON and value is not None}
    try:
        error = None if parts.error is None else ErrorDetail(**parts.error)
        found = {"data": parts.data, "error": error, "warnings": read_warnings(parts.warnings)}
        return Envelope.model_validate({**found, "meta": {**source, **meta}})
    except ValidationError as problem:
        raise EnvelopeError(f"not an envelope: {_issues(problem)}") from None


def _issues(problem: ValidationError) -> str:
    found = problem.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, issue['loc'])) or 'envelope'}: {issue['msg']}" for issue in found)


def _write_warning(warned: Warned) -> Any:
    if not warned.code and warned.path is None:
        return warned.message
    written = {"code": warned.code, "message": warned.message}
    return written if warned.path is None else {**written, "path": warned.path}


def _read_warning(wire: Any) -> Warned:
    if isinstance(wire, str):
        return Warned("", wire)
    if not isinstance(wire, Mapping) or not isinstance(wire.get("message"), str):
        raise EnvelopeError("a warning is a sentence, or an object with a message")
    path = wire.get("path")
    return Warned(str(wire.get("code", "")), wire["message"], None if path is None else str(path))
