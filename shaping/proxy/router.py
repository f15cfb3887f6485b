"""Several servers as one: lists side by side, each request to its server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

from shaping.proxy import outage
from shaping.proxy.messages import (
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION,
    Message,
    answer_message,
    error_message,
    message_of,
)
from shaping.proxy.upstream import BackgroundTasks, Receiver, RequestError, ServerUnavailableError, Upstream

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shaping.errors import ErrorDetail


logger = logging.getLogger("shaping")

# A server that is slow to start is left out after so long, and announced when it is there.
START_WAIT_SECONDS = 10.0
_INVALID_PARAMS = -32602
_UNSUPPORTED_PROTOCOL_VERSION = -32022
_HANDSHAKE_VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_NAMED = {"tools/call": "tools/list", "prompts/get": "prompts/list"}
_BY_URI = frozenset({"resources/read", "resources/subscribe", "resources/unsubscribe"})
_ANNOUNCED = ("tools", "prompts", "resources")
_MOST_URIS = 10_000  # of resources whose server is remembered


class OneOfSeveral(Receiver):
    """Hands what comes from one server on to the router of all of them."""

    def __init__(self, router: Router, number: int) -> None:
        self._router, self._number = router, number

    async def on_server_message(self, message: Message) -> None:
        """Hand a message on with the number of its server."""
        await self._router.on_message_from(self._number, message)

    async def on_unanswered(self, request: Message, detail: ErrorDetail) -> None:
        """Hand on that a request will not be answered."""
        await self._router.receiver.on_unanswered(request, detail)

    def on_log_line(self, name: str, line: bytes) -> None:
        """Hand a line of the log on."""
        self._router.receiver.on_log_line(name, line)

    def warn(self, ours: str, quoted: str) -> None:
        """Hand a warning on."""
        self._router.receiver.warn(ours, quoted)


class Router:
    """Takes the place of one upstream server; names are prefixed with their server's only where two collide."""

    def __init__(self, upstreams: Sequence[Upstream]) -> None:
        self.name = "shaping"
        self.upstreams = list(upstreams)
        for number, upstream in enumerate(self.upstreams):
            upstream.receiver = OneOfSeveral(self, number)
        self.receiver = Receiver()
        self._initialized: Message | None = None
        self._ready: set[int] = set()
        # By list: the server and its own name of each entry, also of an earlier list, which a client may still go by.
        self._entries_by_name: dict[str, dict[str, tuple[int, str]]] = {method: {} for method in _NAMED.values()}
        self._current: dict[str, Collection[str]] = {}  # by list: the names in the latest, unless that has changed
        self._unlisted: list[ErrorDetail] = []  # why servers are missing in the latest list
        self._uris: dict[str, int] = {}
        self._asked: dict[str, tuple[int, Any]] = {}  # servers' requests, by the id that the client sees
        self._tasks = BackgroundTasks()

    def server_of(self, tool: str) -> str:
        """Return the name of the server that has a tool, or a resource by its URI; our own where none does."""
        number = self._uris.get(tool, self._entries_by_name["tools/list"].get(tool, (None, tool))[0])
        return self.name if number is None else self.upstreams[number].name

    async def start(self) -> None:
        """Connect to all servers before the first message."""
        await asyncio.gather(*(upstream.start() for upstream in self.upstreams))

    @property
    def failure(self) -> ErrorDetail | None:
        """Why a server cannot be used, where there is one that cannot."""
        return next((upstream.failure for upstream in self.upstreams if upstream.failure is not None), None)

    @property
    def reached(self) -> bool:
        """Whether any server ever answered."""
        return any(upstream.reached for upstream in self.upstreams)

    @property
    def is_busy(self) -> bool:
        """Whether there are requests that are not answered."""
        return bool(self._tasks) or any(upstream.is_busy for upstream in self.upstreams)

    async def close(self) -> None:
        """End every connection."""
        self._tasks.cancel()
        await asyncio.gather(*(upstream.close() for upstream in self.upstreams))

    async def send(self, message: Message) -> None:
        """Handle a message from the client."""
        if message.is_request:
            self._tasks.start(self._serve(message))
        elif message.is_answer:
            number, own_id = self._asked.pop(message.id, (None, None))
            if number is not None:
                await self.upstreams[number].send(message_of({**message.data, "id": own_id}))
        else:
            if message.method == "notifications/initialized":
                self._initialized = message
            for number in sorted(self._ready):
                await self.upstreams[number].send(message)

    async def on_message_from(self, number: int, message: Message) -> None:
        """Handle a message from one server."""
        if message.is_request:
            # Two servers may use the same id.
            shown = f"{self.upstreams[number].name}:{message.id!r}"
            self._asked[shown] = number, message.id
            message = message_of({**message.data, "id": shown})
        elif message.method == "notifications/tools/list_changed":
            self._current.pop("tools/list", None)
        elif message.method == "notifications/prompts/list_changed":
            self._current.pop("prompts/list", None)
        await self.receiver.on_server_message(message)

    async def _serve(self, message: Message) -> None:
        try:
            reply = await self._reply(message)
        except RequestError as problem:
            reply = message_of({"jsonrpc": "2.0", "id": message.id, "error": problem.error})
        except ServerUnavailableError as problem:
            await self.receiver.on_unanswered(message, problem.detail)
            return
        if reply is not None:
            await self.receiver.on_server_message(reply)

    async def _reply(self, message: Message) -> Message | None:
        """Answer a request, or pass it on to a server that will."""
        method = message.method or ""
        if PROTOCOL_VERSION in message.meta or method == "server/discover":
            # Several servers have one session only by the handshake, to which such a client then turns.
            supported = {"supported": _HANDSHAKE_VERSIONS, "requested": message.meta.get(PROTOCOL_VERSION)}
            words = "several servers behind one proxy are reached by the initialize handshake only"
            return error_message(message.id, _UNSUPPORTED_PROTOCOL_VERSION, words, supported)
        if method == "initialize":
            return answer_message(message.id, await self._initialize(message))
        if method == "ping":
            return answer_message(message.id, {})
        if method in _LISTS:
            return answer_message(message.id, {_LISTS[method]: await self._list(method)})
        if method in _NAMED:
            return await self._pass_by_name(message, _NAMED[method])
        if method == "logging/setLevel":
            levels = (upstream.ask(method, message.params) for upstream in self.upstreams)
            await asyncio.gather(*levels, return_exceptions=True)
            return answer_message(message.id, {})
        return answer_message(message.id, await self._first(method, message.params))

    async def _initialize(self, message: Message) -> dict[str, Any]:
        starts = [asyncio.create_task(upstream.ask("initialize", message.params)) for upstream in self.upstreams]
        await asyncio.wait(starts, timeout=START_WAIT_SECONDS)
        if not any(start.done() and start.exception() is None for start in starts):
            # With nothing to show yet, a server that is still starting is worth more of the client's time.
            await _first_success(starts)
        results: list[dict[str, Any]] = []
        for number, start in enumerate(starts):
            if not start.done():
                name = self.upstreams[number].name
                logger.warning("the server %r is slow to start and left out until it answers", name)
                self._tasks.start(self._announce_late(number, start))
            elif start.exception() is None:
                self._ready.add(number)
                results.append(start.result())
        if not results:
            raise _together([start.exception() for start in starts if start.done()])
        return _merged(results)

    async def _announce_late(self, number: int, start: asyncio.Task[dict[str, Any]]) -> None:
        with contextlib.suppress(ServerUnavailableError, RequestError):
            await self._admit(number, await start)

    async def _admit(self, number: int, result: dict[str, Any]) -> None:
        """Add a server that was left out, and notify the client of what has changed by it."""
        self._ready.add(number)
        self._current.clear()
        if self._initialized is not None:
            await self.upstreams[number].send(self._initialized)
        for capability in _ANNOUNCED:
            if capability in (result.get("capabilities") or {}):
                changed = {"jsonrpc": "2.0", "method": f"notifications/{capability}/list_changed"}
                await self.receiver.on_server_message(message_of(changed))

    async def _list(self, method: str) -> list[dict[str, Any]]:
        found = await asyncio.gather(*(self._entries(number, method) for number in range(len(self.upstreams))))
        problems = [entries for entries in found if isinstance(entries, Exception)]
        self._unlisted = [one.detail for one in problems if isinstance(one, ServerUnavailableError)]
        lists = [[] if isinstance(entries, Exception) else entries for entries in found]
        if len(problems) == len(found):
            if all(_is_unknown(problem) for problem in problems):
                return []
            raise _together(problems)
        if method in _NAMED.values():
            return self._named(method, lists)
        address = "uri" if method == "resources/list" else "uriTemplate"
        self._uris |= {str(entry.get(address)): number for number, entries in enumerate(lists) for entry in entries}
        return [entry for entries in lists for entry in entries]

    async def _entries(self, number: int, method: str) -> list[dict[str, Any]] | Exception:
        """List what one server has; one that is still starting is not waited for."""
        upstream = self.upstreams[number]
        if number not in self._ready and not upstream.reached and upstream.is_busy:
            return ServerUnavailableError(outage.still_starting(upstream.name))
        try:
            entries = [entry async for entry in self.upstreams[number].pages(method, _LISTS[method])]
        except (ServerUnavailableError, RequestError) as problem:
            if isinstance(problem, RequestError) and not _is_unknown(problem):
                self.receiver.warn(f"the server {upstream.name!r} is left out", str(problem))
            return problem
        if number not in self._ready:
            await self._admit(number, {"capabilities": {_LISTS[method]: {}}})
        return entries

    def _named(self, method: str, lists: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
        often = Counter(entry["name"] for entries in lists for entry in entries)
        names: dict[str, tuple[int, str]] = {}
        shown: list[dict[str, Any]] = []
        for number, entries in enumerate(lists):
            for entry in entries:
                own = entry["name"]
                name = own if often[own] == 1 else f"{self.upstreams[number].name}_{own}"
                names[name] = number, own
                shown.append(entry if name == own else {**entry, "name": name})
        self._current[method] = names.keys()
        self._entries_by_name[method] |= names
        return shown

    async def _owner(self, method: str, name: str) -> tuple[int | None, str]:
        """Return the server of a name in a list, and that server's own name for it."""
        if name not in self._current.get(method, ()):
            # What a server offers depends on the client, so a name that is not known yet is asked for once more.
            await self._list(method)
        return self._entries_by_name[method].get(name, (None, name))

    async def _pass_by_name(self, message: Message, method: str) -> Message | None:
        name = str(message.params.get("name", ""))
        number, own = await self._owner(method, name)
        if number is None and self._unlisted:
            raise ServerUnavailableError(outage.not_found(name, self._unlisted))
        if number is None:
            return error_message(message.id, _INVALID_PARAMS, f"Unknown {_LISTS[method][:-1]}: {name!r}")
        if own != name:
            message = message_of({**message.data, "params": {**message.params, "name": own}})
        await self.upstreams[number].send(message)
        return None

    async def _first(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the server that a request is for, or one after the other where nobody knows which that is."""
        number, params = await self._addressed(method, params)
        problem: Exception | None = None
        for one in range(len(self.upstreams)) if number is None else [number]:
            try:
                reply = await self.upstreams[one].ask(method, params)
            except (RequestError, ServerUnavailableError) as raised:
                # An error that says more than "not here" is the better answer.
                problem = raised if problem is None or _is_unknown(problem) else problem
            else:
                if method in _BY_URI and len(self._uris) < _MOST_URIS:
                    self._uris[str(params.get("uri"))] = one
                return reply
        raise problem or RequestError({"code": METHOD_NOT_FOUND, "message": "Method not found"})

    async def _addressed(self, method: str, params: dict[str, Any]) -> tuple[int | None, dict[str, Any]]:
        """Return the server of the prompt or the resource that a request names, and the request in its words."""
        ref = params.get("ref") if method == "completion/complete" else None
        ref = ref if isinstance(ref, dict) else {}
        if isinstance(ref.get("name"), str):
            number, own = await self._owner("prompts/list", ref["name"])
            return number, {**params, "ref": {**ref, "name": own}}
        uri = params.get("uri") if method in _BY_URI else ref.get("uri")
        return self._uris.get(uri) if isinstance(uri, str) else None, params


async def _first_success(starts: Sequence[asyncio.Task[Any]]) -> None:
    waiting = set(starts)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if any(start.exception() is None for start in done):
            return


def _together(problems: Sequence[BaseException | None]) -> Exception:
    details = [problem.detail for problem in problems if isinstance(problem, ServerUnavailableError)]
    if details:
        return ServerUnavailableError(outage.combined_error(details))
    return next(problem for problem in problems if isinstance(problem, Exception))


def _is_unknown(problem: BaseException) -> bool:
    return isinstance(problem, RequestError) and problem.error.get("code") == METHOD_NOT_FOUND


def _merged(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Introduce several servers as one, by the oldest of their protocols."""
    capabilities: dict[str, Any] = {}
    for result in results:
        for name, capability in (result.get("capabilities") or {}).items():
            known = capabilities.get(name)
            merged = {**known, **capability} if isinstance(known, dict) and isinstance(capability, dict) else capability
            capabilities[name] = merged
    words = [result["instructions"] for result in results if result.get("instructions")]
    introduced = {
        "protocolVersion": min(str(result.get("protocolVersion", "")) for result in results),
        "capabilities": capabilities,
        "serverInfo": {"name": "shaping", "version": "1"},
    }
    return {**introduced, "instructions": "\n\n".join(words)} if words else introduced
