"""The input of an HTTP operation: parameters and body members merged into one object, and how each is sent."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson

from shaping.errors import ToolError
from shaping.operations.openapi.document import OpenApiDocument, SchemaConverter, take_name

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
    """One member of the input: its name on the wire, its place, and how it is written there.

    The place is `path`, `query`, `header` or `cookie`; `body` for a member of the body, `request` for the body itself.
    """

    member: str
    name: str
    place: str
    style: str
    explode: bool
    required: bool
    as_json: bool
    schema: Any


@dataclass(frozen=True, slots=True)
class Body:
    """The body of an operation: its media type, whether it must be sent, and its members as parameters, or itself."""

    media_type: str = ""
    required: bool = False
    parameters: Sequence[Mapping[str, Any]] = ()  # as the document would describe them
    files: frozenset[str] = frozenset()  # the members that are files

    def encode(self, value: Any) -> dict[str, Any]:
        """Write the body as the arguments of an httpx request."""
        members = value.items() if isinstance(value, Mapping) else [("value", value)]
        if self.media_type == MULTIPART:
            items = [(name, item) for name, part in members for item in (part if isinstance(part, list) else [part])]
            return {"files": [(name, self._part(name, item)) for name, item in items]}
        if self.media_type == FORM:
            pieces = [piece for name, item in members for piece in in_query(name, item, "form", explode=True)]
            content = "&".join(pieces).replace("%20", "+").encode()
        elif is_json(self.media_type) or not isinstance(value, str):
            content = orjson.dumps(value)
        else:
            content = value.encode()
        return {"content": content, "headers": {"content-type": self.media_type}}

    def _part(self, name: str, item: Any) -> tuple[str | None, bytes] | tuple[str | None, bytes, str]:
        """Return one part of a form: a file as a file, an object as JSON."""
        if name in self.files:
            return (name, scalar_text(item).encode(), "application/octet-stream")
        if isinstance(item, (Mapping, list)):
            return (None, orjson.dumps(item), "application/json")
        return (None, scalar_text(item).encode())


@dataclass(frozen=True, slots=True)
class OperationInputs:
    """Everything an operation takes."""

    parameters: tuple[Parameter, ...]
    body: Body
    schema: dict[str, Any]

    def request(self, path: str, given: Mapping[str, Any]) -> tuple[str, list[str], dict[str, Any]]:
        """Return the path and the pieces of the query with an input in them, and what else sends it by httpx."""
        query, cookies, headers, members = list[str](), list[str](), dict[str, str](), dict[str, Any]()
        for parameter in self.parameters:
            if parameter.member not in given:
                continue
            name, explode, value = parameter.name, parameter.explode, given[parameter.member]
            value = orjson.dumps(value).decode() if parameter.as_json else value
            if parameter.place == "path":
                path = path.replace(f"{{{name}}}", in_path(name, value, explode=explode))
            elif parameter.place == "header":
                headers[name] = in_header(name, value, explode=explode)
            elif parameter.place in {"query", "cookie"}:
                pieces = query if parameter.place == "query" else cookies
                pieces += in_query(name, value, parameter.style, explode=explode)
            else:
                members[name] = value
        if cookies:
            headers["Cookie"] = "; ".join(cookies)
        is_whole = any(parameter.place == "request" for parameter in self.parameters)
        if not (members or (self.body.required and not is_whole)):
            return path, query, {"headers": headers}
        sent = self.body.encode(members["body"] if is_whole else members)
        return path, query, {**sent, "headers": headers | sent.get("headers", {})}


def read_inputs(
    schemas: SchemaConverter, item: Mapping[str, Any], operation: Mapping[str, Any], path: str
) -> OperationInputs:
    """Merge the parameters of a path and of its operation with the body.

    A name that two of them have is kept by the first in the order path, query, header, cookie, body; the others are
    called by their place and name: `query_id`, `body_id`.
    """
    taken: set[str] = set()
    body = _body(schemas.document, operation.get("requestBody"))
    nodes = [*_in_order(schemas.document, item, operation, path), *body.parameters]
    parameters = tuple(_parameter(schemas, node, taken) for node in nodes)
    required = [parameter.member for parameter in parameters if parameter.required]
    schema = {
        "type": "object",
        "properties": {parameter.member: parameter.schema for parameter in parameters},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }
    return OperationInputs(parameters, body, schemas.with_defs(schema))


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
    style = node.get("style") or STYLES.get(place, "")
    content = node.get("content")
    media: Mapping[str, Any] = next(iter(content.values()), {}) if isinstance(content, Mapping) else {}
    schema = schemas.part(media.get("schema") if content else node.get("schema"))
    if isinstance(schema, dict) and isinstance(node.get("description"), str):
        schema = {**schema, "description": node["description"]}
    return Parameter(
        member=take_name(f"{place}_{name}" if name in taken else name, taken),
        name=name,
        place=place,
        style=style,
        explode=bool(node.get("explode", style == "form")),
        required=place == "path" or node.get("required") is True,
        as_json=bool(content),
        schema=schema,
    )


def _body(document: OpenApiDocument, node: Any) -> Body:
    """Read the body in the preferred media type; its members become members of the input where it is a plain object."""
    request = document.resolve(node)
    content = request.get("content") if isinstance(request, Mapping) else None
    if not isinstance(content, Mapping) or not content:
        return Body()
    json_like = next((kind for kind in content if is_json(kind)), next(iter(content)))
    kind = next((kind for kind in PREFERRED if kind in content), json_like)
    schema = content[kind].get("schema") if isinstance(content[kind], Mapping) else None
    plain = document.resolve(schema)
    plain = plain if isinstance(plain, Mapping) else {}
    members = plain.get("properties")
    members = members if isinstance(members, Mapping) else {}
    required, has_members = request.get("required") is True, kind in PREFERRED or is_json(kind)
    if has_members and members and _is_plain_object(plain):
        must = plain.get("required") or () if required else ()
        parameters = [
            {"in": "body", "name": name, "schema": part, "required": name in must} for name, part in members.items()
        ]
    else:
        schema = schema if plain or has_members else {"type": "string"}
        parameters = [{"in": "request", "name": "body", "schema": schema, "required": required}]
    files = frozenset(name for name, part in members.items() if _is_file(document.resolve(part)))
    return Body("application/json" if kind == "*/*" else kind, required, parameters, files)


def _is_plain_object(schema: Mapping[str, Any]) -> bool:
    """Whether a schema allows the members that it names and no others."""
    return (
        schema.get("type", "object") == "object"
        and schema.get("additionalProperties") in (None, False)
        and not schema.get("nullable")
        and COMBINED.isdisjoint(schema)
    )


def _is_file(schema: Any) -> bool:
    """Whether a member is a file, or a list of them."""
    if not isinstance(schema, Mapping):
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
