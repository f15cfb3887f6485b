"""Rules that some traffic suggests, each measured on calls of that traffic.

A tool's rules come in steps, each of which leaves out more than the one before: fields that say nothing; heavy fields
that nobody used, where it is known what was used; all fields but those that were used, that a contract asks for or that
identify a record; and the tails of lists and texts beyond what was ever used. Without a target only the first step is
taken, with one as many as it needs, where they save most first. No step leaves out a value that was used later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from textwrap import indent
from typing import Any, Final

from shaping.learning.fields import Fields, FieldShare, answer_paths, answer_patterns, covers, found_in
from shaping.learning.statistics import ToolStatistics, TrafficStatistics, parallel
from shaping.learning.traffic import SURFACES, ToolCall, missing, scalars
from shaping.paths import parse
from shaping.paths.selection import matches
from shaping.response import counted
from shaping.settings.jsonc import JsonNode, insert, read
from shaping.settings.loading import load
from shaping.shaper import Shaper
from shaping.tokens import count

EMPTY: Final = '{\n  "$schema": "./response_config.schema.json",\n  "tool_overrides": {}\n}\n'
_LEAST_TOKENS: Final = 3  # of a call, that a rule must save
_MOST_PATHS: Final = 40
_MOST_SHOWN: Final = 8  # fields of a tool that are told with their share
_EVIDENCE: Final = 3  # calls of which something was used, before a list or a text is cut to that
_ITEMS: Final = (10, 20, 50, 100, 200, 500)
_TOKENS: Final = (500, 1_000, 2_000, 4_000, 8_000)
_SPARE: Final = 2  # times as much is kept as was ever used
_LONGEST_SAMPLE: Final = 80  # characters of a value in a comment
_NOISE: Final = ("links", "opaque", "bulk", "boilerplate")


@dataclass(frozen=True, slots=True)
class SuggestedRule:
    """One rule of one tool, and what it does to the recorded calls."""

    key: str  # as in the config
    value: Any
    reason: str
    sample: str = ""
    saved: float = 0.0  # tokens a call, on the mean
    share: float = 1.0  # of the calls that it applies to

    @property
    def comment(self) -> str:
        """The line that stands above the rule in a config."""
        how = f"{self.saved:,.0f} tokens less" if self.saved >= 0 else f"{-self.saved:,.0f} tokens more"
        sample = f"; e.g. {' '.join(self.sample.split())[:_LONGEST_SAMPLE]}" if self.sample else ""
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
    error: int = 0  # tokens by which `before` may be wrong
    fields: tuple[FieldShare, ...] = ()  # the heaviest first
    more_fields: int = 0  # that are not among these
    more_used: tuple[str, ...] = ()  # of these, some that were used later

    @property
    def override(self) -> dict[str, Any]:
        """The rules as a config has them."""
        return _override(self.rules)


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
    tools = [found for found in traffic.tools.values() if found.samples]
    arguments = [traffic.argument_names(found.server) for found in tools]
    size = sum(len(sample.written) for found in tools for sample in found.samples.values())
    with parallel(size, workers) as run:
        tried: list[_Tried] = list(run(partial(_try_steps, config or {}), tools, arguments))
    spare = 0.0 if target is None else _reach(tried, target)
    found: list[ToolSuggestion] = []
    for one in tried:
        found.append(one.suggestion(spare))
        spare -= found[-1].after - one.cost
    return found


def _try_steps(config: Mapping[str, Any], found: ToolStatistics, arguments: frozenset[str]) -> _Tried:
    return _Tool(found, arguments, config).try_steps()


@dataclass(slots=True)
class _Tried:
    """The steps of one tool that were tried, and which of them is taken."""

    steps: list[ToolSuggestion]
    taken: int

    @property
    def cost(self) -> int:
        """Tokens of all calls after the step that is taken."""
        return self.steps[self.taken].after

    @property
    def gain(self) -> int:
        """Tokens of all calls that the next step saves."""
        return self.cost - self.steps[self.taken + 1].after if self.taken + 1 < len(self.steps) else 0

    def suggestion(self, spare: float) -> ToolSuggestion:
        """Return the step that is taken, without its last rules as long as they save no more than what is to spare."""
        step = self.steps[self.taken]
        rules, after = [*step.rules], float(step.after)
        most = step.after + spare
        while rules and rules[-1].key == "exclude_fields" and after + rules[-1].saved * step.calls <= most:
            after += rules.pop().saved * step.calls
        return replace(step, rules=tuple(rules), after=round(after))


def _reach(tried: Sequence[_Tried], target: float) -> float:
    """Take steps until so much is saved: the one that saves most, or the smallest that is enough; return the rest."""
    goal = sum(one.steps[0].before for one in tried) * (1 - target)
    for one in tried:
        one.taken = 0
    while (spare := goal - sum(one.cost for one in tried)) < 0:
        gains = sorted((one.gain, at) for at, one in enumerate(tried) if one.gain > 0)
        if not gains:
            return 0.0
        enough = (at for gain, at in gains if gain + spare >= 0)
        tried[next(enough, gains[-1][1])].taken += 1
    return spare


class _Tool:
    """One tool while its steps are tried."""

    def __init__(self, found: ToolStatistics, arguments: frozenset[str], config: Mapping[str, Any]) -> None:
        self._found, self._arguments, self._config = found, arguments, config
        told, patterns = answer_paths(config, found.name), answer_patterns(config, found.name)
        self._existing = existing_rules(config, found.name, found.form)
        samples = [(one.call, one.used) for one in found.samples.values()]
        self._samples = [(call, used | _values(call, told, patterns)) for call, used in samples]
        self._fields = Fields(found, told)
        self._raw = [int(count(call.text_before())) for call, _ in self._samples]
        self._known: dict[str, list[tuple[str, int]]] = {}
        self._informed = found.used > 0 or bool(told or patterns)
        self._lost = self._missing({})
        self._steps: list[list[SuggestedRule]] = [self._repair()]

    def try_steps(self) -> _Tried:
        """Try all steps, and take those that leave out only what says nothing."""
        found, silent = self._found, self._add_steps()
        now = self._cost([])
        about = self._fields.heaviest(_MOST_SHOWN, (data for call, _ in self._samples for data in call.data()))
        steps = [
            ToolSuggestion(
                found.name,
                found.form,
                found.calls,
                found.tokens,
                now,
                self._cost(rules),
                tuple(self._measured(rules)),
                found.error,
                *about,
            )
            for rules in self._steps
        ]
        return _Tried(steps, silent)

    def _repair(self) -> list[SuggestedRule]:
        """Switch the noise rules off that take values which were used later."""
        if not self._lost or "prune" in self._existing:
            return []
        off: dict[str, bool] = {}
        kept: set[str] = set()
        for noise in _NOISE:
            left = self._missing(_override([_keeping(off | {noise: False})]))
            if len(left) < len(self._lost):
                off[noise] = False
                kept |= self._lost - left
                self._lost = left
        return [replace(_keeping(off), sample=min(kept))] if off else []

    def _add_steps(self) -> int:
        """Add further steps, and return the last one that leaves out only what says nothing."""
        start, last = self._steps[0], 0
        if "include_only" not in self._existing and self._fields.leaves:
            silent = [*start, *self._exclude(self._fields.silent())]
            self._try(silent)
            last = len(self._steps) - 1
            if self._informed:
                known = [rule.value for rule in silent]
                unused = [rule for rule in self._exclude(self._fields.unused()) if rule.value not in known]
                self._try([*silent, *unused])
                paths = () if self._existing.get("exclude_fields") else tuple(self._fields.wanted())
                why = "what was used, is asked for or identifies a record"
                wanted = SuggestedRule("include_only", paths, why, self._first_used())
                self._try([*start, wanted] if paths else start)
        for cut in self._cuts():
            self._try([*self._steps[-1], cut])
        return last

    def _try(self, rules: list[SuggestedRule]) -> None:
        """Take a step where it saves something and leaves out no value that was used."""
        before = self._steps[-1]
        if rules == before or self._missing(_override(rules)) - self._lost:
            return
        if self._cost(before) - self._cost(rules) >= _LEAST_TOKENS * self._found.calls:
            self._steps.append(rules)

    def _exclude(self, paths: Mapping[str, str]) -> Iterator[SuggestedRule]:
        kept = self._existing.get("include_only") or ()
        for path, reason in list(paths.items())[:_MOST_PATHS]:
            if not any(covers(path, one) for one in (*kept, *self._existing.get("exclude_fields", ()))):
                about = self._fields.about(path)
                share = about.calls / self._found.calls
                yield SuggestedRule("exclude_fields", (path,), reason, about.sample, share=share)

    def _cuts(self) -> Iterator[SuggestedRule]:
        """Cut lists and answers to twice what was ever used of them, where enough calls tell."""
        if sum(bool(used) for _, used in self._samples) < _EVIDENCE:
            return
        last, longest = self._fields.last_used, self._fields.longest_list
        most = next((size for size in _ITEMS if size >= last * _SPARE), longest)
        if "max_items" not in self._existing and last and most < longest:
            why = f"nothing beyond element {last} of up to {longest} was used"
            yield SuggestedRule("max_items", most, why, self._first_used())
        for budget, spare in pairwise(_TOKENS) if "max_tokens" not in self._existing else ():
            rules = [*self._steps[-1], SuggestedRule("max_tokens", budget, "")]
            if not self._missing(_override(rules)) - self._lost:
                why = f"all that was used stands in {budget:,} tokens"
                yield SuggestedRule("max_tokens", spare, why, self._first_used())
                return

    def _first_used(self) -> str:
        """Return the first in order of the values that were used or are asked for, and stay."""
        return min((value for _, used in self._samples for value in used), default="")

    def _measured(self, rules: list[SuggestedRule]) -> Iterator[SuggestedRule]:
        """Measure what each rule saves on top of those before it."""
        before, taken = self._cost([]), []
        for rule in rules:
            taken.append(rule)
            after = self._cost(taken)
            saved = (before - after) / self._found.calls
            before = after
            if saved >= _LEAST_TOKENS or rule.key != "exclude_fields":
                yield replace(rule, saved=saved)

    def _cost(self, rules: Sequence[SuggestedRule]) -> int:
        """Return what all recorded calls cost with some rules, by the calls that are kept whole."""
        shaped, raw = sum(tokens for _, tokens in self._shaped(_override(rules))), sum(self._raw)
        return round(self._found.tokens * shaped / raw) if raw else 0

    def _missing(self, override: Mapping[str, Any]) -> set[str]:
        pairs = zip(self._samples, self._shaped(override), strict=True)
        return {value for (_, used), (text, _) in pairs for value in missing(used, text)}

    def _shaped(self, override: Mapping[str, Any]) -> list[tuple[str, int]]:
        """Return what a model reads of each sample with some rules, and its tokens; the same rules are tried once."""
        key = repr(override)
        if key not in self._known:
            self._known[key] = [(text, int(count(text))) for text in self._texts(override)]
        return self._known[key]

    def _texts(self, override: Mapping[str, Any]) -> list[str]:
        overrides = dict(self._config.get("tool_overrides") or {})
        rules = {**overrides.get(self._found.name, {}), **override}
        if "exclude_fields" in override:  # a list that stands nearer to the tool replaces the others
            excluded = (*self._existing.get("exclude_fields", ()), *override["exclude_fields"])
            rules["exclude_fields"] = list(dict.fromkeys(excluded))
        if rules:
            overrides[self._found.name] = rules
        shaper = Shaper({**self._config, "tool_overrides": overrides}, watch=False)
        return [call.text_after(shaper, self._arguments) for call, _ in self._samples]


def existing_rules(config: Mapping[str, Any], tool: str, form: str) -> dict[str, Any]:
    """Return the rules about fields and sizes that a config has for a tool, whichever of its overrides say them."""
    overrides = config.get("tool_overrides") or {}
    if not overrides:
        return {}
    said = {key for override in overrides.values() for key in override}
    choices = load(config).explain(tool, surface=SURFACES[form])
    keys = {"include_only", "exclude_fields", "max_items", "max_string", "max_tokens", "prune"} & said
    return {one.name: one.value for one in choices if one.name in keys and one.value not in (None, ())}


def _values(call: ToolCall, paths: Iterable[str], patterns: Iterable[str]) -> set[str]:
    """Return what a call has at some paths, but for values that are told by their names, and what patterns find."""
    found = (one for data in call.data() for path in paths for one in matches(data, parse(path).steps))
    values = {str(leaf) for one in found for _, leaf in scalars(one) if leaf not in (None, "", True, False)}
    return values.union(*(found_in(pattern, call.text_before()) for pattern in patterns))


def _keeping(noise: dict[str, bool]) -> SuggestedRule:
    return SuggestedRule("prune", noise, "keeps values that were used later")


def _override(rules: Sequence[SuggestedRule]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for rule in rules:
        found[rule.key] = [*found.get(rule.key, ()), *rule.value] if type(rule.value) is tuple else rule.value
    return found


def with_suggestions(text: str, suggestions: Sequence[ToolSuggestion]) -> str:
    """Return a config's text with rules added: each with a comment, and none in the place of one that stands there."""
    for one in suggestions:
        if one.rules:
            text = _with_tool(text, one)
    return text


