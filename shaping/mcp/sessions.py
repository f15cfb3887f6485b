"""Client sessions: what a client was told stays true, and each call is entered in the ledger and the recording."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import orjson

from shaping.clients import find_client
from shaping.ledger import MeasuredCall
from shaping.ledger.texts import keep_texts
from shaping.mcp.result import is_shown_to_model
from shaping.mcp.tools import EXPAND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.clients import KnownClient
    from shaping.learning.record import Recorder
    from shaping.ledger import Ledger
    from shaping.mcp.messages import MessageShaper, ToolCallOptions
    from shaping.mcp.parts import ResultContext, ToolEntry
    from shaping.response import Shaped
    from shaping.settings import LoadedConfig, Plan
    from shaping.shaper import Shaper


# A client of the newer protocol over HTTP has no session; it is taken for the same one while it keeps calling.
_IDLE_SECONDS = 1800.0
_MOST_NAMED = 1000
LOOK_SECONDS = 0.25  # between looks for a new config


# Private API of the SDK that has no public equivalent, as of mcp 2.3.0; tests/mcp/test_private_api.py fails when it
# moves, and the upper pin in pyproject.toml is the next major version.
def connection_of(session: Any) -> Any:
    """Return the connection of an SDK server session, which lives as long as its client stays."""
    return getattr(session, "_connection", None)


def lowlevel_server(server: Any) -> Any:
    """Return the low-level server inside an `MCPServer`, or the server itself where it is one."""
    return getattr(server, "_lowlevel_server", server)


async def send_raw(session: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request of a client and return its result as it came: the SDK's own calls refuse unknown blocks.

    `ClientSession` stamps the protocol version onto a message, then sends it.
    """
    message: dict[str, Any] = {"method": method, "params": params}
    options: dict[str, Any] = {}
    session._stamp(message, options)  # noqa: SLF001 (see above)
    result: dict[str, Any] = await session._dispatcher.send_raw_request(method, message["params"], options)  # noqa: SLF001 (see above)
    return result


@dataclass
class Session:
    """One client's view: the config it began with, and the tools as it was shown them."""

    loaded_config: LoadedConfig
    client: Mapping[str, Any] | None = None
    tools: dict[str, ToolEntry] = field(default_factory=dict)
    arguments: frozenset[str] = frozenset()
    fitting: dict[str, tuple[Plan, bool]] = field(default_factory=dict)  # whether an edited plan fits a tool's schema
    used: float = field(default_factory=time.monotonic)
    owner: str | None = None
    expand_name: str = EXPAND
    id: str = field(default_factory=lambda: uuid4().hex)
    servers: dict[str, str] = field(default_factory=dict)  # the server of each tool that was called
    expand_recorded: bool = False  # whether the definition of our own tool was handed to the ledger, or waits for that
    definition: MeasuredCall | None = None  # what is entered of it with the session's first call

    @cached_property
    def known(self) -> KnownClient:
        """What is known of this client."""
        return find_client(self.client)


class Sessions:
    """The live sessions, each as long as its connection."""

    def __init__(self) -> None:
        self._connected: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()
        self._named: dict[Any, Session] = {}

    def of(self, session: Any, loaded_config: LoadedConfig) -> Session:
        """Return the session that an SDK session object belongs to, begun now where it is new."""
        key = _channel(connection_of(session))
        if key is None:
            return self._known_by_name(_client(session), loaded_config)
        found = self._connected.get(key)
        if found is None:
            found = self._connected[key] = Session(loaded_config, _client(session), owner=uuid4().hex)
        return found

    def live(self) -> list[tuple[Any, Session]]:
        """List the sessions that can still be sent a notification, each with the connection to send it by."""
        return list(self._connected.items())

    def _known_by_name(self, client: Mapping[str, Any] | None, loaded_config: LoadedConfig) -> Session:
        key = tuple((client or {}).values())
        now = time.monotonic()
        found = self._named.get(key)
        if found is None or now - found.used > _IDLE_SECONDS:
            found = self._named[key] = Session(loaded_config, client)
        found.used = now
        while len(self._named) > _MOST_NAMED:
            del self._named[next(iter(self._named))]
        return found


