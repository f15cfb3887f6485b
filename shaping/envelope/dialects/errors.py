"""Errors on the wire: one reader for every contract's spelling, and how each contract writes members and codes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, get_args

from pydantic.alias_generators import to_camel

from shaping.envelope.model import EnvelopeError, may_redirect
from shaping.errors import ErrorDetail, registry
from shaping.errors.codes import COMMANDS, LEAN, LEAN_COARSE, OPERATIONS
from shaping.errors.detail import Phase, Redirect

LONGEST_WAIT = 10.0**9  # seconds; whatever claims more, NaN included, is not a duration
_LONGEST_MESSAGE = 2000

_MEMBERS = tuple(name for name in ErrorDetail.model_fields if name != "extensions")
_SPELLINGS = {
    **{to_camel(name): name for name in _MEMBERS},
    **{name: name for name in _MEMBERS},
    "error": "message",
    "error_code": "code",
    "error_details": "details",
    "suggestion": "hint",
    "similar_refs": "similar",
}


def error_members(error: ErrorDetail, names: Iterable[str]) -> dict[str, Any]:
    """Return the named members that are set, as JSON."""
    values = error.__dict__
    return {name: _plain(values[name]) for name in names if values[name] is not None and values[name] != ()}


def with_extensions(wire: dict[str, Any], error: ErrorDetail) -> dict[str, Any]:
    """Add the members that another implementation gave the error."""
    return {**(error.extensions or {}), **wire} if error.extensions else wire


def has_own_hint(error: ErrorDetail) -> bool:
    """Whether the hint was written for this call, and not taken from the registry."""
    known = registry.find(error.code)
    return error.hint is not None and (known is None or known.hint != error.hint)


def read_error(wire: Any, reserved: Collection[str] = ()) -> dict[str, Any]:
    """Read an error's members in any contract's spelling; unknown ones are extensions, null means not given."""
    if not isinstance(wire, Mapping):
        raise EnvelopeError(f"error is {type(wire).__name__}; expected an object")
    given = {name: value for name, value in wire.items() if value is not None and name not in reserved}
    error = {_SPELLINGS[name]: value for name, value in given.items() if name in _SPELLINGS}
    extensions = {str(name): value for name, value in given.items() if name not in _SPELLINGS}
    if isinstance(given.get("extensions"), Mapping):
        extensions |= extensions.pop("extensions")
    if isinstance(error.get("code"), str):
        error["code"] = from_lean(error["code"]) if "error_code" in given else registry.canonical(error["code"])
    # The contracts tell a reader to ignore a wait without a retry, and a redirect of another code.
    if error.get("retryable") is False:
        error.pop("retry_after", None)
    if isinstance(error.get("code"), str) and not may_redirect(error["code"]):
        error.pop("redirect", None)
    return {**error, "extensions": extensions} if extensions else error


def lenient_error(said: Any) -> ErrorDetail | None:
    """Read an error without trusting it: members of another type are left out, and one without a code gets one."""
    if said is None or said is False:
        return None
    if not isinstance(said, Mapping):
        return ErrorDetail(code="INTERNAL_ERROR", message=str(said)[:_LONGEST_MESSAGE])
    error = read_error(said)
    retryable, retry_after = error.get("retryable"), error.get("retry_after")
    wait = retry_after if isinstance(retry_after, int | float) and not isinstance(retry_after, bool) else -1
    return ErrorDetail(
        code=_text(error, "code") or "INTERNAL_ERROR",
        message=_text(error, "message") or "",
        hint=_text(error, "hint"),
        retryable=retryable if isinstance(retryable, bool) else None,
        http=error["http"] if type(error.get("http")) is int else None,
        retry_after=wait if 0 <= wait <= LONGEST_WAIT else None,
        phase=error["phase"] if error.get("phase") in get_args(Phase) else None,
        next_actions=tuple(action for action in _items(error.get("next_actions")) if isinstance(action, str)),
        similar=tuple(_items(error.get("similar"))),
        details=_with_text_keys(error.get("details")),
        detail=_text(error, "detail"),
        redirect=_redirect(error.get("redirect")),
        docs_url=_text(error, "docs_url"),
        extensions=error.get("extensions"),
    )


def _redirect(said: Any) -> Redirect | None:
    """Read a redirect that names a command; one that does not say permanent holds for this call only."""
    command = said.get("command") if isinstance(said, Mapping) else None
    if not isinstance(command, str) or not command.strip():
        return None
    return Redirect(command=command, permanent=said.get("permanent") is True, reason=_text(said, "reason"))


def _text(said: Mapping[str, Any], name: str) -> str | None:
    value = said.get(name)
    return value if isinstance(value, str) and value else None


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _with_text_keys(value: Any) -> dict[str, Any] | None:
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else None


def _plain(value: Any) -> Any:
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
