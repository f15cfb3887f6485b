"""The proxy: FastMCP's own, over connections that last, with every message a server can send passed on."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types
from fastmcp import Context, FastMCP
from fastmcp.server.dependencies import bind_request_context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.server.providers.proxy import ProxyMetadataMiddleware
from fastmcp.server.transforms.visibility import is_enabled
from mcp.shared.exceptions import MCPError

from shaping.proxy.former.front import GREETING, Front, of_session
from shaping.proxy.former.generation import Settled
from shaping.proxy.former.outage import ServerUnavailableError, together, told
from shaping.proxy.former.pipes import own_pipes, until_left
from shaping.proxy.former.servers import Servers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from fastmcp.tools.base import Tool
    from fastmcp.utilities.versions import VersionSpec
    from mcp.server.context import ServerRequestContext

    from shaping.proxy.former.backend import Backend
    from shaping.proxy.former.link import Link

logger = logging.getLogger("shaping")


class Proxy(FastMCP[Any]):
    """A server that offers what other servers offer."""

    def __init__(self, backends: Sequence[Backend], middleware: Sequence[Middleware] = ()) -> None:
        self.backends = list(backends)
        self.servers = Servers(self.backends)
        super().__init__(_name(self.backends), providers=[self.servers], lifespan=self._closing)
        self.provider_error_strategy = "raise"
        self.middleware.append(Greeting(self))
        if len(self.backends) == 1:
            self.middleware.append(ProxyMetadataMiddleware(self.servers.parts[0], identity="upstream"))
        self.middleware.extend(middleware)
        _pass_on(self)
        _settle_generation(self)

    @asynccontextmanager
    async def _closing(self, _: Any) -> AsyncIterator[None]:
        for backend in self.backends:
            backend.ended = False
        try:
            yield
        finally:
            await self.end()

    async def get_tool(self, name: str, version: VersionSpec | None = None) -> Tool | None:
        """Look a tool up where it comes from: there is nothing on the way here that hides, renames or forbids tools."""
        if version is None and not self.transforms:
            found = await self.servers._get_tool(name)  # noqa: SLF001 - how providers compose
            if found is not None and is_enabled(found):
                return found
        return await super().get_tool(name, version)

    async def end(self) -> None:
        """End every server behind the proxy, for good."""
        for backend in self.backends:
            backend.ended = True
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                for backend in self.backends:
                    tasks.start_soon(backend.close)

    async def check_generation(self, front: Front) -> None:
        """Refuse a client of the newer protocol where a server behind speaks only the older one."""
        outcomes = await asyncio.gather(*(_reached(backend, front) for backend in self.backends))
        problems = [problem for problem in outcomes if problem is not None]
        others = [problem for problem in problems if not isinstance(problem, ServerUnavailableError)]
        # One of several that is down must not keep the client out; it is taken as it is when it comes.
        if others or len(problems) == len(self.backends):
            raise others[0] if others else together(problems)
        for backend, problem in zip(self.backends, outcomes, strict=True):
            if problem is not None:
                backend.admit(front)

    async def serve_pipes(self) -> None:
        """Serve one client over this process's own pipes until it closes them."""
        server = self._mcp_server
        async with self._lifespan_manager(), own_pipes() as (read, write), until_left(read) as heard:
            await server.run(heard, write, server.create_initialization_options())

    @property
    def outage(self) -> str | None:
        """Say why no server was ever reached, where that is so."""
        if any(backend.reached for backend in self.backends):
            return None
        return next((told(backend.failure) for backend in self.backends if backend.failure is not None), None)

    def links(self, session: Any) -> list[Link]:
        """Return the live connections that serve a client."""
        front = of_session(session)
        return [link for backend in self.backends for link in backend.links_of(front)]


class Greeting(Middleware):
    """Keeps what a client says of itself at once, because the servers behind are greeted before it is answered."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy

    async def on_initialize(
        self,
        context: MiddlewareContext[mcp_types.InitializeRequest],
        call_next: CallNext[mcp_types.InitializeRequest, mcp_types.InitializeResult | None],
    ) -> mcp_types.InitializeResult | None:
        """Remember the client's introduction for as long as its connection lasts."""
        if context.fastmcp_context is not None and context.message is not None:
            connection = context.fastmcp_context.session._connection  # noqa: SLF001 - no public way to it
            connection.state[GREETING] = context.message.params
        return await call_next(context)

    async def on_discover(
        self,
        context: MiddlewareContext[mcp_types.DiscoverRequest],
        call_next: CallNext[mcp_types.DiscoverRequest, Any],
    ) -> Any:
        """Refuse the newer protocol where a server behind does not speak it."""
        if context.fastmcp_context is not None:
            await self.proxy.check_generation(of_session(context.fastmcp_context.session))
        return await call_next(context)


