"""What is left to match of every path at one place of the data: the state that walker, compiler and schema share.

A rule path is a row of steps. Going down to a member takes the derivative of each path by the member's key; lists are
passed through, so `[]` asks nothing and is dropped when a rule is read, and so is a `**` at the end, which means the
thing itself and all below it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from shaping.paths.grammar import Deep, Each, Glob, Index, Name, Path, PathError, Slice, Step, parse, scan
from shaping.paths.private import Rest, fits_either, plain_pattern, private_names
from shaping.paths.selection import after, through
from shaping.paths.spelling import names_in, pattern_forms, plain_name, spellings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from shaping.paths import FieldPlan


_DEEPEST = 200  # deeper than any data is taken in; what contains itself ends here
_MOST_FORMS = 32  # of one path, with and without the steps that may be elements
Fits: TypeAlias = "Callable[[Name | Glob], bool]"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a member: gone, or kept under a name with rules for what is in it."""

    name: str
    state: State


@dataclass(frozen=True, slots=True)
class State:
    """The rests of all rules at one place; `include` is None where everything is wanted."""

    include: frozenset[Rest] | None = None
    exclude: frozenset[Rest] = frozenset()
    rename: tuple[tuple[Rest, str], ...] = ()

    @property
    def whole(self) -> bool:
        """Nothing below this place can be touched."""
        return self.include is None and not self.exclude and not self.rename

    @property
    def partial(self) -> bool:
        """Only members are wanted here, so that a scalar in this place is not what was asked for."""
        return self.include is not None

    def member(self, key: str) -> Verdict | None:
        """Decide about a member: exclude subtracts from what include selects; None is dropped."""
        return self.judge(key, lambda step: step.fits(key))

    def judge(self, key: str, fits: Fits) -> Verdict | None:
        """Decide about a member that fits some names and patterns."""
        exclude = frozenset(after(self.exclude, fits))
        if () in exclude:
            return None
        include = self.include if self.include is None else frozenset(after(self.include, fits))
        if include is not None and not include:
            return None
        renamed = [(rest, name) for path, name in self.rename for rest in after((path,), fits)]
        # The first rule that fits names the member.
        name = next((name for rest, name in renamed if not rest), key)
        deeper = _first_each((rest, name) for rest, name in renamed if rest)
        return Verdict(name, State(None if include is not None and () in include else include, exclude, deeper))

    def heads(self) -> Iterator[Name | Glob]:
        """Every name and pattern that could decide about a member of this place."""
        for rest in (*(self.include or ()), *self.exclude, *(path for path, _ in self.rename)):
            yield next(step for step in rest if not isinstance(step, Deep))


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


@dataclass(frozen=True, slots=True)
class Private(State):
    """Rules for what must not leave: in any spelling, and for `user.email` as one name, as in flat tables."""

    document: frozenset[Rest] = frozenset()  # rules that hold in each text as if it were all of the data

    @property
    def whole(self) -> bool:
        """Nothing below this place can be touched."""
        return not (self.exclude or self.document)

    def member(self, key: str) -> Verdict | None:
        """Decide about a member by its key, and by each of the names that a key like `user.email` is made of."""
        exclude = below_names(self.exclude, key)
        if () in exclude or private_names(_ending(self.exclude)).is_in_key(key):
            return None
        return Verdict(key, self if exclude is self.exclude else replace(self, exclude=exclude))

    def judge(self, key: str, fits: Fits) -> Verdict | None:
        """Decide about a member that fits some names and patterns."""
        exclude = frozenset(after(self.exclude, fits))
        return None if () in exclude else Verdict(key, replace(self, exclude=exclude))


@lru_cache(maxsize=1024)
def _ending(rests: frozenset[Rest]) -> frozenset[Rest]:
    """Return the paths that end with the next name."""
    return frozenset(rest for rest in rests if len(rest) == 1 + isinstance(rest[0], Deep))


class _ByName(NamedTuple):
    """Paths by the name they begin with, and what is left of them below it."""

    anywhere: frozenset[Rest]  # those that begin at any depth, and so hold below a member too
    names: dict[str, frozenset[Rest]]
    patterns: tuple[tuple[Glob, Rest], ...]


