"""The relay between one client and its upstream server: messages pass as they are, but for what a model reads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

from shaping.proxy import outage
from shaping.proxy.messages import (
    CLIENT_INFO,
    INTERNAL_ERROR,
    PROTOCOL_VERSION,
    Message,
    UnusableConfigError,
    answer,
    error,
    may_hold_secret,
    read,
    without_secrets,
    write,
)
from shaping.proxy.upstream import HANDSHAKE, BackgroundTasks, Upstream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from shaping.errors import ErrorDetail
    from shaping.mcp.sessions import Session, ToolListNotifier, ToolRequest
    from shaping.mcp.shaper import MCPShaper
    from shaping.proxy.router import Router
    from shaping.proxy.serving import ShaperLoader

logger = logging.getLogger("shaping")

# Where the result of a method stands under a name, by which a config may have rules for it.
_NAMED = {"resources/read": "uri", "prompts/get": "name"}
_SHAPED = frozenset({"tools/list", "tools/call", *_NAMED})
# A longer result is shaped on another thread, so that other messages pass meanwhile.
_LARGE = 64 * 1024
_FINISH_SECONDS = 2.0
_MOST_REMEMBERED = 100  # cancelled requests, and tasks
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})  # the protocol's, which stay
_PLAIN_ID = re.compile(r"[\w.:'-]{1,64}")
_PLAIN_METHOD = re.compile(r"[A-Za-z_]{1,40}(?:/[A-Za-z_]{1,40}){0,3}")
# What the protocol has a server say of itself in words, in which no data stands.
_HANDSHAKE_MEMBERS = frozenset(
    {"protocolVersion", "instructions", "supportedVersions", "resultType", "ttlMs", "cacheScope"}
)
_SERVER_INFO_MEMBERS = frozenset({"name", "title", "version", "description", "websiteUrl"})


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request of the client's that is not answered yet, as far as its answer depends on it."""

    method: str
    name: str = ""
    called: ToolRequest | None = None  # of a tool
    at: float = 0.0  # when it was passed on