async def _reached(backend: Backend, front: Front) -> MCPError | None:
    try:
        await backend.link(front)
    except MCPError as problem:
        return problem
    return None


def _name(backends: Sequence[Backend]) -> str:
    return backends[0].name if len(backends) == 1 else "shaping"


def _settle_generation(proxy: Proxy) -> None:
    """Let every pipe be opened in a generation that the servers behind speak."""
    server = proxy._mcp_server  # noqa: SLF001 - FastMCP serves every pipe through this one function
    serve = server.run

    async def run(read: Any, write: Any, *arguments: Any, **options: Any) -> None:
        await serve(Settled(read, write, proxy.check_generation), write, *arguments, **options)

    vars(server)["run"] = run


def _pass_on(proxy: Proxy) -> None:
    """Answer the requests that FastMCP's proxy leaves out by asking the server they belong to."""
    server = proxy._mcp_server  # noqa: SLF001 - FastMCP offers no other place for handlers of these methods

    async def complete(ctx: ServerRequestContext[Any, Any], params: mcp_types.CompleteRequestParams) -> Any:
        ref = params.ref
        prompt = ref.name if isinstance(ref, mcp_types.PromptReference) else None
        uri = ref.uri if isinstance(ref, mcp_types.ResourceTemplateReference) else None
        backend = await _owner(proxy, ctx, prompt=prompt, uri=uri)
        return await _ask(backend, ctx, mcp_types.CompleteRequest(params=params), mcp_types.CompleteResult)

    async def subscribe(ctx: ServerRequestContext[Any, Any], params: mcp_types.SubscribeRequestParams) -> Any:
        backend = await _owner(proxy, ctx, uri=params.uri)
        return await _ask(backend, ctx, mcp_types.SubscribeRequest(params=params), mcp_types.EmptyResult)

    async def unsubscribe(ctx: ServerRequestContext[Any, Any], params: mcp_types.UnsubscribeRequestParams) -> Any:
        backend = await _owner(proxy, ctx, uri=params.uri)
        return await _ask(backend, ctx, mcp_types.UnsubscribeRequest(params=params), mcp_types.EmptyResult)

    async def set_level(ctx: ServerRequestContext[Any, Any], params: mcp_types.SetLevelRequestParams) -> Any:
        for link in proxy.links(ctx.session):
            try:
                await link.client.session.send_request(mcp_types.SetLevelRequest(params=params), mcp_types.EmptyResult)
            except MCPError as error:
                logger.debug("%s does not set log levels: %s", link.backend.name, error)
        return mcp_types.EmptyResult()

    async def roots_changed(ctx: ServerRequestContext[Any, Any], _: mcp_types.NotificationParams) -> None:
        for link in proxy.links(ctx.session):
            await link.client.session.send_notification(mcp_types.RootsListChangedNotification())

    server.add_request_handler("completion/complete", mcp_types.CompleteRequestParams, complete)
    server.add_request_handler("resources/subscribe", mcp_types.SubscribeRequestParams, subscribe)
    server.add_request_handler("resources/unsubscribe", mcp_types.UnsubscribeRequestParams, unsubscribe)
    server.add_request_handler("logging/setLevel", mcp_types.SetLevelRequestParams, set_level)
    server.add_notification_handler("notifications/roots/list_changed", mcp_types.NotificationParams, roots_changed)


async def _owner(proxy: Proxy, ctx: ServerRequestContext[Any, Any], **what: str | None) -> Backend:
    if len(proxy.backends) == 1:
        return proxy.backends[0]
    with bind_request_context(ctx):
        async with Context(proxy):
            return await proxy.servers.owner(**what)


async def _ask(backend: Backend, ctx: ServerRequestContext[Any, Any], request: Any, kind: Any) -> Any:
    link = await backend.link(of_session(ctx.session))
    async with link.for_call(None) as client:
        return await client.session.send_request(request, kind)
