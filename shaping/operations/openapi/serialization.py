"""Writing parameters and bodies into a request: styles, media types, forms and files."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from shaping.errors import ToolError

if TYPE_CHECKING:
    from shaping.operations.openapi.document import OpenApiDocument, SchemaConverter

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
# Best first; of the rest, whatever comes first.
PREFERRED = ("application/json", "application/merge-patch+json", "*/*", FORM, MULTIPART)
FILE = {
    "anyOf": [
        {"type": "string", "description": "the content, as text"},
        {
            "type": "object",
            "properties": {
                "base64": {"type": "string"},
                "filename": {"type": "string"},
                "content_type": {"type": "string"},
            },
            "required": ["base64"],
            "additionalProperties": False,
        },
    ]
}


@dataclass(frozen=True, slots=True)
class Body:
    """The body of an operation in the media type that is sent."""

    media_key: str
    schema: Any
    properties: Mapping[str, Any]  # turned schemas of its members, where it is an object
    required_members: tuple[str, ...]
    required: bool
    encoding: Mapping[str, Any]

    @property
    def media_type(self) -> str:
        """The content type to send."""
        return "application/json" if self.media_key == "*/*" else self.media_key

    @property
    def is_json(self) -> bool:
        """Whether the body is written as JSON."""
        kind = self.media_type.partition(";")[0].strip().lower()
        return kind == "application/json" or kind.endswith("+json")

    @property
    def has_members(self) -> bool:
        """Whether the body is written by its members."""
        return self.is_json or self.media_key in {FORM, MULTIPART}

    def member_schema(self, name: str) -> Any:
        """Return the schema of one member; a file may also come as base64."""
        schema = self.properties[name]
        if self.media_key == MULTIPART and _is_file(_items_of(schema)):
            return {**schema, "items": FILE}
        return FILE if self.media_key == MULTIPART and _is_file(schema) else schema


def choose_body(document: OpenApiDocument, schemas: SchemaConverter, node: Any) -> Body | None:
    """Choose the media type that says most with least."""
    request = document.follow(node)
    content = request.get("content") if isinstance(request, Mapping) else None
    if not isinstance(content, Mapping) or not content:
        return None
    key = next((kind for kind in PREFERRED if kind in content), None) or next(
        (kind for kind in content if kind.partition(";")[0].endswith("+json")), next(iter(content))
    )
    media = content[key] if isinstance(content[key], Mapping) else {}
    plain = document.follow(media.get("schema"))
    plain = plain if isinstance(plain, Mapping) else {}
    members = plain.get("properties")
    body = Body(
        key,
        schemas.part(media.get("schema")) if "schema" in media else {},
        {name: schemas.part(part) for name, part in members.items()} if isinstance(members, Mapping) else {},
        tuple(name for name in plain.get("required") or () if isinstance(name, str)),
        request.get("required") is True,
        media.get("encoding") or {},
    )
    return body if body.has_members or plain else _with_text(body)


def _with_text(body: Body) -> Body:
    return Body(body.media_key, {"type": "string"}, {}, (), body.required, body.encoding)


def encode_body(body: Body, value: Any) -> dict[str, Any]:
    """Write a body as the arguments of an httpx request."""
    if body.is_json:
        return {"content": orjson.dumps(value), "headers": {"content-type": body.media_type}}
    if body.media_key == FORM:
        return {"content": _form(body, value).encode(), "headers": {"content-type": FORM}}
    if body.media_key == MULTIPART:
        return {"files": _parts(body, value)}
    content = value if isinstance(value, str) else orjson.dumps(value).decode()
    return {"content": content.encode(), "headers": {"content-type": body.media_type}}


def _form(body: Body, value: Any) -> str:
    pieces: list[str] = []
    for name, member in (value if isinstance(value, Mapping) else {"value": value}).items():
        rule = body.encoding.get(name) or {}
        style = rule.get("style", "form")
        pieces += in_query(name, member, style, explode=bool(rule.get("explode", style == "form")))
    return "&".join(pieces).replace("%20", "+")


def _parts(body: Body, value: Any) -> list[tuple[str, Any]]:
    """Return the parts of a form: files as files, objects as JSON, each item of a list as a part of its own."""
    return [
        (name, _part(body, name, item))
        for name, member in (value if isinstance(value, Mapping) else {"value": value}).items()
        for item in (member if isinstance(member, list) else [member])
    ]


def _part(body: Body, name: str, item: Any) -> tuple[str | None, bytes] | tuple[str | None, bytes, str]:
    is_file = _is_file(body.properties.get(name)) or _is_file(_items_of(body.properties.get(name)))
    if isinstance(item, Mapping) and is_file and "base64" in item:
        kind = str(item.get("content_type") or "application/octet-stream")
        return (str(item.get("filename") or name), _decoded(name, item["base64"]), kind)
    if is_file:
        return (name, scalar_text(item).encode(), "application/octet-stream")
    if isinstance(item, (Mapping, list)):
        return (None, orjson.dumps(item), "application/json")
    return (None, scalar_text(item).encode())


def _decoded(name: str, text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ToolError("BAD_ARGUMENT", f"{name}.base64 is not base64", phase="validation") from None


def _items_of(schema: Any) -> Any:
    return schema.get("items") if isinstance(schema, dict) else None


def _is_file(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    return schema.get("format") in {"binary", "byte"} or "contentMediaType" in schema


RESERVED = ":/?#[]@!$&'()*+,;="
DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


def scalar_text(value: Any) -> str:
    """Return a scalar as it stands in a URL or a header."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def in_path(name: str, value: Any, style: str, *, explode: bool) -> str:
    """Write a path parameter; one that would change the path itself is refused."""
    flat = _flat(value, explode=explode)
    pieces = [_path_piece(name, piece) for piece in flat]
    match style:
        case "label":
            return "." + ("." if explode else ",").join(pieces)
        case "matrix" if isinstance(value, (list, dict)) and explode:
            return "".join(f";{piece}" if isinstance(value, dict) else f";{name}={piece}" for piece in pieces)
        case "matrix":
            return f";{name}={','.join(pieces)}"
        case _:
            return ",".join(pieces)