def _with_tool(text: str, suggested: ToolSuggestion) -> str:
    """Add to the rules that a tool has already: paths to its list of excluded ones, and keys that it does not have."""
    root = read(text)
    if "tool_overrides" not in root.members:
        text = insert(text, root, '"tool_overrides": {}')
        root = read(text)
    existing = existing_rules(root.value if isinstance(root.value, dict) else {}, suggested.tool, suggested.form)
    overrides = root.members["tool_overrides"]
    if suggested.tool not in overrides.members:
        tokens = f"{suggested.now:,} tokens, {suggested.after:,} with these rules"
        comment = f"// {counted(suggested.calls, 'call')}: {tokens}"
        text = insert(text, overrides, f"{comment}\n{json.dumps(suggested.tool)}: {{}}")
    tool = _tool_node(text, suggested.tool)
    excluded = tool.members.get("exclude_fields")
    listed = excluded.value if excluded is not None and isinstance(excluded.value, list) else []
    added = [rule for rule in suggested.rules if rule.key == "exclude_fields" and rule.value[0] not in listed]
    if excluded is not None and added:
        text = insert(text, excluded, ",\n".join(map(_path, added)))
    fresh = [rule for rule in suggested.rules if rule.key not in tool.members]
    return insert(text, _tool_node(text, suggested.tool), _rules(fresh, existing)) if fresh else text


def _tool_node(text: str, tool: str) -> JsonNode:
    return read(text).members["tool_overrides"].members[tool]


def _rules(rules: Sequence[SuggestedRule], existing: Mapping[str, Any]) -> str:
    """Write rules line by line, each with its comment above it; the paths of one key together."""
    out: list[str] = []
    for key in dict.fromkeys(rule.key for rule in rules):
        same = [rule for rule in rules if rule.key == key]
        if key == "exclude_fields":
            paths = [*map(json.dumps, existing.get("exclude_fields", ())), *map(_path, same)]
            out.append('"exclude_fields": [\n' + indent(",\n".join(paths), "  ") + "\n]")
        else:
            out += [f"// {rule.comment}\n{json.dumps(key)}: {_json(rule.value)}" for rule in same]
    return ",\n".join(out)


def _path(rule: SuggestedRule) -> str:
    return f"// {rule.comment}\n{_json(rule.value[0])}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
