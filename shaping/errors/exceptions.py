"""From an exception to an error: its code, and a message without keys, commands, queries or source lines."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import PurePath
from subprocess import CalledProcessError, SubprocessError, TimeoutExpired
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, get_args

import orjson
from pydantic import ValidationError
from pydantic_core.core_schema import ErrorType

from shaping.errors.codes import codes_by, registry
from shaping.errors.detail import ErrorDetail, ToolError, code_for_exit, http_error, make_error
from shaping.nearest import nearest
from shaping.redaction import without_secrets
from shaping.response import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic_core import ErrorDetails


_SHOWN = 5  # in the message; all of them are in the details
_OWN_WORDS = frozenset({"value_error", "assertion_error", "union_tag_invalid", "uuid_parsing"})
_FIXED_WORDS = frozenset(get_args(ErrorType)) - _OWN_WORDS


def issues(problem: ValidationError) -> list[dict[str, str]]:
    """List every problem as path, kind and sentence."""
    return [_issue(found) for found in problem.errors(include_url=False, include_context=False)]


def summary(found: Sequence[dict[str, str]]) -> str:
    """Summarise in one sentence what is wrong."""
    sentences = "; ".join(
        f"{issue['path']}: {issue['message']}" if issue["path"] else issue["message"] for issue in found[:_SHOWN]
    )
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"{counted(len(found), 'invalid argument')}: {sentences}{more}"


def likely_meant(problem: ValidationError) -> tuple[str, ...]:
    """Return what was probably meant: a choice like the one given, or a missing name like one too many."""
    found = problem.errors(include_url=False)
    missing = [str(one["loc"][-1]) for one in found if one["type"].startswith("missing") and one["loc"]]
    near = [word for one in found for word in _meant(one, missing)]
    return tuple(dict.fromkeys(near))


def _meant(one: ErrorDetails, missing: list[str]) -> tuple[str, ...]:
    if one["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        return nearest(str(one["loc"][-1]), missing)
    expected = one.get("ctx", {}).get("expected") or one.get("ctx", {}).get("expected_tags") or ""
    given = one.get("ctx", {}).get("tag", one["input"])
    return nearest(given, re.findall(r"'([^']*)'", str(expected))) if isinstance(given, str) else ()


def _issue(found: ErrorDetails) -> dict[str, str]:
    return {"path": json_location(found["loc"]), "type": found["type"], "message": _message(found)}


def json_location(loc: Iterable[int | str]) -> str:
    """Write the path of a value from its keys and indexes."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc).removeprefix(".")


def _message(found: ErrorDetails) -> str:
    """Return the sentence; where a validator wrote it, what it quotes of the input is left out."""
    message = found["msg"]
    if found["type"] in _FIXED_WORDS:
        return message
    for value in sorted(set(_scalars(found["input"])), key=len, reverse=True):
        message = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "…", message)
    return message


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _scalars(item)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _scalars(item)
    elif value is not None and str(value):
        yield str(value)


def schema_issue(exc: BaseException) -> dict[str, str] | None:
    """Return the path and the rule of an exception of jsonschema or jsonschema_rs; None for any other."""
    if hasattr(exc, "json_path") and hasattr(exc, "validator"):
        path, rule = str(exc.json_path).removeprefix("$").removeprefix("."), str(exc.validator)
        expected = orjson.dumps(getattr(exc, "validator_value", None), default=str).decode()[:200]
        message = f"expected {rule} {expected}"
    elif hasattr(exc, "instance_path") and hasattr(exc, "schema_path"):
        path, rule = json_location(exc.instance_path), str(exc.schema_path[-1] if exc.schema_path else "schema")
        message = f"does not satisfy {rule}"
    else:
        return None
    return {"path": path, "type": rule, "message": message}


TABLE: Mapping[str, str] = codes_by("exceptions")