class ToolListNotifier:
    """Notifies the clients of a server of a changed list of tools, where the config wants changes announced."""

    def __init__(self, messages: MessageShaper) -> None:
        self.messages = messages
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look for changes, unless that runs already or nobody wants it."""
        if self.messages.announces and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        while self.messages.sessions.live():
            await asyncio.sleep(LOOK_SECONDS)
            for connection, session in self.messages.sessions.live():
                if self.messages.refresh(session):
                    # A pipe of the newer protocol takes such news only by subscription, and drops it without harm.
                    await connection.notify("notifications/tools/list_changed", None)


def _client(session: Any) -> Mapping[str, Any] | None:
    params = getattr(session, "client_params", None)
    return params.client_info.model_dump(include={"name", "version"}) if params else None


def _channel(connection: Any) -> Any:
    """Return what lasts as long as a client stays: the connection, or the pipe under connections made per request."""
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415 (an extra)

    if connection is None:
        return None
    if connection.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return connection
    return connection.outbound if connection.has_standalone_channel else None


class CallRecorder:
    """Hands calls over to a ledger and a recorder, which do their work on threads of their own."""

    def __init__(self, ledger: Ledger | None, shaper: Shaper, recorder: Recorder | None = None) -> None:
        self._ledger = ledger
        self._shaper = shaper
        self._recorder = recorder

    def record_call(
        self,
        session: Session,
        context: ResultContext,
        raw: Mapping[str, Any] | None,
        sent: Mapping[str, Any],
        options: ToolCallOptions,
        *,
        server: str,
        started: float,
    ) -> None:
        """Record a tool's answer; where nobody knows what it was without shaping (`raw` is None) nothing was saved."""
        if not self._is_active or not is_shown_to_model(sent if raw is None else raw, context):
            return
        session.servers[context.tool] = server
        client, about = context.client, _about(session, context.plan)
        after = partial(client.shown_within_limit, sent, context.entry.limit)
        before = after if raw is None else partial(client.shown_within_limit, raw)
        if self._recorder is not None and raw is not None:
            self._recorder.record(
                context.plan,
                raw,
                arguments=options.arguments,
                server=server,
                client=about["client"],
                session=session.id,
                before=before,
                after=after,
            )
        call = MeasuredCall(
            context.tool, before, after, partial(_additions, context.shaped, raw, sent), trace=options.trace
        )
        self._enter(session, call, context.shaped, server=server, started=started, about=about)

    def record_expansion(
        self, session: Session, plan: Plan, arguments: Mapping[str, Any], sent: Mapping[str, Any], *, started: float
    ) -> None:
        """Record what was asked back, at the cost of the tool that it came from, in this session or another."""
        server, _, tool = plan.tool.rpartition("/")
        after = partial(session.known.shown_within_limit, sent)
        call = MeasuredCall(tool, str, after, after, kind="expand" if arguments.get("sql") is None else "query")
        if self._is_active:
            server = session.servers.get(tool, server)
            self._enter(session, call, (), server=server, started=started, about=_about(session, plan))

    def record_definition(self, session: Session, plan: Plan, entry: Mapping[str, Any]) -> None:
        """Record the definition of our own tool, once a session, with the session's first call.

        Clients list tools also to check a server, where no model reads them.
        """
        if session.expand_recorded or not self._is_active:
            return
        session.expand_recorded = True
        after = partial(_shown_definition, entry)
        session.definition = MeasuredCall(entry["name"], str, after, after, kind="definition", **_about(session, plan))

    @property
    def _is_active(self) -> bool:
        return self._shaper.mode != "off" and (self._ledger is not None or self._recorder is not None)

    def _enter(
        self,
        session: Session,
        call: MeasuredCall,
        shaped: Sequence[Shaped],
        *,
        server: str,
        started: float,
        about: Mapping[str, Any],
    ) -> None:
        if self._ledger is None:
            return
        definition, session.definition = session.definition, None
        if definition is not None:
            self._ledger.record(replace(definition, server=server))
        # What was sent is kept where the user lets originals be kept, and what is private was taken out.
        keeps = self._shaper.facts.expandable and self._shaper.mode == "on"
        keep = partial(self._keep, shaped) if keeps else None
        took = (perf_counter() - started) * 1000
        self._ledger.record(replace(call, server=server, milliseconds=took, keep=keep, **about))

    def _keep(self, shaped: Sequence[Shaped], read: str) -> str | None:
        ttl = self._shaper.loaded_config.config.store.ttl_seconds
        return keep_texts(self._shaper.keeper("mcp"), read, shaped, ttl=ttl)


def error_text(error: BaseException) -> dict[str, Any]:
    """Return the result that MCP servers answer with where a tool raises."""
    return {"content": [{"type": "text", "text": str(error)}], "isError": True}


def _about(session: Session, plan: Plan) -> dict[str, Any]:
    return {
        "client": str((session.client or {}).get("name", "")),
        "profile": plan.profile,
        "config": plan.config_hash,
        "session": session.id,
    }


def _additions(shaped: Sequence[Shaped], raw: Mapping[str, Any] | None, sent: Mapping[str, Any]) -> str:
    """Return what shaping itself says: what was left out and how to ask for it, and the code of an error."""
    if sent.get("isError") is not True:
        return "".join(f"{one.notice}{one.absent_line}" for one in shaped)
    told, before = _first_text(sent), _first_text(raw or {})
    return told.removesuffix(before) if before and told.endswith(before) else ""


def _first_text(result: Mapping[str, Any]) -> str:
    return next((str(block["text"]) for block in result.get("content") or () if block.get("type") == "text"), "")


def _shown_definition(entry: Mapping[str, Any]) -> str:
    """Return what a model reads of a tool's definition; its `_meta` is for the client."""
    return orjson.dumps({key: value for key, value in entry.items() if key != "_meta"}).decode()
