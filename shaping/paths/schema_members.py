"""What a field plan makes of the keywords of a JSON Schema that are about the members of an object."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from shaping.paths.grammar import Deep, Glob, Name
from shaping.paths.projection import any_of, if_intact
from shaping.paths.rules import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shaping.paths.projection import Spot, Writer
    from shaping.paths.rules import Fits

# An undeclared member may fit any of the patterns in the rules: with this many, all ways to fit are looked at.
MOST_PATTERNS = 4


def _properties(spot: Spot) -> dict[str, Any]:
    """Write the kept members; where several may come to have a name, any of their schemas may fit."""
    declared, sources = spot.schema["properties"], dict[str, list[Any]]()
    for key, schema in declared.items():
        verdict = spot.state.member(key)
        if verdict is not None:
            found = sources.setdefault(verdict.name, [])
            found.append(spot.run.sub(schema, verdict.state))
            if verdict.name != key:
                found += _own(spot, verdict.name)
    strangers = {name for head, name in _renames(spot.state) if not isinstance(head, Name) or head.key not in declared}
    for name in strangers & sources.keys():
        sources[name] += [] if _closed(spot) else [True]
    return {"properties": {name: _one(found) for name, found in sources.items()}}


def _one(found: list[Any]) -> Any:
    """Write what fits any of the schemas, and say at least what the first says about itself."""
    schema = any_of(found)
    if schema is not True or not isinstance(found[0], dict):
        return schema
    return {word: found[0][word] for word in ("title", "description") if word in found[0]}


def _own(spot: Spot, name: str) -> list[Any]:
    """Give the schema of a member that has by itself a name that another is renamed to."""
    if name in spot.schema["properties"]:
        return [spot.run.sub(spot.schema["properties"][name], State())]
    return [] if _closed(spot) else [True]


def _closed(spot: Spot) -> bool:
    return spot.schema.get("additionalProperties") is False and not spot.schema.get("patternProperties")


def _renames(state: State) -> Iterator[tuple[Name | Glob, str]]:
    """Give the renames that end here: what they fit and the new name."""
    for rest, name in state.rename:
        head = rest[-1]
        if not isinstance(head, Deep) and all(isinstance(step, Deep) for step in rest[:-1]):
            yield head, name


def _required(spot: Spot) -> dict[str, Any]:
    """Require what is always there: kept, not renamed, and never a scalar where members are wanted."""
    needed = [] if spot.run.prune else [key for key in spot.schema["required"] if _stays(spot, key)]
    return {"required": needed} if needed else {}


def _stays(spot: Spot, key: str) -> bool:
    verdict = spot.state.member(key)
    if verdict is None or verdict.name != key:
        return False
    schema = spot.schema.get("properties", {}).get(key, True)
    return not verdict.state.partial or spot.run.document.always_container(schema)


def _additional(spot: Spot) -> dict[str, Any]:
    """Write the schema of undeclared members, unless a member that was declared would now be under it."""
    schema = spot.schema["additionalProperties"]
    verdicts = [(key, spot.state.member(key)) for key in spot.schema.get("properties", ())]
    if isinstance(schema, bool) or any(verdict is None or verdict.name != key for key, verdict in verdicts):
        return {}
    written = _undeclared(spot, schema)
    return {} if written is True else {"additionalProperties": written}


def _pattern_properties(spot: Spot) -> dict[str, Any]:
    """Write every pattern, even where it no longer says anything: without it its members would count as additional."""
    patterns = spot.schema["patternProperties"]
    return {"patternProperties": {text: _undeclared(spot, schema) for text, schema in patterns.items()}}


def _undeclared(spot: Spot, schema: Any) -> Any:
    """Write what fits a member whose name is not known, whatever the rules make of it."""
    states = _possible(spot.state)
    if not states or any(_renames(spot.state)):
        return True
    return any_of(spot.run.sub(schema, state) for state in states)


def _possible(state: State) -> list[State]:
    """Give the states that some kept member may come to; none where there are too many patterns to tell."""
    heads = set(state.heads())
    patterns = sorted(head.pattern for head in heads if isinstance(head, Glob) and head.pattern != "*")
    if len(patterns) > MOST_PATTERNS:
        return []
    ways = [way for size in range(len(patterns) + 1) for way in combinations(patterns, size)]
    verdicts = [
        *(state.judge("", _fits_patterns(way)) for way in ways),
        *(state.member(key) for key in sorted(head.key for head in heads if isinstance(head, Name))),
    ]
    return list(dict.fromkeys(verdict.state for verdict in verdicts if verdict is not None))


def _fits_patterns(patterns: tuple[str, ...]) -> Fits:
    return lambda step: isinstance(step, Glob) and (step.pattern == "*" or step.pattern in patterns)


def _dependent_schemas(spot: Spot) -> dict[str, Any]:
    """Keep what follows from a member that stays; where names change, a name no longer says which member it is."""
    if any(_renames(spot.state)):
        return {}
    kept = {key: spot.sub(schema) for key, schema in spot.schema["dependentSchemas"].items() if spot.state.member(key)}
    return {"dependentSchemas": kept} if kept else {}


def _property_names(spot: Spot) -> dict[str, Any]:
    return {} if spot.state.rename else {"propertyNames": spot.run.sub(spot.schema["propertyNames"], State())}


WRITERS: Mapping[str, Writer] = {
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "patternProperties": _pattern_properties,
    "dependentSchemas": _dependent_schemas,
    "propertyNames": _property_names,
    "minProperties": if_intact("minProperties"),
    "dependentRequired": if_intact("dependentRequired"),
}
