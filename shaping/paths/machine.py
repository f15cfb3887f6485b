"""The filter at work: it meets data, learns the rows of keys that come again, and has code written for those."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from shaping.paths import emit
from shaping.paths.grammar import Name
from shaping.paths.rules import settle
from shaping.paths.walk import GONE, SCALARS, FilterWalk, OmissionNode, opened, written

if TYPE_CHECKING:
    from shaping.paths.rules import State
    from shaping.paths.walk import Opener

Filter: TypeAlias = Callable[[Any], Any]

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
# Names looked for one by one in every object; with more, rows of keys are cheaper.
MOST_SUBTRACTED = 16


class Filters:
    """All filters of one plan, by the state of the rules at their place."""

    __slots__ = ("code", "names_left", "nodes", "numbers", "opener", "pen", "rows_left", "seen")

    def __init__(self, opener: Opener) -> None:
        self.opener = opener
        self.nodes: dict[State, PlaceFilter] = {}
        self.code: dict[str, Any] = {"GONE": GONE, "SCALARS": SCALARS}
        self.names_left = MOST_NAMES
        self.rows_left = MOST_ROWS
        self.seen: set[tuple[str, tuple[str, ...]]] = set()
        self.numbers = count()
        self.pen = Lock()

    def node(self, state: State) -> PlaceFilter:
        """Give the filter of a state; past the bound, one that walks."""
        node = self.nodes.get(state)
        if node is not None:
            return node
        if len(self.nodes) >= MOST_NODES:
            return PlaceFilter(self, state, "")
        # Counted, not measured: two threads that make filters at once must not give them one name.
        return self.nodes.setdefault(state, PlaceFilter(self, state, f"f{next(self.numbers)}"))

    def comes_again(self, name: str, row: tuple[str, ...]) -> bool:
        """Say whether a row of keys was met before in a place and there is room to learn it."""
        if self.rows_left <= 0 or (name, row) in self.seen:
            return self.rows_left > 0
        if len(row) <= WIDEST_ROW and all(type(key) is str and len(key) <= LONGEST_NAME for key in row):
            if len(self.seen) >= MOST_SEEN:
                # Rows that never come again (objects keyed by id) must not fill this for good.
                self.seen = set()
            self.seen.add((name, row))
        return False

    def remembers(self, key: Any) -> bool:
        """Say whether a decision about a key is kept, and make room for it."""
        if type(key) is not str or len(key) > LONGEST_NAME:
            return False
        self.names_left -= 1
        if self.names_left < 0:
            self.names_left = MOST_NAMES
            for node in list(self.nodes.values()):
                node.names = {}
        return True

    def install(self, source: str, name: str) -> Filter:
        """Compile the text of one function among the others."""
        exec(compile(source, "<shaping plan>", "exec"), self.code)  # noqa: S102 - our own text; keys enter it by ascii()
        made: Filter = self.code[name]
        return made


class PlaceFilter:
    """The filter of one place: `run` is the best way known so far."""

    __slots__ = ("bodies", "machine", "name", "names", "rows", "run", "state")

    def __init__(self, machine: Filters, state: State, name: str) -> None:
        self.machine = machine
        self.state = state
        self.name = name
        self.bodies: list[list[str]] = []
        self.names: dict[str, tuple[str, PlaceFilter | None] | None] = {}
        self.rows: dict[tuple[str, ...], Filter] = {}
        # Without rules there is nothing to do, and without a name no code can call this filter: both just walk.
        self.run: Filter = self._look if name and not state.whole else self._walk
        if name:
            machine.code |= {name: self._look, f"meet_{name}": self._meet, f"odd_{name}": self._odd}

    def _look(self, value: Any) -> Any:
        """Filter before any code was written for this place."""
        if type(value) is dict:
            return self._meet(value)
        if type(value) is list:
            return [kept for item in value if (kept := self.run(item)) is not GONE]
        return self._odd(value)

    def _odd(self, value: Any) -> Any:
        """Filter what is neither dict nor list: a scalar, or something to open."""
        inside = value if type(value) in SCALARS else opened(value, self.machine.opener)
        if type(inside) is dict or type(inside) is list:
            return self.run(inside)
        return GONE if self.state.partial else inside

    def _walk(self, value: Any) -> Any:
        return FilterWalk(self.machine.opener).run(value, self.state, OmissionNode())

    def _meet(self, value: dict[str, Any]) -> dict[str, Any]:
        """Filter an object by the code for its row of keys; a row is learned when it comes the second time."""
        row = tuple(value)
        known = self.rows.get(row)
        if known is not None:
            kept: dict[str, Any] = known(value)
            return kept
        return self._learn(value, row) if self.machine.comes_again(self.name, row) else self._loop(value)

    def _loop(self, value: dict[str, Any]) -> dict[str, Any]:
        """Filter an object member by member."""
        judged = {key: rule for key in value if (rule := self._judge(key)) is not None}
        names = settle([(key, name) for key, (name, _) in judged.items()]) if self.state.rename else None
        result: dict[str, Any] = {}
        for key, (_, node) in judged.items():
            item = value[key] if node is None else node.run(value[key])
            if item is not GONE:
                result[names[key] if names else key] = item
        return result

    def _judge(self, key: Any) -> tuple[str, PlaceFilter | None] | None:
        """Decide about a member by its key, once for each key while there is room."""
        known = self.names
        if key in known:
            return known[key]
        verdict = self.state.member(str(key))
        rule: tuple[str, PlaceFilter | None] | None = None
        if verdict is not None:
            rule = written(key, verdict), None if verdict.state.whole else self.machine.node(verdict.state)
        if self.machine.remembers(key):
            self.names[key] = rule
        return rule

    def _learn(self, value: dict[str, Any], row: tuple[str, ...]) -> dict[str, Any]:
        """Filter an object by code written for it now."""
        # Never waited for: whoever finds the pen taken (or lost in a fork) does without new code this time.
        if not self.machine.pen.acquire(blocking=False):
            return self._loop(value)
        try:
            self.machine.rows_left -= 1
            made = self.rows[row] = self._write(row)
        finally:
            self.machine.pen.release()
        kept: dict[str, Any] = made(value)
        return kept

    def _write(self, row: tuple[str, ...]) -> Filter:
        """Have code written for a row of keys, or for all objects in this place where the rules allow it."""
        general = self._only() or self._subtract()
        if general is not None:
            self.run = self.machine.install(general, self.name)
            return self.run
        fields = self._fields(row)
        if fields is None:
            return self._loop
        body = emit.members(fields, row)
        if len(self.bodies) < MOST_INLINE:
            self.machine.code[f"row_{self.name}_{len(self.bodies)}"] = list(row)
            self.bodies.append(body)
            self.run = self.machine.install(emit.by_rows(self.name, self.bodies, partial=self.state.partial), self.name)
            return self.run
        name = f"{self.name}_{len(self.rows)}"
        return self.machine.install(emit.one_row(name, body), name)

    def _fields(self, row: tuple[str, ...]) -> list[emit.Field] | None:
        """Decide about every key of a row; None where code cannot be written for it."""
        judged = {key: rule for key in row if (rule := self._judge(key)) is not None}
        if any(node is not None and not node.name for _, node in judged.values()):
            return None
        names = settle([(key, name) for key, (name, _) in judged.items()])
        return [
            emit.Field(key, names[key], node.name if node else None, node is not None and node.state.partial)
            for key, (_, node) in judged.items()
        ]

    def _only(self) -> str | None:
        """Write the filter of a place where one key is wanted, whole and under its own name, and nothing else said."""
        heads = list(self.state.heads())
        if not self.state.partial or len(heads) != 1 or not isinstance(heads[0], Name):
            return None
        (rest,) = self.state.include or ((),)
        key = heads[0].key
        # A key that reads like a number may also be met as a number, which a lookup by text would miss.
        return emit.only(self.name, key) if len(rest) == 1 and key.isidentifier() else None

    def _subtract(self) -> str | None:
        """Write the filter of a place where everything is wanted except for some names."""
        heads = set(self.state.heads())
        names = sorted(head.key for head in heads if isinstance(head, Name) and head.key.isidentifier())
        if self.state.partial or self.state.rename or len(names) < len(heads) or len(names) > MOST_SUBTRACTED:
            return None
        rules = {key: rule for key in names if (rule := self._judge(key)) is not None}
        # No identifier is empty, so no rule names this member: it stands for all others.
        _, others = self._judge("") or ("", None)
        inner = {key: node.name for key, (_, node) in rules.items() if node is not None}
        if (others and not others.name) or not all(inner.values()):
            return None
        gone = [key for key in names if key not in rules]
        return emit.subtract(self.name, gone, inner, others.name if others else None)
