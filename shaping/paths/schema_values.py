"""What a field plan makes of the keywords of a JSON Schema that are about lists, choices, references and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.paths.projection import any_of, if_intact
from shaping.paths.schema_refs import Unprojectable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.paths.projection import Spot, Writer


def _reference(spot: Spot) -> dict[str, Any]:
    return spot.run.reference(spot.schema["$ref"], spot.state)


def _refuse(_spot: Spot) -> dict[str, Any]:
    raise Unprojectable("a dynamic reference has no one target")


def _identity(spot: Spot) -> dict[str, Any]:
    """Leave out the root's identity: what is advertised is another schema; one inside changes what references mean."""
    if spot.schema is spot.run.document.root:
        return {}
    raise Unprojectable("a subschema has an $id of its own")


def _drop(_spot: Spot) -> dict[str, Any]:
    return {}


def _all_of(spot: Spot) -> dict[str, Any]:
    return {"allOf": [spot.sub(part) for part in spot.schema["allOf"]]}


def _any_of(spot: Spot) -> dict[str, Any]:
    return _choice([spot.sub(part) for part in spot.schema["anyOf"]])


def _one_of(spot: Spot) -> dict[str, Any]:
    """Write a choice of any: filtered values may fit several branches that whole values fitted one of."""
    choice = _choice([spot.sub(part) for part in spot.schema["oneOf"]])
    return {"allOf": [choice]} if choice and "anyOf" in spot.schema else choice


def _condition(spot: Spot) -> dict[str, Any]:
    """Write `if` and its branches as a choice: whether the condition held cannot be told from the filtered value."""
    yes = [spot.sub(spot.schema[word]) for word in ("if", "then") if word in spot.schema]
    choice = _choice([{"allOf": yes}, spot.sub(spot.schema.get("else", True))])
    return {"allOf": [choice]} if choice else {}


def _choice(branches: list[Any]) -> dict[str, Any]:
    written = any_of(branches)
    if isinstance(written, dict) and "anyOf" in written and len(written) == 1:
        return written
    return {} if written is True else {"allOf": [written]}


def _items(spot: Spot) -> dict[str, Any]:
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


def _min_items(spot: Spot) -> dict[str, Any]:
    all_stay = not (spot.state.partial or spot.run.prune or spot.run.lossy)
    return {"minItems": spot.schema["minItems"]} if all_stay else {}


def _contains(spot: Spot) -> dict[str, Any]:
    return {"contains": spot.sub(spot.schema["contains"])} if spot.intact else {}


def _unless_lossy(word: str) -> Writer:
    return lambda spot: {} if spot.run.lossy else {word: spot.schema[word]}


def _listed(word: str, *, constrains: bool) -> Writer:
    """Keep listed values that come out as they are: all of them, or where something is changed, scalars."""

    def write(spot: Spot) -> dict[str, Any]:
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

WRITERS: Mapping[str, Writer] = {
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