@lru_cache(maxsize=1024)
def _by_name(rests: frozenset[Rest]) -> _ByName:
    anywhere = frozenset(rest for rest in rests if isinstance(rest[0], Deep))
    names: dict[str, set[Rest]] = {}
    patterns: list[tuple[Glob, Rest]] = []
    for rest in rests:
        head, *left = rest[1:] if isinstance(rest[0], Deep) else rest
        if isinstance(head, Name):
            names.setdefault(plain_name(head.key), set()).add(tuple(left))
        elif isinstance(head, Glob):
            patterns.append((plain_pattern(head), tuple(left)))
    # The same object where nothing is lost: all that is remembered of it is found by its identity.
    return _ByName(
        rests if len(anywhere) == len(rests) else anywhere,
        {name: frozenset(left) for name, left in names.items()},
        tuple(patterns),
    )


def through_lists(rest: tuple[Any, ...]) -> set[tuple[Any, ...]]:
    """Return a path, and it without the steps that may stand for the elements of a list: `staff.*.pay`, `staff.0.pay`.

    A list is passed through without a step, so that such a path would protect nothing where one stands.
    """
    found: set[tuple[Any, ...]] = {()}
    for at, step in enumerate(rest):
        is_element = step == Glob("*") or (isinstance(step, Name) and step.key.isdigit())
        skipped = found if is_element and at < len(rest) - 1 and len(found) < _MOST_FORMS else set()
        found = {(*before, step) for before in found} | skipped
    return found


def below(rests: frozenset[Any], key: str) -> frozenset[Any]:
    """Return what is left of paths below a member whose key names their first step in any spelling."""
    by_name = _by_name(rests)
    found = [by_name.names[name] for name in spellings(key) if name in by_name.names]
    if by_name.patterns:
        forms = pattern_forms(key)
        found += [frozenset((left,)) for step, left in by_name.patterns if fits_either(step, forms)]
    return by_name.anywhere.union(*found) if found else by_name.anywhere


def below_names(rests: frozenset[Any], key: str) -> frozenset[Any]:
    """Return what is left of paths below a member by its key, and by each of the names that it is made of."""
    left, names = below(rests, key), names_in(key)
    if names == (key,):
        return left
    inner, ended = rests, set()
    for name in names:
        # The number of an element in a flat key (`employees[0].wage`) may stand for no step.
        inner = below(inner, name) | inner if name.isdigit() else below(inner, name)
        ended |= {rest for rest in inner if not rest or isinstance(rest[0], _End)}
        inner = inner - ended if ended else inner
    return left if inner is left and not ended else left.union(inner, ended)


class _End(NamedTuple):
    """Stands behind the last step of a path, to tell which of many has matched."""

    path: str


@lru_cache(maxsize=64)
def _ended(paths: tuple[str, ...]) -> frozenset[Any]:
    """Read paths, for the same ones into the same object: what is remembered of it is found by its identity."""
    return frozenset((*rest, _End(path)) for path in paths for rest in through_lists(read_rule(path)))


def matching(paths: tuple[str, ...], value: Any, opened: Callable[[Any], Any]) -> set[str]:
    """Return those of the paths that match something in a value, in any spelling; a RecursionError where it is deep."""
    found: set[str] = set()
    known: dict[tuple[frozenset[Any], str], frozenset[Any]] = {}
    todo: list[tuple[Any, frozenset[Any], int]] = [(value, _ended(paths), 0)]
    while todo:
        here, rests, depth = todo.pop()
        here = opened(here)
        if depth > _DEEPEST:
            raise RecursionError
        if type(here) is list:
            todo.extend((item, rests, depth + 1) for item in here)
        elif type(here) is dict:
            for key, item in here.items():
                if (rests, key) not in known:
                    left = known[rests, key] = below_names(rests, str(key))
                    if left is not _by_name(rests).anywhere:
                        found |= {rest[0].path for rest in left if isinstance(rest[0], _End)}
                if known[rests, key]:
                    todo.append((item, known[rests, key], depth + 1))
    return found


def _first_each(renames: Iterable[tuple[Rest, str]]) -> tuple[tuple[Rest, str], ...]:
    first: dict[Rest, str] = {}
    for rest, name in renames:
        first.setdefault(rest, name)
    return tuple(first.items())


