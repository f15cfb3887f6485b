"""An OpenAPI document: reading it, following its references, and its schemas as standalone JSON Schemas."""

import gzip
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import orjson
import yaml

from shaping.errors.codes import CodedError
from shaping.paths.schema import resolve_pointer

MAX_HOPS = 50


class DocumentError(CodedError, ValueError):
    """A document that is not OpenAPI 3, or cannot be read."""


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """The document's content and where it was found."""

    content: Mapping[str, Any]
    place: str = ""

    @property
    def is_version_3_0(self) -> bool:
        """Whether schemas are in the dialect of 3.0, which is not JSON Schema."""
        return str(self.content.get("openapi", "")).startswith("3.0")

    def resolve(self, node: Any) -> Any:
        """Return a node with its chain of references resolved; `{}` where one cannot be."""
        for _ in range(MAX_HOPS):
            if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
                return node
            node = self.look_up(node["$ref"])
        return {}

    def look_up(self, ref: str) -> Any:
        """Return the node at a pointer into this document; other documents are not fetched."""
        found = resolve_pointer(self.content, ref[1:]) if ref == "#" or ref.startswith("#/") else None
        return {} if found is None else found

    @property
    def base_url(self) -> str:
        """The first server's address, with the defaults of its variables."""
        servers = self.content.get("servers") or [{"url": "/"}]
        url = str(servers[0].get("url", "/"))
        for name, variable in (servers[0].get("variables") or {}).items():
            url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
        return urljoin(self.place, url) if self.place.startswith("http") else url


def read_document(source: Mapping[str, Any] | str | bytes, place: str = "") -> OpenApiDocument:
    """Read a document from a mapping, or from JSON or YAML text."""
    content = source if isinstance(source, Mapping) else _parse(source, place or "the document")
    found = content.get("openapi", content.get("swagger")) if isinstance(content, Mapping) else None
    if not str(found).startswith("3."):
        raise DocumentError(
            f"{place or 'the document'} is not OpenAPI 3: openapi is {found!r}; expected '3.0.x' or '3.1.x'"
        )
    return OpenApiDocument(content, place)


def read_file(path: str | PathLike[str], read: Callable[[str], bytes] | None = None) -> OpenApiDocument:
    """Read a document from a file, plain or gzipped, by `read` where it is given."""
    content = read(str(path)) if read is not None else Path(path).read_bytes()
    return read_document(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content, str(path))


class _Loader(yaml.SafeLoader):
    """Reads YAML as JSON has it: a date is text."""


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _parse(text: str | bytes, place: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return yaml.load(text, _Loader)  # noqa: S506  a safe loader with less in it
    except yaml.YAMLError as problem:
        raise DocumentError(f"{place} is neither JSON nor YAML: {str(problem).splitlines()[0]}") from None


# Members that say something about documents, not about values.
DROPPED = frozenset(
    {"example", "examples", "xml", "externalDocs", "discriminator", "nullable", "deprecated"}
    | {"$id", "$schema", "$recursiveAnchor", "$recursiveRef"}
)
NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
LITERAL = frozenset({"enum", "const", "default"})
BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


class SchemaConverter:
    """Turns the schemas of one document into JSON Schemas; each definition is turned once."""

    def __init__(self, document: OpenApiDocument) -> None:
        self.document = document
        self._names: dict[str, str] = {}  # of definitions, by their references
        self._defs: dict[str, Any] = {}
        self._needs: dict[str, frozenset[str]] = {}  # the definitions that each one refers to
        self._taken: set[str] = set()
        self._open_definitions: list[str] = []

    def schema(self, node: Any) -> dict[str, Any]:
        """Return one schema with every definition that it needs; an empty one for no schema."""
        converted = self.part(node)
        if not isinstance(converted, dict):
            return {} if converted else {"not": {}}
        return self.with_defs(converted)

    def with_defs(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Add every definition that an already turned schema needs."""
        needed = sorted(_references(schema))
        for name in needed:  # which grows meanwhile
            needed += sorted(self._needs[name].difference(needed))
        return {**schema, "$defs": {name: self._defs[name] for name in needed}} if needed else schema

    def part(self, node: Any) -> Any:
        """Return one schema whose definitions the caller adds by `with_defs`."""
        if isinstance(node, bool):
            return node
        if not isinstance(node, Mapping):
            return {}
        if isinstance(node.get("$ref"), str):
            return self._reference(node)
        converted = {
            word: self._value(word, value) for word, value in node.items() if word not in DROPPED and word[:2] != "x-"
        }
        if "$recursiveRef" in node and self._open_definitions:
            # An earlier draft's way of saying "this same schema", which documents of 3.1 still use.
            return {**converted, "$ref": f"#/$defs/{self._open_definitions[-1]}"}
        # Documents that call themselves 3.1 still use the words of 3.0.
        converted = _bounded(converted)
        return _nullable(converted) if node.get("nullable") is True else converted

    def _value(self, word: str, value: Any) -> Any:
        if word in LITERAL:
            return value
        if word == "required":
            # Some documents name a member twice, which JSON Schema does not allow.
            return (
                list(dict.fromkeys(name for name in value if isinstance(name, str))) if isinstance(value, list) else []
            )
        if word in NAMED:
            return {name: self.part(part) for name, part in value.items()} if isinstance(value, Mapping) else {}
        if isinstance(value, list):
            return [self.part(part) if isinstance(part, (Mapping, bool)) else part for part in value]
        return self.part(value) if isinstance(value, Mapping) else value

    def _reference(self, node: Mapping[str, Any]) -> dict[str, Any]:
        ref = node["$ref"]
        if not ref.startswith("#"):
            return {}
        if ref not in self._names:
            # Entered before it is turned: it may contain itself.
            name = take_name(re.sub(r"[^\w.-]", "_", ref.rsplit("/", 1)[-1]) or "root", self._taken)
            self._names[ref] = name
            self._open_definitions.append(name)
            self._defs[name] = self.part(self.document.look_up(ref))
            self._open_definitions.pop()
            self._needs[name] = _references(self._defs[name])
        beside = () if self.document.is_version_3_0 else ("description", "default")
        return {"$ref": f"#/$defs/{self._names[ref]}", **{word: node[word] for word in beside if word in node}}


def take_name(plain: str, taken: set[str]) -> str:
    """Take a name that is free, with a number where it has to be."""
    name, number = plain, 2
    while name in taken:
        name, number = f"{plain}_{number}", number + 1
    taken.add(name)
    return name


def _references(schema: Any) -> frozenset[str]:
    found, waiting = set[str](), [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            ref = node.get("$ref")
            if isinstance(ref, str) and ref.startswith("#/$defs/"):
                found.add(ref.removeprefix("#/$defs/"))
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return frozenset(found)


def _bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """Turn 3.0's `minimum: 1, exclusiveMinimum: true` into a number of its own."""
    out = dict(schema)
    for exclusive, bound in BOUNDS.items():
        if isinstance(out.get(exclusive), bool):
            is_exclusive = out.pop(exclusive)
            if is_exclusive and bound in out:
                out[exclusive] = out.pop(bound)
    return out


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Turn 3.0's `nullable` into a type, an enum member, or a choice."""
    out = dict(schema)
    if isinstance(out.get("enum"), list) and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]
    if isinstance(out.get("type"), str):
        out["type"] = [out["type"], "null"]
        return out
    return {"anyOf": [out, {"type": "null"}]} if out else {}
