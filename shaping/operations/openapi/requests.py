"""The input of an HTTP operation: parameters and body members merged into one object, and how each is sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from shaping.errors import ToolError

if TYPE_CHECKING:
    from shaping.operations.openapi.document import OpenApiDocument, SchemaConverter

PATH_PARAMETER = re.compile(r"\{([^{}]+)\}")
STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
# HTTP itself sets these, and the document's security schemes say how to authenticate.
NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
COMBINED = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas"})
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
# Best first; of the rest, whatever comes first.
PREFERRED = ("application/json", "application/merge-patch+json", "*/*", FORM, MULTIPART)


def is_json(kind: str) -> bool:
    """Whether a media type is JSON."""
    plain = kind.partition(";")[0].strip().lower()
    return plain == "application/json" or plain.endswith("+json")


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
    schema: Any = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Body:
    """The body of an operation in the media type that is sent."""

    media_type: str
    schema: Any
    properties: Mapping[str, Any]  # schemas of its members, where it is an object
    required_members: tuple[str, ...]
    required: bool
    by_members: bool  # whether its members are members of the input; else it is one member

    def encode(self, value: Any) -> dict[str, Any]:
        """Write the body as the arguments of an httpx request."""
        if self.media_type == MULTIPART:
            return {"files": [(name, self._part(name, item)) for name, item in _items(value)]}
        if self.media_type == FORM:
            pieces = [piece for name, item in _members(value) for piece in in_query(name, item, "form", explode=True)]
            content = "&".join(pieces).replace("%20", "+").encode()
        elif is_json(self.media_type) or not isinstance(value, str):
            content = orjson.dumps(value)
        else:
            content = value.encode()
        return {"content": content, "headers": {"content-type": self.media_type}}

    def _part(self, name: str, item: Any) -> tuple[str | None, bytes] | tuple[str | None, bytes, str]:
        """Return one part of a form: a file as a file, an object as JSON."""
        if _is_file(self.properties.get(name)):
            return (name, scalar_text(item).encode(), "application/octet-stream")
        if isinstance(item, (Mapping, list)):
            return (None, orjson.dumps(item), "application/json")
        return (None, scalar_text(item).encode())


@dataclass(frozen=True, slots=True)
class OperationInputs:
    """Everything an operation takes."""

    parameters: tuple[Parameter, ...]
    body: Body | None
    body_members: Mapping[str, str]  # input member to body member; empty where the body is one member
    body_member: str | None
    schema: dict[str, Any]

    def body_arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of an httpx request that send the body."""
        if self.body is None:
            return {}
        if self.body_member is not None:
            return self.body.encode(given[self.body_member]) if self.body_member in given else {}
        value = {theirs: given[ours] for ours, theirs in self.body_members.items() if ours in given}
        return self.body.encode(value) if value or self.body.required else {}


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
    parameters = tuple(_parameter(schemas, node, taken) for node in _in_order(document, item, operation, path))
    body = _body(document, schemas, operation.get("requestBody"))
    properties = {parameter.member: parameter.schema for parameter in parameters}
    required = [parameter.member for parameter in parameters if parameter.required]
    names: dict[str, str] = {}
    alone = None
    if body is not None and body.by_members:
        names = {name: _unique_member("body", name, taken) for name in body.properties}
        properties |= {names[name]: schema for name, schema in body.properties.items()}
        required += [names[name] for name in body.required_members if name in names and body.required]
    elif body is not None:
        alone = _unique_member("request", "body", taken)
        properties[alone] = body.schema
        required += [alone] if body.required else []
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    if not required:
        del schema["required"]
    ours = {member: name for name, member in names.items()}
    return OperationInputs(parameters, body, ours, alone, schemas.with_defs(schema))


