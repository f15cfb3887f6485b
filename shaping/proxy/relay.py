"""The relay between one client and its upstream server: messages pass as they are, but for what a model reads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from shaping.proxy import outage
from shaping.proxy.messages import (
    CLIENT_INFO,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PROTOCOL_VERSION,
    Message,
    UnusableConfigError,
    answer_message,
    error_message,
    may_hold_secret,
    message_of,
    messages_in,
    without_secrets,
)
from shaping.proxy.upstream import HANDSHAKE, BackgroundTasks, Receiver

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shaping.errors import ErrorDetail
    from shaping.mcp.mcp_shaper import MCPShaper
    from shaping.mcp.sessions import Session, ToolListNotifier, ToolRequest
    from shaping.proxy.router import Router
    from shaping.proxy.serving import ShaperLoader
    from shaping.proxy.upstream import Upstream

logger = logging.getLogger("shaping")

# Where the result of a method stands under a name, by which a config may have rules for it.
_NAMED = {"resources/read": "uri", "prompts/get": "name"}
_LOOKED_INTO = frozenset({"tools/list", "tools/call", *_NAMED})
# A longer result is shaped on another thread, so that other messages pass meanwhile.
_LARGE = 64 * 1024
# Bytes of such results that may wait for the ledger; what was made of each takes ten times as much.
_MOST_UNCOUNTED = 4 * 1024 * 1024
_FINISH_SECONDS = 2.0
_MOST_REMEMBERED = 100  # cancelled requests, and tasks
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})  # the protocol's, which stay
_ADDRESS = frozenset({"jsonrpc", "id", "method"})  # what of these no model reads
# What the protocol has a server say of itself in words, in which no data stands.
_HANDSHAKE_MEMBERS = frozenset(
    {"protocolVersion", "instructions", "supportedVersions", "resultType", "ttlMs", "cacheScope"}
)
_NAMED_BY_DATA = "its method or id holds a secret or data"
_SERVER_INFO_MEMBERS = frozenset({"name", "title", "version", "description", "websiteUrl"})


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request of the client's that is not answered yet, as far as its answer depends on it."""

    method: str
    name: str = ""
    called: ToolRequest | None = None  # of a tool
    at: float = 0.0  # when it was passed on


