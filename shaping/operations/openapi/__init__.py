"""HTTP APIs as operations, from their OpenAPI documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shaping.errors.detail import code_for_status
from shaping.operations.openapi.client import READING, SAFE, Client, HttpCall, HttpConfig, new_client
from shaping.operations.openapi.document import OpenApiDocument, SchemaConverter, read_document, read_file, take_name
from shaping.operations.openapi.requests import is_json, read_inputs
from shaping.operations.spec import Spec, make_spec

if TYPE_CHECKING:
    from os import PathLike

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
STREAM = "text/event-stream"


@dataclass(frozen=True)
class HttpOperations:
    """The operations of one API; give it to `registry.add`, and close it when done."""

    operations: tuple[tuple[Spec, Any], ...]
    client: Client

    def __iter__(self) -> Iterator[tuple[Spec, Any]]:
        return iter(self.operations)

    def __len__(self) -> int:
        return len(self.operations)

    async def aclose(self) -> None:
        """Close the connections that the operations share."""
        await self.client.aclose()


def from_openapi(
    source: Mapping[str, Any] | str | bytes | OpenApiDocument, config: HttpConfig | None = None
) -> HttpOperations:
    """Make an operation of every path and method of an OpenAPI 3 document, given as a mapping, JSON or YAML.

    Parameters and body members become one input object; an operation that streams events becomes a subscription. Close
    the result when done: `await operations.aclose()`.
    """
    document = source if isinstance(source, OpenApiDocument) else read_document(source)
    config = _with_scheme(config or HttpConfig(), document)
    client = Client(config, config.base_url or document.base_url)
    schemas, taken = SchemaConverter(document), set[str]()
    made = tuple(
        operation
        for path, node in (document.content.get("paths") or {}).items()
        if isinstance(item := document.resolve(node), Mapping)
        for method in METHODS
        if isinstance(item.get(method), Mapping)
        for operation in _operations(client, schemas, taken, path=path, method=method, item=item)
    )
    return HttpOperations(made, client)


def from_openapi_file(
    path: str | PathLike[str], config: HttpConfig | None = None, *, read: Callable[[str], bytes] | None = None
) -> HttpOperations:
    """Make the operations of a document in a file, which `read` reads where it is given."""
    return from_openapi(read_file(path, read), config)


async def from_openapi_url(url: str, config: HttpConfig | None = None) -> HttpOperations:
    """Make the operations of a document at an address; a relative server address is resolved against it."""
    config = config or HttpConfig()
    async with new_client(config) as client:
        response = await client.get(url, follow_redirects=True)
        response.raise_for_status()
    return from_openapi(read_document(response.content, str(response.url)), config)


def _operations(
    client: Client, schemas: SchemaConverter, taken: set[str], *, path: str, method: str, item: Mapping[str, Any]
) -> Iterator[tuple[Spec, Any]]:
    """Make the operation; one that can answer whole or as a stream also gets a subscription, `…_stream`."""
    document, operation, verb = schemas.document, item[method], method.upper()
    inputs, answers = read_inputs(schemas, item, operation, path), _answers(document, operation)
    answer = _json_of(answers)
    call = HttpCall(client, verb, path, inputs, answer or next(iter(answers), "application/json"))
    statuses = [int(status) for status in map(str, operation.get("responses") or ()) if status.isdecimal()]
    fields: dict[str, Any] = {
        "namespace": client.config.namespace,
        "version": str((document.content.get("info") or {}).get("version", "")),
        "operation_type": "query" if verb in SAFE else "command",
        "description": _description(operation, item),
        "input": inputs.schema,
        "codes": dict.fromkeys(code_for_status(status) for status in statuses if 400 <= status <= 599),
        "tags": [tag for tag in operation.get("tags") or () if isinstance(tag, str)],
        "origin": {
            "method": verb,
            "path": path,
            "operation_id": operation.get("operationId"),  # as the document spells it
            "deprecated": operation.get("deprecated") is True,
        },
    }
    name = take_name(_name(operation, method, path), taken)
    if [*answers] != [STREAM]:
        shape = "query" if verb in READING else "mutation"
        yield make_spec(name, type=shape, output=schemas.schema(answers.get(answer or "")), **fields), call
        if STREAM not in answers:
            return
        name = take_name(f"{name}_stream", taken)
    yield make_spec(name, type="subscription", output=schemas.schema(answers[STREAM]), **fields), call.stream


def _name(operation: Mapping[str, Any], method: str, path: str) -> str:
    """Return the operation's id in letters that every protocol takes, else its method and path."""
    operation_id = operation.get("operationId")
    words = [re.sub(r"[^\w-]+", "_", str(operation_id))] if operation_id else [method, *re.findall(r"\w+", path)]
    return "_".join(words).strip("_") or method


def _answers(document: OpenApiDocument, operation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a success for each media type on offer: of 200, of 201, else of the first 2xx."""
    responses = {str(status): node for status, node in (operation.get("responses") or {}).items()}
    good = sorted((s for s in responses if s.startswith("2")), key=lambda s: {"200": 0, "201": 1}.get(s, 2))
    for status in good:
        response = document.resolve(responses[status])
        content = response.get("content") if isinstance(response, Mapping) else None
        if isinstance(content, Mapping) and content:
            media = {kind: document.resolve(node) for kind, node in content.items()}
            return {kind: node.get("schema") if isinstance(node, Mapping) else None for kind, node in media.items()}
    return {}


def _json_of(kinds: Iterable[str]) -> str | None:
    """Return the JSON among media types, plain JSON first."""
    found = [kind for kind in kinds if is_json(kind) and "stream=" not in kind]
    return min(found, key=lambda kind: "+json" in kind, default=None)


def _description(operation: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    texts = [operation.get("summary") or item.get("summary"), operation.get("description") or item.get("description")]
    parts = dict.fromkeys(text.strip() for text in texts if isinstance(text, str) and text.strip())
    note = ["Deprecated."] if operation.get("deprecated") is True else []
    return "\n\n".join([*parts, *note])


def _with_scheme(config: HttpConfig, document: OpenApiDocument) -> HttpConfig:
    """Take the name and the place of an API key from the document's security schemes, unless the config gives them."""
    auth = config.auth
    if auth is None or auth.type != "api_key" or auth.name is not None:
        return config
    schemes = (document.content.get("components") or {}).get("securitySchemes") or {}
    for node in schemes.values():
        scheme = document.resolve(node)
        if scheme.get("type") == "apiKey" and scheme.get("in") in {"header", "query", "cookie"}:
            return replace(config, auth=replace(auth, name=str(scheme.get("name")), place=scheme["in"]))
    return config
