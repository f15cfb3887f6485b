"""Several servers as one: what each offers side by side, with its server's name before it only where two collide."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from fastmcp.server.dependencies import get_context
from fastmcp.server.providers.base import Provider
from fastmcp.server.providers.proxy import ProxyProvider
from mcp.shared.exceptions import MCPError

from shaping.proxy.former.front import of_session
from shaping.proxy.former.outage import ServerUnavailableError, StillStartingError, together

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from fastmcp.prompts import Prompt
    from fastmcp.resources import Resource, ResourceTemplate
    from fastmcp.tools.base import Tool
    from fastmcp.utilities.components import FastMCPComponent
    from fastmcp.utilities.versions import VersionSpec

    from shaping.proxy.former.backend import Backend

# A server that is slow to start is left out of a list after so long, and announced when it is there.
_PATIENCE = 10.0
_LOOK_SECONDS = 0.1
Named = TypeVar("Named", "Tool", "Prompt")
Listed = TypeVar("Listed")


class Part(ProxyProvider):
    """FastMCP's own proxy of one server, which forgets its lists when the server says that they changed."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend.client)
        self.backend = backend
        backend.changed = self.forget

    def forget(self) -> None:
        """Make the next look-up ask the server."""
        self._tools_cache = self._prompts_cache = None
        self._resources_cache = self._templates_cache = None


class Servers(Provider):
    """All servers behind the proxy, as one provider of tools, prompts and resources."""

    def __init__(self, backends: Sequence[Backend]) -> None:
        super().__init__()
        self.parts = [Part(backend) for backend in backends]
        if len(self.parts) > 1:
            for backend in backends:
                backend.patience = _PATIENCE
        self._tools: dict[str, Tool] = {}
        self._prompts: dict[str, Prompt] = {}

    async def _list_tools(self) -> Sequence[Tool]:
        self._tools = _apart(await self._gather(lambda part: part._list_tools()))  # noqa: SLF001 - how providers compose
        return list(self._tools.values())

    async def _get_tool(self, name: str, version: VersionSpec | None = None) -> Tool | None:  # noqa: ARG002 - a remote tool has one version
        # What a server offers depends on the client, so a name that is not known yet is asked for once more.
        if name not in self._tools or self._outdated("_tools_cache"):
            await self._list_tools()
        return self._tools.get(name)

    async def _list_prompts(self) -> Sequence[Prompt]:
        self._prompts = _apart(await self._gather(lambda part: part._list_prompts()))  # noqa: SLF001 - the same
        return list(self._prompts.values())

    async def _get_prompt(self, name: str, version: VersionSpec | None = None) -> Prompt | None:  # noqa: ARG002 - the same
        if name not in self._prompts or self._outdated("_prompts_cache"):
            await self._list_prompts()
        return self._prompts.get(name)

    async def _list_resources(self) -> Sequence[Resource]:
        return _flat(await self._gather(lambda part: part._list_resources()))  # noqa: SLF001 - the same

    async def _get_resource(self, uri: str, version: VersionSpec | None = None) -> Resource | None:
        return await self._first(lambda part: part._get_resource(uri, version))  # noqa: SLF001 - the same

    async def _list_resource_templates(self) -> Sequence[ResourceTemplate]:
        return _flat(await self._gather(lambda part: part._list_resource_templates()))  # noqa: SLF001 - the same

    async def _get_resource_template(self, uri: str, version: VersionSpec | None = None) -> ResourceTemplate | None:
        return await self._first(lambda part: part._get_resource_template(uri, version))  # noqa: SLF001 - the same

    async def get_tasks(self) -> Sequence[FastMCPComponent]:
        """Offer nothing to be run in the background: a proxied call runs where its server is."""
        return []

    async def owner(self, *, prompt: str | None = None, uri: str | None = None) -> Backend:
        """Return the server a prompt, a resource or a template comes from; the first where nobody claims it."""

        async def claims(part: Part) -> Backend | None:
            claimed = prompt is not None and await part._get_prompt(prompt)  # noqa: SLF001 - the same
            return part.backend if claimed or (uri is not None and await _offers(part, uri)) else None

        return await self._first(claims) or self.parts[0].backend

    def _outdated(self, cache: str) -> bool:
        """Say whether a list must be asked for anew; a server that is down is tried again without waiting for it."""
        stale = [part for part in self.parts if getattr(part, cache) is None]
        down = [part for part in stale if part.backend.away]
        if down and len(self.parts) > 1:
            front = of_session(get_context().session)
            for part in down:
                part.backend.nudge(front)
        return len(stale) > len(down)

    async def _gather(self, ask: Callable[[Part], Awaitable[Sequence[Listed]]]) -> list[tuple[str, Sequence[Listed]]]:
        if len(self.parts) == 1:
            return [(self.parts[0].backend.name, await ask(self.parts[0]))]
        while True:
            outcomes = await asyncio.gather(*(_outcome(ask, part) for part in self.parts))
            lists = [(part.backend.name, found) for part, found in outcomes if not isinstance(found, MCPError)]
            # With nothing to show yet, a server that is still starting is worth more of the client's time.
            if lists or not any(isinstance(found, StillStartingError) for _, found in outcomes):
                break
            # Whoever has been patient once is told at once from then on.
            await asyncio.sleep(_LOOK_SECONDS)
        problems = [(part, found) for part, found in outcomes if isinstance(found, MCPError)]
        if not lists:
            raise together([problem for _, problem in problems])
        self._leave_out(problems)
        return lists

    def _leave_out(self, problems: Sequence[tuple[Part, MCPError]]) -> None:
        """Go on without the servers that cannot answer: one that is down must not take the others with it."""
        for part, problem in problems:
            if isinstance(problem, ServerUnavailableError):
                part.backend.miss(of_session(get_context().session))
            if isinstance(problem, StillStartingError):
                part.backend.setbacks.log_once(
                    f"the server {part.backend.name!r} is slow to start and left out until it answers"
                )
            elif not isinstance(problem, ServerUnavailableError):
                part.backend.setbacks.log_once(f"the server {part.backend.name!r} is left out: {problem}")

    async def _first(self, ask: Callable[[Part], Awaitable[Listed | None]]) -> Listed | None:
        for part in self.parts:
            try:
                found = await ask(part)
            except MCPError:
                if len(self.parts) == 1:
                    raise
                continue
            if found is not None:
                return found
        return None


async def _outcome(
    ask: Callable[[Part], Awaitable[Sequence[Listed]]], part: Part
) -> tuple[Part, Sequence[Listed] | MCPError]:
    try:
        return part, await ask(part)
    except MCPError as problem:
        return part, problem


def _apart(lists: list[tuple[str, Sequence[Named]]]) -> dict[str, Named]:
    often = Counter(item.name for _, items in lists for item in items)
    named: dict[str, Any] = {}
    for server, items in lists:
        for item in items:
            shown = item if often[item.name] == 1 else item.model_copy(update={"name": f"{server}_{item.name}"})
            named[shown.name] = shown
    return named


def _flat(lists: list[tuple[str, Sequence[Listed]]]) -> list[Listed]:
    return [item for _, items in lists for item in items]


async def _offers(part: Part, uri: str) -> bool:
    if await part._get_resource(uri):  # noqa: SLF001 - how providers compose
        return True
    templates = await part._list_resource_templates()  # noqa: SLF001 - the same
    return any(template.uri_template == uri or template.matches(uri) is not None for template in templates)