class Relay(Receiver):
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
        self._running = BackgroundTasks()
        self._notifier: ToolListNotifier | None = None
        upstream.receiver = self

    async def on_client_line(self, line: bytes) -> None:
        """Handle a line from the client."""
        messages = messages_in(line)
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
        elif (cancelled := message.cancelled_id) is not None:
            self._requests.pop(cancelled, None)
            self._cancelled.append(cancelled)
        await self.upstream.send(message)

    async def on_server_message(self, message: Message) -> None:
        """Handle a message from the server."""
        pending = self._requests.pop(message.id, None) if message.is_answer else None
        if message.is_answer and pending is None and message.id in self._cancelled:
            return  # it was on its way already
        if message.is_answer and pending is None and ("result" in message.data or message.id is not None):
            # A client that takes it for the answer to something would be given what nobody has looked at.
            logger.warning("the server answered what was not asked, or twice: the answer is not passed on")
        elif message.method is not None and (not message.is_named or _is_named_by_secret(message)):
            self._turn_away(message, _NAMED_BY_DATA)
        elif not _needs_a_look(message, pending):
            await self._send(message)
        elif pending is None or pending.method in HANDSHAKE or (self._opened and len(message.line) <= _LARGE):
            await self._clean_and_send(message, pending)
        else:
            self._running.start(self._clean_and_send(message, pending))  # other messages pass meanwhile

    def _turn_away(self, message: Message, reason: str) -> None:
        """Pass a message of the server's not on, and answer a request, or the server would wait for ever.

        On a task of its own: the connection may be waiting for what comes after this message.
        """
        logger.warning("a message of the server's is not passed on: %s", reason)
        if message.is_request:
            words = "the proxy did not pass this request on to the client; its log says why"
            self._running.start(self.upstream.send(error_message(message.id, INVALID_REQUEST, words)))

    async def _clean_and_send(self, message: Message, pending: PendingRequest | None) -> None:
        """Pass a message of the server on, shaped or without secrets and private fields."""
        took = 0.0 if pending is None or not pending.at else monotonic() - pending.at
        try:
            opened = await self._shaper_and_session()
        except UnusableConfigError as problem:
            await self._refuse(message, pending, problem)
            return
        if message.is_asked_by_words and opened[0].protection.protect(message.id) != message.id:
            self._turn_away(message, _NAMED_BY_DATA)
            return
        if pending is not None and pending.method == "tools/list" and self._notifier is not None:
            self._notifier.start()
        if len(message.line) > _LARGE:
            await self._send(await asyncio.to_thread(self._clean_large, message, pending, opened, took))
        else:
            await self._send(self._clean(message, pending, opened, took))

    async def _refuse(self, message: Message, pending: PendingRequest | None, problem: UnusableConfigError) -> None:
        """Hold back what the server said, because nobody knows what in it is private.

        A handshake and a list of tools have nothing private: without them a client would not show its user the reason.
        """
        if pending is not None and pending.method in {*HANDSHAKE, "tools/list"}:
            await self._send(_without_secrets(message))
        elif pending is not None:
            await self._send(error_message(message.id, INTERNAL_ERROR, str(problem)))
        else:
            self._turn_away(message, str(problem))

    def on_log_line(self, name: str, line: bytes) -> None:
        """Print a line of a server's log, as soon as a config says what is private in it."""
        self._loader.server_log.add(name, line)

    def warn(self, ours: str, quoted: str) -> None:
        """Log a sentence of ours and what it quotes, as soon as a config says what is private in that."""
        self._loader.server_log.warn(ours, quoted)

    async def on_unanswered(self, request: Message, detail: ErrorDetail) -> None:
        """Answer a request that the server will not answer."""
        pending = self._requests.pop(request.id, None)
        if pending is not None and pending.called is not None:
            mcp_shaper, session = await self._shaper_and_session()
            await self._send(_our_answer(request, mcp_shaper.error_result(session, pending.called, detail)))
            return
        # In a task of its own: whoever calls may be cancelled with the connection while shaping still loads.
        failure = error_message(request.id, INTERNAL_ERROR, outage.describe(detail), detail.members())
        self._running.start(self._send_failure(failure))

    async def _send_failure(self, failure: Message) -> None:
        # The last lines of the server's log stand in it, without secrets; only a usable config says what is private.
        with contextlib.suppress(UnusableConfigError):
            failure = self._clean(failure, None, await self._shaper_and_session())
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

    async def _shaper_and_session(self) -> tuple[MCPShaper, Session]:
        mcp_shaper = await self._loader.get()
        if self._opened is None:
            session = mcp_shaper.begin(self._client_info, self._owner)
            self._opened, self._notifier = (mcp_shaper, session), mcp_shaper.notifier(lambda: [(session, self._notify)])
        return self._opened

    async def _call(self, message: Message) -> None:
        try:
            mcp_shaper, session = await self._shaper_and_session()
        except UnusableConfigError as problem:
            logger.warning("%s", problem)
            words = {"type": "text", "text": str(problem)}
            await self._send(_our_answer(message, {"content": [words], "isError": True}))
            return
        if self._notifier is not None:
            self._notifier.start()
        name = str(message.params.get("name", ""))
        params, called = mcp_shaper.take_call(session, message.params, self.upstream.server_of(name))
        is_own = partial(mcp_shaper.is_own, session, called)
        # Whose ref it is may have to be looked up in a store, which other clients do not wait for.
        if await asyncio.to_thread(is_own) if name == session.expand_name else is_own():
            self._running.start(self._answer(message, called))
        else:
            if params is not message.params:
                message = message_of({**message.data, "params": params})
            self._requests[message.id] = PendingRequest("tools/call", name, called, at=monotonic())
            await self.upstream.send(message)

    async def _answer(self, message: Message, called: ToolRequest) -> None:
        mcp_shaper, session = await self._shaper_and_session()
        result = await asyncio.to_thread(mcp_shaper.own_answer, session, called)
        await self._send(_our_answer(message, result))

    def _clean_large(
        self, message: Message, pending: PendingRequest | None, opened: tuple[MCPShaper, Session], took: float
    ) -> Message:
        """Clean a message on a thread of its own, once the ledger has let go of most of what came before."""
        if (ledger := opened[0].ledger) is not None:
            ledger.catch_up(_MOST_UNCOUNTED // len(message.line))
        return self._clean(message, pending, opened, took)

    def _clean(
        self, message: Message, pending: PendingRequest | None, opened: tuple[MCPShaper, Session], took: float = 0.0
    ) -> Message:
        """Return a message of the server as the client gets it: its own bytes where nothing in it changes."""
        mcp_shaper, session = opened
        protection = mcp_shaper.protection
        try:
            clean = dict(message.data)
            if own := {name: value for name, value in clean.items() if name not in _MEMBERS}:
                clean = {name: value for name, value in clean.items() if name in _MEMBERS} | protection.protect(own)
            if "params" in clean:
                clean["params"] = protection.params(message.method or "", clean["params"], session.log_keys)
            if "error" in clean:
                name = "" if pending is None else pending.name
                tool = mcp_shaper.full_name(name, self.upstream.server_of(name)) if name else ""
                clean["error"] = protection.error(clean["error"], tool)
            if "result" in clean:
                clean["result"] = self._clean_result(clean["result"], pending, opened, took)
            if clean != message.data:
                return message_of(clean)
            # Of a member that an object has twice, a parser reads only one; the other was never looked at for secrets.
            return message_of(message.data) if protection.may_hold_back(message.line) else message
        except Exception as fault:  # noqa: BLE001 (whatever it is, nothing goes out that was not looked at)
            _log_fault(pending.method if pending else str(message.method), fault)
            return error_message(
                message.id, INTERNAL_ERROR, "the answer is withheld: its secrets could not be taken out"
            )

    def _clean_result(
        self, result: Any, pending: PendingRequest | None, opened: tuple[MCPShaper, Session], took: float
    ) -> Any:
        """Shape the result of a tool, and take secrets and private fields out of that of any other method."""
        mcp_shaper, session = opened
        method = "" if pending is None else pending.method
        if pending is None or not isinstance(result, dict) or method not in _LOOKED_INTO:
            return mcp_shaper.protection.protect(result, method)
        if method == "tools/list":
            try:
                return mcp_shaper.list_result(session, result, self.upstream.server_of)
            except Exception as fault:  # noqa: BLE001 (the list is all that a client can do: it goes out unshaped)
                _log_fault(method, fault)
                return mcp_shaper.protection.protect(result, method)
        # A server that is asked for the first time by this very call is known by now.
        server = self.upstream.server_of(pending.name)
        if pending.called is None:
            name = mcp_shaper.name_of(method, pending.name, server)
            return mcp_shaper.protection.resource_or_prompt(name, result, pending.name)
        self._remember_task(result, pending)
        about = {"duration_ms": round(took * 1000, 3)} if took else {}
        return mcp_shaper.shape_result(session, pending.called._replace(server=server), result, **about)

    def _remember_task(self, result: dict[str, Any], pending: PendingRequest) -> None:
        task = result.get("task")
        if isinstance(task, dict) and "taskId" in task:
            self._calls_by_task_id[str(task["taskId"])] = pending
            if len(self._calls_by_task_id) > _MOST_REMEMBERED:
                del self._calls_by_task_id[next(iter(self._calls_by_task_id))]

    async def _notify(self, method: str) -> None:
        await self._send(message_of({"jsonrpc": "2.0", "method": method}))


def _our_answer(request: Message, result: dict[str, Any]) -> Message:
    """Make an answer of our own to a request; the newer protocol, which has no handshake, wants it called complete."""
    is_newer = PROTOCOL_VERSION in request.meta
    return answer_message(request.id, {**result, "resultType": "complete"} if is_newer else result)


def _without_secrets(message: Message) -> Message:
    """Return a message without the secrets in what it says; itself, and so its own bytes, where there are none."""
    said = {name: value for name, value in message.data.items() if name not in _ADDRESS}
    clean = {name: value for name, value in message.data.items() if name in _ADDRESS} | without_secrets(said)
    return message if clean == message.data else message_of(clean)


def _is_named_by_secret(message: Message) -> bool:
    said = [message.method, message.id]
    return may_hold_secret(repr(said).encode()) and without_secrets(said) != said


def _needs_a_look(message: Message, pending: PendingRequest | None) -> bool:
    """Return whether a message may say anything secret or private; a handshake mostly does not, and waits for nothing.

    What is private only the config says, which may not be loaded yet.
    """
    if pending is not None and pending.method in HANDSHAKE and message.data.keys() <= _MEMBERS:
        return may_hold_secret(message.line) or not _is_plain_handshake(message.data.get("result"))
    return message.is_asked_by_words or any(value for name, value in message.data.items() if name not in _ADDRESS)


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


def _log_fault(method: str, fault: Exception) -> None:
    from shaping.redaction import log_fault  # noqa: PLC0415 (only after a fault, with shaping loaded)

    log_fault("cleaning what a server says by %r failed with %s\n%s", method, fault)
