"""The vocabulary: the few words every other module is written in."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.paths import FieldPlan
    from shaping.settings.plan import Plan
    from shaping.shaper import Shaper
    from shaping.tokens import Tokens

T = TypeVar("T")

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

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

# One step of a response's way: the value so far and the call's draft in, the next value out.
Stage: TypeAlias = "Callable[[Any, Draft], Any]"


@dataclass(frozen=True, slots=True)
class Omission:
    """Something a stage left out: where, how many, why, at what price, and how to ask it back."""

    path: str  # in the path language; every element of a list is `[]`, a cut tail is `[40:100]`
    count: int
    reason: Reason
    tokens: int | None = None
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A list that was cut, or several under one path: how many elements are shown, of how many."""

    path: str
    shown: int
    total: int


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the reader should know about the response: a stable code, where, and a sentence."""

    code: str
    message: str
    path: str | None = None

    def __str__(self) -> str:
        where = " at ".join(part for part in (self.code, self.path) if part)
        return f"{where}: {self.message}" if where else self.message


@dataclass(slots=True)
class Call:
    """What the caller knows about one call and the value does not."""

    tool: str
    error: ErrorDetail | None = None
    request_id: str | None = None
    duration_ms: float | None = None
    if_none_match: str | None = None
    upgrade_hints: tuple[Mapping[str, str], ...] = ()
    warnings: tuple[Warned, ...] = ()
    arguments: frozenset[str] = frozenset()  # names that other tools of the same server take as arguments
    source: Envelope[Any] | None = None  # an envelope whose meta the answer keeps
    shown: Callable[[], str] | None = None  # what the client would have shown its model, where it is not compact JSON
    owner: str | None = None  # the session or identity that alone may expand what was left out
    page: str | None = None  # where a page of something expanded stands in the whole
    cursor: str | None = None  # and where the next one starts
    whose: str | None = None  # and the path that also shows which record each value is of
    written: bytes | None = None  # the value's compact JSON, where it was read from JSON and so is plain
    as_json: bool = True  # whether the wire value itself goes out, so that a budget counts its JSON and not the text


@dataclass(slots=True)
class Draft:
    """One response on its way through the stages, and what they noted about it."""

    plan: Plan
    call: Call
    raw: Any
    shaper: Shaper
    warnings: list[Warned] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)
    asked: tuple[Omission, ...] | None = None  # what fields and pruning left out, once it was looked up
    prices: dict[Omission, int | None] = field(default_factory=dict)
    terse: bool = False  # the budget is smaller than what the envelope would say about itself
    timings: dict[str, float] = field(default_factory=dict)
    plain: Any = None  # the raw value taken in, where that was done whole and nothing in it was odd
    before_prune: Any = None
    data: Any = None
    spared: int = 0  # bytes that noise rules took
    cut_short: bool = False  # what the tool gave broke off before its end
    truncated: bool = False
    shown: tuple[Listed, ...] = ()
    cursor: str | None = None
    ref: str | None = None
    etag: str | None = None
    not_modified: bool = False
    envelope: Envelope[Any] | None = None
    encoding: str | None = None
    make_text: Callable[[], str] | None = None
    make_tokens: Callable[[], Tokens] | None = None

    @property
    def filter(self) -> FieldPlan | None:
        """The compiled paths that apply: those for an answer, or those for a failed call."""
        return self.plan.fields if self.call.error is None else self.plan.error_fields


class Shaped:
    """A shaped response: what to hand on, what the model reads, what it cost and what is missing."""

    def __init__(self, value: Any, draft: Draft) -> None:
        self.value = value
        self._draft = draft

    @property
    def data(self) -> Any:
        """The shaped data without its envelope."""
        return self._draft.data

    @property
    def envelope(self) -> Envelope[Any]:
        """The typed envelope."""
        return present(self._draft.envelope)

    @property
    def failed(self) -> bool:
        """Whether this response tells why a call failed."""
        return self._draft.call.error is not None

    @property
    def plan(self) -> Plan:
        """The compiled choices that shaped this response."""
        return self._draft.plan

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """What the reader should know."""
        return tuple(self._draft.warnings)

    @property
    def truncated(self) -> bool:
        """Whether a budget cut something."""
        return self._draft.truncated

    @property
    def shown(self) -> tuple[Listed, ...]:
        """Of each list that was cut, how many elements are shown of how many."""
        return self._draft.shown

    @property
    def cursor(self) -> str | None:
        """Where the next page starts, if there is one."""
        return self._draft.cursor

    @property
    def whose(self) -> str | None:
        """Of something expanded, the path that also shows which record each value is of, where the order does not."""
        return self._draft.call.whose

    @property
    def etag(self) -> str | None:
        """A tag of the shaped data, where the plan or the caller asked for one."""
        return self._draft.etag

    @cached_property
    def text(self) -> str:
        """What the model reads."""
        return present(self._draft.make_text)()

    @property
    def encoding(self) -> str:
        """The form the text is in: json, table, text for a bare string, or another that the config names."""
        self.text  # noqa: B018 (writing the text decides it)
        return present(self._draft.encoding)

    @property
    def notice(self) -> str:
        """The line below bare data that says what was left out; empty where there is nothing to say."""
        from shaping.omissions import notice  # noqa: PLC0415 (only a surface that writes the data itself asks)

        return notice(self._draft)

    @cached_property
    def tokens(self) -> Tokens:
        """What it cost before and after."""
        return present(self._draft.make_tokens)()

    @cached_property
    def omissions(self) -> tuple[Omission, ...]:
        """Everything that was left out, exactly: where, how many and why."""
        from shaping.omissions import all_omissions  # noqa: PLC0415 (asked for by few callers)

        return all_omissions(self._draft)

    @cached_property
    def ref(self) -> str | None:
        """The handle for `expand`, where something was left out and a store keeps it."""
        return self._draft.shaper.keep(self._draft)

    def __repr__(self) -> str:
        return f"Shaped(tool={self._draft.call.tool!r}, profile={self.plan.profile!r}, value={self.value!r})"


class ShapedDict(dict[str, Any]):
    """A wire value that remembers how it was shaped; plain JSON data in every other way."""

    shaped: Shaped

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is plain data: how it was shaped holds locks and files.
        return dict, (dict(self),)


class ShapedList(list[Any]):
    """The same, where the dialect's wire form is a list."""

    shaped: Shaped

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def present(value: T | None) -> T:
    """Say that a value is there: the stages have run."""
    if value is None:
        raise RuntimeError("the stages have not run yet")
    return value
