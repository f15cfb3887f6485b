"""Where a JSON Schema's references lead, and what can be said of a subschema without projecting it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

CONTAINERS = frozenset(("object", "array"))


class Unprojectable(ValueError):  # noqa: N818 - the name says what the schema is
    """A schema that the plan cannot be applied to, and why: it must not be advertised."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Document:
    """A whole schema, in which references are looked up."""

    root: dict[str, Any]

    def pointer(self, ref: Any) -> str:
        """Give the part of a reference after `#` as it is read, or refuse one that leaves the document."""
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
        """Say whether every value under a schema is an object or an array, as far as it says so."""
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
