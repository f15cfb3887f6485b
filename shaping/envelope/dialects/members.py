"""The members that dialects share: when each is shown, how it is written and read, how codes are spelt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any

from pydantic import ValidationError

from shaping.envelope.model import Envelope, EnvelopeError, UpgradeHint, may_redirect
from shaping.errors import ErrorDetail, registry
from shaping.errors.codes import COMMANDS, LEAN, LEAN_COARSE, OPERATIONS
from shaping.response import Listed, Omission, Warned

# Shown where set whatever the profile: without them a reader draws a wrong conclusion or cannot go on.
ALWAYS = frozenset({"request_id", "not_modified", "truncated", "shown", "cursor", "ref", "upgrade_hints"})

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


def is_shown(name: str, value: Any, include: Collection[str], debug: bool) -> bool:
    """Whether a member belongs in the output."""
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
        named = ((field.name, getattr(value, field.name)) for field in fields(value))
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


def build(
    data: Any, error: Mapping[str, Any] | None, warnings: tuple[Warned, ...], meta: dict[str, Any]
) -> Envelope[Any]:
    """Make an envelope of what was read, checking all of it: it comes from outside."""
    try:
        detail = None if error is None else ErrorDetail(**error)
        return Envelope.model_validate({"data": data, "error": detail, "warnings": warnings, "meta": meta})
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


def error_members(error: ErrorDetail, names: Iterable[str]) -> dict[str, Any]:
    """Give the members that say something, as JSON."""
    values = error.__dict__
    return {name: _plain_error(values[name]) for name in names if values[name] is not None and values[name] != ()}


def has_own_hint(error: ErrorDetail) -> bool:
    """Whether the hint was written for this call, and not taken from the registry."""
    known = registry.find(error.code)
    return error.hint is not None and (known is None or known.hint != error.hint)


def read_error(wire: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Take an error from the wire by a dialect's names for its members; null means not error_members."""
    if not isinstance(wire, Mapping):
        raise EnvelopeError(f"error is {type(wire).__name__}; expected an object")
    return _without_ignored({ours: wire[theirs] for theirs, ours in names.items() if wire.get(theirs) is not None})


def _without_ignored(error: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the contracts tell a reader to ignore: a wait without a retry, a redirect of another code."""
    code = error.get("code")
    ignored = {"retry_after"} if error.get("retryable") is False else set()
    if isinstance(code, str) and not may_redirect(code):
        ignored.add("redirect")
    return {name: value for name, value in error.items() if name not in ignored}


def _plain_error(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value


def lean_code(code: str) -> str:
    """Spell a code as Code Scalpel does: in lower case, by its own names where it has one."""
    return LEAN.get(code) or LEAN_COARSE.get(code) or _recased(code, upper=False)


def from_lean(code: str) -> str:
    """Give our name for a lower-case code."""
    known = registry.canonical(code)
    return registry.canonical(_recased(code, upper=True)) if known == code else known


def operations_code(code: str) -> str:
    """Spell a code as the operations contract does."""
    return OPERATIONS.get(code, code)


def command_code(code: str) -> str:
    """Spell a code as the exit-code table does."""
    return COMMANDS.get(code, code)


def _recased(code: str, *, upper: bool) -> str:
    """Change the case of a code, not of its namespace; a code in mixed case is somebody's own and stays."""
    namespace, dot, key = code.rpartition(".")
    if upper and key == key.lower():
        return f"{namespace}{dot}{key.upper()}"
    if not upper and key == key.upper():
        return f"{namespace}{dot}{key.lower()}"
    return code
