"""A registry as a plain HTTP API: POST an operation's input, get its envelope, with the error's status.

POST /expand gives back what an answer left out, or runs a query or a search over it.
"""

import logging
import math
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import aclosing
from hashlib import sha256
from secrets import compare_digest
from typing import Any

import orjson
import uvicorn
from pydantic import BaseModel, ConfigDict
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from shaping.cleaning import Pieces
from shaping.envelope import Envelope, local_envelope
from shaping.errors import ToolError, from_exception, nearest
from shaping.operations.access import Identity, IdentityResult, resolve_identity
from shaping.operations.registry import Registry, without_earlier
from shaping.operations.schemas import schema_of
from shaping.operations.spec import Spec, tool_definition
from shaping.proxy.http_limits import SERVER_LIMITS, HostGuard, read_body
from shaping.response import Shaped

log = logging.getLogger("shaping")
MAX_BODY = 4_194_304
EXPAND = "/expand"


class Expansion(BaseModel):
    """What an earlier answer is asked for: a part of it, a page, the rows of a query or the hits of a search."""

    model_config = ConfigDict(extra="forbid")

    ref: str
    path: str | None = None
    cursor: str | None = None
    sql: str | None = None
    search: str | None = None


class _Routes:
    """The routes of one registry."""

    def __init__(
        self,
        registry: Registry,
        specs: Sequence[Spec],
        identify: Callable[[Request], IdentityResult] | None,
        token: str | None,
    ) -> None:
        self._registry = registry
        self._specs = {spec.id: spec for spec in specs}
        self._identify = identify
        self._token = token

    async def list(self, _: Request) -> Response:
        """List the operations."""
        listed = [{"id": spec.id, "type": spec.type, **_description(spec)} for spec in self._specs.values()]
        return _json({"operations": listed})

    async def call(self, request: Request) -> Response:
        """Call one operation; a subscription answers with a stream of events."""
        name = request.path_params["id"]
        spec = self._specs.get(name)
        self._check_token(request, spec)
        given, identity = await self._read(request, name)
        if spec is None:
            similar, message = nearest(name, [*self._specs]), f"{name!r} is not served here"
            raise ToolError("OPERATION_NOT_FOUND", message, phase="validation", similar=similar)
        owner = _owner(request, identity)
        if spec.type == "subscription":
            stream = self._events(name, given, identity, owner, _request_id(request))
            return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        envelope = await self._registry.execute(name, given, identity, request_id=_request_id(request))
        return self._answer(envelope, name, _etags_held(request), owner=owner)

    async def expand(self, request: Request) -> Response:
        """Return data that an earlier answer omitted."""
        given, identity = await self._read(request, "expand")
        arguments = schema_of(Expansion).read(given).model_dump(exclude_none=True)
        # In a thread: a query may take two seconds.
        found = await run_in_threadpool(
            self._registry.shaper.expand,
            **arguments,
            owner=_owner(request, identity),
            render_page=lambda page: _dump(page.value).decode(),
        )
        headers = {"X-Request-ID": request_id} if (request_id := _request_id(request)) else {}
        return _json(found.value, headers=headers)

    async def refuse(self, request: Request, problem: Exception) -> Response:
        """Answer a request that cannot be read or must not be answered."""
        name, detail = request.path_params.get("id", "expand"), from_exception(problem)
        return self._answer(local_envelope(None, name, error=detail, request_id=_request_id(request)))

    def _check_token(self, request: Request, spec: Spec | None) -> None:
        """Raise where a token is missing: other users of the machine can reach the port, too."""
        if self._token is None or not (spec is None or spec.state_changing or spec.operation_type == "eval"):
            return
        if not compare_digest(_token(request).encode(), self._token.encode()):
            message = "this operation can change something and needs the token that the server printed"
            raise ToolError("AUTH_REQUIRED", message, phase="validation")

    async def _read(self, request: Request, name: str) -> tuple[Any, Identity | None]:
        """Read a request's body and identify its sender; a sender that cannot be identified is refused."""
        # A browser asks before it sends that kind, also where the body is empty.
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise ToolError("BAD_ARGUMENT", "the body must be sent as application/json", phase="validation", http=415)
        given = await _input(request)
        try:
            return given, await resolve_identity(self._identify, request)
        except Exception as fault:  # noqa: BLE001  whatever keeps a caller from being known
            error = from_exception(fault)
            log.warning("a caller of %s could not be told: %s", name, error.message)
            raise ToolError.of(error) from None

    async def _events(
        self, name: str, given: Any, identity: Identity | None, owner: str | None, request_id: str | None
    ) -> AsyncIterator[bytes]:
        pieces = Pieces()
        async with aclosing(self._registry.subscribe(name, given, identity, request_id=request_id)) as envelopes:
            async for envelope in envelopes:
                number = envelope.meta.extensions.get("sequence", 0)
                kind = b"error" if envelope.error else b"message"
                item = without_earlier(envelope, pieces, name, self._registry.shaper)
                wire = _dump(self._shaped(item, name, owner).value)
                yield b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind, wire)

    def _answer(
        self, envelope: Envelope[Any], name: str = "", etags: Collection[str] = (), *, owner: str | None = None
    ) -> Response:
        shaped, error = self._shaped(envelope, name, owner), envelope.error
        headers = {"X-Request-ID": envelope.meta.request_id} if envelope.meta.request_id else {}
        if error is None and shaped.etag is not None:
            headers["ETag"] = f'"{shaped.etag}"'
            if shaped.etag in etags:
                return Response(status_code=304, headers=headers)
        status = 200 if error is None else error.http or 500
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if error is not None and error.retry_after is not None:
            headers["Retry-After"] = str(math.ceil(error.retry_after))
        return _json(shaped.value, status, headers)

    def _shaped(self, envelope: Envelope[Any], name: str, owner: str | None) -> Shaped:
        # Asking for a tag that nothing has makes the answer carry its own; a client may hold several.
        return self._registry.shaper.shape(
            envelope.data, tool=name, source=envelope, error=envelope.error, if_none_match="", owner=owner, as_json=True
        )


