"""What an exception may say to a caller: a sentence without keys, commands, queries or source lines."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import PurePath
from subprocess import CalledProcessError, SubprocessError, TimeoutExpired
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from shaping.errors.issues import candidates, issues, summary
from shaping.errors.outcomes import code_for_exit
from shaping.errors.refusals import refusal
from shaping.errors.schema_faults import schema_fault

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 2000  # a sentence that is longer is a document
_TRACE = re.compile(r"^\s*Traceback \(most recent call last\):.*?^(?=\S)", re.MULTILINE | re.DOTALL)
_FRAME = re.compile(r'^[ \t]*File "[^"\n]*", line \d+.*(?:\n[ \t]+.*)*\n?', re.MULTILINE)
_QUOTED = re.compile(r"'[^']*'")  # where msgspec repeats a value

# What Python has no class of its own for.
_ERRNO: Mapping[int, str] = {
    errno.ENOSPC: "RESOURCE_EXHAUSTED",
    errno.EDQUOT: "RESOURCE_EXHAUSTED",
    errno.EMFILE: "RESOURCE_EXHAUSTED",
    errno.ENFILE: "RESOURCE_EXHAUSTED",
    errno.ENOMEM: "RESOURCE_EXHAUSTED",
    errno.EFBIG: "TOO_LARGE",
    errno.E2BIG: "TOO_LARGE",
    errno.ENAMETOOLONG: "INVALID_PATH",
    errno.ELOOP: "INVALID_PATH",
    errno.EROFS: "PERMISSION_DENIED",
    errno.ENOTEMPTY: "CONFLICT",
    errno.EBUSY: "CONFLICT",
    errno.ENETUNREACH: "UNAVAILABLE",
    errno.EHOSTUNREACH: "UNAVAILABLE",
}


@dataclass(frozen=True, slots=True)
class Account:
    """What is said about an exception: the sentence, its code where the exception itself tells, and the rest."""

    message: str
    code: str | None = None
    said: Mapping[str, Any] = field(default_factory=dict)


@singledispatch
def account(exc: BaseException) -> Account:
    """Tell what happened, in the exception's own words where they are safe."""
    answer, fault = refusal(exc), schema_fault(exc)
    if fault is not None:
        return _refused([fault])
    if type(exc).__module__ == "msgspec":
        return Account(_QUOTED.sub("…", words(exc)))
    return Account(words(exc)) if answer is None else Account(*answer)


def words(exc: BaseException) -> str:
    """Give the exception's own text without stack frames, or the name of its kind."""
    try:
        text = str(exc)
    except Exception:  # noqa: BLE001  an exception that cannot say what it is must not become another one
        text = ""
    text = _FRAME.sub("", _TRACE.sub("", text)).strip()
    return text[:_LONGEST] or by_kind(exc)


def by_kind(exc: BaseException) -> str:
    """Say what kind of exception it is and no more."""
    return f"The tool failed with {type(exc).__name__}."


@account.register
def _lookup(exc: LookupError) -> Account:
    # The key is the tool's own business, or the caller's data; neither belongs in an error.
    known = words(exc) if type(exc).__module__.startswith("shaping.") else by_kind(exc)
    return Account(known, said={"similar": getattr(exc, "similar", ())})


@account.register
def _assertion(_exc: AssertionError) -> Account:
    return Account("The tool failed a check of its own.")


@account.register
def _os(exc: OSError) -> Account:
    answer = refusal(exc)
    if answer is not None:
        return Account(*answer)
    if exc.strerror is None:
        return Account(str(exc).strip()[:_LONGEST] or _NO_WORDS.get(type(exc).__name__, words(exc)))
    named = "" if exc.filename is None else f": {_shown(exc.filename)}"
    return Account(f"{exc.strerror}{named}", _ERRNO.get(exc.errno or 0))


@account.register
def _syntax(exc: SyntaxError) -> Account:
    place = {"line": exc.lineno, "column": exc.offset, "file": exc.filename}
    return Account(
        f"{exc.msg} (line {exc.lineno})" if exc.lineno else exc.msg,
        said={"details": {name: value for name, value in place.items() if value is not None}},
    )


@account.register
def _import(exc: ImportError) -> Account:
    return Account(f"The module {exc.name!r} is not installed." if exc.name else words(exc))


@account.register
def _process(exc: SubprocessError) -> Account:
    if isinstance(exc, TimeoutExpired):
        return Account(f"{_program(exc.cmd)} did not finish within {exc.timeout:.3g} s.")
    if not isinstance(exc, CalledProcessError):
        return Account(words(exc))
    number = exc.returncode
    ended = f"was ended by signal {-number}" if number < 0 else f"exited with {number}"
    return Account(
        f"{_program(exc.cmd)} {ended}.",
        code_for_exit(number, foreign=True),
        {"details": {"program": _program(exc.cmd), "exit_code": number}},
    )


@account.register
def _validation(exc: ValidationError) -> Account:
    return _refused(issues(exc), similar=candidates(exc))


def _refused(found: list[dict[str, str]], **more: Any) -> Account:
    # No phase: a tool may check what came back after it acted, and "validation" guarantees that nothing was done.
    return Account(summary(found), "BAD_ARGUMENT", {"details": {"issues": found}, **more})


_NO_WORDS = {"TimeoutError": "The call did not finish in time.", "MemoryError": "The tool ran out of memory."}


@account.register
def _memory(exc: MemoryError) -> Account:
    return Account(_NO_WORDS["MemoryError"] if not str(exc) else words(exc))


def _program(cmd: Any) -> str:
    """Name the program alone: arguments carry secrets."""
    first = cmd if isinstance(cmd, (str, bytes, PurePath)) else next(iter(cmd), "")
    words_of_it = _shown(first).split()
    return PurePath(words_of_it[0]).name if words_of_it else "the command"


def _shown(name: object) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)
