"""The fields of a tool's answers as a tree: which of them say nothing, which nobody used, and which must stay."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, Final

import orjson

from shaping.learning.statistics import FieldStatistics, ToolStatistics, is_keyed_by_ids
from shaping.noise.vocabulary import meaning
from shaping.paths import PathError, parse
from shaping.paths.grammar import Deep, Each, Glob, Index, Name, Path, Slice, Step
from shaping.settings.patterns import is_for
from shaping.tokens import count

_FEW_CALLS: Final = 3  # fewer do not tell what a tool always answers
_HEAVY: Final = 0.02  # of a tool's bytes
_IDENTIFYING: Final = 2  # fields that identify a record which are kept with what is wanted of it
_NO_PAGE_NAMED: Final = 7  # the rank of a name that says link or address, and not that it is a page
_BEST_NAMES: Final = {"id": 0, "number": 1, "key": 2, "name": 3, "title": 4, "path": 5, "login": 6}
_ERRORS: Final = frozenset({"error", "errors", "message", "warning", "warnings"})
_STEPS: Final[Mapping[str, Step]] = {"*": Glob("*"), "**": Deep()}
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class FieldShare:
    """How much of a tool's answers one field is, and what is known about its values."""

    path: str
    share: float  # of the tokens of all names and values
    notes: tuple[str, ...] = ()


