"""The page over HTTP: to loopback, to who has the token, with news of each call as server-sent events."""

from __future__ import annotations

import asyncio
from secrets import compare_digest
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from shaping.ledger import LedgerDatabase, LedgerError
from shaping.page import content_policy, document
from shaping.page.data import PageSource
from shaping.proxy.http_limits import SERVER_LIMITS, HostGuard
from shaping.settings.files import ledger_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from shaping.mcp.mcp_shaper import MCPShaper

_LOOK_SECONDS: Final = 0.5
_SILENT_LOOKS: Final = 30  # after which a comment is sent, so that a browser that went away is noticed
_LOCKED: Final = "This page needs the token in the address that shaping printed when it started.\n"


def page_routes(find_source: Callable[[], Awaitable[PageSource | None]], token: str) -> list[Route]:
    """Return the routes of the page and its events; `find_source` returns None where the ledger is off."""

    async def page(source: PageSource) -> Response:
        try:
            written = await run_in_threadpool(lambda: document(source.collect(), live=True))
        except LedgerError as problem:
            return PlainTextResponse(f"{problem}\n", 503, _HEADERS)
        policy = f"{content_policy()}; frame-ancestors 'none'"
        return HTMLResponse(written, headers={**_HEADERS, "Content-Security-Policy": policy})

    async def events(source: PageSource) -> Response:
        return StreamingResponse(_changes(source), media_type="text/event-stream", headers=_HEADERS)

    def guarded(answer: Callable[[PageSource], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer_request(request: Request) -> Response:
            if not compare_digest(request.query_params.get("token", "").encode(), token.encode()):
                return PlainTextResponse(_LOCKED, 401, _HEADERS)
            source = await find_source()
            if source is None:
                return PlainTextResponse("SHAPING_LEDGER is off, so there is nothing to show.\n", 404, _HEADERS)
            return await answer(source)

        return answer_request

    return [Route("/", guarded(page), methods=["GET"]), Route("/events", guarded(events), methods=["GET"])]


def proxy_routes(find_mcp_shaper: Callable[[], Awaitable[MCPShaper]], token: str) -> list[Route]:
    """Return the routes of a proxy's page: the user's ledger, and the texts of calls that this process keeps."""
    sources: list[PageSource] = []

    async def find() -> PageSource | None:
        mcp_shaper = await find_mcp_shaper()
        if not sources and (path := ledger_path()) is not None and mcp_shaper.ledger is not None:
            shaper = mcp_shaper.shaper
            store = shaper.keeper("mcp").store
            sources.append(PageSource(LedgerDatabase(path), store=store, config=lambda: shaper.loaded_config))
        return sources[0] if sources else None

    return page_routes(find, token)


def page_app(source: PageSource, *, token: str) -> Starlette:
    """Return the application that shows one page, and answers only requests to its own address."""

    async def find() -> PageSource:
        return source

    return Starlette(routes=page_routes(find, token), middleware=[Middleware(HostGuard)])


def serve_page(source: PageSource, token: str, host: str, port: int) -> None:
    """Serve one page until a signal comes."""
    uvicorn.run(page_app(source, token=token), host=host, port=port, **SERVER_LIMITS, timeout_graceful_shutdown=1)


# The address holds the token: no other page may learn it, and no cache may keep what it shows.
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


async def _changes(source: PageSource) -> AsyncIterator[bytes]:
    """Tell of each change of the ledger."""
    seen: Any = await run_in_threadpool(source.database.version)
    silent = 0
    yield b"retry: 2000\n\n"
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        version = await run_in_threadpool(source.database.version)
        silent += 1
        if version != seen:
            seen, silent = version, 0
            yield f"event: changed\ndata: {version}\n\n".encode()
        elif silent >= _SILENT_LOOKS:
            silent = 0
            yield b": \n\n"