class Relay:
    """Passes the messages of one client on, and what comes back."""

    def __init__(
        self,
        upstream: Upstream | Router,
        loader: ShaperLoader,
        send: Callable[[Message], Awaitable[None]],
        *,
        owner: str | None = None,
    ) -> None:
        self.upstream = upstream
        self._loader = loader
        self._send = send
        self._owner = owner
        self._client_info: dict[str, Any] | None = None
        self._opened: tuple[MCPShaper, Session] | None = None
        self._requests: dict[Any, PendingRequest] = {}
        self._cancelled: deque[Any] = deque(maxlen=_MOST_REMEMBERED)
        self._calls_by_task_id: dict[str, PendingRequest] = {}  # those that the server answers later
        self._server_ids: dict[str, str] = {}  # of the server's requests whose ids may hold data, by the id shown
        self._numbers = count(1)
        self._running = BackgroundTasks()
        self._notifier: ToolListNotifier | None = None
        upstream.attach(self)

    async def on_client_line(self, line: bytes) -> None:
        """Handle a line from the client."""
        messages = read(line)
        if not messages or not all(message.has_usable_id for message in messages):
            await self.upstream.send(Message(line, {}))  # the server says what is wrong with it
            return
        for message in messages:
            await self.on_client_message(message)

    async def on_client_message(self, message: Message) -> None:
        """Handle a message from the client."""
        if message.is_request:
            self._note_client(message)
            if message.method == "tools/call":
                await self._call(message)
                return
            self._requests[message.id] = self._pending(message)
        elif message.is_answer and message.id in self._server_ids:
            message = write({**message.data, "id": self._server_ids.pop(message.id)})
        elif (cancelled := message.cancelled_id) is not None:
            self._requests.pop(cancelled, None)
            self._cancelled.append(cancelled)
        await self.upstream.send(message)

    async def on_server_message(self, message: Message) -> None:
        """Handle a message from the server."""
        asked = self._requests.pop(message.id, None) if message.is_answer else None
        if message.is_answer and asked is None and message.id in self._cancelled:
            return  # it was on its way already
        message = self._with_shown_id(message)
        if message.is_answer and asked is None and ("result" in message.data or message.id is not None):
            # A client that takes it for the answer to something would be given what nobody has looked at.
            logger.warning("the server answered what was not asked, or twice: the answer is not passed on")
        elif asked is not None and (
            # A model may read any error but those of the handshake, which have nothing of a tool's in them.
            asked.method in _SHAPED or ("error" in message.data and asked.method not in HANDSHAKE)
        ):
            await self._send_shaped(message, asked)
        elif _needs_a_look(message, asked):
            await self._send_protected(message, asked)
        else:
            await self._send(message)

    async def _send_protected(self, message: Message, asked: PendingRequest | None) -> None:
        """Pass on what is not shaped, without secrets and private fields."""
        try:
            mcp_shaper, session = await self._open()
        except UnusableConfigError as problem:
            await self._refuse(message, asked, problem)
            return
        clean = partial(_protected, message, mcp_shaper, "" if asked is None else asked.method, session)
        cleaned = await asyncio.to_thread(clean) if len(message.line) > _LARGE else clean()
        if cleaned.method == message.method:
            await self._send(cleaned)
        else:
            logger.warning("a message of the server's is not passed on: its method holds a secret")

    def warn(self, ours: str, quoted: str) -> None:
        """Log a sentence of ours and what it quotes of the server, without what is private."""
        self._loader.server_log.warn(ours, quoted)

    def _with_shown_id(self, message: Message) -> Message:
        """Return a request of the server's, or its cancellation, with an id of ours for one that may hold data."""
        if message.is_request and isinstance(message.id, str) and not _is_plain_id(message.id):
            shown = f"server-{next(self._numbers)}"
            _remember(self._server_ids, shown, message.id)
            return write({**message.data, "id": shown})
        cancelled = message.cancelled_id
        shown = next((shown for shown, own in self._server_ids.items() if own == cancelled), "")
        return write({**message.data, "params": {**message.params, "requestId": shown}}) if shown else message

    async def _refuse(self, message: Message, asked: PendingRequest | None, problem: UnusableConfigError) -> None:
        """Hold back what the server said, because nobody knows what in it is private.

        A handshake and a list of tools have nothing private: without them a client would not show its user the reason.
        """
        if asked is not None and asked.method in {*HANDSHAKE, "tools/list"}:
            await self._send(_changed_members(message, without_secrets))
        elif asked is not None:
            await self._send(error(message.id, INTERNAL_ERROR, str(problem)))
        else:
            logger.warning("a message of the server's is not passed on: %s", problem)

    async def failed(self, request: Message, detail: ErrorDetail) -> None:
        """Answer a request that the server will not answer."""
        asked = self._requests.pop(request.id, None)
        if asked is not None and asked.called is not None:
            mcp_shaper, session = await self._open()
            await self._send(_our_answer(request, mcp_shaper.error_result(session, asked.called, detail)))
            return
        # In a task of its own: whoever calls may be cancelled with the connection while shaping still loads.
        failure = error(request.id, INTERNAL_ERROR, outage.describe(detail), detail.members())
        self._running.start(self._send_failure(failure))

    async def _send_failure(self, failure: Message) -> None:
        # The last lines of the server's log stand in it, without secrets; only a usable config says what is private.
        with contextlib.suppress(UnusableConfigError):
            mcp_shaper, _ = await self._open()
            failure = _protected(failure, mcp_shaper, "")
        await self._send(failure)

    @property
    def is_busy(self) -> bool:
        """Whether there are requests that are not answered yet."""
        return self.upstream.is_busy or bool(self._running)

    async def close(self) -> None:
        """End the connection to the server, and finish what is being shaped."""
        await self.upstream.close()
        if self._notifier is not None:
            self._notifier.close()
        if self._running:
            await asyncio.wait(self._running, timeout=_FINISH_SECONDS)

    def _note_client(self, message: Message) -> None:
        if self._client_info is None:
            info = message.params.get("clientInfo") if message.method == "initialize" else message.meta.get(CLIENT_INFO)
            self._client_info = info if isinstance(info, dict) else None

    def _pending(self, message: Message) -> PendingRequest:
        method = message.method or ""
        if method == "tasks/result" and (call := self._calls_by_task_id.get(str(message.params.get("taskId")))):
            return replace(call, at=0.0)  # it was called long before its result is asked for
        return PendingRequest(method, str(message.params.get(_NAMED.get(method, "name"), "")))

    async def _open(self) -> tuple[MCPShaper, Session]:
        mcp_shaper = await self._loader.get()
        if self._opened is None:
            self._opened = mcp_shaper, mcp_shaper.begin(self._client_info, self._owner)
        return self._opened

    async def _call(self, message: Message) -> None:
        try:
            mcp_shaper, session = await self._open()
        except UnusableConfigError as problem:
            logger.warning("%s", problem)
            words = {"type": "text", "text": str(problem)}
            await self._send(_our_answer(message, {"content": [words], "isError": True}))
            return
        self._announce(mcp_shaper, session)
        name = str(message.params.get("name", ""))
        params, called = mcp_shaper.take_call(session, message.params, self.upstream.server_of(name))
        find_answer = partial(mcp_shaper.own_answer, session, called)
        # Whose ref it is may have to be looked up in a store, which other clients do not wait for.
        own = await asyncio.to_thread(find_answer) if name == session.expand_name else find_answer()
        if own is not None:
            self._running.start(self._answer(message, own))
        else:
            if params is not message.params:
                message = write({**message.data, "params": params})
            self._requests[message.id] = PendingRequest("tools/call", name, called, at=monotonic())
            await self.upstream.send(message)

    async def _answer(self, message: Message, own: Callable[[], dict[str, Any]]) -> None:
        await self._send(_our_answer(message, await asyncio.to_thread(own)))

    async def _send_shaped(self, message: Message, asked: PendingRequest) -> None:
        if self._opened is None or len(message.line) > _LARGE:
            self._running.start(self._send_shaped_later(message, asked))
        else:
            await self._send(self._shaped(message, asked, *self._opened, monotonic() - asked.at))

    async def _send_shaped_later(self, message: Message, asked: PendingRequest) -> None:
        took = monotonic() - asked.at
        try:
            mcp_shaper, session = await self._open()
        except UnusableConfigError as problem:
            await self._refuse(message, asked, problem)
            return
        if asked.method == "tools/list":
            self._announce(mcp_shaper, session)
        await self._send(await asyncio.to_thread(self._shaped, message, asked, mcp_shaper, session, took))

    def _shaped(
        self, message: Message, asked: PendingRequest, mcp_shaper: MCPShaper, session: Session, took: float
    ) -> Message:
        """Return the message as the client gets it: itself where nothing in it changes."""
        try:
            shaped = _changed_members(message, mcp_shaper.protection.protect, {"result", "error"})
            shaped = self._shaped_by_method(shaped, asked, mcp_shaper, session, took)
            return _without_unread_bytes(message, mcp_shaper) if shaped is message else shaped
        except Exception as fault:  # noqa: BLE001 (whatever it is, nothing goes out that was not looked at)
            _log_fault("shaping an answer to", asked.method, fault)
            # A list of tools is all that a client can do; any other answer goes no further.
            listed = asked.method == "tools/list"
            return _protected(message, mcp_shaper, asked.method) if listed else _withheld(message)

    def _shaped_by_method(
        self, message: Message, asked: PendingRequest, mcp_shaper: MCPShaper, session: Session, took: float
    ) -> Message:
        if "error" in message.data:
            tool = mcp_shaper.full_name(asked.name, self.upstream.server_of(asked.name))
            clean = mcp_shaper.protection.error(message.data["error"], tool)
            return _changed(message, "error", clean)
        result = message.data.get("result")
        if not isinstance(result, dict):
            return _changed_members(message, mcp_shaper.protection.protect)
        if asked.method == "tools/list":
            return _changed(message, "result", mcp_shaper.list_result(session, result, self.upstream.server_of))
        if asked.called is None:
            naming = mcp_shaper.full_name if asked.method == "prompts/get" else mcp_shaper.resource_name
            name = naming(asked.name, self.upstream.server_of(asked.name))
            return _changed(message, "result", mcp_shaper.protection.resource_or_prompt(name, result, asked.name))
        self._remember_task(result, asked)
        about = {"duration_ms": round(took * 1000, 3)} if asked.at else {}
        # A server that is asked for the first time by this very call is known by now.
        called = asked.called._replace(server=self.upstream.server_of(asked.name))
        return _changed(message, "result", mcp_shaper.shape_result(session, called, result, **about))

    def _remember_task(self, result: dict[str, Any], asked: PendingRequest) -> None:
        task = result.get("task")
        if isinstance(task, dict) and "taskId" in task:
            _remember(self._calls_by_task_id, str(task["taskId"]), asked)

    def _announce(self, mcp_shaper: MCPShaper, session: Session) -> None:
        """Notify the client of tools that a new config changes, where the config says so."""
        if self._notifier is None:
            self._notifier = mcp_shaper.notifier(lambda: [(session, self._notify)])
        self._notifier.start()

    async def _notify(self, method: str) -> None:
        await self._send(write({"jsonrpc": "2.0", "method": method}))