def assign_names(names: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """Assign every kept key of one object its written name, so that no two are the same and no value is lost.

    A rename gives way to a member that has the name by itself, and the later of two renames to the earlier.
    """
    own = {key for key, name in names if key == name}
    while True:
        taken = set(own)
        for key, name in names:
            if key in own:
                continue
            if name in taken:
                own.add(key)
                break
            taken.add(name)
        else:
            return {key: key if key in own else name for key, name in names}


def read_rules(include: Iterable[str] | None, exclude: Iterable[str], rename: Mapping[str, str] | None) -> State:
    """Read the rules of one plan into the state at the data's root, or raise a PathError."""
    wanted = None if include is None else frozenset(read_rule(path) for path in include)
    return State(
        include=None if wanted is not None and () in wanted else wanted,
        exclude=frozenset(_inner(path) for path in exclude),
        rename=tuple({_inner(path): name for path, name in (rename or {}).items()}.items()),
    )


def read_rule(path: str, *, indexes: bool = False) -> Rest:
    """Read one rule path: lists are passed through anyway, so names, patterns, `**` and perhaps indexes count."""
    steps: list[Any] = []
    for step, column in scan(path):
        if isinstance(step, Index | Slice) and not indexes:
            raise PathError(path, column, "a field rule applies to every element: write '[]'")
        if not isinstance(step, Each) and (not steps or steps[-1:] != [step] or not isinstance(step, Deep)):
            steps.append(step)
    if steps and isinstance(steps[-1], Deep):
        steps.pop()
    return tuple(steps)


def _inner(path: str) -> Rest:
    rest = read_rule(path)
    if not rest:
        raise PathError(path, 1, "this names the whole answer; name members of it, such as '*'")
    return rest


def original(path: str, raw: Any, plan: FieldPlan | None) -> str:
    """Write a path in the names of the raw value; one that is in those names already stays as it is."""
    if plan is None or not differs(path, plan):
        return path
    try:
        steps = parse(path).steps
    except PathError:
        return path
    return str(Path(tuple(_renamed_back(steps, [raw], plan.state))))


def renamed_path(path: str, plan: FieldPlan | None) -> str:
    """Write a path in the names that a reader is shown, as far as the rules alone tell."""
    if plan is None or not plan.rename:
        return path
    found: list[Step] = []
    state = plan.state
    for step in parse(path).steps:
        # Below a `**` the rules of any depth hold, and those are the ones that stay.
        verdict = state.member(step.key) if isinstance(step, Name) else None
        found.append(step if verdict is None else Name(verdict.name))
        state = state if verdict is None else verdict.state
    return str(Path(tuple(found)))


def differs(path: str, plan: FieldPlan | None) -> bool:
    """Whether a path may read otherwise in the raw value: fields are renamed, or elements not asked for are gone."""
    return plan is not None and bool(path) and (bool(plan.rename) or (plan.selective and "[" in path))


def _renamed_back(steps: tuple[Step, ...], nodes: list[Any], state: State) -> list[Step]:
    found: list[Step] = []
    for at, step in enumerate(steps):
        if isinstance(step, Deep | Glob):
            return [*found, *steps[at:]]
        if not isinstance(step, Name):
            step = _placed(step, nodes) if state.partial else step  # noqa: PLW2901 (the same step, in the raw value)
            nodes = [item for node in nodes if isinstance(node, list) for item in step.of(node)]
            found.append(step)
            continue
        objects = [node for node in through(nodes) if isinstance(node, dict)]
        key = next((key for node in objects if (key := _key_of(step.key, node, state)) is not None), step.key)
        verdict = state.member(key)
        if verdict is None:
            return [*found, *steps[at:]]
        found.append(Name(key))
        nodes, state = [node[key] for node in objects if key in node], verdict.state
    return found


def _key_of(name: str, node: dict[str, Any], state: State) -> str | None:
    """Find the key whose value is written under a name."""
    kept = [(key, verdict.name) for key in node if (verdict := state.member(key)) is not None]
    return next((key for key, written in assign_names(kept).items() if written == name), None)


def _placed(step: Each | Index | Slice, nodes: list[Any]) -> Each | Index | Slice:
    """Count the elements that a list of fields leaves out: of those, scalars are not what was asked for."""
    if len(nodes) != 1 or not isinstance(nodes[0], list):
        return step
    kept = [at for at, item in enumerate(nodes[0]) if isinstance(item, dict | list)]
    if isinstance(step, Index):
        return Index(kept[step.at]) if step.at < len(kept) else step
    if not isinstance(step, Slice):
        return step
    end = len(nodes[0])
    start = kept[step.start] if step.start is not None and step.start < len(kept) else step.start and end
    stop = kept[step.stop - 1] + 1 if step.stop is not None and 0 < step.stop <= len(kept) else step.stop and end
    return Slice(start, stop)
