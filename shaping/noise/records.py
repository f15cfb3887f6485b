"""What a noise rule is, and the records at one path of a payload that it looks at and decides about."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, compress, islice, starmap
from operator import is_not, itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from shaping.noise.vocabulary import LINK_STARTS, meaning
from shaping.paths.grammar import Slice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from shaping.response import Json, Reason

Owners: TypeAlias = "Callable[[], Sequence[dict[str, Json]]]"


@dataclass(frozen=True, slots=True, eq=False)  # found by identity: hashing its fields is slow
class NoiseRule:
    """A rule: the group that a config names it by, the members it looks at, and the function that decides.

    The engine shows the rule all records at one path, where they have a member of one of its kinds and names.
    """

    group: str
    kinds: frozenset[Kind]
    apply: Callable[[Records], None]
    named: Callable[[str], bool] | None = None  # whether a member's name is one that the rule is about; None for any
    least: int = 1  # records at one path from which the rule has anything to say

    def is_about(self, members: Mapping[Kind, Sequence[str]]) -> bool:
        """Whether the rule is about one of these members, whose names stand by kind."""
        if self.kinds.isdisjoint(members):
            return False
        named = [name for kind in self.kinds for name in members.get(kind, ())]
        # Objects keyed by ids have more, whose names say nothing.
        return self.named is None or len(named) > USUAL or any(map(self.named, named))


Kind: TypeAlias = Literal[
    "link",  # a string that is one URL
    "long",  # a string of more than LONG characters
    "opaque",  # a string under the name of a checksum, an etag, a node id
    "base64",  # a string of the letters of base64
    "markup",  # a string with tags, a URL or several lines in it
    "hex",  # a string of 64 and more letters and digits
    "nested",  # an object or a list
    "plain",  # anything else
]

LONG: Final = 320  # characters
SHORT: Final = 8
SUM_STARTS: Final = ("h1:", "sha256", "sha384", "sha512", "md5:")
BASE64: Final = 120  # letters from which a string may be code that nobody reads
_BASE64: Final = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9+/_=\n-]+")


def kind_of_string(key: str, value: str) -> Kind:
    """Return the kind of a member that holds a string."""
    size = len(value)
    slash = "/" in value
    if (slash or "@" in value) and value.startswith(LINK_STARTS):
        return "link" if " " not in value and "\n" not in value else "markup"
    if size < SHORT:
        return "plain"
    if size > LONG:
        return "long"
    if (said := meaning(key)).opaque:
        return "opaque"
    if size >= BASE64 and not (said.identifies or said.continues) and _BASE64.fullmatch(value):
        return "base64"
    if size >= 20 and ("\n" in value or (slash and ("</" in value or "://" in value))):
        return "markup"
    return "hex" if (size >= 64 and value.isalnum()) or value.startswith(SUM_STARTS) else "plain"


_SIZE = 8
_CODE = re.compile(r"[\w+/=.:\"@-]{8,}")
_LETTERS = bytes(letter for letter in range(128) if re.match(r"[\w+/=.:\"@-]", chr(letter)))


def all_http(values: Sequence[Any]) -> bool:
    """Whether all values are strings that begin with `http`."""
    try:
        # What sorts between these two begins with the first of them.
        return bool(min(values) >= "http" and max(values) < "httq")
    except TypeError:  # one is something else
        return False


def all_match(pattern: re.Pattern[str], values: Sequence[str]) -> bool:
    """Whether all strings that are not empty match a pattern without blanks, line ends aside."""
    # Most long texts have a blank near their start.
    return all(not value or (" " not in value and pattern.fullmatch(value.replace("\n", ""))) for value in values)


def all_codes(values: Sequence[str]) -> bool:
    """Whether all strings that are not empty are what a machine made, without a blank in it."""
    joined = "\0".join(values)
    # Taking the letters of a code away from all of them leaves only what joins them.
    if joined.isascii() and len(joined.encode().translate(None, _LETTERS)) == len(values) - 1:
        return min(map(len, values)) >= _SIZE or all(len(value) >= _SIZE or not value for value in values)
    return all_match(_CODE, values)


def longest(values: Sequence[Any]) -> int:
    """Return how long the longest value is; where one has no length, only strings count."""
    try:
        return max(map(len, values), default=0)
    except TypeError:
        return max((len(value) for value in values if type(value) is str), default=0)


MISSING: Final[Any] = object()
_SHAPES = 24  # records of more shapes than this are sorted by the first of them
USUAL: Final = 64  # members that a record may have; objects keyed by ids have more


class Layout:
    """What the names of members and their kinds say by themselves: the members of each kind, and the rules for them."""

    def __init__(self, names: Sequence[str], kinds: Sequence[Kind], rules: Sequence[NoiseRule]) -> None:
        members: dict[Kind, list[str]] = {}
        for name, kind in zip(names, kinds, strict=True):
            members.setdefault(kind, []).append(name)
        self.members: Mapping[Kind, tuple[str, ...]] = {kind: tuple(some) for kind, some in members.items()}
        self.rules = [rule for rule in rules if rule.is_about(members)]

    @cached_property
    def identifiers(self) -> list[str]:
        """The names of plain members that identify a record."""
        return [name for name in self.members.get("plain", ()) if meaning(name).identifies]


_usual_layout = lru_cache(maxsize=1024)(Layout)  # that of most records comes again


def _lost_names(old: Any, new: Any) -> Iterable[str | Slice | None]:
    """Return the names that an object has no more, the others of a list's only element, or None for any other value."""
    if type(old) is type(new) is dict:
        return [name for name in old if name not in new]
    if type(old) is type(new) is list and len(new) == 1:
        for at, item in enumerate(old):
            if item is new[0]:
                return [part for part in (Slice(None, at), Slice(at + 1, None)) if part.of(old)]
    return (None,)


