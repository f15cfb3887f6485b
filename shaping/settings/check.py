"""Everything that is wrong with a config, found at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from shaping.errors import registry
from shaping.settings import model
from shaping.settings.jsonc import ConfigDocument, ConfigProblem, Keys, one_of, suggestion_for
from shaping.settings.model import ConfigFile, Profile
from shaping.settings.plan import LIMITS, Overrides
from shaping.settings.resolve import is_pattern, overlap
from shaping.settings.sources import THE_CALL, ConfigSection, Profiles, Sources
from shaping.tokens.counters import is_known, tokenizers

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


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
_QUOTED = re.compile(r"'([^']*)'|\b(True|False)\b")


def validate(document: ConfigDocument, kind: type[BaseModel]) -> list[ConfigProblem]:
    """Find everything in a document that its model does not allow."""
    try:
        kind.model_validate(document.data)
    except ValidationError as error:
        found = [_problem(document, kind, details) for details in error.errors(include_url=False)]
        return sorted(found, key=lambda problem: problem.line or 0)
    return []


def overrides_problems(overrides: Overrides) -> list[ConfigProblem]:
    """Find what one call asks for that there is not."""
    choices = {name: value for name, value in asdict(overrides).items() if value is not None}
    document = ConfigDocument(THE_CALL, choices)
    return [*validate(document, model.Request), *missing_encoder(document, ())]


def _problem(document: ConfigDocument, kind: type[BaseModel], details: ErrorDetails) -> ConfigProblem:
    keys = _keys(document.data, details["loc"])
    if details["type"] == "extra_forbidden":
        return _unknown_key(document, details["input"], keys, kind)
    valid = _words(details)
    value = keys[-1] if _is_key(details) else details["input"]
    says = "is not a valid key" if _is_key(details) else None
    return document.problem(keys, value, _expected(details, keys), suggestion=suggestion_for(value, valid), says=says)


def _unknown_key(document: ConfigDocument, value: Any, keys: Keys, kind: type[BaseModel]) -> ConfigProblem:
    around = _model_at(keys[:-1], kind)
    valid, key = _names(around), str(keys[-1])
    suggestion = suggestion_for(key, valid)
    expected = (_elsewhere(key) if kind is model.ConfigFile and around in _HOMES.values() else "") or one_of(
        sorted(valid)
    )
    return document.problem(keys, value, expected, suggestion=suggestion, says="is not a known key")


_HOMES: dict[str, type[BaseModel]] = {
    "global": model.Global,
    "tool_overrides": model.ToolOverride,
    "profiles": model.Profile,
    "the config itself": model.ConfigFile,
}


def _elsewhere(key: str) -> str:
    found = [home for home, known in _HOMES.items() if key in _names(known)]
    return f"it under {one_of(found)}" if found else ""


def _expected(details: ErrorDetails, keys: Keys) -> str:
    context = details.get("ctx", {})
    if details["type"] == "expected":
        return str(context["expected"])
    words = _words(details)
    if words:
        return one_of(words) + (", or an object" if keys[-1] == "redact" else "")
    if keys[-1] in LIMITS:
        return "a positive integer, or null for no limit"
    return _EXPECTED.get(details["type"], details["msg"])


def _words(details: ErrorDetails) -> list[str]:
    if details["type"] != "literal_error":
        return []
    found = _QUOTED.findall(details.get("ctx", {})["expected"])
    return [text or word.lower() for text, word in found]


def _is_key(details: ErrorDetails) -> bool:
    return details["loc"][-1] == "[key]"


def _keys(data: Any, loc: Sequence[str | int]) -> Keys:
    """Leave out of a location what only the model knows: which branch of a union, and that a key is meant."""
    keys: list[str | int] = []
    for step in loc:
        if _holds(data, step):
            data = data[step]
            keys.append(step)
    return tuple(keys)


def _holds(data: Any, step: str | int) -> bool:
    if isinstance(data, Mapping):
        return step in data
    return isinstance(data, list | tuple) and isinstance(step, int)


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


def _names(kind: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in kind.model_fields.items()]


# Comparing two patterns takes as many steps as the product of their lengths, in every command.
_MOST_STEPS = 400_000
_LONGEST_PATTERN = 200


def check(sources: Sources) -> tuple[tuple[ConfigProblem, ...], tuple[ConfigProblem, ...]]:
    """Find the problems that keep a config or its profiles from being used, and warnings that do not."""
    problems = list(sources.unreadable)
    for document in sources.configs[1:]:
        problems += [*document.problems, *validate(document, ConfigFile)]
    for document in sources.profile_files:
        problems += [*document.problems, *validate(document, Profile)]
    problems += [*_unknown_profiles(sources), *_cycles(sources.profiles), *_unusable_values(sources)]
    problems += _missing_extras(sources)
    return _in_order(problems), (*_ties(sources), *_unrelated_files(sources))


def _in_order(problems: list[ConfigProblem]) -> tuple[ConfigProblem, ...]:
    position = {file: at for at, file in enumerate(dict.fromkeys(problem.file for problem in problems))}
    return tuple(sorted(problems, key=lambda problem: (position[problem.file], problem.line or 0)))


def _sections(sources: Sources) -> Iterator[ConfigSection]:
    """Go through every place of the user's files where choices are made."""
    for document in sources.configs[1:]:
        yield ConfigSection("global", document, ("global",))
        for section in ("tool_overrides", "profiles"):
            for name in document.choices(section):
                yield ConfigSection(section, document, (section, name))
    for document in sources.profile_files:
        yield ConfigSection("profiles", document, ())