def look_up(kind: type[BaseException], table: Mapping[str | type, str] | Mapping[str, str]) -> str | None:
    """Find the code for an exception type: its own entry, else that of the nearest class it derives from."""
    for ancestor in kind.__mro__:
        for name in _names(ancestor):
            if name in table:
                return table[name]  # type: ignore[index]  # either mapping may be asked for either kind of key
    return None


def _names(kind: type) -> tuple[str | type, ...]:
    qualified = f"{kind.__module__}.{kind.__qualname__}"
    return (kind, qualified, kind.__qualname__) if kind.__module__ == "builtins" else (kind, qualified)


_LONGEST = 2000  # a sentence that is longer is a document
_TRACE = re.compile(r"^\s*Traceback \(most recent call last\):.*?^(?=\S)", re.MULTILINE | re.DOTALL)
_FRAME = re.compile(r'^[ \t]*File "[^"\n]*", line \d+.*(?:\n[ \t]+.*)*\n?', re.MULTILINE)
_QUOTED = re.compile(r"'[^']*'")  # where msgspec repeats a value

# What Python has no class of its own for.
_ERRNO: Mapping[int, str] = {getattr(errno, name, -1): code for name, code in codes_by("errno").items()}


@dataclass(frozen=True, slots=True)
class Description:
    """An exception described: its message, its code where the exception determines it, and other fields."""

    message: str
    code: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


@singledispatch
def describe(exc: BaseException) -> Description:
    """Describe an exception by its own message where that is safe."""
    if (fault := schema_issue(exc)) is not None:
        return _refused([fault])
    message = message_of(exc)
    return Description(_QUOTED.sub("…", message) if type(exc).__module__ == "msgspec" else message)


def message_of(exc: BaseException) -> str:
    """Return the exception's own text without stack frames, or the name of its kind."""
    return sentence_of(text_of(exc)) or kind_of(exc)


def text_of(exc: BaseException) -> str:
    """Return the exception's own text, empty where it has none."""
    try:
        return str(exc)
    except Exception:  # noqa: BLE001  an exception that cannot say what it is must not become another one
        return ""


def says_less(error: ErrorDetail, words: str) -> bool:
    """Return whether an error has only the beginning of an exception's words, or lacks the traceback in them."""
    said = error.message.strip()
    return without_secrets(words).strip() != said and without_secrets(sentence_of(words)).strip() == said


def sentence_of(text: str) -> str:
    """Return the text of an exception without stack frames, cut where it is longer than a sentence."""
    return _FRAME.sub("", _TRACE.sub("", text)).strip()[:_LONGEST]


_NO_WORDS: Mapping[type, str] = {
    AssertionError: "The tool failed a check of its own.",
    MemoryError: "The tool ran out of memory.",
    TimeoutError: "The call did not finish in time.",
}


def kind_of(exc: BaseException) -> str:
    """Return what kind of exception it is and no more."""
    known = (words for kind, words in _NO_WORDS.items() if isinstance(exc, kind))
    return next(known, f"The tool failed with {type(exc).__name__}.")


@describe.register
def _lookup(exc: LookupError) -> Description:
    # A KeyError's text is its key alone.
    message = f"{type(exc).__name__}: {exc}" if isinstance(exc, KeyError) and exc.args else message_of(exc)
    return Description(message[:_LONGEST], fields={"similar": getattr(exc, "similar", ())})


@describe.register
def _os(exc: OSError) -> Description:
    if exc.strerror is None:
        return Description(message_of(exc))
    named = "" if exc.filename is None else f": {_shown(exc.filename)}"
    return Description(f"{exc.strerror}{named}", _ERRNO.get(exc.errno or 0))


@describe.register
def _syntax(exc: SyntaxError) -> Description:
    json_location = {"line": exc.lineno, "column": exc.offset, "file": exc.filename}
    return Description(
        f"{exc.msg} (line {exc.lineno})" if exc.lineno else exc.msg,
        fields={"details": {name: value for name, value in json_location.items() if value is not None}},
    )


@describe.register
def _import(exc: ImportError) -> Description:
    return Description(f"The module {exc.name!r} is not installed." if exc.name else message_of(exc))