class Fields:
    """The fields of one tool; `told` are paths that somebody asks for."""

    def __init__(self, found: ToolStatistics, told: Iterable[str] = ()) -> None:
        self._found = found
        self._told = [names(path) for path in told]
        self._steps = {path: names(path) for path in found.fields if path}
        parents = {steps[:at] for steps in self._steps.values() for at in range(len(steps))}
        self.leaves = {path: steps for path, steps in self._steps.items() if steps and steps not in parents}

    @cached_property
    def needed(self) -> frozenset[str]:
        """Fields that must stay: something in them was used or is asked for, or a program goes on by them."""
        return frozenset(
            path
            for path, steps in self.leaves.items()
            if self._found.fields[path].used
            or any(_meets(told, steps) for told in self._told)
            or meaning(steps[-1]).continues
            or steps[-1].casefold() in _ERRORS
        )

    def silent(self) -> dict[str, str]:
        """Return the fields that say nothing, each with the reason; what stands below one of them goes with it."""
        return self._highest({path: why for path in self.leaves if (why := self._why_silent(path))})

    def unused(self) -> dict[str, str]:
        """Return the heavy fields of which nothing was used."""
        least = _HEAVY * max(1, sum(one.bytes for one in self._found.fields.values()))
        heavy = {
            path: "never used"
            for path, steps in self.leaves.items()
            if path not in self.needed and not self._identifies(steps) and self._found.fields[path].bytes >= least
        }
        return dict(sorted(self._highest(heavy).items(), key=lambda pair: (-self.about(pair[0]).bytes, pair[0])))

    def wanted(self) -> list[str]:
        """Return the fields that were used or are asked for, with what identifies the records that they belong to."""
        wanted = {path for path in self.needed if not meaning(self.leaves[path][-1]).continues}
        if not wanted:
            return []
        owners = {self.leaves[path][:-1] for path in wanted}
        identified = {self.leaves[path][:-1] for path in wanted if self._identifies(self.leaves[path])}
        for owner in sorted(owners - identified):
            beside = [
                path
                for path, steps in self.leaves.items()
                if steps[:-1] == owner and self._identifies(steps) and path not in wanted
            ]
            ranks = {path: _BEST_NAMES.get(self.leaves[path][-1].casefold(), len(_BEST_NAMES)) for path in beside}
            wanted.update(sorted(beside, key=lambda path: (ranks[path], path))[:_IDENTIFYING])
        written = self._written(wanted | self.needed)
        # A field that is asked for may stand in an answer that is still to come.
        told = (_text(steps) for steps in self._told if not any(_meets(steps, leaf) for leaf in self.leaves.values()))
        return [*written, *told]

    @property
    def longest_list(self) -> int:
        """The length of the longest list that the answers have at their top, or next to it."""
        lists = (one for path, one in self._found.fields.items() if "list" in one.types and path.count("[]") == 0)
        return max((one.longest for one in lists), default=0)

    @property
    def last_used(self) -> int:
        """The place of the last element of such a list of which something was used."""
        return max((one.last_used for path, one in self._found.fields.items() if path.count("[]") == 1), default=0)

    def heaviest(self, most: int, answers: Iterable[Any]) -> tuple[tuple[FieldShare, ...], int, tuple[str, ...]]:
        """Return the fields with most tokens in some answers, how many more there are, and which of those were used."""
        found: Counter[tuple[str, ...]] = Counter()
        for answer in answers:
            _count_fields(answer, (), found)
        paths = {steps: path for path, steps in self.leaves.items()}  # a list and its elements are one field
        ordered = sorted(paths, key=lambda steps: (-found[steps], steps))
        light = [paths[steps] for steps in ordered[most:]]
        total = max(1, sum(found[steps] for steps in paths))
        heavy = (
            FieldShare(paths[steps], found[steps] / total, tuple(self._notes(paths[steps]))) for steps in ordered[:most]
        )
        return tuple(heavy), len(light), tuple([path for path in light if self._found.fields[path].used][:most])

    def about(self, path: str) -> FieldStatistics:
        """Return the statistics of a field and all below it."""
        steps = names(path)
        below = [self._found.fields[one] for one, named in self._steps.items() if named[: len(steps)] == steps]
        merged = reduce(FieldStatistics.merge, below, FieldStatistics())
        return replace(merged, calls=max(found.calls for found in below))

    def _notes(self, path: str) -> Iterator[str]:
        """Say what the values of a field are, where enough of them tell."""
        found = self.about(path)
        if found.values >= _FEW_CALLS:
            if found.values == found.empty:
                yield "always null" if found.types == {"null"} else "always empty"
            elif found.distinct is not None and len(found.distinct) == 1 and not found.empty:
                yield f"constant: {' '.join(found.sample.split())}"
            elif found.equal == found.values:
                yield "the same as another field of its record"
            elif found.links == found.values and found.sources:
                yield f"a link made of {', '.join(sorted(found.sources))}"
        if meaning(self.leaves[path][-1]).opaque:
            yield "opaque"
        if found.used:
            yield "used later"

    def _why_silent(self, path: str) -> str:
        steps, found = self.leaves[path], self._found.fields[path]
        if path in self.needed or found.values == found.empty or self._found.calls < _FEW_CALLS:
            return ""
        said = meaning(steps[-1])
        if found.equal == found.values >= _FEW_CALLS:
            return "the same as another field of its record"
        if said.opaque:
            return "opaque"
        # The link that a person would open stays. A value that is always the same is said once, and costs little; left
        # out by its name it would be missing on the day that it is another.
        if found.links == found.values and said.hypermedia and not said.identifies and said.page_rank >= _NO_PAGE_NAMED:
            return "a link that nobody used"
        return ""

    def _identifies(self, steps: tuple[str, ...]) -> bool:
        return meaning(steps[-1]).identifies and not meaning(steps[-1]).opaque

    def _highest(self, reasons: Mapping[str, str]) -> dict[str, str]:
        """Name a whole branch where all its leaves go for one reason."""
        out: dict[str, str] = {}
        for path in self._written(reasons):
            steps = names(path)
            whys = {why for leaf, why in reasons.items() if self.leaves[leaf][: len(steps)] == steps}
            out[path] = next(iter(whys)) if len(whys) == 1 else "says nothing"
        return out

    def _written(self, chosen: Iterable[str]) -> list[str]:
        """Write a choice of leaves as few paths: a branch of which all leaves are chosen is one path."""
        leaves = {self.leaves[path] for path in chosen}
        every = list(self.leaves.values())
        found: dict[tuple[str, ...], None] = {}
        for steps in sorted(leaves):
            whole = next(
                steps[:size]
                for size in range(1, len(steps) + 1)
                if all(other in leaves for other in every if other[:size] == steps[:size])
            )
            found[whole] = None
        texts = {steps: path for path, steps in self._steps.items()}
        return [texts.get(steps, _text(steps)).removeprefix("[].").removesuffix("[]") for steps in found]