def _remember(known: dict[str, Any], key: str, value: Any) -> None:
    """Add an entry, in the place of the oldest where there are many."""
    known[key] = value
    if len(known) > _MOST_REMEMBERED:
        del known[next(iter(known))]


def _our_answer(request: Message, result: dict[str, Any]) -> Message:
    """Make an answer of our own to a request; the newer protocol, which has no handshake, wants it called complete."""
    is_newer = PROTOCOL_VERSION in request.meta
    return answer(request.id, {**result, "resultType": "complete"} if is_newer else result)


def _changed(message: Message, member: str, value: Any) -> Message:
    """Return a message with one member changed; itself, and so its own bytes, where it is the same."""
    return message if value == message.data[member] else write({**message.data, member: value})


def _protected(message: Message, mcp_shaper: MCPShaper, method: str, session: Session | None = None) -> Message:
    """Return a message that is not shaped, without secrets and private fields; `method` is what it answers."""
    protection, own = mcp_shaper.protection, message.method or ""
    try:
        looked = {"result"}
        if _PLAIN_METHOD.fullmatch(own) and not may_hold_secret(own.encode()):
            looked.add("method")  # a field may be private that is called like a word of it
        if (params := message.data.get("params")) and isinstance(params, dict):
            notifies = own.startswith("notifications/")
            clean = protection.without_key_rest(params, session.keys) if session is not None and notifies else params
            message = _changed(message, "params", protection.params(own, clean))
            looked.add("params")
        message = _changed_members(message, protection.protect, looked)
        if (result := message.data.get("result")) is not None:
            message = _changed(message, "result", protection.protect(result, method))
        return _without_unread_bytes(message, mcp_shaper)
    except Exception as fault:  # noqa: BLE001 (whatever it is, nothing goes out that was not looked at)
        _log_fault("looking for secrets in a message of", own or method, fault)
        return _withheld(message)