@describe.register
def _process(exc: SubprocessError) -> Description:
    if isinstance(exc, TimeoutExpired):
        return Description(f"{_program(exc.cmd)} did not finish within {exc.timeout:.3g} s.")
    if not isinstance(exc, CalledProcessError):
        return Description(message_of(exc))
    number = exc.returncode
    ended = f"was ended by signal {-number}" if number < 0 else f"exited with {number}"
    return Description(
        f"{_program(exc.cmd)} {ended}.",
        code_for_exit(number, foreign=True),
        {"details": {"program": _program(exc.cmd), "exit_code": number}},
    )


@describe.register
def _validation(exc: ValidationError) -> Description:
    return _refused(issues(exc), similar=likely_meant(exc))


def _refused(found: list[dict[str, str]], **more: Any) -> Description:
    # No phase: a tool may check what came back after it acted, and "validation" guarantees that nothing was done.
    return Description(summary(found), "BAD_ARGUMENT", {"details": {"issues": found}, **more})


def _program(cmd: Any) -> str:
    """Name the program alone: arguments carry secrets."""
    first = cmd if isinstance(cmd, (str, bytes, PurePath)) else next(iter(cmd), "")
    parts = _shown(first).split()
    return PurePath(parts[0]).name if parts else "the command"


def _shown(name: object) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def from_exception(
    exc: BaseException,
    *,
    table: Mapping[str | type, str] | Mapping[str, str] | None = None,
    debug: bool = False,
    state_changing: bool = False,
) -> ErrorDetail:
    """Describe an exception; entries of the table, by type or qualified name, outrank our own."""
    if isinstance(exc, ToolError):
        return _adjusted(exc, debug=debug, state_changing=state_changing)
    if isinstance(exc, BaseExceptionGroup):
        return from_exception(exc.exceptions[0], table=table, debug=debug, state_changing=state_changing)
    described = _described(exc)
    code = look_up(type(exc), table or {}) or described.code or look_up(type(exc), TABLE) or "INTERNAL_ERROR"
    if registry.find(code) is None:  # a config may name a plugin's code that nobody has registered yet
        code = "INTERNAL_ERROR"
    trace = _trace(exc) if debug else None
    fields = dict(described.fields)
    if state_changing and code == "BAD_ARGUMENT":
        # Raised inside the tool, which may have acted by then: only what is refused before is safe to call again.
        fields.setdefault("hint", "Something may have been done already: look before calling again.")
    return make_error(code, described.message, detail=trace, state_changing=state_changing, **fields)


def _described(exc: BaseException) -> Description:
    """Describe what happened; an exception that cannot be looked at is described by its kind."""
    try:
        answer = http_error(exc)
        return describe(exc) if answer is None else Description(*answer)
    except Exception:  # noqa: BLE001 (properties of any library's exception are read, and may raise anything)
        return Description(kind_of(exc))


def _adjusted(exc: ToolError, *, debug: bool, state_changing: bool) -> ErrorDetail:
    detail = exc.detail
    known = registry.find(detail.code)
    if state_changing and detail.phase != "validation" and known is not None and known.may_leave_traces:
        detail = detail.model_copy(update={"retryable": False, "retry_after": None})
    return detail.model_copy(update={"detail": detail.detail or without_secrets(_trace(exc))}) if debug else detail


def _trace(exc: BaseException) -> str:
    """Write where an exception came from, without the source lines that Python's own traceback quotes."""
    chain: list[BaseException] = []
    here: BaseException | None = exc
    while here is not None and here not in chain:
        chain.append(here)
        here = here.__cause__ or (None if here.__suppress_context__ else here.__context__)
    frames = "\ncaused\n".join("\n".join(_frames(one)) for one in reversed(chain))
    return f"Traceback (most recent call last):\n{frames}"


def _frames(exc: BaseException) -> Iterator[str]:
    for frame, line in walk_tb(exc.__traceback__):
        yield f'File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}'
    yield f"{type(exc).__name__}: {_described(exc).message}"