def _unknown_profiles(sources: Sources) -> Iterator[ConfigProblem]:
    known = sources.profiles.names()
    for section in _sections(sources):
        choice = "extends" if section.by == "profiles" else "profile"
        name = section.choices.get(choice)
        if isinstance(name, str) and name not in sources.profiles.sections:
            keys = (*section.keys, choice)
            yield section.document.problem(keys, name, one_of(known), suggestion=suggestion_for(name, known))


def _cycles(profiles: Profiles) -> Iterator[ConfigProblem]:
    for cycle in profiles.cycles():
        # At least one profile of a cycle has `extends`: only the root is extended without it.
        first = next(at for at, name in enumerate(cycle) if "extends" in profiles.source(name).choices)
        chain = (*cycle[first:], *cycle[: first + 1])
        section = profiles.source(chain[0])
        says = f"goes round in a circle: {' -> '.join(chain)}"
        yield section.document.problem((*section.keys, "extends"), chain[1], "a chain of profiles that ends", says=says)


def _unusable_values(sources: Sources) -> Iterator[ConfigProblem]:
    for document in sources.configs[1:]:
        tokenizer = document.data.get("tokenizer")
        if isinstance(tokenizer, str) and not is_known(tokenizer):
            suggestion = suggestion_for(tokenizer, tokenizers())
            yield document.problem(("tokenizer",), tokenizer, one_of(tokenizers()), suggestion=suggestion)
        store = document.choices("store")
        if store.get("kind") == "redis" and "url" not in store:
            yield document.problem(("store", "kind"), "redis", "a url beside it, such as redis://localhost:6379/0")
        yield from _unknown_codes(document)


def _unknown_codes(document: ConfigDocument) -> Iterator[ConfigProblem]:
    tools = document.choices("tool_overrides")
    for keys in (("errors",), *(("tool_overrides", tool, "exit_codes") for tool in tools)):
        for what, code in document.choices(*keys).items():
            # A plugin's code carries its namespace and may be registered after the config is read.
            if isinstance(code, str) and "." not in code and registry.find(code) is None:
                suggestion = suggestion_for(code, registry.codes())
                yield document.problem((*keys, what), code, "a registered error code", suggestion=suggestion)
    for tool in document.choices("tools"):
        for at, code in enumerate(document.choices("tools", tool).get("codes", ())):
            # An application registers its own codes in its own process: one that is like none of ours is no slip.
            suggestion = suggestion_for(code, registry.codes()) if registry.find(code) is None else None
            if suggestion is not None:
                place = ("tools", tool, "codes", at)
                yield document.problem(place, code, "a registered error code", suggestion=suggestion)


def _missing_extras(sources: Sources) -> Iterator[ConfigProblem]:
    for section in _sections(sources):
        yield from missing_encoder(section.document, section.keys)
    for document in sources.configs[1:]:
        yield from _missing(document, ("store", "kind"), "redis", "redis")


def missing_encoder(document: ConfigDocument, keys: Keys) -> Iterator[ConfigProblem]:
    """Report an encoding that is chosen but not installed."""
    yield from _missing(document, (*keys, "encoding"), "toon", "toon_format")


def _missing(document: ConfigDocument, keys: Keys, extra: str, module: str) -> Iterator[ConfigProblem]:
    if document.choices(*keys[:-1]).get(str(keys[-1])) == extra and find_spec(module) is None:
        what = "encoding" if keys[-1] == "encoding" else "store"
        hint = f"one that is installed: {what} '{extra}' needs an extra: pip install \"shaping[{extra}]\""
        yield document.problem(keys, extra, hint)


def contract_problems(sources: Sources) -> tuple[ConfigProblem, ...]:
    """Find the JMESPath expressions of contracts that cannot be read here; a config serves with them all the same."""
    problems = []
    for document in sources.configs[1:]:
        for tool in document.choices("tool_overrides"):
            for at, contract in enumerate(document.choices("tool_overrides", tool).get("answers", ())):
                expected = _expected_expression(contract["jmespath"]) if "jmespath" in contract else None
                if expected is not None:
                    keys = ("tool_overrides", tool, "answers", at, "jmespath")
                    problems.append(document.problem(keys, contract["jmespath"], expected))
    return _in_order(problems)


def _expected_expression(text: str) -> str | None:
    if find_spec("jmespath") is None:
        return 'a path instead, for JMESPath needs an extra: pip install "shaping[jmespath]"'
    import jmespath  # noqa: PLC0415 (an extra)

    try:
        jmespath.compile(text)
    except jmespath.exceptions.JMESPathError as error:
        why = str(error).splitlines()[0].rpartition("expression: ")[2].rstrip(":")
        return f"a JMESPath expression ({why[:1].lower()}{why[1:]})"
    return None


def _ties(sources: Sources) -> Iterator[ConfigProblem]:
    """Find patterns of one length that match a tool in common and make the same choice."""
    for document in sources.configs[1:]:
        by_length: dict[int, list[str]] = {}
        for pattern in filter(is_pattern, document.choices("tool_overrides")):
            by_length.setdefault(len(pattern), []).append(pattern)
        room = _MOST_STEPS
        short = (alike for length, alike in by_length.items() if length <= _LONGEST_PATTERN)
        for one, other in (pair for alike in short for pair in combinations(alike, 2)):
            room -= len(one) * len(other)
            if room < 0:
                break
            shared = document.choices("tool_overrides", one).keys() & document.choices("tool_overrides", other)
            if shared and overlap(one, other):
                says = f"and {one!r} can match the same tool, and both say {', '.join(sorted(shared))}"
                expected = "patterns of different length; as it is, the later one wins"
                yield document.problem(("tool_overrides", other), None, expected, says=says)


def _unrelated_files(sources: Sources) -> Iterator[ConfigProblem]:
    for document in sources.unrelated_files:
        yield document.problem((), None, "a profile; the file is left alone", says="has no key that a profile has")
