"""A registry as a plain HTTP API: POST an operation's input, get its envelope, with the error's status."""

from __future__ import annotations

import logging
import math
from contextlib import aclosing
from secrets import compare_digest
from typing import TYPE_CHECKING, Any

import orjson
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from shaping.envelope import local_envelope
from shaping.errors import ErrorDetail, from_exception, make_error, nearest
from shaping.operations.context import identified
from shaping.operations.selection import input_schema, short_description

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Sequence

    from shaping.envelope import Envelope
    from shaping.operations.context import Identified, Identity
    from shaping.operations.registry import Registry
    from shaping.operations.spec import Spec
    from shaping.response import Shaped

log = logging.getLogger("shaping")
MAX_BODY = 4_194_304


LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Gate:
    """Middleware that lets in only who may call: by Host, by Origin, by content type and by token.

    A page in a browser on the same machine can send requests to a server on loopback, and by DNS rebinding read the
    answers; other users of the machine can reach its port. So the Host must be one that is served, an Origin must be
    the same, a POST must be JSON even where its body is empty (a browser asks before it sends that), and whatever can
    change something needs the token.
    """

    def __init__(self, app: Any, hosts: Collection[str], token: str | None, is_open: Callable[[str], bool]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._token = token
        self._is_open = is_open  # whether the operation at a path only reads

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer what is refused; hand everything else on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Request(scope))
        if refusal is None:
            await self._app(scope, receive, send)
            return
        status, message = refusal
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        await _json({"error": {"message": message}}, status, headers)(scope, receive, send)

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        host, origin = request.headers.get("host", "").lower(), request.headers.get("origin")
        if self._hosts and host not in self._hosts:
            return 421, f"this server is not {host or 'without a name'}"
        if origin is not None and origin.lower() not in {f"http://{host}", f"https://{host}"}:
            return 403, "requests from pages of other origins are not answered"
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method == "POST" and kind != "application/json":
            return 415, "the body must be sent as application/json, also where it is empty"
        if self._token is not None and not self._is_open(request.url.path) and not self._knows(request):
            return (
                401,
                "this operation can change something and needs the token that the server printed when it started",
            )
        return None

    def _knows(self, request: Request) -> bool:
        given = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        given = given or request.query_params.get("token", "")
        return compare_digest(given.encode(), (self._token or "").encode())


class _Routes:
    """The routes of one registry."""

    def __init__(
        self,
        registry: Registry,
        specs: Sequence[Spec],
        identify: Callable[[Request], Identified] | None,
        dialect: str | None,
    ) -> None:
        self._registry = registry
        self._specs = {spec.id: spec for spec in specs}
        self._identify = identify
        self._dialect = dialect

    async def list(self, _: Request) -> Response:
        """List the operations."""
        listed = [
            {
                "id": s.id,
                "type": s.type,
                "description": short_description(s),
                "input": input_schema(s),
                "output": s.output.json,
            }
            for s in self._specs.values()
        ]
        return _json({"operations": listed})

    async def call(self, request: Request) -> Response:
        """Call one operation; a subscription answers with a stream of events."""
        name = request.path_params["id"]
        request_id = request.headers.get("x-request-id")
        try:
            given = await _input(request)
        except ValueError as problem:
            return self._answer(_refusal(name, request_id, "BAD_ARGUMENT", str(problem)))
        try:
            identity = await identified(self._identify, request)
        except Exception as http_error:  # noqa: BLE001  whatever keeps a caller from being known, it is not let in
            error = from_exception(http_error)
            log.warning("a caller of %s could not be told: %s", name, error.message)
            return self._answer(local_envelope(None, name, error=error, request_id=request_id))
        spec = self._specs.get(name)
        if spec is None:
            similar = nearest(name, [*self._specs])
            unknown = _refusal(name, request_id, "OPERATION_NOT_FOUND", f"{name!r} is not served here", similar=similar)
            return self._answer(unknown)
        if spec.type == "subscription":
            stream = self._events(name, given, identity, request_id)
            return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        envelope = await self._registry.execute(name, given, identity, request_id=request_id, shape=False)
        return self._answer(envelope, name, _tags(request))

    async def _events(
        self, name: str, given: Any, identity: Identity | None, request_id: str | None
    ) -> AsyncIterator[bytes]:
        opened = self._registry.subscribe(name, given, identity, request_id=request_id, shape=False)
        async with aclosing(opened) as envelopes:
            async for envelope in envelopes:
                number = envelope.meta.extensions.get("sequence", 0)
                kind = b"error" if envelope.error else b"message"
                yield b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind, self._wire(self._shaped(envelope, name)))

    def _answer(self, envelope: Envelope[Any], name: str = "", tags: Collection[str] = ()) -> Response:
        shaped = self._shaped(envelope, name)
        headers = _headers(envelope)
        if envelope.error is None and shaped.etag is not None:
            headers["ETag"] = f'"{shaped.etag}"'
            if shaped.etag in tags:
                return Response(status_code=304, headers=headers)
        return Response(self._wire(shaped), _status(envelope.error), headers, media_type="application/json")

    def _shaped(self, envelope: Envelope[Any], name: str) -> Shaped:
        shaper = self._registry.shaper
        # Asking for a tag that nothing has makes the answer carry its own; a client may hold several.
        return shaper.shape(envelope.data, tool=name, source=envelope, error=envelope.error, if_none_match="")

    def _wire(self, shaped: Shaped) -> bytes:
        """Write an answer in the dialect that the config or the server names."""
        if self._dialect is None:
            return _dump(shaped.value)
        return _dump(shaped.envelope.render(self._dialect, include=shaped.plan.envelope, debug=shaped.plan.debug))  # type: ignore[arg-type]  # checked by http_app


