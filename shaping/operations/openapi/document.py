"""An OpenAPI document, wherever it comes from, and what its references lead to."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import orjson

from shaping.paths.schema_refs import pointed

if TYPE_CHECKING:
    from os import PathLike

MAX_HOPS = 50


class DocumentError(ValueError):
    """A document that is not OpenAPI 3, or cannot be read."""


@dataclass(frozen=True, slots=True)
class Document:
    """The document's content and where it was found."""

    content: Mapping[str, Any]
    place: str = ""

    @property
    def is_old(self) -> bool:
        """Whether schemas are in the dialect of 3.0, which is not JSON Schema."""
        return str(self.content.get("openapi", "")).startswith("3.0")

    def follow(self, node: Any) -> Any:
        """Give what a node stands for: itself, or the end of its chain of references; `{}` where it leads nowhere."""
        for _ in range(MAX_HOPS):
            if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
                return node
            node = self.look_up(node["$ref"])
        return {}

    def look_up(self, ref: str) -> Any:
        """Give what a pointer into this document points at; other documents are not fetched."""
        found = pointed(self.content, ref[1:]) if ref == "#" or ref.startswith("#/") else None
        return {} if found is None else found

    @property
    def base_url(self) -> str:
        """The first server's address, with the defaults of its variables."""
        servers = self.content.get("servers") or [{"url": "/"}]
        url = str(servers[0].get("url", "/"))
        for name, variable in (servers[0].get("variables") or {}).items():
            url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
        return urljoin(self.place, url) if self.place.startswith("http") else url


def read_document(source: Mapping[str, Any] | str | bytes, place: str = "") -> Document:
    """Read a document from a mapping, or from JSON or YAML text."""
    content = source if isinstance(source, Mapping) else _parse(source, place or "the document")
    if not isinstance(content, Mapping):
        raise DocumentError(f"{place or 'the document'} is not an object, as an OpenAPI document is")
    version = str(content.get("openapi", ""))
    if not version.startswith("3."):
        found = content.get("swagger") or content.get("openapi")
        if found is None:
            raise DocumentError(f"{place or 'the document'} is not an OpenAPI document: it has no member `openapi`")
        raise DocumentError(
            f"{place or 'the document'} is not OpenAPI 3: openapi is {found!r}; expected '3.0.x' or '3.1.x'"
        )
    return Document(content, place)


def read_file(path: str | PathLike[str], read: Callable[[str], bytes] | None = None) -> Document:
    """Read a document from a file, plain or gzipped, through whatever file system is given."""
    content = read(str(path)) if read is not None else Path(path).read_bytes()
    return read_document(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content, str(path))


def _parse(text: str | bytes, place: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return _parse_yaml(text, place)


def _parse_yaml(text: str | bytes, place: str) -> Any:
    try:
        import yaml  # noqa: PLC0415  an extra, imported where it is used
    except ImportError:
        raise ImportError('an OpenAPI document in YAML needs an extra: pip install "shaping[http]"') from None

    # Dates in YAML would become Python dates; a JSON document has none.
    class Loader(yaml.SafeLoader):
        pass

    Loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        return yaml.load(text, Loader)  # noqa: S506  a safe loader with less in it
    except yaml.YAMLError as problem:
        raise DocumentError(f"{place} is neither JSON nor YAML: {str(problem).splitlines()[0]}") from None