def in_query(name: str, value: Any, style: str, *, explode: bool, reserved: bool = False) -> list[str]:
    """Write a query parameter as `name=value` pieces, already quoted."""
    safe = RESERVED if reserved else ""
    key = quote(name, safe="")
    if value is None:
        return []
    if isinstance(value, dict) and style == "deepObject":
        return [f"{key}[{quote(str(k), safe='')}]={quote(scalar_text(v), safe=safe)}" for k, v in value.items()]
    if isinstance(value, dict) and explode:
        return [f"{quote(str(k), safe='')}={quote(scalar_text(v), safe=safe)}" for k, v in value.items()]
    if isinstance(value, list) and explode:
        return [f"{key}={quote(scalar_text(item), safe=safe)}" for item in value]
    pieces = [quote(piece, safe=safe) for piece in _flat(value, explode=False)]
    return [f"{key}={DELIMITERS.get(style, ',').join(pieces)}"]


def in_header(name: str, value: Any, *, explode: bool) -> str:
    """Write a header or a cookie; control characters would start another header, so they are refused."""
    text = ",".join(_flat(value, explode=explode))
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ToolError("BAD_ARGUMENT", f"{name} has control characters", phase="validation")
    return text


def _flat(value: Any, *, explode: bool) -> list[str]:
    if isinstance(value, dict):
        pairs = [(str(key), scalar_text(item)) for key, item in value.items()]
        return [f"{k}={v}" for k, v in pairs] if explode else [piece for pair in pairs for piece in pair]
    return [scalar_text(item) for item in value] if isinstance(value, list) else [scalar_text(value)]


def _path_piece(name: str, piece: str) -> str:
    if piece in {"", ".", ".."}:
        raise ToolError("BAD_ARGUMENT", f"{name} is {piece!r}, which would make another path", phase="validation")
    return quote(piece, safe="=" if "=" in piece else "")
