"""The input of an HTTP operation: parameters and body members merged into one object, and where each goes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shaping.operations.openapi.serialization import Body, choose_body

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shaping.operations.openapi.document import OpenApiDocument, SchemaConverter


HOLE = re.compile(r"\{([^{}]+)\}")
STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
# HTTP itself sets these, and the document's security schemes say how to authenticate.
NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
COMBINED = frozenset({"anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its name in the input, its name on the wire, and how it is written."""

    member: str
    name: str
    place: str
    style: str
    explode: bool
    required: bool = False
    as_json: bool = False
    reserved: bool = False
    schema: Any = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OperationInputs:
    """Everything an operation takes."""

    parameters: tuple[Parameter, ...]
    body: Body | None
    body_members: Mapping[str, str]  # input member to body member; empty where the body is one member
    body_member: str | None
    body_required: bool
    schema: dict[str, Any]


def read_inputs(
    document: OpenApiDocument,
    schemas: SchemaConverter,
    item: Mapping[str, Any],
    operation: Mapping[str, Any],
    path: str = "",
) -> OperationInputs:
    """Merge the parameters of a path and of its operation with the body.

    A name that two of them have is kept by the first in the order path, query, header, cookie, body; the others are
    called by their place and name: `query_id`, `body_id`.
    """
    taken: set[str] = set()
    parameters = tuple(_read(schemas, node, taken) for node in _in_order(document, item, operation, path))
    body = choose_body(document, schemas, operation.get("requestBody"))
    members = _mergeable(document, operation, body)
    names = {name: _free("body", name, taken) for name in members}
    alone = _free("request", "body", taken) if body is not None and not names else None
    schema = _schema(parameters, body, members, names, alone)
    return OperationInputs(
        parameters,
        body,
        {ours: theirs for theirs, ours in names.items()},
        alone,
        bool(body and body.required),
        schemas.with_defs(schema),
    )


def _in_order(
    document: OpenApiDocument, item: Mapping[str, Any], operation: Mapping[str, Any], path: str
) -> list[Mapping[str, Any]]:
    """Return the parameters by place; the operation's own outrank those of its path, and what a path names is one."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {
        ("path", name): {"in": "path", "name": name, "schema": {"type": "string"}} for name in HOLE.findall(path)
    }
    for node in (*_list(item.get("parameters")), *_list(operation.get("parameters"))):
        parameter = document.follow(node)
        if isinstance(parameter, Mapping) and parameter.get("in") in STYLES and isinstance(parameter.get("name"), str):
            found[parameter["in"], parameter["name"]] = parameter
    order = list(STYLES)
    kept = [p for (place, name), p in found.items() if place != "header" or name.lower() not in NOT_PARAMETERS]
    return sorted(kept, key=lambda parameter: order.index(parameter["in"]))


def _list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else ()


def _read(schemas: SchemaConverter, node: Mapping[str, Any], taken: set[str]) -> Parameter:
    place, name = node["in"], node["name"]
    style = node.get("style") or STYLES[place]
    content = node.get("content")
    media: Mapping[str, Any] = next(iter(content.values()), {}) if isinstance(content, Mapping) else {}
    schema = schemas.part(media.get("schema") if content else node.get("schema"))
    if isinstance(schema, dict) and isinstance(node.get("description"), str):
        schema = {**schema, "description": node["description"]}
    return Parameter(
        member=_free(place, name, taken),
        name=name,
        place=place,
        style=style,
        explode=bool(node.get("explode", style == "form")),
        required=place == "path" or node.get("required") is True,
        as_json=bool(content),
        reserved=node.get("allowReserved") is True,
        schema=schema,
    )


def _free(place: str, name: str, taken: set[str]) -> str:
    free = name if name not in taken else f"{place}_{name}"
    while free in taken:
        free = f"{free}_"
    taken.add(free)
    return free


def _mergeable(document: OpenApiDocument, operation: Mapping[str, Any], body: Body | None) -> dict[str, Any]:
    """Return the members of a body that is a plain object; any other body is one member."""
    if body is None or not isinstance(body.schema, dict) or not body.has_members:
        return {}
    request = document.follow(operation.get("requestBody"))
    plain = document.follow(request["content"][body.media_key].get("schema"))
    is_object = plain.get("type", "object") == "object" and isinstance(plain.get("properties"), Mapping)
    is_open = plain.get("additionalProperties") not in (None, False)
    if not is_object or is_open or COMBINED & plain.keys() or "allOf" in plain or plain.get("nullable"):
        return {}
    return {name: body.member_schema(name) for name in plain["properties"]}


def _schema(
    parameters: tuple[Parameter, ...],
    body: Body | None,
    members: Mapping[str, Any],
    names: Mapping[str, str],
    alone: str | None,
) -> dict[str, Any]:
    properties = {parameter.member: parameter.schema for parameter in parameters}
    required = [parameter.member for parameter in parameters if parameter.required]
    properties |= {names[name]: schema for name, schema in members.items()}
    if body is not None and body.required:
        required += [names[name] for name in body.required_members if name in names]
    if body is not None and alone is not None:
        properties[alone] = body.schema
        required += [alone] if body.required else []
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }
