"""The members and the error that dialects share: when each is shown, how it is written and how it is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from shaping.envelope.model import COMMON, CommonMeta, Envelope, EnvelopeError, UpgradeHint, may_redirect
from shaping.errors import ErrorDetail, registry
from shaping.errors.codes import LEAN, LEAN_COARSE
from shaping.errors.detail import Redirect
from shaping.response import TOOL_WARNING, Listed, Omission, Warned, is_never_sent

LONGEST_WAIT = 10.0**9  # seconds; a larger number, or NaN, is not a duration
_LONGEST_MESSAGE = 2000

ERROR = {name: name for name in ErrorDetail.model_fields if name != "extensions"}
_SPELLINGS = {
    **{to_camel(name): name for name in ERROR},
    **ERROR,
    "error": "message",
    "error_code": "code",
    "error_details": "details",
    "suggestion": "hint",
    "similar_refs": "similar",
}


def error_members(error: ErrorDetail, names: Iterable[str]) -> dict[str, Any]:
    """Return the named members that are set, as JSON."""
    values = error.__dict__
    return {name: member_json(values[name]) for name in names if values[name] is not None and values[name] != ()}


def write_error(error: ErrorDetail, spelling: Mapping[str, str], /, **own: Any) -> dict[str, Any]:
    """Return an error's members by the names of a dialect, its own values, and what another implementation added."""
    values = {spelling[name]: value for name, value in error_members(error, spelling).items()} | own
    order = dict.fromkeys((*(name for name in own if name not in spelling.values()), *spelling.values()))
    return {**(error.extensions or {}), **{name: values[name] for name in order if name in values}}


def read_error(wire: Any) -> Any:
    """Read an error's members in any contract's spelling; unknown ones are extensions, null means not given."""
    if not isinstance(wire, Mapping):
        return wire
    given = {name: value for name, value in wire.items() if value is not None}
    error = {_SPELLINGS[name]: value for name, value in given.items() if name in _SPELLINGS}
    extensions = {str(name): value for name, value in given.items() if name not in _SPELLINGS}
    if isinstance(given.get("extensions"), Mapping):
        extensions |= extensions.pop("extensions")
    if isinstance(error.get("code"), str):
        error["code"] = from_lean(error["code"]) if "error_code" in given else registry.canonical(error["code"])
    # By the contracts a wait without a retry is ignored, and so is a redirect of another code.
    if error.get("retryable") is False:
        error.pop("retry_after", None)
    if isinstance(error.get("code"), str) and not may_redirect(error["code"]):
        error.pop("redirect", None)
    return {**error, "extensions": extensions} if extensions else error


def lenient_error(wire: Any) -> ErrorDetail | None:
    """Read an error without trusting it: members of another type are left out, and one without a code gets one."""
    if wire is None or wire is False:
        return None
    if not isinstance(wire, Mapping):
        return ErrorDetail(code="INTERNAL_ERROR", message=str(wire)[:_LONGEST_MESSAGE])
    read = {name: tuple(value) if isinstance(value, list) else value for name, value in read_error(wire).items()}
    error: dict[str, Any] = {"code": "INTERNAL_ERROR", "message": "", **read}
    wait = error.get("retry_after")
    if not isinstance(wait, int | float) or not 0 <= wait <= LONGEST_WAIT:
        error.pop("retry_after", None)
    if isinstance(error.get("details"), Mapping):
        error["details"] = {str(key): item for key, item in error["details"].items()}
    if isinstance(error.get("redirect"), Mapping):  # without `permanent` it is for this call only
        error["redirect"] = {**error["redirect"], "permanent": error["redirect"].get("permanent") is True}
        if not str(error["redirect"].get("command") or "").strip():
            del error["redirect"]
    try:
        return ErrorDetail.model_validate(error, strict=True)
    except ValidationError as problem:
        wrong = {str(found["loc"][0]) if found["loc"] else "retry_after" for found in problem.errors()}
        return lenient_error({name: value for name, value in error.items() if name not in wrong})


def lean_code(code: str) -> str:
    """Spell a code as Code Scalpel does: in lower case, by its own names where it has one."""
    return LEAN.get(code) or LEAN_COARSE.get(code) or _recased(code, upper=False)


def from_lean(code: str) -> str:
    """Return our name for a lower-case code."""
    known = registry.canonical(code)
    return registry.canonical(_recased(code, upper=True)) if known == code else known


def _recased(code: str, *, upper: bool) -> str:
    """Change the case of a code, not of its namespace; a code in mixed case is somebody's own and stays."""
    namespace, dot, key = code.rpartition(".")
    if upper and key == key.lower():
        return f"{namespace}{dot}{key.upper()}"
    if not upper and key == key.upper():
        return f"{namespace}{dot}{key.lower()}"
    return code


# Shown in every profile where set: without them a reader draws a wrong conclusion or cannot continue.
ALWAYS = frozenset(
    {"request_id", "schema_version", "not_modified", "truncated", "shown", "cursor", "ref", "upgrade_hints"}
)

ORDER = tuple(name for name in CommonMeta.model_fields if name != "extensions")


