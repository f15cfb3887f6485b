"""The path language: naming places in data, and filtering data and its JSON Schema by them.

A compiled plan says which fields of a tool's answer stay, which go, and what they are called. What its rules mean,
where the design leaves it open:

- Exclude subtracts from what include selects. Renaming a field that is dropped does nothing.
- `[]` and a `**` at the end change nothing: `a[].b` is `a.b`, `a[]` and `a.**` are `a`. Lists are passed through.
- The ancestors of a wanted field stay as containers, even where they become empty, and so do the elements of a list: an
  element's index stays true, and empties are dropped later.
- Where only members are wanted and a scalar stands (`user.login` of `"user": null`), the scalar is not what was asked
  for: it is left out, from lists too. At the root it is kept: an answer is never turned into nothing.
- Where renames collide, the rename gives way to a member that has the name by itself, the later to the earlier: no
  value is lost. What renames the same field twice is the last to say so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shaping.paths.filter import (
    GONE,
    PLAIN,
    Filters,
    OmissionNode,
    Opener,
    open_exactly,
    open_plainly,
)
from shaping.paths.grammar import Glob, Name, Path, PathError, join, parse
from shaping.paths.private import private_names
from shaping.paths.rules import Private, Restoring, State, matching, read_rule, read_rules, through_lists
from shaping.paths.schema import Unprojectable, may_match, open_schema, project
from shaping.paths.selection import select
from shaping.paths.strings import StringFilter, Unreadable, may_hold_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shaping.response import Omission, Reason

__all__ = [
    "FieldPlan",
    "Path",
    "PathError",
    "Unprojectable",
    "compile_fields",
    "join",
    "open_plainly",
    "open_schema",
    "parse",
    "select",
]


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """Include, exclude and rename rules, compiled to be applied in one walk."""

    include: tuple[str, ...] | None
    exclude: tuple[str, ...]
    rename: tuple[tuple[str, str], ...]
    withhold: bool  # whether a text that cannot be read and names an excluded field is replaced
    state: State = field(repr=False)
    filters: Filters = field(compare=False, repr=False)

    @property
    def opener(self) -> Opener:
        """What looks into values that are not plain."""
        return self.filters.opener

    @property
    def selective(self) -> bool:
        """Only what the rules name is kept."""
        return self.include is not None

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that the rules include or exclude."""
        return (*(self.include or ()), *self.exclude)

    def apply(self, value: Any, notes: list[Unreadable] | None = None) -> Any:
        """Filter a value; what is kept whole is passed on as it is, and what no rule reaches is not looked at.

        `notes` receives the texts that name an excluded field and could not be read as data.
        """
        return self.as_meant(value).apply_as_written(value, notes)

    def apply_as_written(
        self, value: Any, notes: list[Unreadable] | None = None, compact_json: bytes | None = None
    ) -> Any:
        """Filter a value by the paths as they are, of a plan that is meant for this value.

        `compact_json` is the value's, where it is known.
        """
        if self.state.exclude and may_hold_data(compact_json, self.state):
            kept = StringFilter(self.filters, self.withhold, [] if notes is None else notes).run(value, self.state)
        else:
            kept = self.filters.run(value, self.state)
        return value if kept is GONE else kept

    def at_any_depth(self) -> FieldPlan:
        """Return a plan that excludes the same paths below any place, for texts and objects around the data."""
        return _private_plan(tuple(map(deep_path, self.exclude)), self.opener, self.withhold)

    def as_meant(self, value: Any) -> FieldPlan:
        """Return the plan for a value in which a private path matches nothing but deeper: it is meant there."""
        shallow = [path for path in self.exclude if not path.startswith("**")]
        if not shallow or not isinstance(self.state, Private) or type(value) not in (dict, list):
            return self
        try:
            found = matching((*shallow, *map(deep_path, shallow)), value, self._opened)
        except RecursionError:
            return self.at_any_depth()
        deeper = {path for path in shallow if path not in found and deep_path(path) in found}
        exclude = tuple(deep_path(path) if path in deeper else path for path in self.exclude)
        return _private_plan(exclude, self.opener, self.withhold) if deeper else self

    def _opened(self, value: Any) -> Any:
        return value if type(value) in PLAIN else open_exactly(value, self.opener)

    def is_label(self, name: Any) -> bool:
        """Return whether a value is the name of a private field."""
        return type(name) is str and private_names(self.state.exclude).is_label(name)

    def is_named_in(self, text: str) -> bool:
        """Return whether a text names a private field."""
        return private_names(self.state.exclude).first_in(text) is not None

    def named(self, omissions: Iterable[Omission]) -> list[Omission]:
        """Return omissions without the keys that say more of a private field than its name: `*` stands for those."""
        say_more = lru_cache(maxsize=4096)(private_names(self.state.exclude).says_more)
        counts: dict[Omission, int] = {}
        for one in omissions:
            steps = (
                Glob("*") if isinstance(step, Name) and say_more(step.key) else step for step in parse(one.path).steps
            )
            place = replace(one, path=str(Path(tuple(steps))), count=0)
            counts[place] = counts.get(place, 0) + one.count
        return [replace(place, count=count) for place, count in counts.items()]

    def left_out(self, value: Any, reason: Reason = "fields") -> list[Omission]:
        """List exactly what `apply` leaves out of a value, the elements of a list together."""
        if (meant := self.as_meant(value)) is not self:
            return meant.left_out(value, reason)
        place = OmissionNode()
        strings = StringFilter(self.filters, self.withhold) if self.state.exclude else self.filters
        strings.run(value, self.state, place)
        return place.omissions(reason)

    def schema(self, json_schema: dict[str, Any]) -> dict[str, Any]:
        """Apply the plan to a JSON Schema: the filtered value of a valid value is valid under the result."""
        return project(json_schema, self.state)

    def matches_nothing_in(self, json_schema: dict[str, Any]) -> list[str]:
        """List the paths to keep that no value under a schema can match; what is not there need not be left out."""
        return [path for path in dict.fromkeys(self.include or ()) if not may_match(path, json_schema)]


