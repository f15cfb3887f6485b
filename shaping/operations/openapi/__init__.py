"""HTTP APIs as operations, from their OpenAPI documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shaping.errors.outcomes import code_for_status
from shaping.operations.openapi.client import Auth, Client, HttpCall, HttpConfig, new_client
from shaping.operations.openapi.document import (
    DocumentError,
    OpenApiDocument,
    SchemaConverter,
    read_document,
    read_file,
)
from shaping.operations.openapi.parameters import read_inputs
from shaping.operations.openapi.sse import EventStream
from shaping.operations.spec import Shape, Spec, kind_of_method, make_spec

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

__all__ = [
    "Auth",
    "DocumentError",
    "HttpConfig",
    "HttpOperations",
    "from_openapi",
    "from_openapi_file",
    "from_openapi_url",
]
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
READING = frozenset({"get", "head"})
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
        if isinstance(item := document.follow(node), Mapping)
        for method in METHODS
        if isinstance(item.get(method), Mapping)
        for operation in _operations(client, schemas, _Place(document, path, method, item), taken)
    )
    return HttpOperations(made, client)


def from_openapi_file(
    path: str | PathLike[str], config: HttpConfig | None = None, *, read: Callable[[str], bytes] | None = None
) -> HttpOperations:
    """Make the operations of a document in a file, read through whatever file system is given."""
    return from_openapi(read_file(path, read), config)


async def from_openapi_url(url: str, config: HttpConfig | None = None) -> HttpOperations:
    """Make the operations of a document at an address; a relative server address is resolved against it."""
    config = config or HttpConfig()
    async with new_client(config) as client:
        response = await client.get(url, follow_redirects=True)
        response.raise_for_status()
    return from_openapi(read_document(response.content, str(response.url)), config)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a document an operation stands."""

    document: OpenApiDocument
    path: str
    method: str
    item: Mapping[str, Any]


def _operations(client: Client, schemas: SchemaConverter, place: _Place, taken: set[str]) -> Iterator[tuple[Spec, Any]]:
    """Make the operation, and beside one that offers its answer whole or as a stream, the subscription `…_stream`."""
    operation = place.item[place.method]
    inputs = read_inputs(place.document, schemas, place.item, operation, place.path)
    answers = _answers(place.document, operation)
    name = _name(operation, place.method, place.path, taken)
    call = HttpCall(client, place.method.upper(), place.path, inputs, _accept(tuple(answers)))
    if tuple(answers) != (STREAM,):
        shape: Shape = "query" if place.method in READING else "mutation"
        whole = answers.get(_json_of(tuple(answers)) or "")
        yield _spec(client, schemas, place, name=name, type=shape, input=inputs.schema, answer=whole), call
        if STREAM not in answers:
            return
        name = _free(f"{name}_stream", taken)
    spec = _spec(client, schemas, place, name=name, type="subscription", input=inputs.schema, answer=answers[STREAM])
    yield spec, EventStream(call).__call__


def _spec(client: Client, schemas: SchemaConverter, place: _Place, *, name: str, answer: Any, **more: Any) -> Spec:
    document, path, method, item = place.document, place.path, place.method, place.item
    operation = item[method]
    reads = more["type"] == "subscription" and method in READING
    return make_spec(
        name,
        **more,
        namespace=client.config.namespace,
        version=str((document.content.get("info") or {}).get("version", "")),
        operation_type="query" if reads else kind_of_method(method),
        description=_description(operation, item),
        output=schemas.schema(answer) if answer is not None else None,
        codes=_codes(operation),
        tags=[tag for tag in operation.get("tags") or () if isinstance(tag, str)],
        origin={
            "method": method.upper(),
            "path": path,
            "operation_id": operation.get("operationId"),  # as the document spells it
            "deprecated": operation.get("deprecated") is True,
        },
    )


def _name(operation: Mapping[str, Any], method: str, path: str, taken: set[str]) -> str:
    """Return the operation's id in letters that every protocol takes, else its method and path; never one twice."""
    operation_id = operation.get("operationId")
    plain = (
        re.sub(r"[^\w-]+", "_", str(operation_id)) if operation_id else "_".join([method, *re.findall(r"\w+", path)])
    )
    return _free(plain.strip("_") or method, taken)


def _free(plain: str, taken: set[str]) -> str:
    """Return a name that no other operation has, and take it."""
    name, number = plain, 2
    while name in taken:
        name, number = f"{plain}_{number}", number + 1
    taken.add(name)
    return name


def _answers(document: OpenApiDocument, operation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a success for each media type on offer: of 200, of 201, else of the first 2xx."""
    responses = {str(status): node for status, node in (operation.get("responses") or {}).items()}
    good = sorted((s for s in responses if s.startswith("2")), key=lambda s: {"200": 0, "201": 1}.get(s, 2))
    for status in good:
        response = document.follow(responses[status])
        content = response.get("content") if isinstance(response, Mapping) else None
        if isinstance(content, Mapping) and content:
            media = {kind: document.follow(node) for kind, node in content.items()}
            return {kind: node.get("schema") if isinstance(node, Mapping) else None for kind, node in media.items()}
    return {}


def _json_of(kinds: tuple[str, ...]) -> str | None:
    exact = [kind for kind in kinds if kind.partition(";")[0].strip() == "application/json" and "stream=" not in kind]
    return next(iter(exact), None) or next((kind for kind in kinds if kind.partition(";")[0].endswith("+json")), None)


def _accept(kinds: tuple[str, ...]) -> str:
    return _json_of(kinds) or (kinds[0] if kinds else "application/json")


def _description(operation: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    texts = [operation.get("summary") or item.get("summary"), operation.get("description") or item.get("description")]
    parts = dict.fromkeys(text.strip() for text in texts if isinstance(text, str) and text.strip())
    note = ["Deprecated."] if operation.get("deprecated") is True else []
    return "\n\n".join([*parts, *note])


def _codes(operation: Mapping[str, Any]) -> list[str]:
    """Return the codes of the error statuses that the document promises."""
    statuses = [str(status) for status in operation.get("responses") or ()]
    return list(dict.fromkeys(code_for_status(int(s)) for s in statuses if s.isdecimal() and 400 <= int(s) <= 599))


def _with_scheme(config: HttpConfig, document: OpenApiDocument) -> HttpConfig:
    """Take the name and the place of a key from the document, where the config does not say."""
    auth = config.auth
    if auth is None or auth.type != "api_key" or auth.name is not None:
        return config
    schemes = (document.content.get("components") or {}).get("securitySchemes") or {}
    for node in schemes.values():
        scheme = document.follow(node)
        if scheme.get("type") == "apiKey" and scheme.get("in") in {"header", "query", "cookie"}:
            found = Auth(auth.type, auth.token, str(scheme.get("name")), scheme["in"], auth.prefix)
            return replace(config, auth=found)
    return config
