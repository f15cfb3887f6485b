"""Everything that is wrong with a config, found at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, groupby, islice
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from shaping.settings import model
from shaping.settings.choices import LIMITS
from shaping.settings.jsonc import ConfigDocument, ConfigProblem, Keys, one_of, suggestion_for
from shaping.settings.patterns import is_pattern, may_overlap
from shaping.settings.sources import THE_CALL, Profiles, Sources

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from shaping.settings.plan import Overrides

# What is expected where pydantic finds an error of its own; our validators say it themselves.
_EXPECTED = {
    "bool_type": "true or false",
    "string_type": "text",
    "string_too_short": "a name",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "int_type": "a positive integer",
    "int_from_float": "a positive integer",
    "float_type": "a positive number",
    "greater_than": "a positive number",
    "missing": "all keys that it needs",
}
# Where a key that is out of place may belong.
_HOMES: Mapping[str, type[BaseModel]] = {
    "global": model.Global,
    "tool_overrides": model.ToolOverride,
    "profiles": model.Profile,
    "the config itself": model.ConfigFile,
}
_QUOTED = re.compile(r"'([^']*)'|\b(True|False)\b")


def check(sources: Sources) -> tuple[tuple[ConfigProblem, ...], tuple[ConfigProblem, ...]]:
    """Find the problems that keep a config or its profiles from being used, and warnings that do not."""
    problems, profiles = [*sources.unreadable], sources.profiles.names()
    for document in sources.configs[1:]:
        problems += [*document.problems, *validate(document, model.ConfigFile, profiles=profiles)]
    for document in sources.profile_files:
        problems += [*document.problems, *validate(document, model.Profile, profiles=profiles)]
    problems += cycles(sources.profiles)
    return _in_order(problems), (*_ties(sources), *_unrelated_files(sources))


def contract_problems(sources: Sources) -> tuple[ConfigProblem, ...]:
    """Find the JMESPath expressions of contracts that cannot be read here; a config serves with them all the same."""
    documents = sources.configs[1:]
    return _in_order([each for one in documents for each in validate(one, model.ConfigFile, contracts=True)])


def overrides_problems(overrides: Overrides) -> list[ConfigProblem]:
    """Find what one call asks for that there is not."""
    choices = {name: value for name, value in asdict(overrides).items() if value is not None}
    return validate(ConfigDocument(THE_CALL, choices), model.Request)


def validate(document: ConfigDocument, kind: type[BaseModel], **context: Any) -> list[ConfigProblem]:
    """Find everything in a document that its model does not allow."""
    try:
        kind.model_validate(document.data, context=context)
    except ValidationError as error:
        return [_problem(document, kind, details) for details in error.errors(include_url=False)]
    return []


def _in_order(problems: list[ConfigProblem]) -> tuple[ConfigProblem, ...]:
    position = {file: at for at, file in enumerate(dict.fromkeys(problem.file for problem in problems))}
    return tuple(sorted(problems, key=lambda problem: (position[problem.file], problem.line or 0)))


def _problem(document: ConfigDocument, kind: type[BaseModel], details: ErrorDetails) -> ConfigProblem:
    """Put an error of pydantic's in our words."""
    keys, value, context = _keys(document.data, details["loc"]), details["input"], details.get("ctx", {})
    says = None
    valid: Collection[str] = context.get("valid", ())
    if details["type"] == "extra_forbidden":
        around = _model_at(keys[:-1], kind)
        valid, says = _names(around), "is not a known key"
        suggestion = suggestion_for(keys[-1], valid)
        expected = (kind is model.ConfigFile and _elsewhere(keys[-1], around)) or one_of(sorted(valid))
        if around is model.ConfigFile and not suggestion and _has_rules(value):
            expected = "it under tool_overrides, if it is a tool"
        return document.problem(keys, value, expected, suggestion=suggestion, says=says)
    if details["loc"][-1] == "[key]":
        value, says = keys[-1], "is not a valid key"
    if context.get("at"):
        keys, value = (*keys, context["at"]), value[context["at"]]
    if details["type"] == "literal_error":
        valid = [text or word.lower() for text, word in _QUOTED.findall(context["expected"])]
        expected = one_of(valid) + (", or an object" if keys[-1] == "redact" else "")
    elif keys and keys[-1] in LIMITS:
        expected = "a positive integer, or null for no limit"
    else:
        expected = context.get("expected") or _EXPECTED.get(details["type"], details["msg"])
    return document.problem(keys, value, expected, suggestion=suggestion_for(value, valid), says=says)