class Surroundings(NamedTuple):
    """What the records of one path stand in."""

    listed: bool = False  # in a list
    nested: bool = False  # in a record that has a page of its own
    siblings: int = 0  # how many other members the record has that they are a member of
    owners: Owners | None = None  # returns the records that they stand in, one for each


class Records:
    """All records at one path, their members by kind, and what the rules have decided about them.

    A few records stand for all in sorting members by kind: one of each shape, the middle and the last.
    A rule looks at every record before it takes anything from it.
    """

    __slots__ = (
        "_rules", "arguments", "changed", "drop", "kinds", "layout", "listed", "nested", "owners", "page", "replace",
        "rows", "sample", "siblings", "uniform",
    )  # fmt: skip

    def __init__(
        self,
        rows: Sequence[dict[str, Json]],
        around: Surroundings,
        arguments: frozenset[str] = frozenset(),
        rules: tuple[NoiseRule, ...] = (),
    ) -> None:
        self.rows = rows
        self.listed, self.nested, self.siblings, self.owners = around
        self.arguments = arguments  # names of arguments that the tools take
        self.sample: Sequence[dict[str, Json]] = rows
        self.uniform = True  # whether all have the same members in the same order
        self.drop: dict[str, Reason] = {}
        self.replace: dict[str, list[Any]] = {}  # a member's new value in every record, or MISSING
        # Members whose values are shorter now, and why: how many of them, or of what they held under each name.
        self.changed: dict[str, tuple[Counter[str | Slice | None], Reason]] = {}
        self.page = False  # whether a link of these records is kept
        if len(rows) > 1:
            self._take_sample()
        self.kinds: dict[str, Kind] = self._kinds()
        if len(rows) > len(self.sample):
            self._find_long()
        self._rules = rules
        self.layout = self._layout()

    def _layout(self) -> Layout:
        layout = _usual_layout if len(self.kinds) <= USUAL else Layout
        return layout(tuple(self.kinds), tuple(self.kinds.values()), self._rules)

    def _kinds(self) -> dict[str, Kind]:
        kinds: dict[str, Kind] = {}
        known = kinds.get
        for row in self.sample:
            for key, value in row.items():
                if known(key, "plain") != "plain":
                    continue
                kind = type(value)
                if kind is not str:
                    kinds[key] = "nested" if kind is dict or kind is list else "plain"
                elif value.startswith("https://") and " " not in value and "\n" not in value:  # type: ignore[union-attr,operator]
                    kinds[key] = "link"
                elif len(value) < SHORT and "/" not in value and "@" not in value:  # type: ignore[arg-type,operator]
                    kinds[key] = "plain"
                else:
                    kinds[key] = kind_of_string(key, value)  # type: ignore[arg-type]
        return kinds

    def _take_sample(self) -> None:
        last_of_each = {tuple(row): row for row in self.rows}
        self.uniform = len(last_of_each) == 1
        self.sample = [self.rows[0], *islice(last_of_each.values(), _SHAPES)]

    def _find_long(self) -> None:
        """Find the long strings among short ones, which are seldom in a sample."""
        first, kinds = self.sample[0], self.kinds
        keys = [
            key for key, value in first.items() if type(value) is str and len(value) > SHORT and kinds[key] == "plain"
        ]
        if len(keys) > 1 and longest(self.cells(keys)) <= LONG:
            return
        for key in keys:
            values = self.present(key)
            # A list among the strings counts by its length, but only where every record has the member.
            if longest(values if self.uniform else [value for value in values if type(value) is str]) > LONG:
                kinds[key] = "long"

    def move(self, key: str, kind: Kind) -> None:
        """Make a member one of another kind; a nested one that is plain now is not gone into."""
        self.kinds[key] = kind
        self.layout = self._layout()

    def members(self, *kinds: Kind) -> Sequence[str]:
        """Return the names of the members of these kinds, kind by kind."""
        members = self.layout.members
        if len(kinds) == 1:
            return members.get(kinds[0], ())
        return [key for kind in kinds if kind in members for key in members[kind]]

    def untouched(self, *kinds: Kind) -> list[str]:
        """Return the members of these kinds that no rule has decided about and no tool takes as an argument."""
        drop, replace, arguments = self.drop, self.replace, self.arguments
        return [key for key in self.members(*kinds) if key not in drop and key not in replace and key not in arguments]

    def replace_column(self, key: str, new: list[Any], reason: Reason) -> None:
        """Replace the values of a member, where any of them is another object."""
        old = self.column(key)
        if changed := list(compress(zip(old, new, strict=True), map(is_not, old, new))):
            self.replace[key] = new
            self.changed.setdefault(key, (Counter(chain.from_iterable(starmap(_lost_names, changed))), reason))

    def replace_texts(self, key: str, change: Callable[[str], str], reason: Reason) -> None:
        """Replace each string of a member by what a function makes of it."""
        new = [change(value) if type(value) is str and value else value for value in self.column(key)]
        self.replace_column(key, new, reason)

    def drop_member(self, key: str, reason: Reason) -> None:
        """Leave a member out of every record."""
        self.drop[key] = reason
        self.replace.pop(key, None)
        self.changed.pop(key, None)

    def is_alone(self) -> bool:
        """Whether this is a single record, which may be the only element of a list."""
        return len(self.rows) == 1 and not self.siblings

    def column(self, key: str) -> list[Any]:
        """Return a member's value in every record, or MISSING."""
        if (changed := self.replace.get(key)) is not None:
            return changed
        if self.uniform:
            return [row[key] for row in self.rows]
        return [row.get(key, MISSING) for row in self.rows]

    def present(self, key: str) -> list[Any]:
        """Return a member's value in every record that has it."""
        column = self.column(key)
        return column if self.uniform and key not in self.replace else [each for each in column if each is not MISSING]

    def cells(self, keys: list[str]) -> list[Any]:
        """Return what these members hold in the records that have them, record by record."""
        if len(keys) == 1:
            return self.present(keys[0])
        if self.uniform:
            return list(chain.from_iterable(map(itemgetter(*keys), self.rows)))
        return [row[key] for row in self.rows for key in keys if key in row]

    def texts(self, key: str) -> list[str] | None:
        """Return a member's strings, or None where a record holds something else there."""
        values = self.present(key)
        if set(map(type, values)) == {str}:
            return values
        values = [value for value in values if value is not None]
        return values if values and set(map(type, values)) == {str} else None

    def identified_without(self, key: str) -> bool:
        """Whether a record can still be told from the others when this member is gone."""
        # A member of a record is known by its name, and a wrapper by what is in it.
        if self.siblings or any(map(self._identifies, self.members("nested"))):
            return True
        drop = self.drop
        if any(name != key and name not in drop for name in self.layout.identifiers):
            return True
        others = (name for name in self.members("plain") if name != key and name not in drop)
        return len(self.rows) > 1 and any(map(self._distinct, others))

    def other_members(self, key: str = "") -> int:
        """Count the members that a record has besides this one and its links."""
        others = self.siblings + len(self.kinds) - len(self.members("link"))
        return others - (self.kinds.get(key, "link") != "link")

    def _identifies(self, key: str) -> bool:
        value = self.sample[0].get(key)
        return type(value) is dict and any(meaning(name).identifies for name in value)

    def _distinct(self, key: str) -> bool:
        values = self.column(key)
        return set(map(type, values)) <= {str, int} and len(set(values)) == len(values)

    def result(self) -> Sequence[dict[str, Json]]:
        """Return the records as the rules left them; one that nothing was done to is the same object."""
        if not self.drop:
            return self._replaced() if self.replace else self.rows
        rows = self._without_dropped()
        for key, column in self.replace.items():
            for row, value in zip(rows, column, strict=True):
                if value is MISSING:
                    row.pop(key, None)
                else:
                    row[key] = value
        return rows

    def _replaced(self) -> list[dict[str, Json]]:
        rows = list(self.rows)
        for key, column in self.replace.items():
            old = [row.get(key, MISSING) for row in self.rows]
            for index in compress(range(len(rows)), map(is_not, old, column)):
                if rows[index] is self.rows[index]:
                    rows[index] = self.rows[index].copy()
                if column[index] is MISSING:
                    del rows[index][key]
                else:
                    rows[index][key] = column[index]
        return rows

    def _without_dropped(self) -> list[dict[str, Json]]:
        """Copy the records without some of their members, whichever way is less work."""
        drop = self.drop
        if self.uniform and len(self.kinds) < 2 * len(drop):
            kept = [key for key in self.kinds if key not in drop]
            return [{key: row[key] for key in kept} for row in self.rows]
        rows = [row.copy() for row in self.rows]
        for row in rows:
            for key in drop:
                if key in row:
                    del row[key]
        return rows