def is_set(value: Any) -> bool:
    """Whether a member is set: 0 is, an empty list is not."""
    return value is not None and value is not False and value != ()


def is_shown(name: str, value: Any, include: Collection[str], debug: bool) -> bool:
    """Whether a member belongs in the output."""
    if is_never_sent(name, include):
        return False
    if debug:
        return True
    if not is_set(value):
        return False
    return name in include or name in ALWAYS or (name == "omissions" and isinstance(value, str))


def common_members(
    envelope: Envelope[Any], include: Collection[str], debug: bool, names: Iterable[str] = ORDER
) -> dict[str, Any]:
    """Return the common members to show, in order and as JSON."""
    values = envelope.meta.__dict__
    return {name: member_json(values[name]) for name in names if is_shown(name, values[name], include, debug)}


def extended(members: dict[str, Any], envelope: Envelope[Any], reserved: Collection[str]) -> dict[str, Any]:
    """Add the extensions that do not pretend to be members of the dialect."""
    extra = {name: value for name, value in envelope.meta.extensions.items() if name not in reserved}
    return {**members, **extra} if extra else members


def member_json(value: Any) -> Any:
    """Return a member's value as JSON."""
    if isinstance(value, tuple):
        return [member_json(item) for item in value]
    if isinstance(value, (UpgradeHint, Omission, Listed)):
        named = ((part.name, getattr(value, part.name)) for part in fields(value))
        return {name: item for name, item in named if item is not None}
    return value.model_dump(exclude_none=True) if isinstance(value, Redirect) else value


def write_warnings(warnings: Iterable[Warned]) -> list[Any]:
    """Return warnings as JSON: a sentence alone where it has no code."""
    return [_write_warning(warned) for warned in warnings]


def warnings_member(envelope: Envelope[Any], include: Collection[str], debug: bool) -> dict[str, Any]:
    """Return the warnings as a member, where they are to be sent."""
    shown = shown_warnings(envelope, include, debug)
    return {"warnings": write_warnings(shown)} if shown or (debug and not is_never_sent("warnings", include)) else {}


def shown_warnings(envelope: Envelope[Any], include: Collection[str], debug: bool) -> tuple[Warned, ...]:
    """Return the warnings to send: all where a profile includes them, and what the tool itself noted everywhere."""
    if not envelope.warnings or is_never_sent("warnings", include):
        return ()
    if debug or "warnings" in include:
        return envelope.warnings
    return tuple(warned for warned in envelope.warnings if warned.code == TOOL_WARNING)


def read_warnings(wire: Any) -> tuple[Warned, ...]:
    """Take warnings from the wire; absent means none."""
    if wire is None:
        return ()
    if not isinstance(wire, list):
        raise EnvelopeError(f"warnings is {type(wire).__name__}; expected a list")
    return tuple(_read_warning(item) for item in wire)


def read_common(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Take the common members from the wire; null means absent."""
    return {name: wire[name] for name in ORDER if wire.get(name) is not None}


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object as it is, and an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def rest(wire: Mapping[str, Any], reserved: Collection[str]) -> dict[str, Any]:
    """Take what is not a member of the dialect as extensions."""
    return {name: value for name, value in wire.items() if name not in reserved}


@dataclass(frozen=True, slots=True)
class WireParts:
    """The parts of a wire form, not yet checked."""

    data: Any
    error: Any = None
    warnings: Any = None
    meta: Mapping[str, Any] = field(default_factory=dict)  # the common members, under our names
    source: Mapping[str, Any] = field(default_factory=lambda: {"source": "local"})  # and those of the source
    ok: Any = None
    has_error: bool = True  # whether there is an error member at all, be it null


def build(parts: WireParts) -> Envelope[Any]:
    """Make an envelope of what was read, checking all of it."""
    given = read_error(parts.error)
    if given is None and parts.ok is False:
        given = {"code": "INTERNAL_ERROR", "message": "The response says that it failed."}
    if given is not None and not isinstance(given, Mapping):
        raise EnvelopeError(f"error is {type(given).__name__}; expected an object")
    meta = {name: value for name, value in parts.meta.items() if name in COMMON and value is not None}
    try:
        error = None if given is None else ErrorDetail(**given)
        found = {"data": parts.data, "error": error, "warnings": read_warnings(parts.warnings)}
        return Envelope.model_validate({**found, "meta": {**parts.source, **meta}})
    except ValidationError as problem:
        raise EnvelopeError(f"not an envelope: {_issues(problem)}") from None


def _issues(problem: ValidationError) -> str:
    found = problem.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, issue['loc'])) or 'envelope'}: {issue['msg']}" for issue in found)


def _write_warning(warned: Warned) -> Any:
    if not warned.code and warned.path is None:
        return warned.message
    wire = {"code": warned.code, "message": warned.message}
    return wire if warned.path is None else {**wire, "path": warned.path}


def _read_warning(wire: Any) -> Warned:
    if isinstance(wire, str):
        return Warned("", wire)
    if not isinstance(wire, Mapping) or not isinstance(wire.get("message"), str):
        raise EnvelopeError("a warning is a sentence, or an object with a message")
    path = wire.get("path")
    return Warned(str(wire.get("code", "")), wire["message"], None if path is None else str(path))