def compile_fields(
    include: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    *,
    opener: Opener | None = None,
    withhold: bool = False,
    private: bool = False,
) -> FieldPlan:
    """Compile field rules; `include=None` wants everything, `include=[]` nothing but the container.

    What is `private` goes under any spelling that is known; with `withhold` so does a text that cannot be read and
    names it.
    """
    state = read_rules(include, exclude, rename)
    if withhold or private:
        paths = frozenset(rest for path in state.exclude for rest in through_lists(path))
        state = Private(exclude=paths, document=paths if withhold else frozenset())
    return _compiled(include, exclude, rename or {}, state, opener or open_plainly, withhold=withhold)


def compile_error_fields(
    include: Sequence[str] | None,
    exclude: Sequence[str],
    restore: Sequence[str],
    held: Sequence[str],
    *,
    rename: Mapping[str, str],
    opener: Opener,
) -> FieldPlan:
    """Compile the field rules of a failed call."""
    base = read_rules(include, exclude, rename)
    back, never = frozenset(map(read_rule, restore)), frozenset(map(read_rule, held))
    state: State = Restoring(base.include, base.exclude, base.rename, back, never)
    if () in back:  # a path may name the whole answer
        state = State(None, never, base.rename)
    wanted = None if state.include is None else (*(include or ()), *restore)
    return _compiled(wanted, (*exclude, *held), rename, state, opener)


def _compiled(
    include: Sequence[str] | None,
    exclude: Sequence[str],
    rename: Mapping[str, str],
    state: State,
    opener: Opener,
    *,
    withhold: bool = False,
) -> FieldPlan:
    filters = Filters(opener, lambda text, state, place: StringFilter(filters).select(text, state, place))
    kept, renamed = None if include is None else tuple(include), tuple(rename.items())
    return FieldPlan(kept, tuple(exclude), renamed, withhold, state, filters)


@lru_cache(maxsize=64)
def _private_plan(exclude: tuple[str, ...], opener: Opener, withhold: bool) -> FieldPlan:
    return compile_fields(None, exclude, opener=opener, withhold=withhold, private=True)


def deep_path(path: str) -> str:
    """Write a path so that it begins at any place of the data."""
    return path if path.startswith("**") else f"**{'' if path.startswith('[') else '.'}{path}"
