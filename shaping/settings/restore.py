"""Fields that come back where a call failed: exactly those, even out of what `exclude_fields` drops whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shaping.paths.machine import Machine, Node
from shaping.paths.plan import FieldPlan
from shaping.paths.rules import State, Verdict, after, read_rules, rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shaping.paths.grammar import Glob, Name
    from shaping.paths.opening import Opener
    from shaping.paths.rules import Fits, Rest


@dataclass(frozen=True, slots=True)
class Restoring(State):
    """Rules of which `restore` outranks include and exclude, and `held` outranks all."""

    restore: frozenset[Rest] = frozenset()
    held: frozenset[Rest] = frozenset()

    @property
    def whole(self) -> bool:
        """Nothing below this place can be touched."""
        return self.include is None and not self.exclude and not self.rename and not self.held

    def judge(self, key: str, fits: Fits) -> Verdict | None:
        """Decide about a member: what is unwanted comes back as far as it is restored."""
        named = State(None, self.held, self.rename).judge(key, fits)
        include = None if self.include is None else frozenset(after(self.include, fits))
        exclude, restore = frozenset(after(self.exclude, fits)), frozenset(after(self.restore, fits))
        unwanted = () in exclude or (include is not None and not include)
        if named is None or (unwanted and not restore):
            return None
        if () in restore:
            return named
        held, rename = named.state.exclude, named.state.rename
        if unwanted:
            return Verdict(named.name, State(restore, held, rename))
        include = None if include is not None and () in include else include
        return Verdict(named.name, Restoring(include, exclude, rename, restore, held))

    def heads(self) -> Iterator[Name | Glob]:
        """Every name and pattern that could decide about a member of this place."""
        yield from State(self.include, self.exclude, self.rename).heads()
        yield from State(self.restore, self.held).heads()


def restoring_plan(
    include: Sequence[str] | None,
    exclude: Sequence[str],
    restore: Sequence[str],
    held: Sequence[str],
    *,
    rename: Mapping[str, str],
    opener: Opener,
) -> FieldPlan:
    """Compile the field rules of a failed call; failures are few, so the plan walks and learns nothing."""
    base, back, never = read_rules(include, exclude, rename), frozenset(map(rule, restore)), frozenset(map(rule, held))
    state: State = Restoring(base.include, base.exclude, base.rename, back, never)
    if () in back:  # a path may name the whole answer
        state = State(None, never, base.rename)
    wanted = None if state.include is None else (*(include or ()), *restore)
    renames = tuple(rename.items())
    return FieldPlan(wanted, (*exclude, *held), renames, opener, state, Node(Machine(opener), state, ""))
