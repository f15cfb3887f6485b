"""A real HTTP server on loopback that says what it was asked."""

from __future__ import annotations

import base64
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.requests import Request

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


async def echo(request: Request) -> Response:
    """Give back everything that was received."""
    body = await request.body()
    said: dict[str, Any] = {
        "method": request.method,
        "path": request.scope["raw_path"].decode(),
        "query": request.scope["query_string"].decode(),
        "headers": {
            k: v for k, v in request.headers.items() if k.startswith(("x-", "auth", "cookie", "content-type", "api"))
        },
        "body": body.decode("utf-8", "replace"),
    }
    if request.headers.get("content-type", "").startswith("multipart/"):
        form = await request.form()
        said["headers"].pop("content-type")
        parts = form.multi_items()
        said["body"] = [
            [
                name,
                value
                if isinstance(value, str)
                else [value.filename, value.content_type, base64.b64encode(await value.read()).decode()],
            ]
            for name, value in parts
        ]
        await form.close()
    return JSONResponse(said)


async def status(request: Request) -> Response:
    """Answer with the status that is asked for."""
    code = int(request.path_params["code"])
    match code:
        case 204:
            return Response(status_code=204)
        case 429:
            return JSONResponse({"message": "slow down"}, 429, headers={"Retry-After": "7"})
        case 500:
            return PlainTextResponse("boom", 500)
        case 302:
            return RedirectResponse("http://127.0.0.1:1/elsewhere", 302)
        case 301:
            return RedirectResponse("/status/200", 301)
        case 308:
            return RedirectResponse("/status/308", 308)
        case _:
            return JSONResponse({"error": {"message": f"status {code}"}}, code)


async def kind(request: Request) -> Response:
    """Answer in the content type that is asked for."""
    match request.path_params["kind"]:
        case "text":
            return PlainTextResponse("hello")
        case "binary":
            return Response(b"\x00\x01", media_type="image/png")
        case "unknown-json":
            return Response(b'{"a": [1]}', media_type="application/octet-stream")
        case "unknown-text":
            return Response(b"plain words", media_type="application/octet-stream")
        case "broken":
            return Response(b"{", media_type="application/json")
        case "problem":
            return Response(b'{"a": 1}', media_type="application/problem+json")
        case _:
            response = JSONResponse({})
            response.headers.append("set-cookie", "a=1")
            response.headers.append("set-cookie", "b=2")
            return response


async def slow(request: Request) -> Response:
    """Answer too late: when nobody waits any more."""
    import anyio

    while not await request.is_disconnected():  # noqa: ASYNC110  there is no event for it
        await anyio.sleep(0.05)
    return JSONResponse({})


class Streams:
    """What the event streams send, connection by connection, and what they were asked."""

    def __init__(self) -> None:
        self.scripts: dict[str, list[list[str]]] = {}
        self.asked: list[str | None] = []
        self.closed = threading.Event()

    async def serve(self, request: Request) -> Response:
        self.asked.append(request.headers.get("last-event-id"))
        script = self.scripts[request.path_params["name"]]
        if not script:
            return Response(status_code=204)
        return StreamingResponse(self.send(script.pop(0)), media_type="text/event-stream")

    async def send(self, chunks: list[str]) -> AsyncIterator[str]:
        import anyio

        try:
            for chunk in chunks:
                if chunk == "BREAK":
                    raise RuntimeError("the connection breaks off")
                if chunk == "HANG":
                    await anyio.sleep(600)
                yield chunk
        finally:
            self.closed.set()


@pytest.fixture(scope="session")
def streams() -> Streams:
    return Streams()


@pytest.fixture(scope="session")
def server(streams: Streams) -> Iterator[str]:
    """Run the server; give its address."""
    app = Starlette(
        routes=[
            Route("/status/{code}", status, methods=METHODS),
            Route("/kind/{kind}", kind),
            Route("/slow", slow),
            Route("/stream/{name}", streams.serve, methods=["GET", "POST"]),
            Route("/{rest:path}", echo, methods=METHODS),
        ]
    )
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]})
        thread.start()
        while not running.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        running.should_exit = True
        thread.join(60)
