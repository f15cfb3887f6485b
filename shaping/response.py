"""The vocabulary: the few words every other module is written in, and the helpers that go with them."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.settings.plan import Plan
    from shaping.tokens import Tokens

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property  # noqa: PLC0414 (others import it from here)
else:

    class cached_property:  # noqa: N801 (the name that it has in functools)
        """The same without the lock of Python 3.11, which takes longer than most properties of a small answer."""

        def __init__(self, work_out: Callable[[Any], Any]) -> None:
            self.work_out = work_out

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            found = instance.__dict__[self.work_out.__name__] = self.work_out(instance)
            return found


T = TypeVar("T")

EXPAND: Final = "shaping_expand"  # our own tool, which gives back what was left out

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

Lengths: TypeAlias = "tuple[tuple[str, int], ...]"  # the most of each unit: chars, bytes, lines
Dialect: TypeAlias = Literal["lean", "flat", "sourced", "invariant", "none"]

Reason: TypeAlias = Literal[
    "fields",  # the config's include_only or exclude_fields
    "private",  # a path that never leaves
    "tier",  # exclude_when_tier
    "null",
    "empty",
    "default",
    "links",
    "opaque",
    "bulk",
    "boilerplate",
    "items",  # a list's tail, cut to a budget or to max_items
    "string",  # the middle of a long string
    "depth",  # a subtree, cut to a budget
]


class MemberChoice(frozenset[str]):
    """The optional members of an envelope to send, and `excluded`, the members never to send, not even under debug."""

    excluded: frozenset[str]

    def __new__(cls, included: Iterable[str] = (), excluded: Iterable[str] = ()) -> Self:
        """Make a choice of members."""
        made = super().__new__(cls, included)
        made.excluded = frozenset(excluded)
        return made

    def __or__(self, others: Collection[str]) -> Self:  # type: ignore[override]  # of a set: members are names
        """Send others too, whatever is excluded of them; all that is excluded besides stays so."""
        return type(self)([*self, *others], self.excluded.difference(others))


def is_never_sent(name: str, include: Collection[str]) -> bool:
    """Whether a member of an envelope is never to be sent."""
    return isinstance(include, MemberChoice) and name in include.excluded


# With which a line begins that names what is null or empty.
ABSENT: Final = r"(?:null|empty|null or empty)(?: if missing)?"
# Dropped by the thousand, and all alike: listed as one entry each.
EMPTY: Final = frozenset({"null", "empty", "default"})
# An object keyed by ids has a path for each: a longer list would cost more than it says.
_LISTED: Final = 40


@dataclass(slots=True, unsafe_hash=True)  # a result has dozens, and frozen ones take three times as long to make
class Omission:
    """Something a step left out: where, how many, why, at what price, and how to ask it back."""

    path: str  # in the path language; every element of a list is `[]`, a cut tail is `[40:100]`
    count: int
    reason: Reason
    tokens: int | None = None
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A list that was cut, or several under one path: how many elements are shown, of how many.

    Of log records the first are shown, and after them those that report errors, of `errors` that are not in the first.
    """

    path: str
    shown: int
    total: int
    first: int | None = None
    errors: int | None = None


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the reader should know about the response: a stable code, where, and a sentence."""

    code: str
    message: str
    path: str | None = None

    def __str__(self) -> str:
        where = " at ".join(part for part in (self.code, self.path) if part)
        return f"{where}: {self.message}" if where else self.message


TOOL_WARNING = "TOOL"  # the code of what a tool says by `note`
_notes: ContextVar[CallNotes | None] = ContextVar("shaping_notes", default=None)


def note(
    *, warning: str | None = None, upgrade_hint: Mapping[str, str] | None = None, request_id: str | None = None
) -> None:
    """Add to the answer of the call that is running, from inside the tool; outside of a shaped call nothing happens.

    `warning` is a sentence for the reader, `upgrade_hint` an object with `feature`, `tier` and `reason`, `request_id`
    the id that the client gave the call.
    """
    notes = _notes.get()
    if notes is None:
        return
    if warning is not None:
        notes.warnings.append(warning)
    if upgrade_hint is not None:
        missing = [name for name in ("feature", "tier", "reason") if name not in upgrade_hint]
        if missing:
            raise ValueError(f"an upgrade hint needs feature, tier and reason; missing: {', '.join(missing)}")
        notes.upgrade_hints.append({name: upgrade_hint[name] for name in ("feature", "tier", "reason")})
    if request_id is not None:
        notes.request_id = request_id


class CallNotes:
    """Collects what a tool reports by `note` during one call, and the time that the call takes."""

    def __init__(self) -> None:
        self.around = _notes.get()  # those of the call that this one is made in
        self.warnings: list[str] = []
        self.upgrade_hints: list[dict[str, str]] = []
        self.request_id: str | None = None
        self.started = self.ended = perf_counter()

    def __enter__(self) -> Self:
        self._token = _notes.set(self)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool | None:
        self.ended = perf_counter()
        try:  # noqa: SIM105 (every call comes by here, and suppress() takes longer than all of it)
            _notes.reset(self._token)
        except ValueError:  # a generator may end in another context than it began in, where there is nothing to reset
            pass
        return None

    def about(self) -> dict[str, Any]:
        """Return what was noted and how long it took, as members of a `CallContext`."""
        about: dict[str, Any] = {"duration_ms": round((self.ended - self.started) * 1000, 3)}
        if self.request_id is not None:
            about["request_id"] = self.request_id
        if self.upgrade_hints:
            about["upgrade_hints"] = tuple(self.upgrade_hints)
        if self.warnings:
            about["warnings"] = tuple(Warned(TOOL_WARNING, text) for text in self.warnings)
        return about


@dataclass(frozen=True, slots=True)
class Facts:
    """What only the application knows about its tools."""

    tier: str | None = None
    tool_version: str | None = None
    capabilities: tuple[str, ...] = ()
    session_id: str | None = None
    expandable: bool = False  # whether the reader has a way to ask for what was left out


class CallContext(NamedTuple):
    """What the caller knows about one call and the value does not say."""

    error: ErrorDetail | None = None
    request_id: str | None = None
    duration_ms: float | None = None
    if_none_match: str | None = None
    upgrade_hints: tuple[Mapping[str, str], ...] = ()
    warnings: tuple[Warned, ...] = ()
    arguments: frozenset[str] = frozenset()  # names that other tools of the same server take as arguments
    source: Envelope[Any] | None = None  # an envelope whose meta the answer keeps
    text_before: Callable[[], str] | None = None  # what the client would show its model, where it is not compact JSON
    owner: str | None = None  # the session or identity that alone may expand what was left out
    compact_json: bytes | None = None  # of a value that was read from JSON, and so is plain data
    as_json: bool = False  # whether the wire value itself goes out, so that a budget counts its JSON and not the text
    page: str | None = None  # the path of a page, where the value is a page of something expanded
    cursor: str | None = None  # where the next page starts


class StepNotes(NamedTuple):
    """What a step of cleaning reports about what it did."""

    warnings: tuple[Warned, ...] = ()
    omissions: tuple[Omission, ...] = ()
    original: Any = None  # the whole raw value as plain data, where the step opened all of it
    cut_short: bool = False  # a generator broke off before its end
    saved: int = 0  # bytes that noise rules took
    compact_json: bytes | None = None  # the value's compact JSON, where the step made it


NOTHING = StepNotes()


class Shaped(ABC):
    """A shaped response: what to hand on, what the model reads, what it cost and what is missing.

    The text, the prices and the exact omissions are worked out when they are first asked for.
    """

    plan: Plan  # the compiled choices that shaped this response
    call: CallContext

    @property
    @abstractmethod
    def value(self) -> Any:
        """The wire form of the dialect."""

    @property
    @abstractmethod
    def envelope(self) -> Envelope[Any]:
        """The typed envelope."""

    @property
    @abstractmethod
    def warnings(self) -> tuple[Warned, ...]:
        """What the reader should know."""

    @property
    def truncated(self) -> bool:
        """Whether a budget cut something."""
        return False

    @property
    def shown(self) -> tuple[Listed, ...]:
        """Of each list that was cut, how many elements are shown of how many."""
        return ()

    @property
    def cursor(self) -> str | None:
        """Where the next page starts, if there is one."""
        return None

    @property
    def etag(self) -> str | None:
        """A tag of the shaped data, where the plan or the caller asked for one."""
        return None

    @property
    def not_modified(self) -> bool:
        """Whether the data is what the caller has already."""
        return False

    @property
    def notice(self) -> str:
        """The line below bare data that says what was left out and how to ask for it."""
        return ""

    @property
    def absent(self) -> Mapping[str, tuple[str, ...]]:
        """The names of members that were dropped because they are null or empty, by that reason."""
        return {}

    @property
    def absent_line(self) -> str:
        """The line of the text that names the null and empty members that were dropped; empty where it has none."""
        return ""

    @property
    def omissions(self) -> tuple[Omission, ...]:
        """Everything that was left out, exactly: where, how many and why."""
        return ()

    @property
    def ref(self) -> str | None:
        """The handle for `expand`; the original is kept when it is first asked for."""
        return None

    @property
    def expandable(self) -> bool:
        """Whether the reader has a way to ask for what was left out."""
        return False

    @property
    def data(self) -> Any:
        """The shaped data without its envelope."""
        return self.envelope.data

    def within(self, max_tokens: int, max_lengths: Lengths = ()) -> Shaped:  # noqa: ARG002 (what is not shaped has no budget)
        """Return this response, cut where its text has more tokens than that, or is longer."""
        return self

    @property
    def failed(self) -> bool:
        """Whether this response says why a call failed."""
        return self.call.error is not None

    @property
    @abstractmethod
    def text_and_encoding(self) -> tuple[str, str]:
        """The text and the name of its form."""

    @property
    def text(self) -> str:
        """What the model reads."""
        return self.text_and_encoding[0]

    @property
    def encoding(self) -> str:
        """The form the text is in: json, table, text for a bare string, or another that the config names."""
        return self.text_and_encoding[1]

    @property
    @abstractmethod
    def tokens(self) -> Tokens:
        """What it cost before and after."""

    def __repr__(self) -> str:
        return f"Shaped(tool={self.plan.tool!r}, profile={self.plan.profile!r}, value={self.value!r})"


class ShapedDict(dict[str, Any]):
    """A wire value that remembers how it was shaped; plain JSON data in every other way."""

    shaped: Shaped
    digest: int | None  # of its JSON when it was shaped: whoever got it may have changed it since

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is plain data: how it was shaped holds locks and files.
        return dict, (dict(self),)


class ShapedList(list[Any]):
    """A list as wire value that remembers how it was shaped."""

    shaped: Shaped
    digest: int | None

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def counted(count: int, noun: str) -> str:
    """Write how many there are of something: `1 token`, `1,024 tokens`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def required(value: T | None) -> T:
    """Return a value that must be there by now."""
    if value is None:
        raise RuntimeError("a value is missing that must be there by now")
    return value


def grouped(omissions: Iterable[Omission]) -> list[Omission]:
    """Merge nulls, empties and defaults into one entry each, and of everything else keep the first few dozen paths."""
    alike: dict[Reason, list[Omission]] = {}
    listed: list[Omission] = []
    for omission in omissions:
        if omission.reason in EMPTY or len(listed) >= _LISTED:
            alike.setdefault(omission.reason, []).append(omission)
        else:
            listed.append(omission)
    return [*listed, *(_merged(found) for found in alike.values())]


def _merged(omissions: list[Omission]) -> Omission:
    if len(omissions) == 1:
        return omissions[0]
    return Omission("**", sum(omission.count for omission in omissions), omissions[0].reason)


def cut_end(text: str, most: int) -> str:
    """Return a text of at most so many characters, the sign for what is missing included."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def import_extra(module: str, extra: str, what: str) -> Any:
    """Import a module of an extra where it is used; its absence is an instruction."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f'{what} needs an extra: pip install "shaping[{extra}]"') from None
