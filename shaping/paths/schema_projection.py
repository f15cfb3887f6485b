"""One projection of a JSON Schema by a field plan: every subschema at its place of the data, and its references."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.paths.rules import State

CONTAINERS = frozenset(("object", "array"))


class Unprojectable(ValueError):  # noqa: N818 - the name says what the schema is
    """A schema that the plan cannot be applied to, and why: it must not be advertised."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class SchemaDocument:
    """A whole schema, in which references are looked up."""

    root: dict[str, Any]

    def pointer(self, ref: Any) -> str:
        """Return the part of a reference after `#` as it is read, or refuse one that leaves the document."""
        return unquote(self._fragment(ref))

    def _fragment(self, ref: Any) -> str:
        home = str(self.root.get("$id", "")).rstrip("#")
        if not isinstance(ref, str) or not (ref.startswith("#") or (home and ref.startswith(home))):
            raise Unprojectable(f"the reference {ref!r} leads out of the schema")
        return ref.removeprefix(home).removeprefix("#")

    def target(self, ref: Any) -> Any:
        """Find the subschema a reference leads to."""
        fragment = self._fragment(ref)
        if fragment and not fragment.startswith("/"):
            return self._anchor(unquote(fragment))
        found = pointed(self.root, fragment)
        if found is None:
            raise Unprojectable(f"the reference {ref!r} leads nowhere")
        return found

    def _anchor(self, name: str) -> Any:
        todo: list[Any] = [self.root]
        while todo:
            here = todo.pop()
            if isinstance(here, dict) and here.get("$anchor") == name:
                return here
            todo.extend(here.values() if isinstance(here, dict) else here if isinstance(here, list) else ())
        raise Unprojectable(f"there is no anchor {name!r} in the schema")

    def always_container(self, schema: Any, seen: frozenset[str] = frozenset()) -> bool:
        """Return whether every value under a schema is an object or an array, as far as it says so."""
        if not isinstance(schema, dict) or schema.get("nullable") is True:
            return schema is False
        types = schema.get("type", "any")
        if CONTAINERS.issuperset([types] if isinstance(types, str) else types):
            return True
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref not in seen and self.always_container(self.target(ref), seen | {ref}):
            return True
        choices = [schema[word] for word in ("anyOf", "oneOf") if schema.get(word)]
        parts = schema.get("allOf", ())
        return any(all(self.always_container(part, seen) for part in choice) for choice in choices) or any(
            self.always_container(part, seen) for part in parts
        )


def pointed(root: Any, fragment: str) -> Any:
    """Follow a JSON pointer as a reference writes it behind its `#`; None where it leads nowhere."""
    here = root
    for step in fragment.split("/")[1:]:
        part = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping):
            here = here.get(part)
        elif isinstance(here, list) and part.isdecimal() and int(part) < len(here):
            here = here[int(part)]
        else:
            return None
    return here


# Rules with many `**` over recursive schemas multiply; a schema that large helps no client.
MOST_DEFINITIONS = 1000


@dataclass(frozen=True, slots=True)
class Subschema:
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
Writer: TypeAlias = Callable[[Subschema], dict[str, Any]]


def if_intact(word: str) -> Writer:
    """Keep a keyword only where values come out exactly as they went in."""
    return lambda sub: {word: sub.schema[word]} if sub.intact else {}


@dataclass(slots=True)
class Projection:
    """The options of a run, and the definitions made so far."""

    document: SchemaDocument
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
        sub, result = Subschema(self, schema, state), dict[str, Any]()
        for word, value in schema.items():
            writer = self.writers.get(word)
            if writer is not None:
                keywords = writer(sub)
                clauses = [*result.get("allOf", ()), *keywords.get("allOf", ())]
                result |= {**keywords, "allOf": clauses} if clauses else keywords
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
    """Return the schema of values that fit at least one."""
    branches: list[Any] = []
    for schema in schemas:
        if schema is True or schema == {}:
            return True
        if schema is not False and schema not in branches:
            branches.append(schema)
    if not branches:
        return False
    return branches[0] if len(branches) == 1 else {"anyOf": branches}
