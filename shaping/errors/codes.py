"""Error codes and exit codes: what each means to a caller, and how each contract spells it."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import orjson

from shaping.nearest import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


OWN_RANGE = range(79, 126)
SHELL_RANGE = range(126, 256)


@dataclass(frozen=True, slots=True)
class ExitCode:
    """One number a command may exit with: its name, our code for it, and whether a caller may try again."""

    number: int
    name: str
    code: str | None
    retryable: bool = False


# What each code means to a caller, how each contract spells it, and what leads to it; and the numbers of commands:
# there ARG_ERROR is retryable, and BAD_ARGUMENT is not: the table means the corrected call, a code the same one.
_TABLES = orjson.loads(Path(__file__).with_name("codes.json").read_bytes())
_CONTRACT_TABLE = tuple(ExitCode(*entry) for entry in _TABLES["exit_codes"])
ExitTable: TypeAlias = Literal["contract", "posix"]
# Shells and argument parsers exit with 2 for wrong usage; the posix table does too.
_POSIX_NUMBERS = {2: 3, 3: 2}


def exit_number(number: int, table: ExitTable) -> int:
    """Translate a number of the contract into a table, or back: the two tables differ by one exchange."""
    return _POSIX_NUMBERS.get(number, number) if table == "posix" else number


EXIT_TABLES: Mapping[ExitTable, Mapping[int, ExitCode]] = {
    table: {
        exit_number(entry.number, table): replace(entry, number=exit_number(entry.number, table))
        for entry in _CONTRACT_TABLE
    }
    for table in get_args(ExitTable)
}
EXIT_CODES = EXIT_TABLES["contract"]


def check_exit_code(number: int) -> None:
    """Refuse a number that a failing command of ours may not exit with."""
    if number in OWN_RANGE or (number in EXIT_CODES and number != 0):
        return
    why = "126 to 255 belong to the shell and to signals" if number in SHELL_RANGE else "14 to 78 are reserved"
    raise ValueError(f"exit code is {number}; expected 1 to 13, or 79 to 125 for a command's own ({why})")


SideEffects: TypeAlias = Literal["none", "partial", "complete"]


@dataclass(frozen=True, slots=True)
class CodeDefinition:
    """What a code means to a caller: whether to try again, what to do, how it looks as a status or an exit code."""

    http: int
    retryable: bool
    hint: str
    exit_code: int = 1
    side_effects: SideEffects = "none"
    interrupts: bool = False  # can strike after the work began: on a state-changing operation something may be done

    def __post_init__(self) -> None:
        _check_kinds(self)
        if self.retryable and self.side_effects != "none":
            raise ValueError(
                f"retryable needs side_effects 'none', not {self.side_effects!r}: a repeat would do it twice"
            )
        if not 400 <= self.http <= 599:
            raise ValueError(f"http is {self.http}; expected an error status, 400 to 599")
        check_exit_code(self.exit_code)

    @property
    def may_leave_traces(self) -> bool:
        """Whether a state-changing operation that failed so may have changed something."""
        return self.interrupts or self.side_effects != "none"


def _check_kinds(given: CodeDefinition) -> None:
    """Refuse values of another kind: plugins hand in what they read from anywhere."""
    for name, kind in (("http", int), ("retryable", bool), ("hint", str), ("exit_code", int), ("interrupts", bool)):
        value = getattr(given, name)
        if type(value) is not kind:
            raise ValueError(f"{name} is {value!r}; expected {kind.__name__}")
    if given.side_effects not in get_args(SideEffects):
        raise ValueError(f"side_effects is {given.side_effects!r}; expected {', '.join(get_args(SideEffects))}")


def _definitions(table: Mapping[str, Mapping[str, Any]]) -> dict[str, CodeDefinition]:
    own = {each.name for each in fields(CodeDefinition)}
    return {
        code: CodeDefinition(**{"retryable": False, **{name: value for name, value in told.items() if name in own}})
        for code, told in table.items()
    }


# The vocabulary that tools, commands and adapters share; every contract document's names lead here.
CONTRACT: Mapping[str, CodeDefinition] = _definitions(_TABLES["contract"])
# What shaping itself reports; the mirror test fails on one that nothing raises.
OWN: Mapping[str, CodeDefinition] = _definitions(_TABLES["own"])
_TOLD: Mapping[str, Mapping[str, Any]] = {**_TABLES["contract"], **_TABLES["own"]}


def codes_by(member: str) -> dict[Any, str]:
    """Return the code for each value that a member of `codes.json` lists: HTTP statuses, errno names, exceptions."""
    return {value: code for code, told in _TOLD.items() for value in told.get(member, ())}


# Other spellings of one meaning, per dialect that writes them so; `flat` writes the canonical name.
LEAN, OPERATIONS, COMMANDS = (
    {code: told[dialect] for code, told in _TOLD.items() if dialect in told}
    for dialect in ("lean", "operations", "commands")
)

# Code Scalpel's documented answer to a missing file is `not_found`; the finer code does not come back from there.
LEAN_COARSE: Mapping[str, str] = {"FILE_NOT_FOUND": "not_found"}

# Read, never written: a second name where the dialect already has one.
READ_ONLY: Mapping[str, str] = {"UNKNOWN_ERROR": "INTERNAL_ERROR", "UPGRADE_REQUIRED": "PAYMENT_REQUIRED"}


ENTRY_POINTS = "shaping.error_codes"
_ERRORS = "Errors: "  # begins the line of a description that lists codes
_APPLICATION = ""  # the namespace of codes that have none
_NAMESPACE = re.compile(r"[a-z][a-z0-9]*")
_KEY = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")

_CORE: Mapping[str, CodeDefinition] = {**CONTRACT, **OWN}
_ALIASES: Mapping[str, str] = {
    **READ_ONLY,
    **{spelling: code for table in (LEAN, OPERATIONS, COMMANDS) for code, spelling in table.items()},
}


class CodedError(Exception):
    """A failure whose message is for a user, and the code of it; commands end with the message."""

    code = "BAD_ARGUMENT"


class CodeError(ValueError):
    """Codes that cannot be registered, and why."""


class UnknownCodeError(LookupError):
    """A code that is not registered; `similar` holds the nearest codes that are."""

    def __init__(self, code: str, similar: tuple[str, ...]) -> None:
        super().__init__(f"{code!r} is not a registered error code.{did_you_mean(similar)}")
        self.code = code
        self.similar = similar


def list_codes(description: str, codes: Collection[str]) -> str:
    """Append codes to a description as one short line, in place of such a line that is already there."""
    known = dict.fromkeys(_ALIASES.get(code, code) for code in codes)
    body = "\n".join(line for line in description.rstrip().splitlines() if not line.startswith(_ERRORS)).rstrip()
    return f"{body}\n{_ERRORS}{', '.join(known)}".lstrip("\n") if known else body


class CodeRegistry:
    """Our codes, closed; and those of plugins and of the application, which come and go."""

    def __init__(self, *, discover: bool = True) -> None:
        self._lock = RLock()
        # In the order of registration, by namespace: what is registered twice is unregistered twice.
        self._registered: list[tuple[str, Mapping[str, CodeDefinition]]] = []
        self._added: Mapping[str, CodeDefinition] = {}  # all of these together, by their whole names
        self._undiscovered = discover

    def canonical(self, code: str) -> str:
        """Return the one name of a meaning; an unknown code is its own name."""
        return _ALIASES.get(code, code)

    def find(self, code: str) -> CodeDefinition | None:
        """Return what a code means, or None where nobody registered it."""
        known = _CORE.get(code) or _CORE.get(_ALIASES.get(code, ""))
        if known is None and "." in code:
            self._discover()
        return known or self._added.get(code)

    def definition(self, code: str) -> CodeDefinition:
        """Return the definition of a code; for an unknown code raise UnknownCodeError with the nearest ones."""
        known = self.find(code)
        if known is None:
            raise UnknownCodeError(code, nearest(code, [*self.codes(), *_ALIASES]))
        return known

    def codes(self) -> tuple[str, ...]:
        """List every registered code by its canonical name, ours first."""
        self._discover()
        return (*_CORE, *self._added)

    def describe(self, description: str, codes: Collection[str]) -> str:
        """List the codes that a tool can return after its description; each must be registered."""
        for code in codes:
            self.definition(code)
        return list_codes(description, codes)

    def register_plugin(self, namespace: str, codes: Mapping[str, CodeDefinition | Mapping[str, Any]]) -> None:
        """Add a plugin's codes as `namespace.CODE`, all of them or none."""
        if not _NAMESPACE.fullmatch(namespace):
            raise CodeError(f"namespace is {namespace!r}; expected lower-case letters and digits, a letter first")
        self._register(namespace, codes)

    def register(self, codes: Mapping[str, CodeDefinition | Mapping[str, Any]]) -> None:
        """Add an application's own codes, without a namespace, all of them or none; ours cannot be redefined."""
        taken = [code for code in codes if code in _CORE or code in _ALIASES]
        if taken:
            raise CodeError(f"{', '.join(taken)}: registered by shaping; choose another name")
        self._register(_APPLICATION, codes)

    def unregister(self) -> bool:
        """Take back the application's latest registration; False where there is none."""
        return self.unregister_plugin(_APPLICATION)

    def unregister_plugin(self, namespace: str) -> bool:
        """Take back the latest registration of a namespace; False where there is none."""
        with self._lock:
            places = [place for place, (registered, _) in enumerate(self._registered) if registered == namespace]
            if places:
                del self._registered[places[-1]]
                self._merge()
            return bool(places)

    def _register(self, namespace: str, codes: Mapping[str, CodeDefinition | Mapping[str, Any]]) -> None:
        prefix = f"{namespace}." if namespace else ""
        new = {f"{prefix}{key}": _defined(prefix, key, given) for key, given in codes.items()}
        with self._lock:
            changed = [code for code in new if self._added.get(code, new[code]) != new[code]]
            if changed:
                told = "\n".join(f"  {code} is {self._added[code]}\n    and would be {new[code]}" for code in changed)
                raise CodeError(f"{namespace or 'the application'} is registered with another meaning:\n{told}")
            self._registered.append((namespace, new))
            self._merge()

    def _merge(self) -> None:
        by_namespace = sorted(self._registered, key=lambda registered: registered[0])
        self._added = {code: known for _, codes in by_namespace for code, known in codes.items()}

    def _discover(self) -> None:
        """Load the codes that installed packages declare, once; each entry point is named by its namespace."""
        with self._lock:
            if not self._undiscovered:
                return
            self._undiscovered = False
            from importlib.metadata import entry_points  # noqa: PLC0415 (takes 14 ms to import, and most calls code no error)

            for found in entry_points(group=ENTRY_POINTS):
                try:
                    self.register_plugin(found.name, found.load())
                except Exception:  # a broken package must not hide the error that is being described
                    logging.getLogger("shaping").exception("the error codes of %r cannot be loaded", found.value)


def _defined(prefix: str, key: str, given: CodeDefinition | Mapping[str, Any]) -> CodeDefinition:
    if not _KEY.fullmatch(key):
        raise CodeError(f"{prefix}{key}: the key is {key!r}; expected SCREAMING_SNAKE_CASE")
    if isinstance(given, CodeDefinition):
        return given
    try:
        return CodeDefinition(**given)
    except (TypeError, ValueError) as problem:
        raise CodeError(f"{prefix}{key}: {problem}") from None


registry = CodeRegistry()