def _count_fields(value: Any, steps: tuple[str, ...], found: Counter[tuple[str, ...]], name: str = "") -> None:
    """Add the tokens of each value and its name to those of the field that it is part of."""
    if isinstance(value, dict) and value:
        keyed = is_keyed_by_ids(value)
        for key, item in value.items():
            _count_fields(item, (*steps, "*" if keyed else key), found, f"{orjson.dumps(key).decode()}:")
    elif isinstance(value, list) and value:
        for item in value:
            _count_fields(item, steps, found, name)
            name = ","
    else:
        found[steps] += count(f"{name}{orjson.dumps(value).decode()},")


def names(path: str) -> tuple[str, ...]:
    """Return the names of a path, without its elements: lists are passed through."""
    if not path:
        return ()
    steps = (step for step in parse(path).steps if not isinstance(step, Each | Index | Slice))
    return tuple(step.key if isinstance(step, Name) else str(step) for step in steps)


def covers(path: str, other: str) -> bool:
    """Return whether one path names the other, something in it, or what it stands in."""
    try:
        return _meets(names(path), names(other))
    except PathError:
        return False


def leads_to(path: str, field: str) -> bool:
    """Return whether a path names a field, or something that the field stands in."""
    return _meets(names(path), names(field), whole=True)


def answer_paths(config: Mapping[str, Any], tool: str) -> tuple[str, ...]:
    """Return the paths that the `answers` of a config ask of a tool; of a JMESPath, every name in it."""
    named = (f"**.{word}" for one in _answers(config, tool) for word in jmespath_names(one.get("jmespath", "")))
    return (*(one["path"] for one in _answers(config, tool) if "path" in one), *named)


def jmespath_names(expression: str) -> list[str]:
    """Return every name in a JMESPath expression."""
    return _WORD.findall(expression)


def answer_patterns(config: Mapping[str, Any], tool: str) -> tuple[str, ...]:
    """Return the patterns by which the `answers` of a config ask something of a tool's texts."""
    return tuple(one["pattern"] for one in _answers(config, tool) if "pattern" in one)


def found_in(pattern: str | None, text: str) -> list[str]:
    """Return what a pattern finds in a text: of each match its first group, or all of it."""
    return [found[1] if found.re.groups else found[0] for found in re.finditer(pattern or "", text, re.MULTILINE)]


def _answers(config: Mapping[str, Any], tool: str) -> list[dict[str, str]]:
    overrides = config.get("tool_overrides") or {}
    return [one for pattern, rules in overrides.items() if is_for(tool, pattern) for one in rules.get("answers") or ()]


def _text(steps: tuple[str, ...]) -> str:
    return str(Path(tuple(_STEPS[step] if step in _STEPS else Name(step) for step in steps)))


def _meets(told: tuple[str, ...], steps: tuple[str, ...], *, whole: bool = False) -> bool:
    """Return whether two rows of names lead the same way as far as both go; `**` stands for any number of names."""
    if not told or not steps:
        return not told or not whole
    if told[0] == "**":
        return len(told) == 1 or any(_meets(told[1:], steps[at:], whole=whole) for at in range(len(steps)))
    same = steps[0] == "*" or (Glob(told[0]).fits(steps[0]) if "*" in told[0] else told[0] == steps[0])
    return same and _meets(told[1:], steps[1:], whole=whole)
