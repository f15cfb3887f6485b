"""Filters: the reference, a plain loop, which also records what was left out; and generated code, which is fast.

The reference defines what the generated filters must do, and takes over where data is nested deeper than Python calls
may be. A generated filter learns the rows of keys that come again and compiles a function for each of them.

Generated text, not closures: measured on 100 KB of issues, closures cost two to three times as much, and most of the
speed comes from dict displays with the field names written in. A display needs to know which keys an object has and in
which order (key order is kept), so it is written for one row of keys and guarded by one comparison of that row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from shaping.paths.grammar import Deep, Each, Name, Path
from shaping.paths.rules import settle
from shaping.response import Omission

if TYPE_CHECKING:
    from shaping.paths.rules import State, Verdict
    from shaping.response import Reason

Opener: TypeAlias = Callable[[Any], Any]
Filter: TypeAlias = Callable[[Any], Any]

# The exact types that have no inside. Subclasses are left out on purpose: an opener decides about those.
SCALARS = frozenset((str, int, float, bool, type(None)))
PLAIN = SCALARS | {dict, list}


def open_plainly(value: Any) -> Any:
    """Open mappings and the standard containers one level, and refuse what only an opener can look into.

    Letting an unknown object through would let excluded fields through with it.
    """
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if hasattr(value, "__dict__") and not isinstance(value, str | int | float):
        raise TypeError(f"cannot filter inside a {type(value).__name__} without an opener")
    return value


def open_exactly(value: Any, opener: Opener) -> Any:
    """Open one value that is not plain: the result is an exact dict, an exact list, or has no inside."""
    inside = opener(value)
    if type(inside) is dict or type(inside) is list or type(inside) in SCALARS:
        return inside
    # An opener that hands back a subclass of a container has not opened it.
    return open_plainly(inside) if isinstance(inside, Mapping | list | tuple | set | frozenset) else inside


# What stands for a value that is not there: a scalar where only members were wanted.
GONE: Final = object()

# Places nested deeper are named together, by `**`: a path of ten thousand names helps nobody.
NAMED_DEPTH = 64


@dataclass(slots=True, eq=False)
class OmissionNode:
    """A place in the data, with all elements of a list as one, and how many things were left out there."""

    steps: tuple[Name | Each | Deep, ...] = ()
    left_out: int = 0
    below: dict[str | None, OmissionNode] = field(default_factory=dict)

    def at(self, key: str | None) -> OmissionNode:
        """Go to a member, or with None to the elements."""
        place = self.below.get(key)
        if place is None:
            step = Each() if key is None else Name(key)
            deep = len(self.steps) > NAMED_DEPTH
            steps = (*self.steps[:NAMED_DEPTH], Deep(), step) if deep else (*self.steps, step)
            place = self.below[key] = OmissionNode(steps)
        return place

    def omissions(self, reason: Reason) -> list[Omission]:
        """List what was left out here and below, in the order of the data."""
        counts: dict[tuple[Name | Each | Deep, ...], int] = {}
        todo = [self]
        while todo:
            place = todo.pop()
            if place.left_out:
                counts[place.steps] = counts.get(place.steps, 0) + place.left_out
            todo.extend(reversed(place.below.values()))
        return [Omission(str(Path(steps)), count, reason) for steps, count in counts.items()]


@dataclass(slots=True)
class FilterWalk:
    """One walk over one value: containers entered and not yet left, work to do, and what was decided before."""

    opener: Opener
    texts: Callable[[str, State, OmissionNode], Any] | None = None  # selects inside a string that stands for an object
    states: dict[State, dict[str, Verdict | None]] = field(default_factory=dict)
    entered: dict[int, Any] = field(default_factory=dict)
    todo: list[tuple[Any, Any, Any, State | None, OmissionNode]] = field(default_factory=list)

    def run(self, value: Any, state: State, place: OmissionNode) -> Any:
        """Filter a value; GONE stands for a scalar where only members are wanted."""
        result = value if state.whole else self._open(value, state, place)
        while self.todo:
            raw, inside, target, below, where = self.todo.pop()
            if below is None:
                del self.entered[id(raw)]
                continue
            if id(raw) in self.entered:
                raise ValueError(f"{Path(where.steps)} contains itself")
            self.entered[id(raw)] = raw
            self.todo.append((raw, None, None, None, where))
            if type(inside) is dict:
                self._members(inside, target, below, where)
            else:
                self._elements(inside, target, below, where)
        return result

    def _members(self, inside: dict[str, Any], target: dict[str, Any], state: State, place: OmissionNode) -> None:
        decided = self.states.setdefault(state, {})
        for key in inside:
            if str(key) not in decided:
                decided[str(key)] = state.member(str(key))
        kept = [(key, verdict) for key in inside if (verdict := decided[str(key)]) is not None]
        names = settle([(key, written_key(key, verdict)) for key, verdict in kept])
        for key, item in inside.items():
            verdict = decided[str(key)]
            value = GONE if verdict is None else self._start(item, verdict.state, place, str(key))
            if value is GONE:
                place.at(str(key)).left_out += 1
            else:
                target[names[key]] = value

    def _elements(self, inside: list[Any], target: list[Any], state: State, place: OmissionNode) -> None:
        for item in inside:
            value = self._start(item, state, place, None)
            if value is GONE:
                place.at(None).left_out += 1
            else:
                target.append(value)

    def _start(self, value: Any, state: State, place: OmissionNode, key: str | None) -> Any:
        """Return what stands for a member, or an element, of a place."""
        if state.whole:
            return value
        if type(value) is str and state.partial and self.texts is not None:
            return self.texts(value, state, place.at(key))
        if type(value) in SCALARS:
            return GONE if state.partial else value
        return self._open(value, state, place.at(key))

    def _open(self, value: Any, state: State, place: OmissionNode) -> Any:
        """Return what stands for a value in the result, and put off the work inside it."""
        inside = value if type(value) in PLAIN else open_exactly(value, self.opener)
        if type(inside) is not dict and type(inside) is not list:
            return GONE if state.partial else inside
        target: Any = {} if type(inside) is dict else []
        self.todo.append((value, inside, target, state, place))
        return target


def written_key(key: Any, verdict: Verdict) -> Any:
    """Return the key a kept member is written under; a key that is not text is judged by its text and stays itself."""
    return key if verdict.name == str(key) else verdict.name


# Keys come from data, so everything learned from them is bounded, per plan: what does not fit is filtered all the same,
# only slower. 256 rows take at most some 50 ms of compiling, once.
MOST_NAMES = 8192
LONGEST_NAME = 256
MOST_ROWS = 256
MOST_SEEN = 1024
WIDEST_ROW = 64
MOST_NODES = 512
# Rows compared one after the other before the table of rows is asked; a comparison that fails costs next to nothing.
MOST_INLINE = 4


class Filters:
    """All filters of one plan, by the state of the rules at their place."""

    __slots__ = ("code", "lock", "names_left", "nodes", "numbers", "opener", "rows_left", "seen", "select_in_text")

    def __init__(self, opener: Opener, select_in_text: Callable[[str, State], Any]) -> None:
        self.opener = opener
        self.select_in_text = select_in_text  # selects inside a string that stands for an object
        self.nodes: dict[State, PlaceFilter] = {}
        self.code: dict[str, Any] = {"GONE": GONE, "SCALARS": SCALARS}
        self.names_left = MOST_NAMES
        self.rows_left = MOST_ROWS
        self.seen: set[tuple[str, tuple[str, ...]]] = set()
        self.numbers = count()
        self.lock = Lock()

    def node(self, state: State) -> PlaceFilter:
        """Return the filter for a state; past the bound, one that walks."""
        node = self.nodes.get(state)
        if node is not None:
            return node
        if len(self.nodes) >= MOST_NODES:
            return PlaceFilter(self, state, "")
        # Counted, not measured: two threads that make filters at once must not give them one name.
        return self.nodes.setdefault(state, PlaceFilter(self, state, f"f{next(self.numbers)}"))

    def comes_again(self, name: str, row: tuple[str, ...]) -> bool:
        """Return whether a row of keys was met before at a place and there is room to learn it."""
        if self.rows_left <= 0 or (name, row) in self.seen:
            return self.rows_left > 0
        if len(row) <= WIDEST_ROW and all(type(key) is str and len(key) <= LONGEST_NAME for key in row):
            if len(self.seen) >= MOST_SEEN:
                # Rows that never come again (objects keyed by id) must not fill this for good.
                self.seen = set()
            self.seen.add((name, row))
        return False

    def remembers(self, key: Any) -> bool:
        """Return whether a decision about a key is kept, and make room for it."""
        if type(key) is not str or len(key) > LONGEST_NAME:
            return False
        self.names_left -= 1
        if self.names_left < 0:
            self.names_left = MOST_NAMES
            for node in list(self.nodes.values()):
                node.names = {}
        return True

    def install(self, name: str, lines: list[str]) -> Filter:
        """Compile one function among the others."""
        source = "\n".join([f"def {name}(x):", *(f" {line}" for line in lines)])
        exec(compile(source, "<shaping plan>", "exec"), self.code)  # noqa: S102 - our own text; keys enter it by ascii()
        made: Filter = self.code[name]
        return made


class PlaceFilter:
    """The filter of one place: `run` is the fastest way known so far."""

    __slots__ = ("bodies", "filters", "name", "names", "rows", "run", "state")

    def __init__(self, filters: Filters, state: State, name: str) -> None:
        self.filters = filters
        self.state = state
        self.name = name
        self.bodies: list[list[str]] = []
        self.names: dict[str, tuple[str, PlaceFilter | None] | None] = {}
        self.rows: dict[tuple[str, ...], Filter] = {}
        # Without rules there is nothing to do, and without a name no code can call this filter: both just walk.
        self.run: Filter = self._look if name and not state.whole else self._walk
        if name:
            filters.code |= {name: self._look, f"meet_{name}": self._meet, f"odd_{name}": self._odd}

    def _look(self, value: Any) -> Any:
        """Filter before any code was generated for this place."""
        if type(value) is dict:
            return self._meet(value)
        if type(value) is list:
            return [kept for item in value if (kept := self.run(item)) is not GONE]
        return self._odd(value)

    def _odd(self, value: Any) -> Any:
        """Filter what is neither dict nor list: a scalar, or something to open."""
        inside = value if type(value) in SCALARS else open_exactly(value, self.filters.opener)
        if type(inside) is dict or type(inside) is list:
            return self.run(inside)
        if type(inside) is str and self.state.partial:
            return self.filters.select_in_text(inside, self.state)
        return GONE if self.state.partial else inside

    def _walk(self, value: Any) -> Any:
        return FilterWalk(self.filters.opener).run(value, self.state, OmissionNode())

    def _meet(self, value: dict[str, Any]) -> dict[str, Any]:
        """Filter an object by the code for its row of keys; a row is learned when it comes the second time."""
        row = tuple(value)
        known = self.rows.get(row) or (self._learn(row) if self.filters.comes_again(self.name, row) else None)
        kept: dict[str, Any] = (known or self._loop)(value)
        return kept

    def _loop(self, value: dict[str, Any]) -> dict[str, Any]:
        """Filter an object member by member."""
        result: dict[str, Any] = {}
        for key, name, node in self._kept(tuple(value)):
            item = value[key] if node is None else node.run(value[key])
            if item is not GONE:
                result[name] = item
        return result

    def _kept(self, row: tuple[str, ...]) -> list[tuple[str, str, PlaceFilter | None]]:
        """List the members to keep: the key, the name it is written under, and the filter inside it."""
        judged = {key: rule for key in row if (rule := self._judge(key)) is not None}
        if not self.state.rename:
            return [(key, name, node) for key, (name, node) in judged.items()]
        names = settle([(key, name) for key, (name, _) in judged.items()])
        return [(key, names[key], node) for key, (_, node) in judged.items()]

    def _judge(self, key: Any) -> tuple[str, PlaceFilter | None] | None:
        """Decide about a member by its key, once for each key while there is room."""
        known = self.names
        if key in known:
            return known[key]
        verdict = self.state.member(str(key))
        rule: tuple[str, PlaceFilter | None] | None = None
        if verdict is not None:
            rule = written_key(key, verdict), None if verdict.state.whole else self.filters.node(verdict.state)
        if self.filters.remembers(key):
            self.names[key] = rule
        return rule

    def _learn(self, row: tuple[str, ...]) -> Filter | None:
        """Generate the code for a row of keys."""
        # Never waited for: a thread that finds the lock taken (or lost in a fork) does without new code this time.
        if not self.filters.lock.acquire(blocking=False):
            return None
        try:
            self.filters.rows_left -= 1
            made = self.rows[row] = self._generate(row)
        finally:
            self.filters.lock.release()
        return made

    def _generate(self, row: tuple[str, ...]) -> Filter:
        key = self._only_key()
        if key is not None:
            self.run = self.filters.install(self.name, _only_body(self.name, key))
            return self.run
        kept = self._kept(row)
        if any(node is not None and not node.name for *_, node in kept):
            return self._loop
        body = _row_body(kept, row)
        if len(self.bodies) == MOST_INLINE:
            return self.filters.install(f"{self.name}_{len(self.rows)}", body)
        self.filters.code[f"row_{self.name}_{len(self.bodies)}"] = list(row)
        self.bodies.append(body)
        self.run = self.filters.install(self.name, _place_body(self.name, self.bodies, partial=self.state.partial))
        return self.run

    def _only_key(self) -> str | None:
        """Return the key where one member is wanted, whole and under its own name, and nothing else is said."""
        rests = self.state.include or ()
        if len(rests) != 1 or self.state.exclude or self.state.rename:
            return None
        ((head, *rest),) = rests
        # A key that reads like a number may also be met as a number, which a lookup by text would miss.
        return head.key if isinstance(head, Name) and not rest and head.key.isidentifier() else None


def _only_body(name: str, key: str) -> list[str]:
    """Write the filter that keeps one member: one key has only one order, so there is no row to compare."""
    text = ascii(key)
    return [
        *("if type(x) is dict:", f" return {{{text}: x[{text}]}} if {text} in x else {{}}"),
        *("if type(x) is list:", " o = []", " for x in x:"),
        *(f"  if type(x) is dict and {text} in x:", f"   o.append({{{text}: x[{text}]}})"),
        *(f"  elif (y := {name}(x)) is not GONE:", "   o.append(y)"),
        *(" return o", f"return odd_{name}(x)"),
    ]


def _place_body(name: str, bodies: list[list[str]], *, partial: bool) -> list[str]:
    """Write the filter of a place: objects with one of the first rows at once, others by the table of rows."""
    rows = [
        line
        for at, body in enumerate(bodies)
        for line in (f"  if r == row_{name}_{at}:", *(f"   {line}" for line in body))
    ]
    *lines, last = bodies[0]
    other = f"{name}(x)" if partial else f"x if type(x) in SCALARS else {name}(x)"
    return [
        *("if type(x) is dict:", "  r = list(x)", *rows, f"  return meet_{name}(x)"),
        *("if type(x) is list:", " o = []", " for x in x:"),
        # Elements with the first row are filtered without a call; what was not asked for is dropped.
        f"  if type(x) is dict and list(x) == row_{name}_0:",
        *(f"   {line}" for line in lines),
        *(f"   o.append({last.removeprefix('return ')})", "   continue"),
        *(f"  y = {other}", "  if y is not GONE:", "   o.append(y)"),
        *(" return o", f"return odd_{name}(x)"),
    ]


def _row_body(kept: list[tuple[str, str, PlaceFilter | None]], row: tuple[str, ...]) -> list[str]:
    """Write the lines that filter one object with exactly these keys in this order."""
    if len(kept) == len(row) and all(key == name and node is None for key, name, node in kept):
        return ["return x"]
    values, lines, gone = [], list[str](), list[str]()
    for at, (key, name, node) in enumerate(kept):
        value = f"x[{key!a}]"
        if node is not None and node.state.partial:
            lines.append(f"v{at} = {node.name}({value})")
            gone += [f"if v{at} is GONE:", f" del d[{name!a}]"]
            value = f"v{at}"
        elif node is not None:
            value = f"v if type(v := {value}) in SCALARS else {node.name}(v)"
        values.append(f"{name!a}: {value}")
    display = f"{{{', '.join(values)}}}"
    return [*lines, f"d = {display}", *gone, "return d"] if gone else [*lines, f"return {display}"]
