"""ASGI: the JSON answers of a web API, shaped for the agents that call it directly."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import partial
from hashlib import blake2b
from typing import Any, Final

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shaping.errors import ToolError
from shaping.integrations import ConfigSource, ToolResults, refusal
from shaping.ledger import record_text
from shaping.mcp.sessions import texts_keeper
from shaping.present.unshaped import when_not_enabled
from shaping.response import CallContext, Shaped, required
from shaping.settings.plan import Overrides
from shaping.shaper import Shaper

PROFILE: Final = "shaping-profile"  # request header: the profile to shape by, or `off`
LEFT_OUT: Final = "shaping-left-out"  # response header: what was left out, and the ref to ask it back
_LARGEST: Final = 32 * 1024 * 1024  # bytes of an answer that is held to be shaped; a larger one passes
_CLIENT: Final = "asgi"  # in the ledger


class ASGIShaping:
    """Shapes JSON answers: `app.add_middleware(ASGIShaping)` in Starlette or FastAPI, `ASGIShaping(app)` elsewhere.

    An answer is shaped where its path matches one of `routes`, where the request has the header `Shaping-Profile`, or
    where it accepts `text/plain` and no JSON; then it is the text that a model reads. The tool's name in the config is
    the method and the route: `GET /repos/{repo}/issues`.
    """

    def __init__(
        self,
        app: ASGIApp,
        config: ConfigSource = None,
        *,
        routes: Iterable[str] = (),
        expand_path: str | None = None,
        shaper: Shaper | None = None,
    ) -> None:
        self._app = app
        self._routes = tuple(routes)
        self._expand_path = expand_path
        self._shaper = shaper or Shaper(config, expandable=expand_path is not None)
        self._results = ToolResults(_CLIENT, shaper=self._shaper)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == self._expand_path and scope["method"] == "GET":
            await (await self._expand(Request(scope)))(scope, receive, send)
        else:
            await self._shape(scope, receive, send)

    async def _shape(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        profile = headers.get(PROFILE)
        as_text = _wants_text(headers.get("accept", ""))
        is_off = profile == "off"
        wanted = any(fnmatchcase(scope["path"], route) for route in self._routes)
        wanted |= not is_off and (profile is not None or as_text)
        held = _Held(send, holds=wanted and scope["method"] != "HEAD")
        if not held.holds:
            await self._app(scope, receive, held)
            return
        # The client's etag is that of the shaped answer, of which the application knows nothing.
        given = headers.get("if-none-match")
        inner = dict(scope, headers=[pair for pair in headers.raw if pair[0] != b"if-none-match"])
        await self._app(inner, receive, held)
        if held.start is None:
            return
        if (value := held.json()) is None:
            await held.release()
            return
        sent, tool, overrides = bytes(held.body), _tool(inner), Overrides(dialect="none")
        if is_off or not 200 <= held.start["status"] < 300:
            # The route's answer as it is, but for what must not leave.
            shaped: Shaped = when_not_enabled(value, self._shaper.plan(tool, overrides=overrides), CallContext())
            if shaped.value is value or self._shaper.mode != "on":
                await held.release()
                return
            as_text, given = False, None
        else:
            shaped = self._shaper.shape(value, tool=tool, profile=profile, overrides=overrides, as_json=not as_text)
        answered = await _answer(held, shaped, given=given, as_text=as_text)
        if answered and self._shaper.mode != "off":
            plan = shaped.plan
            texts = partial(_decoded, sent), partial(_decoded, answered)
            about: dict[str, Any] = {"client": _CLIENT, "profile": plan.profile, "config": plan.config_hash}
            record_text(plan.tool, *texts, **about, keep=texts_keeper(self._shaper, [shaped]))

    async def _expand(self, request: Request) -> PlainTextResponse:
        asked = {name: request.query_params.get(name, "") for name in ("ref", "path", "cursor", "sql", "search")}
        try:
            # In a thread: a query may take two seconds.
            return PlainTextResponse(await run_in_threadpool(self._results.expand, **asked))
        except ToolError as problem:
            return PlainTextResponse(refusal(problem), problem.detail.http or 400)


def _decoded(body: bytes) -> str:
    return body.decode(errors="replace")


class _Held:
    """Holds an answer back until it is whole; one that is streamed, large or no JSON is sent on as it comes."""

    def __init__(self, send: Send, *, holds: bool) -> None:
        self._send = send
        self.holds = holds
        self.start: Message | None = None
        self.body = bytearray()

    async def __call__(self, message: Message) -> None:
        """Take one message of the application."""
        if message["type"] == "http.response.start":
            # A copy, because the application may send its own again; some write the names in mixed case.
            headers = MutableHeaders(raw=[(name.lower(), value) for name, value in message.get("headers", ())])
            if _is_json(headers):
                _add_vary(headers)
                message = {**message, "headers": headers.raw}
                if self.holds:
                    self.start = message
                    return
        if self.start is None or message["type"] != "http.response.body":
            await self._send(message)
            return
        self.body += message.get("body", b"")
        streamed = message.get("more_body", False) and "content-length" not in Headers(scope=self.start)
        if streamed or len(self.body) > _LARGEST:
            await self.release(more=message.get("more_body", False))

    async def release(self, *, more: bool = False) -> None:
        """Send what is held as the application gave it, and hold nothing further."""
        start, self.start = self.start, None
        if start is not None:
            await self._send(start)
            await self._send({"type": "http.response.body", "body": bytes(self.body), "more_body": more})

    async def replace(self, status: int, headers: Headers, body: bytes) -> None:
        """Send another answer in place of the one that is held."""
        await self._send({"type": "http.response.start", "status": status, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})

    def json(self) -> Any:
        """Read the body; None where it holds no JSON, or null."""
        try:
            return orjson.loads(bytes(self.body))
        except orjson.JSONDecodeError:
            return None


async def _answer(held: _Held, shaped: Shaped, *, given: str | None, as_text: bool) -> bytes:
    """Send the shaped answer, or that it is not modified, and return the body that was sent."""
    start = required(held.start)
    body = shaped.text.encode() if as_text else orjson.dumps(shaped.value)
    headers = MutableHeaders(scope=start)
    has_etag = "etag" in headers
    for name in ("content-length", "etag", "content-md5", "digest"):
        del headers[name]
    headers["content-type"] = "text/plain; charset=utf-8" if as_text else "application/json"
    if has_etag:
        headers["etag"] = etag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
        if given is not None and etag in {one.strip().removeprefix("W/") for one in given.split(",")}:
            await held.replace(304, headers, b"")
            return b""
    if not as_text and (notice := shaped.notice.strip()):
        headers[LEFT_OUT] = notice.encode("ascii", "replace").decode().replace("\n", " ")
    headers["content-length"] = str(len(body))
    await held.replace(start["status"], headers, body)
    return body


def _add_vary(headers: MutableHeaders) -> None:
    """Say that the answer varies, also where it is not shaped: another request may get another form of it."""
    said = {word.strip().lower() for line in headers.getlist("vary") for word in line.split(",")}
    missing = [] if "*" in said else [word for word in ("Accept", "Shaping-Profile") if word.lower() not in said]
    if missing:
        headers.add_vary_header(", ".join(missing))


def _is_json(headers: Headers) -> bool:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    return is_json and "content-encoding" not in headers


def _wants_text(accept: str) -> bool:
    kinds = [one.partition(";")[0].strip().lower() for one in accept.split(",")]
    return "text/plain" in kinds and not any(kind == "*/*" or "json" in kind for kind in kinds)


def _tool(scope: Scope) -> str:
    """Name the tool by the route's template, where the framework tells it, else by the path."""
    route = getattr(scope.get("route"), "path", None) or scope["path"]
    return f"{scope['method']} {route}"
