"""What each keyword of a JSON Schema becomes under a field plan."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from shaping.paths.grammar import Deep, Glob, Name
from shaping.paths.rules import State
from shaping.paths.schema_projection import Unprojectable, any_of, if_intact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shaping.paths.rules import Fits
    from shaping.paths.schema_projection import Subschema, Writer

# An undeclared member may fit any of the patterns in the rules: with this many, all ways to fit are looked at.
MOST_PATTERNS = 4


def _properties(spot: Subschema) -> dict[str, Any]:
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


def _own(spot: Subschema, name: str) -> list[Any]:
    """Return the schema of a member that has by itself a name that another is renamed to."""
    if name in spot.schema["properties"]:
        return [spot.run.sub(spot.schema["properties"][name], State())]
    return [] if _closed(spot) else [True]


def _closed(spot: Subschema) -> bool:
    return spot.schema.get("additionalProperties") is False and not spot.schema.get("patternProperties")


def _renames(state: State) -> Iterator[tuple[Name | Glob, str]]:
    """Yield the renames that end here: what they fit and the new name."""
    for rest, name in state.rename:
        head = rest[-1]
        if not isinstance(head, Deep) and all(isinstance(step, Deep) for step in rest[:-1]):
            yield head, name


def _required(spot: Subschema) -> dict[str, Any]:
    """Require what is always there: kept, not renamed, and never a scalar where members are wanted."""
    needed = [] if spot.run.prune else [key for key in spot.schema["required"] if _stays(spot, key)]
    return {"required": needed} if needed else {}


def _stays(spot: Subschema, key: str) -> bool:
    verdict = spot.state.member(key)
    if verdict is None or verdict.name != key:
        return False
    schema = spot.schema.get("properties", {}).get(key, True)
    return not verdict.state.partial or spot.run.document.always_container(schema)


def _additional(spot: Subschema) -> dict[str, Any]:
    """Write the schema of undeclared members, unless a member that was declared would now be under it."""
    schema = spot.schema["additionalProperties"]
    verdicts = [(key, spot.state.member(key)) for key in spot.schema.get("properties", ())]
    if isinstance(schema, bool) or any(verdict is None or verdict.name != key for key, verdict in verdicts):
        return {}
    undeclared = _undeclared(spot, schema)
    return {} if undeclared is True else {"additionalProperties": undeclared}


def _pattern_properties(spot: Subschema) -> dict[str, Any]:
    """Write every pattern, even where it no longer says anything: without it its members would count as additional."""
    patterns = spot.schema["patternProperties"]
    return {"patternProperties": {text: _undeclared(spot, schema) for text, schema in patterns.items()}}


def _undeclared(spot: Subschema, schema: Any) -> Any:
    """Write what fits a member whose name is not known, whatever the rules make of it."""
    states = _possible(spot.state)
    if not states or any(_renames(spot.state)):
        return True
    return any_of(spot.run.sub(schema, state) for state in states)


def _possible(state: State) -> list[State]:
    """Return the states that some kept member may come to; none where there are too many patterns to tell."""
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


def _dependent_schemas(spot: Subschema) -> dict[str, Any]:
    """Keep what follows from a member that stays; where names change, a name no longer says which member it is."""
    if any(_renames(spot.state)):
        return {}
    kept = {key: spot.sub(schema) for key, schema in spot.schema["dependentSchemas"].items() if spot.state.member(key)}
    return {"dependentSchemas": kept} if kept else {}


def _property_names(spot: Subschema) -> dict[str, Any]:
    return {} if spot.state.rename else {"propertyNames": spot.run.sub(spot.schema["propertyNames"], State())}


_MEMBER_WRITERS: Mapping[str, Writer] = {
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "patternProperties": _pattern_properties,
    "dependentSchemas": _dependent_schemas,
    "propertyNames": _property_names,
    "minProperties": if_intact("minProperties"),
    "dependentRequired": if_intact("dependentRequired"),
}


def _reference(spot: Subschema) -> dict[str, Any]:
    return spot.run.reference(spot.schema["$ref"], spot.state)


def _refuse(_spot: Subschema) -> dict[str, Any]:
    raise Unprojectable("a dynamic reference has no one target")


def _identity(spot: Subschema) -> dict[str, Any]:
    """Leave out the root's identity: what is advertised is another schema; one inside changes what references mean."""
    if spot.schema is spot.run.document.root:
        return {}
    raise Unprojectable("a subschema has an $id of its own")


def _drop(_spot: Subschema) -> dict[str, Any]:
    return {}


