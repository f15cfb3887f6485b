"""Rules that some traffic suggests, each measured on calls of that traffic.

A tool's rules come in steps, each of which leaves out more than the one before: fields that say nothing; heavy fields
that nobody used, where it is known what was used; all fields but those that were used, that a contract asks for or that
identify a record; and the tails of lists and texts beyond what was ever used. Without a target only the first step is
taken, with one as many as it needs, where they save most first. No step leaves out a value that was used later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

from shaping.learning.fields import Fields, covers, told_paths
from shaping.learning.reading import parallel
from shaping.learning.replay import SURFACES, text_after, text_before
from shaping.learning.usage import leaves, missing
from shaping.paths import parse
from shaping.paths.selection import matches
from shaping.settings import load
from shaping.shaper import Shaper
from shaping.tokens import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from shaping.learning.statistics import ToolStatistics, TrafficStatistics
    from shaping.learning.traffic import ToolCall

_LEAST_TOKENS: Final = 3  # of a call, that a rule must save
_MEASURED: Final = 60_000  # bytes of calls on which every single path is measured
_MOST_PATHS: Final = 40
_EVIDENCE: Final = 3  # calls of which something was used, before a list or a text is cut to that
_ITEMS: Final = (10, 20, 50, 100, 200, 500)
_TOKENS: Final = (500, 1_000, 2_000, 4_000, 8_000)
_SPARE: Final = 2  # times as much is kept as was ever used
_NOISE: Final = ("links", "opaque", "bulk", "boilerplate")


@dataclass(frozen=True, slots=True)
class SuggestedRule:
    """One rule of one tool, and what it does to the recorded calls."""

    key: str  # as in the config
    value: Any
    saved: float  # tokens a call, on the mean
    share: float  # of the calls that it applies to
    reason: str
    sample: str = ""

    @property
    def comment(self) -> str:
        """The line that stands above the rule in a config."""
        how = f"{self.saved:,.0f} tokens less" if self.saved >= 0 else f"{-self.saved:,.0f} tokens more"
        sample = f"; e.g. {self.sample}" if self.sample else ""
        return f"{self.reason}: {how} a call, in {self.share:.0%} of the calls{sample}"


@dataclass(frozen=True, slots=True)
class ToolSuggestion:
    """What is suggested for one tool, in tokens of all its recorded calls."""

    tool: str
    form: str  # of its results, as they were recorded
    calls: int
    before: int  # without shaping
    now: int  # with the config as it is
    after: int  # with the rules too
    rules: tuple[SuggestedRule, ...] = ()

    @property
    def override(self) -> dict[str, Any]:
        """The rules as a config has them."""
        found: dict[str, Any] = {}
        for rule in self.rules:
            found[rule.key] = [*found.get(rule.key, ()), *rule.value] if type(rule.value) is tuple else rule.value
        return found


def suggest(
    traffic: TrafficStatistics,
    *,
    config: Mapping[str, Any] | None = None,
    target: float | None = None,
    workers: int | None = None,
) -> list[ToolSuggestion]:
    """Suggest rules for every tool of some traffic; `target` is the part of all tokens that is to be saved.

    `config` is what applies already: its rules stay, and what its `answers` ask for is kept.
    """
    tools = [
        _Tool(found, traffic.argument_names(found.server), config or {})
        for found in traffic.tools.values()
        if found.samples
    ]
    size = sum(len(sample.written) for found in traffic.tools.values() for sample in found.samples.values())
    with parallel(size, workers) as run:
        tried = list(run(_Tool.try_steps, tools))
        if target is not None:
            _reach(tried, target)
        return list(run(_Tool.suggestion, tools, tried))


@dataclass(slots=True)
class _Tried:
    """The steps of one tool that were tried, what all calls cost after each, and which of them is taken."""

    before: int
    costs: list[int]
    steps: list[list[SuggestedRule]]
    taken: int = 0
    now: int = 0

    @property
    def gain(self) -> int:
        """Tokens of all calls that the next step saves."""
        return self.costs[self.taken] - self.costs[self.taken + 1] if self.taken + 1 < len(self.costs) else 0


def _reach(tried: Sequence[_Tried], target: float) -> None:
    """Take steps until so much is saved, the step that saves most first; between equals the first by name."""
    before = sum(one.before for one in tried)
    for one in tried:
        one.taken = 0
    while sum(one.costs[one.taken] for one in tried) > before * (1 - target):
        best = max(tried, key=lambda one: one.gain, default=None)
        if best is None or best.gain <= 0:
            return
        best.taken += 1


class _Tool:
    """One tool while its steps are tried."""

    def __init__(self, found: ToolStatistics, arguments: frozenset[str], config: Mapping[str, Any]) -> None:
        self._found, self._arguments, self._config = found, arguments, config

    def try_steps(self) -> _Tried:
        """Try all steps, and take those that leave out only what says nothing."""
        self._prepare()
        self.steps: list[list[SuggestedRule]] = [[]]
        self._lost = self._missing({})
        self._repair()
        self.costs = [self._cost(self.steps[0])]
        silent = self._add_steps()
        return _Tried(self._found.tokens, self.costs, self.steps, silent, self._cost([]))

    def suggestion(self, tried: _Tried) -> ToolSuggestion:
        """Return what the steps that are taken come to."""
        self._prepare()
        found, cost = self._found, tried.costs[tried.taken]
        rules = tuple(self._measured(tried.steps[tried.taken]))
        return ToolSuggestion(found.name, found.form, found.calls, tried.before, tried.now, cost, rules)

    def _prepare(self) -> None:
        """Read the samples: in the process that tries them."""
        found = self._found
        told = told_paths(self._config, found.name)
        self._existing = existing_rules(self._config, found.name, found.form)
        samples = [(one.call, one.used) for one in found.samples.values()]
        self._samples = [(call, used | _values(call, told)) for call, used in samples]
        self._fields = Fields(found, told)
        self._raw = [int(count(text_before(call))) for call, _ in self._samples]
        self._known: dict[str, list[tuple[str, int]]] = {}
        self._informed = found.used > 0 or bool(told)

    def _repair(self) -> None:
        """Switch the noise rules off that take values which were used later."""
        if not self._lost or "prune" in self._existing:
            return
        off: dict[str, bool] = {}
        kept: set[str] = set()
        for noise in _NOISE:
            left = self._missing(_override([_keeping(off | {noise: False})]))
            if len(left) < len(self._lost):
                off[noise] = False
                kept |= self._lost - left
                self._lost = left
        if off:
            saved = (self._cost([]) - self._cost([_keeping(off)])) / self._found.calls
            self.steps[0] = [replace(_keeping(off), saved=saved, sample=min(kept))]

    def _add_steps(self) -> int:
        """Add further steps, and return the last one that leaves out only what says nothing."""
        start, last = self.steps[0], 0
        if "include_only" not in self._existing and self._fields.any:
            silent = [*start, *self._exclude(self._fields.silent())]
            self._try(silent)
            last = len(self.steps) - 1
            if self._informed:
                known = [rule.value for rule in silent]
                unused = [rule for rule in self._exclude(self._fields.unused()) if rule.value not in known]
                self._try([*silent, *unused])
                self._try([*start, *self._only()])
        for cut in (self._items(), self._tokens()):
            if cut is not None:
                self._try([*self.steps[-1], cut])
        return last

    def _try(self, rules: list[SuggestedRule]) -> None:
        """Take a step where it saves something and leaves out no value that was used."""
        if rules == self.steps[-1] or self._missing(_override(rules)) - self._lost:
            return
        cost = self._cost(rules)
        if self.costs[-1] - cost >= _LEAST_TOKENS * self._found.calls:
            self.steps.append(rules)
            self.costs.append(cost)

    def _exclude(self, paths: Mapping[str, str]) -> Iterator[SuggestedRule]:
        kept = self._existing.get("include_only") or ()
        for path, reason in list(paths.items())[:_MOST_PATHS]:
            if not any(covers(path, one) for one in (*kept, *self._existing.get("exclude_fields", ()))):
                about = self._fields.about(path)
                yield SuggestedRule("exclude_fields", (path,), 0, about.calls / self._found.calls, reason, about.sample)

    def _only(self) -> Iterator[SuggestedRule]:
        paths = self._fields.wanted()
        if paths and not self._existing.get("exclude_fields"):
            yield SuggestedRule(
                "include_only", tuple(paths), 0, 1, "what was used, is asked for or identifies a record"
            )

    def _items(self) -> SuggestedRule | None:
        """Cut lists to twice what was ever used of them, where enough calls tell."""
        last, longest = self._fields.last_used, self._fields.longest_list
        if "max_items" in self._existing or self._used_calls < _EVIDENCE or not last:
            return None
        most = next((size for size in _ITEMS if size >= last * _SPARE), None)
        if most is None or most >= longest:
            return None
        reason = f"nothing beyond element {last} of up to {longest} was used"
        return SuggestedRule("max_items", most, 0, 1, reason)

    def _tokens(self) -> SuggestedRule | None:
        """Cut answers to twice the size that still shows all that was used of them, where enough calls tell."""
        if "max_tokens" in self._existing or self._used_calls < _EVIDENCE:
            return None
        for budget, spare in pairwise(_TOKENS):
            rule = SuggestedRule("max_tokens", budget, 0, 1, "")
            if not self._missing(_override([*self.steps[-1], rule])) - self._lost:
                return SuggestedRule("max_tokens", spare, 0, 1, f"all that was used stands in {budget:,} tokens")
        return None

    @property
    def _used_calls(self) -> int:
        return sum(bool(used) for _, used in self._samples)

    def _measured(self, rules: list[SuggestedRule]) -> Iterator[SuggestedRule]:
        """Measure what each rule saves on top of those before it."""
        sizes = accumulate(len(sample.written) for sample in self._found.samples.values())
        most = max(1, sum(size <= _MEASURED for size in sizes))
        before, taken = self._cost([], most), []
        for rule in rules:
            taken.append(rule)
            after = self._cost(taken, most)
            saved = (before - after) / self._found.calls
            before = after
            if saved >= _LEAST_TOKENS or rule.key != "exclude_fields":
                yield replace(rule, saved=saved)

    def _cost(self, rules: Sequence[SuggestedRule], most: int | None = None) -> int:
        """Return what all recorded calls cost with some rules, by the calls that are kept whole."""
        shaped = sum(tokens for _, tokens in self._shaped(_override(rules), most))
        raw = sum(self._raw[:most])
        return round(self._found.tokens * shaped / raw) if raw else 0

    def _missing(self, override: Mapping[str, Any]) -> set[str]:
        shaped = self._shaped(override)
        pairs = zip(self._samples, shaped, strict=True)
        return {value for (_, used), (text, _) in pairs for value in missing(used, text)}

    def _shaped(self, override: Mapping[str, Any], most: int | None = None) -> list[tuple[str, int]]:
        """Return what a model reads of each sample with some rules, and its tokens; the same rules are tried once."""
        key = repr(override)
        if (known := self._known.get(key)) is not None:
            return known[:most]
        found = [(text, int(count(text))) for text in self._texts(override, most)]
        if most is None:
            self._known[key] = found
        return found

    def _texts(self, override: Mapping[str, Any], most: int | None) -> list[str]:
        overrides = dict(self._config.get("tool_overrides") or {})
        name = self._found.name
        if override:
            overrides[name] = {**overrides.get(name, {}), **united(override, self._existing)}
        shaper = Shaper({**self._config, "tool_overrides": overrides}, watch=False)
        return [text_after(shaper, call, self._arguments) for call, _ in self._samples[:most]]


def existing_rules(config: Mapping[str, Any], tool: str, form: str) -> dict[str, Any]:
    """Return the rules about fields and sizes that a config has for a tool, whichever of its overrides say them."""
    overrides = config.get("tool_overrides") or {}
    if not overrides:
        return {}
    said = {key for override in overrides.values() for key in override}
    choices = load(config).explain(tool, surface=SURFACES[form])
    keys = {"include_only", "exclude_fields", "max_items", "max_string", "max_tokens", "prune"} & said
    return {one.name: one.value for one in choices if one.name in keys and one.value not in (None, ())}


def united(override: Mapping[str, Any], existing: Mapping[str, Any]) -> dict[str, Any]:
    """Add what applies already to new rules: a list that stands nearer to the tool would replace it."""
    out = dict(override)
    if "exclude_fields" in out:
        out["exclude_fields"] = list(dict.fromkeys((*existing.get("exclude_fields", ()), *out["exclude_fields"])))
    return out


def _values(call: ToolCall, paths: Iterable[str]) -> set[str]:
    """Return the values of a call at some paths, but for those that are told by their names."""
    found = (
        leaf
        for data in call.data()
        for path in paths
        for one in matches(data, parse(path).steps)
        for leaf in leaves(one)
    )
    return {str(leaf) for _, _, leaf in found if leaf not in (None, "", True, False, [], {})}


def _keeping(noise: dict[str, bool]) -> SuggestedRule:
    return SuggestedRule("prune", noise, 0, 1, "keeps values that were used later")


def _override(rules: Sequence[SuggestedRule]) -> dict[str, Any]:
    return ToolSuggestion("", "", 0, 0, 0, 0, tuple(rules)).override