def http_app(
    registry: Registry,
    specs: Sequence[Spec] | None = None,
    *,
    identify: Callable[[Request], IdentityResult] | None = None,
    hosts: Collection[str] = (),
    token: str | None = None,
) -> Starlette:
    """Make a Starlette app of a registry's operations; `identify` may be async, and its exception is the answer.

    `hosts` are the values of the Host header that are answered besides the server's own address (`*` is any); `token`
    is asked for by operations that can change something.
    """
    api = _Routes(registry, registry.list() if specs is None else specs, identify, token)
    return Starlette(
        routes=[
            Route("/operations", api.list, methods=["GET"]),
            Route("/operations/{id:path}", api.call, methods=["POST"]),
            Route(EXPAND, api.expand, methods=["POST"]),
        ],
        middleware=[Middleware(HostGuard, hosts=hosts)],
        exception_handlers={ToolError: api.refuse},
    )


def serve_api(app: Starlette, host: str, port: int) -> None:
    """Serve the app of a registry until a signal comes."""
    uvicorn.run(app, host=host, port=port, **SERVER_LIMITS)


async def _input(request: Request) -> Any:
    """Read the body, as long as it is JSON and not too long."""
    body = await read_body(request, MAX_BODY)
    if body is None:
        raise _bad_argument(f"the body has more than {MAX_BODY} bytes")
    try:
        return orjson.loads(body or b"{}")
    except ValueError:
        raise _bad_argument("the body is not JSON") from None


def _bad_argument(message: str) -> ToolError:
    return ToolError("BAD_ARGUMENT", message, phase="validation")


def _description(spec: Spec) -> dict[str, Any]:
    tool = tool_definition(spec)
    return {"description": tool["description"], "input": tool["inputSchema"], "output": spec.output.json}


def _request_id(request: Request) -> str | None:
    return request.headers.get("x-request-id")


def _token(request: Request) -> str:
    """Read the token that a request carries, in its header or in its address."""
    given = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
    return given or request.query_params.get("token", "")


def _owner(request: Request, identity: Identity | None) -> str | None:
    """Name the only caller that may expand an answer: the identity, else every sender of the same token."""
    if identity is not None:
        return f"identity {identity.id}"
    token = _token(request)
    return f"token {sha256(token.encode()).hexdigest()}" if token else None


def _etags_held(request: Request) -> list[str]:
    """Read the tags of the answers that the client holds; a weak one is as good as any here."""
    listed = request.headers.get("if-none-match", "").split(",")
    return [tag.strip().removeprefix("W/").strip('"') for tag in listed]


def _dump(value: Any) -> bytes:
    return orjson.dumps(value, default=str)


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(_dump(value), status, headers, media_type="application/json")
