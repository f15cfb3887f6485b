"""Calling an HTTP operation: from input to request, from response to envelope."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from shaping.envelope import Envelope, http_envelope
from shaping.errors import from_status, make_error
from shaping.errors.refusals import said_in
from shaping.operations.openapi.bodies import encode_body
from shaping.operations.openapi.styles import in_header, in_path, in_query
from shaping.parsers.json import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from shaping.operations.context import Context
    from shaping.operations.openapi.client import Client
    from shaping.operations.openapi.inputs import Inputs, Parameter


@dataclass(frozen=True, slots=True)
class HttpCall:
    """The handler of one HTTP operation."""

    client: Client
    method: str
    path: str
    inputs: Inputs
    accept: str = "application/json"

    async def __call__(self, given: Mapping[str, Any], context: Context) -> Envelope[Any]:
        """Send the request and wrap what comes back."""
        url, request = self.request(given)
        if context.request_id is not None:
            request["headers"]["X-Request-ID"] = context.request_id
        response = await self.client.send(self.method, url, **request)
        return read_response(response, self.method)

    def request(self, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Give the address and the rest of a request."""
        path, query, headers, cookies = self.path, list[str](), {"Accept": self.accept}, list[str]()
        for parameter in self.inputs.parameters:
            if parameter.member not in given:
                continue
            value = _written(parameter, given[parameter.member])
            match parameter.place:
                case "path":
                    text = in_path(parameter.name, value, parameter.style, explode=parameter.explode)
                    path = path.replace(f"{{{parameter.name}}}", text)
                case "query":
                    query += in_query(
                        parameter.name, value, parameter.style, explode=parameter.explode, reserved=parameter.reserved
                    )
                case "header":
                    headers[parameter.name] = in_header(parameter.name, value, explode=parameter.explode)
                case _:
                    cookies += in_query(parameter.name, value, parameter.style, explode=parameter.explode)
        request = self._body(given)
        headers |= request.pop("headers", {})
        if cookies:
            headers["Cookie"] = "; ".join(cookies)
        return self.client.url(path, query), {**request, "headers": headers}

    def _body(self, given: Mapping[str, Any]) -> dict[str, Any]:
        inputs = self.inputs
        if inputs.body is None:
            return {}
        if inputs.body_member is not None:
            sent = inputs.body_member in given
            return encode_body(inputs.body, given[inputs.body_member]) if sent else {}
        value = {theirs: given[ours] for ours, theirs in inputs.body_members.items() if ours in given}
        return encode_body(inputs.body, value) if value or inputs.body_required else {}


def _written(parameter: Parameter, value: Any) -> Any:
    return orjson.dumps(value).decode() if parameter.as_json else value


def read_response(response: httpx.Response, method: str = "GET") -> Envelope[Any]:
    """Wrap a response: data by its content type, an error status as a coded error beside whatever the server said."""
    kind = response.headers.get("content-type", "")
    data, readable = _data(response, kind)
    about: dict[str, Any] = {
        "status": response.status_code,
        "headers": response.headers.multi_items(),
        "content_type": kind,
    }
    if response.status_code >= 400:
        said = said_in(data)
        message = None if said is None else f"HTTP {response.status_code}: {said[:300]}"
        changing = method not in {"GET", "HEAD", "OPTIONS", "QUERY"}
        error = from_status(response.status_code, message, headers=response.headers, state_changing=changing)
        return http_envelope(data, error=error, **about)
    if not readable:
        error = make_error("BAD_RESPONSE", f"the API answered with {kind}, but the body is not in that form")
        return http_envelope(data, error=error, **about)
    if 300 <= response.status_code < 400 and response.status_code != 304:
        return http_envelope(None, error=make_error("BAD_RESPONSE", "the API redirects to another place"), **about)
    return http_envelope(data, **about)


def _data(response: httpx.Response, kind: str) -> tuple[Any, bool]:
    """Give the body as JSON data, and whether it could be read as what it says it is."""
    if not response.content:
        return None, True
    plain = kind.partition(";")[0].strip().lower()
    if plain == "application/json" or plain.endswith("+json"):
        try:
            return read_json(response.content), True
        except ValueError:
            return response.text, False
    if plain.startswith("text/") or plain.endswith(("xml", "yaml", "javascript")) or not plain:
        return response.text, True
    if (text := _as_text(response.content)) is not None:
        return text, True
    return {"base64": base64.b64encode(response.content).decode(), "bytes": len(response.content)}, True


def _as_text(body: bytes) -> Any:
    """Give a body of an unknown kind as the JSON or the text that it is: in base64 nobody would see a secret."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    try:
        return read_json(text)
    except ValueError:
        return text