def _keys(data: Any, loc: Sequence[str | int]) -> Keys:
    """Leave out of a location what only the model knows: which branch of a union, and that a key is meant."""
    keys: list[str | int] = []
    for step in loc:
        inside = step in data if isinstance(data, Mapping) else isinstance(data, list | tuple) and isinstance(step, int)
        if inside:
            data = data[step]
            keys.append(step)
    return tuple(keys)


def _model_at(keys: Keys, kind: type[BaseModel]) -> type[BaseModel]:
    match keys:
        case ("global",):
            return model.Global
        case ("store",):
            return model.StoreSettings
        case ("profiles", _):
            return model.Profile
        case ("tool_overrides", _):
            return model.ToolOverride
        case ("tools", _):
            return model.ToolListing
        case ("tool_overrides", _, "answers", _):
            return model.AnswerContract
        case (*_, "envelope"):
            return model.EnvelopeChoice
        case (*_, "redact"):
            return model.RedactRules
    return kind


def _elsewhere(key: str | int, around: type[BaseModel]) -> str:
    """Name the sections that have a key, for one of them that has not."""
    homes = [home for home, known in _HOMES.items() if key in _names(known)]
    return f"it under {one_of(homes)}" if homes and around in _HOMES.values() else ""


def _has_rules(value: Any) -> bool:
    return isinstance(value, Mapping) and not value.keys().isdisjoint(_names(model.ToolOverride))


def _names(kind: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in kind.model_fields.items()]


def cycles(profiles: Profiles) -> Iterator[ConfigProblem]:
    """Find the profiles that extend themselves."""
    parents = {name: {parent} for name in profiles.names() if (parent := profiles.parent(name)) is not None}
    while True:
        try:
            TopologicalSorter(parents).prepare()
        except CycleError as error:
            cycle = error.args[1][:0:-1]
        else:
            return
        # At least one profile of a cycle has `extends`: only the root is extended without it.
        first = min(name for name in cycle if "extends" in profiles.sections[name][0].choices)
        chain = (*cycle[cycle.index(first) :], *cycle[: cycle.index(first)], first)
        section = profiles.sections[first][0]
        says = f"goes round in a circle: {' -> '.join(chain)}"
        yield section.document.problem((*section.keys, "extends"), chain[1], "a chain of profiles that ends", says=says)
        del parents[first]


_MOST_PAIRS = 10_000  # of patterns that are compared in every command


def _ties(sources: Sources) -> Iterator[ConfigProblem]:
    """Find patterns of one length that may match a tool in common and make the same choice."""
    for document in sources.configs[1:]:
        patterns = sorted(filter(is_pattern, document.choices("tool_overrides")), key=len)
        by_length = groupby(patterns, key=len)
        pairs = (pair for _, alike in by_length for pair in combinations(alike, 2))
        for one, other in islice(pairs, _MOST_PAIRS):
            shared = document.choices("tool_overrides", one).keys() & document.choices("tool_overrides", other)
            if shared and may_overlap(one, other):
                says = f"and {one!r} can match the same tool, and both say {', '.join(sorted(shared))}"
                expected = "patterns of different length; as it is, the later one wins"
                yield document.problem(("tool_overrides", other), None, expected, says=says)


def _unrelated_files(sources: Sources) -> Iterator[ConfigProblem]:
    for document in sources.unrelated_files:
        yield document.problem((), None, "a profile; the file is left alone", says="has no key that a profile has")