def http_app(
    registry: Registry,
    specs: Sequence[Spec] | None = None,
    *,
    identify: Callable[[Request], Identified] | None = None,
    dialect: str | None = None,
    hosts: Collection[str] = (),
    token: str | None = None,
) -> Starlette:
    """Make a Starlette app of a registry's operations; `identify` may be async, and what it raises is the answer.

    `hosts` are the values of the Host header that are answered, any where none is given; `token` is asked for by
    operations that can change something.
    """
    served = registry.list() if specs is None else specs
    reading = {f"/operations/{spec.id}" for spec in served if not spec.state_changing and spec.operation_type != "eval"}
    api = _Routes(registry, served, identify, dialect)
    return Starlette(
        routes=[
            Route("/operations", api.list, methods=["GET"]),
            Route("/operations/{id:path}", api.call, methods=["POST"]),
        ],
        middleware=[
            Middleware(Gate, hosts=hosts, token=token, is_open=lambda path: path in reading or path == "/operations")
        ],
    )


async def _input(request: Request) -> Any:
    """Read the body, as long as it is JSON and not too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise ValueError(f"the body has more than {MAX_BODY} bytes")
    try:
        return orjson.loads(bytes(body) or b"{}")
    except ValueError:
        raise ValueError("the body is not JSON") from None


def _tags(request: Request) -> list[str]:
    """Read the tags of the answers that the client holds; a weak one is as good as any here."""
    listed = request.headers.get("if-none-match", "").split(",")
    return [tag.strip().removeprefix("W/").strip('"') for tag in listed]


def _refusal(name: str, request_id: str | None, code: str, message: str, **fields: Any) -> Envelope[Any]:
    error = make_error(code, message, phase="validation", **fields)
    return local_envelope(None, name, error=error, request_id=request_id)


def _status(error: ErrorDetail | None) -> int:
    return 200 if error is None else error.http or 500


def _headers(envelope: Envelope[Any]) -> dict[str, str]:
    headers = {"X-Request-ID": envelope.meta.request_id} if envelope.meta.request_id else {}
    if envelope.error is not None and envelope.error.retry_after is not None:
        headers["Retry-After"] = str(math.ceil(envelope.error.retry_after))
    return headers


def _dump(value: Any) -> bytes:
    return orjson.dumps(value, default=str)


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(_dump(value), status, headers, media_type="application/json")