def _without_unread_bytes(message: Message, mcp_shaper: MCPShaper) -> Message:
    """Return a message in its own bytes, or written anew where they may say more than was read of them.

    Of a member that an object has twice, a parser reads only one; the other was never looked at for secrets.
    """
    return write(message.data) if mcp_shaper.protection.may_hold_back(message.line) else message


def _changed_members(message: Message, change: Callable[[Any], Any], except_for: Collection[str] = ()) -> Message:
    """Return a message with a change made to all that it says; itself, and so its own bytes, where it is the same."""
    data = {name: value for name, value in message.data.items() if name in _MEMBERS}
    own = {name: value for name, value in message.data.items() if name not in data}
    changed = {name: change(value) for name, value in data.items() if name not in {"jsonrpc", "id", *except_for}}
    rest = change(own) if own else own
    if rest is own and all(value is data[name] for name, value in changed.items()):
        return message
    return write({**data, **changed, **rest})


def _needs_a_look(message: Message, asked: PendingRequest | None) -> bool:
    """Return whether a message may say anything secret or private; a handshake mostly does not, and waits for nothing.

    What is private only the config says, which may not be loaded yet.
    """
    if asked is not None and asked.method in HANDSHAKE and message.data.keys() <= _MEMBERS:
        return may_hold_secret(message.line) or not _is_plain_handshake(message.data.get("result"))
    if any(value for name, value in message.data.items() if name not in {"jsonrpc", "id", "method"}):
        return True
    return message.method is not None and may_hold_secret(message.method.encode())


def _is_plain_id(request_id: str) -> bool:
    return _PLAIN_ID.fullmatch(request_id) is not None and not may_hold_secret(request_id.encode())


def _is_plain_handshake(result: Any) -> bool:
    """Return whether a server says nothing of itself but what the protocol has it say."""
    if not isinstance(result, dict):
        return False
    info, rest = result.get("serverInfo") or {}, result.keys() - {"serverInfo", "capabilities"}
    plain = (
        isinstance(info, dict)
        and info.keys() <= _SERVER_INFO_MEMBERS
        and not any(isinstance(one, dict | list) for one in info.values())
    )
    return plain and rest <= _HANDSHAKE_MEMBERS and _has_only_flags(result.get("capabilities") or {})


def _has_only_flags(capabilities: Any) -> bool:
    if isinstance(capabilities, dict):
        return all(map(_has_only_flags, capabilities.values()))
    return isinstance(capabilities, bool)


def _withheld(message: Message) -> Message:
    return error(message.id, INTERNAL_ERROR, "the answer is withheld: its secrets could not be taken out")


def _log_fault(what: str, method: str, fault: Exception) -> None:
    from shaping.redaction import log_fault  # noqa: PLC0415 (only after a fault, with shaping loaded)

    log_fault(f"{what} %r failed with %s\n%s", method, fault)
