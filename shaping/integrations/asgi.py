"""ASGI: the JSON answers of a web API, shaped for the agents that call it directly."""

from __future__ import annotations

import asyncio
from fnmatch import fnmatchcase
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.errors import ToolError
from shaping.ledger import record_text
from shaping.mcp.sessions import texts_keeper
from shaping.present.unshaped import when_not_enabled
from shaping.response import CallContext, Shaped, required
from shaping.settings.plan import Overrides
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping

    from shaping.integrations import ConfigSource

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

PROFILE: Final = b"shaping-profile"  # request header: the profile to shape by, or `off`
LEFT_OUT: Final = b"shaping-left-out"  # response header: what was left out, and the ref to ask it back
_LARGEST: Final = 32 * 1024 * 1024  # bytes of an answer that is held to be shaped; a larger one passes


class ASGIShaping:
    """Shapes JSON answers: `app.add_middleware(ASGIShaping)` in Starlette or FastAPI, `ASGIShaping(app)` elsewhere.

    An answer is shaped where its path matches one of `routes`, where the request has the header `Shaping-Profile`, or
    where it accepts `text/plain` and no JSON; then it is the text that a model reads. The tool's name in the config is
    the method and the route: `GET /repos/{repo}/issues`.
    """

    def __init__(
        self,
        app: Callable[[Scope, Receive, Send], Awaitable[None]],
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == self._expand_path and scope["method"] == "GET":
            await self._expand(scope, send)
        else:
            await self._shape(scope, receive, send)

    async def _shape(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _HeaderMap(scope["headers"])
        profile = headers.get(PROFILE)
        as_text = _wants_text(headers.get(b"accept"))
        is_off = profile == "off"
        wanted = any(fnmatchcase(scope["path"], route) for route in self._routes)
        wanted |= not is_off and (profile is not None or as_text)
        held = _Held(send, holds=wanted and scope["method"] != "HEAD")
        if not held.holds:
            await self._app(scope, receive, held)
            return
        # The client's etag is that of the shaped answer, of which the application knows nothing.
        given = headers.get(b"if-none-match")
        inner = dict(scope, headers=[pair for pair in scope["headers"] if pair[0] != b"if-none-match"])
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
            about: dict[str, Any] = {"client": "asgi", "profile": plan.profile, "config": plan.config_hash}
            record_text(plan.tool, *texts, **about, keep=texts_keeper(self._shaper, [shaped]))

    async def _expand(self, scope: Scope, send: Send) -> None:
        from urllib.parse import parse_qs  # noqa: PLC0415 (asked for after few answers)

        asked = {name: values[-1] for name, values in parse_qs(scope["query_string"].decode()).items()}
        try:
            chosen: dict[str, Any] = {name: asked.get(name) for name in ("path", "cursor", "sql", "search")}
            # In a thread: a query may take two seconds.
            found = await asyncio.to_thread(self._shaper.expand, asked.get("ref", ""), **chosen, surface="mcp")
            status, body = 200, found.text.encode()
            record_text(found.plan.tool, "", found.text, kind="query" if asked.get("sql") else "expand", client="asgi")
        except ToolError as problem:
            status, body = problem.detail.http or 400, f"{problem} {problem.detail.hint or ''}".strip().encode()
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _decoded(body: bytes) -> str:
    return body.decode(errors="replace")


class _HeaderMap(dict[bytes, str]):
    """A request's headers by lower-case name; of several the last."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        super().__init__((name.lower(), value.decode("latin-1")) for name, value in pairs)


class _Held:
    """Holds an answer back until it is whole; one that is streamed, large or no JSON is sent on as it comes."""

    def __init__(self, send: Send, *, holds: bool) -> None:
        self._send = send
        self.holds = holds
        self.start: Message | None = None
        self.body = bytearray()

    async def __call__(self, message: Message) -> None:
        """Take one message of the application."""
        if message["type"] == "http.response.start" and _is_json(message):
            # An answer that is not shaped varies, too: another request may get another form of it.
            kept = [(name, value) for name, value in message["headers"] if name.lower() != b"vary"]
            message = {**message, "headers": [*kept, (b"vary", _vary(message))]}
            if self.holds:
                self.start = message
                return
        if self.start is None or message["type"] != "http.response.body":
            await self._send(message)
            return
        self.body += message.get("body", b"")
        streamed = message.get("more_body", False) and b"content-length" not in _HeaderMap(self.start["headers"])
        if streamed or len(self.body) > _LARGEST:
            await self.release(more=message.get("more_body", False))

    async def release(self, *, more: bool = False) -> None:
        """Send what is held as the application gave it, and hold nothing further."""
        start, self.start = self.start, None
        if start is not None:
            await self._send(start)
            await self._send({"type": "http.response.body", "body": bytes(self.body), "more_body": more})

    async def replace(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        """Send another answer in place of the one that is held."""
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
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
    gone = {b"content-length", b"etag", b"content-type", b"content-md5", b"digest"}
    headers = [(name, value) for name, value in start["headers"] if name.lower() not in gone]
    headers.append((b"content-type", b"text/plain; charset=utf-8" if as_text else b"application/json"))
    etag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
    if any(name.lower() == b"etag" for name, _ in start["headers"]):
        headers.append((b"etag", etag.encode()))
        if given is not None and etag in {one.strip().removeprefix("W/") for one in given.split(",")}:
            await held.replace(304, headers, b"")
            return b""
    if not as_text and (notice := shaped.notice.strip()):
        headers.append((LEFT_OUT, notice.encode("ascii", "replace").replace(b"\n", b" ")))
    headers.append((b"content-length", str(len(body)).encode()))
    await held.replace(start["status"], headers, body)
    return body


def _vary(start: Message) -> bytes:
    named = [value.decode("latin-1") for name, value in start["headers"] if name.lower() == b"vary"]
    words = [word.strip() for value in named for word in value.split(",") if word.strip()]
    lower = {word.lower() for word in words}
    return ", ".join([*words, *(word for word in ("Accept", "Shaping-Profile") if word.lower() not in lower)]).encode()


def _is_json(start: Message) -> bool:
    headers = _HeaderMap(start["headers"])
    kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    return is_json and b"content-encoding" not in headers


def _wants_text(accept: str | None) -> bool:
    kinds = [one.partition(";")[0].strip().lower() for one in (accept or "").split(",")]
    return "text/plain" in kinds and not any(kind == "*/*" or "json" in kind for kind in kinds)


def _tool(scope: Scope) -> str:
    """Name the tool by the route's template, where the framework tells it, else by the path."""
    route = getattr(scope.get("route"), "path", None) or scope["path"]
    return f"{scope['method']} {route}"
