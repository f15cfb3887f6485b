"""One run of a field plan over one JSON Schema: every subschema at its place of the data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from shaping.paths.schema_refs import Document, Unprojectable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.paths.rules import State

# Rules with many `**` over recursive schemas multiply; a schema that large helps no client.
MOST_DEFINITIONS = 1000


@dataclass(frozen=True, slots=True)
class Spot:
    """One subschema at one place of the data, where some rules are still to match."""

    run: Projection
    schema: dict[str, Any]
    state: State

    @property
    def intact(self) -> bool:
        """Values come out of this place exactly as they went in."""
        return self.state.whole and not self.run.prune and not self.run.lossy

    def sub(self, schema: Any) -> Any:
        """Project another subschema at the same place."""
        return self.run.sub(schema, self.state)


# What a keyword of the schema becomes: keywords of the result.
Writer: TypeAlias = Callable[[Spot], dict[str, Any]]


def if_intact(word: str) -> Writer:
    """Keep a keyword only where values come out exactly as they went in."""
    return lambda spot: {word: spot.schema[word]} if spot.intact else {}


@dataclass(slots=True)
class Projection:
    """The options of a run, and the definitions made so far."""

    document: Document
    writers: Mapping[str, Writer]
    prune: bool = False
    lossy: bool = False
    definitions: dict[str, Any] = field(default_factory=dict)
    named: dict[tuple[str, State], str] = field(default_factory=dict)

    def sub(self, schema: Any, state: State) -> Any:
        """Project one subschema at a place of the data."""
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise Unprojectable(f"a schema is an object or a boolean, not {schema!r}")
        spot, result = Spot(self, schema, state), dict[str, Any]()
        for word, value in schema.items():
            writer = self.writers.get(word)
            if writer is not None:
                written = writer(spot)
                clauses = [*result.get("allOf", ()), *written.get("allOf", ())]
                result |= {**written, "allOf": clauses} if clauses else written
            elif state.whole or not isinstance(value, dict | list):
                result[word] = value
        return result

    def reference(self, ref: Any, state: State) -> dict[str, Any]:
        """Refer to the projection of a definition; the same definition in two states becomes two."""
        key = (self.document.pointer(ref), state)
        name = self.named.get(key)
        if name is None:
            if len(self.named) >= MOST_DEFINITIONS:
                raise Unprojectable(f"the projected schema has more than {MOST_DEFINITIONS} definitions")
            name = self.named[key] = self._fresh(key[0])
            self.definitions[name] = True
            self.definitions[name] = self.sub(self.document.target(ref), state)
        return {"$ref": f"#/$defs/{name}"}

    def _fresh(self, pointer: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_.-]", "_", pointer.rsplit("/", 1)[-1]) or "root"
        names = (base if at == 1 else f"{base}_{at}" for at in range(1, MOST_DEFINITIONS + 2))
        return next(name for name in names if name not in self.definitions)


def any_of(schemas: Iterable[Any]) -> Any:
    """Give the schema of values that fit at least one."""
    branches: list[Any] = []
    for schema in schemas:
        if schema is True or schema == {}:
            return True
        if schema is not False and schema not in branches:
            branches.append(schema)
    if not branches:
        return False
    return branches[0] if len(branches) == 1 else {"anyOf": branches}