def _in_order(
    document: OpenApiDocument, item: Mapping[str, Any], operation: Mapping[str, Any], path: str
) -> list[Mapping[str, Any]]:
    """Return the parameters by place; an operation's own override its path's, and each placeholder is one."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {
        ("path", name): {"in": "path", "name": name, "schema": {"type": "string"}}
        for name in PATH_PARAMETER.findall(path)
    }
    listed = [listed for node in (item, operation) if isinstance(listed := node.get("parameters"), list)]
    for node in (node for nodes in listed for node in nodes):
        parameter = document.resolve(node)
        if isinstance(parameter, Mapping) and parameter.get("in") in STYLES and isinstance(parameter.get("name"), str):
            found[parameter["in"], parameter["name"]] = parameter
    kept = [p for (place, name), p in found.items() if place != "header" or name.lower() not in NOT_PARAMETERS]
    return sorted(kept, key=lambda parameter: list(STYLES).index(parameter["in"]))


def _parameter(schemas: SchemaConverter, node: Mapping[str, Any], taken: set[str]) -> Parameter:
    place, name = node["in"], node["name"]
    style = node.get("style") or STYLES[place]
    content = node.get("content")
    media: Mapping[str, Any] = next(iter(content.values()), {}) if isinstance(content, Mapping) else {}
    schema = schemas.part(media.get("schema") if content else node.get("schema"))
    if isinstance(schema, dict) and isinstance(node.get("description"), str):
        schema = {**schema, "description": node["description"]}
    return Parameter(
        member=_unique_member(place, name, taken),
        name=name,
        place=place,
        style=style,
        explode=bool(node.get("explode", style == "form")),
        required=place == "path" or node.get("required") is True,
        as_json=bool(content),
        schema=schema,
    )


def _unique_member(place: str, name: str, taken: set[str]) -> str:
    free = name if name not in taken else f"{place}_{name}"
    while free in taken:
        free = f"{free}_"
    taken.add(free)
    return free


def _body(document: OpenApiDocument, schemas: SchemaConverter, node: Any) -> Body | None:
    """Read the body in the preferred media type; its members become members of the input where it is a plain object."""
    request = document.resolve(node)
    content = request.get("content") if isinstance(request, Mapping) else None
    if not isinstance(content, Mapping) or not content:
        return None
    json_like = next((kind for kind in content if is_json(kind)), next(iter(content)))
    key = next((kind for kind in PREFERRED if kind in content), json_like)
    media = content[key] if isinstance(content[key], Mapping) else {}
    plain = document.resolve(media.get("schema"))
    plain = plain if isinstance(plain, Mapping) else {}
    members = plain.get("properties")
    has_members = key in {*PREFERRED} or is_json(key)
    schema = schemas.part(media.get("schema")) if plain or has_members else {"type": "string"}
    return Body(
        "application/json" if key == "*/*" else key,
        schema,
        {name: schemas.part(part) for name, part in members.items()} if isinstance(members, Mapping) else {},
        tuple(name for name in plain.get("required") or () if isinstance(name, str)),
        request.get("required") is True,
        has_members
        and isinstance(members, Mapping)
        and bool(members)
        and isinstance(schema, dict)
        and plain.get("type", "object") == "object"
        and plain.get("additionalProperties") in (None, False)
        and not plain.get("nullable")
        and COMBINED.isdisjoint(plain),
    )


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, Mapping) else [("value", value)]


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    """Return each item of a list as a member of its own."""
    return [
        (name, item) for name, member in _members(value) for item in (member if isinstance(member, list) else [member])
    ]


def _is_file(schema: Any) -> bool:
    """Whether a member is a file, or a list of them."""
    if not isinstance(schema, dict):
        return False
    if schema.get("format") in {"binary", "byte"} or "contentMediaType" in schema:
        return True
    return _is_file(schema.get("items"))


def scalar_text(value: Any) -> str:
    """Return a scalar as it is written in a URL or a header."""
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def in_path(name: str, value: Any, *, explode: bool) -> str:
    """Write a path parameter; one that would change the path itself is refused."""
    pieces = _flat(value, explode=explode)
    for piece in pieces:
        if piece in {"", ".", ".."}:
            raise ToolError("BAD_ARGUMENT", f"{name} is {piece!r}, which would make another path", phase="validation")
    return ",".join(quote(piece, safe="=" if "=" in piece else "") for piece in pieces)


def in_query(name: str, value: Any, style: str, *, explode: bool) -> list[str]:
    """Write a query parameter as `name=value` pieces, already quoted."""
    key = quote(name, safe="")
    if value is None:
        return []
    if isinstance(value, dict) and (explode or style == "deepObject"):
        named = f"{key}[{{}}]={{}}" if style == "deepObject" else "{}={}"
        return [named.format(quote(str(k), safe=""), quote(scalar_text(v), safe="")) for k, v in value.items()]
    if isinstance(value, list) and explode:
        return [f"{key}={quote(scalar_text(item), safe='')}" for item in value]
    pieces = [quote(piece, safe="") for piece in _flat(value, explode=False)]
    return [f"{key}={DELIMITERS.get(style, ',').join(pieces)}"]


def in_header(name: str, value: Any, *, explode: bool) -> str:
    """Write a header; control characters would start another header, so they are refused."""
    text = ",".join(_flat(value, explode=explode))
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ToolError("BAD_ARGUMENT", f"{name} has control characters", phase="validation")
    return text


def _flat(value: Any, *, explode: bool) -> list[str]:
    if isinstance(value, dict):
        pairs = [(str(key), scalar_text(item)) for key, item in value.items()]
        return [f"{k}={v}" for k, v in pairs] if explode else [piece for pair in pairs for piece in pair]
    return [scalar_text(item) for item in value] if isinstance(value, list) else [scalar_text(value)]