def _all_of(spot: Subschema) -> dict[str, Any]:
    return {"allOf": [spot.sub(part) for part in spot.schema["allOf"]]}


def _any_of(spot: Subschema) -> dict[str, Any]:
    return _choice([spot.sub(part) for part in spot.schema["anyOf"]])


def _one_of(spot: Subschema) -> dict[str, Any]:
    """Write a choice of any: filtered values may fit several branches that whole values fitted one of."""
    choice = _choice([spot.sub(part) for part in spot.schema["oneOf"]])
    return {"allOf": [choice]} if choice and "anyOf" in spot.schema else choice


def _condition(spot: Subschema) -> dict[str, Any]:
    """Write `if` and its branches as a choice: whether the condition held cannot be told from the filtered value."""
    yes = [spot.sub(spot.schema[word]) for word in ("if", "then") if word in spot.schema]
    choice = _choice([{"allOf": yes}, spot.sub(spot.schema.get("else", True))])
    return {"allOf": [choice]} if choice else {}


def _choice(branches: list[Any]) -> dict[str, Any]:
    joined = any_of(branches)
    if isinstance(joined, dict) and "anyOf" in joined and len(joined) == 1:
        return joined
    return {} if joined is True else {"allOf": [joined]}


def _items(spot: Subschema) -> dict[str, Any]:
    """Write what elements are; where elements may be dropped, only those before the first that may be have a place."""
    old = isinstance(spot.schema.get("items"), list)
    first, more = ("items", "additionalItems") if old else ("prefixItems", "items")
    places = spot.schema.get(first, [])
    firm = len(places)
    if spot.state.partial or spot.run.prune:
        container = spot.run.document.always_container
        firm = next((at for at, place in enumerate(places) if spot.run.prune or not container(place)), firm)
    fixed = {first: [spot.sub(place) for place in places[:firm]]} if firm else {}
    others = any_of(spot.sub(place) for place in (*places[firm:], spot.schema.get(more, True)))
    # Without fixed places the old word for more elements means nothing; `items` does.
    return fixed if others is True else {**fixed, (more if firm else "items"): others}


def _min_items(spot: Subschema) -> dict[str, Any]:
    all_stay = not (spot.state.partial or spot.run.prune or spot.run.lossy)
    return {"minItems": spot.schema["minItems"]} if all_stay else {}


def _contains(spot: Subschema) -> dict[str, Any]:
    return {"contains": spot.sub(spot.schema["contains"])} if spot.intact else {}


def _unless_lossy(word: str) -> Writer:
    return lambda spot: {} if spot.run.lossy else {word: spot.schema[word]}


def _listed(word: str, *, constrains: bool) -> Writer:
    """Keep listed values that come out as they are: all of them, or where something is changed, scalars."""

    def write(spot: Subschema) -> dict[str, Any]:
        value = spot.schema[word]
        if constrains and spot.run.lossy:
            return {}
        values = value if word in {"enum", "examples"} and isinstance(value, list) else [value]
        scalar = not any(isinstance(one, dict | list) for one in values)
        return {word: value} if scalar or (spot.state.whole and not spot.run.prune) else {}

    return write


_FINE = (
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "contentEncoding",
    "contentMediaType",
    "maxItems",
)

# What would close the schema, names what is built anew, or says "not this", which filtering can make false.
_DROPPED = (
    "$defs",
    "definitions",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "not",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
    "maxProperties",
    "maxContains",
    "dependencies",
    "contentSchema",
    "additionalItems",
    "discriminator",
)

_VALUE_WRITERS: Mapping[str, Writer] = {
    "$ref": _reference,
    "$dynamicRef": _refuse,
    "$recursiveRef": _refuse,
    "$id": _identity,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "if": _condition,
    "prefixItems": _items,
    "items": lambda spot: {} if "prefixItems" in spot.schema else _items(spot),
    "contains": _contains,
    "minContains": if_intact("minContains"),
    "uniqueItems": if_intact("uniqueItems"),
    "minItems": _min_items,
    "enum": _listed("enum", constrains=True),
    "const": _listed("const", constrains=True),
    "default": _listed("default", constrains=False),
    "examples": _listed("examples", constrains=False),
    "example": _listed("example", constrains=False),
    **{word: _unless_lossy(word) for word in _FINE},
    **dict.fromkeys(_DROPPED, _drop),
}

WRITERS: Mapping[str, Writer] = {**_VALUE_WRITERS, **_MEMBER_WRITERS}
