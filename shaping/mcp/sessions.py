"""Client sessions: the entries of `tools/list` as each was shown them, and its calls, as they enter the ledger."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from uuid import uuid4
from weakref import WeakKeyDictionary

import orjson

from shaping.clients import KnownClient, find_client, texts_in
from shaping.ledger import Ledger, MeasuredCall
from shaping.ledger.call_texts import keep_texts
from shaping.mcp.output_schema import advertised_schema
from shaping.redaction import SplitKeyRedactor
from shaping.response import EXPAND, CallContext, Shaped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from shaping.errors import ErrorDetail
    from shaping.learning.record import Recorder
    from shaping.mcp.mcp_shaper import MCPShaper
    from shaping.mcp.parts import ShapedResult
    from shaping.response import Warned
    from shaping.settings.choices import Channels
    from shaping.settings.loading import LoadedConfig
    from shaping.settings.plan import Overrides, Plan
    from shaping.shaper import Shaper


Keep: TypeAlias = "Callable[[str], str | None]"  # keeps what a model read, given here, and returns its ref
Notify: TypeAlias = "Callable[[str], Awaitable[None]]"  # sends the notification of a method

# A client of the newer protocol over HTTP has no session; it is taken for the same one while it keeps calling.
_IDLE_SECONDS = 1800.0
_MOST_NAMED = 1000
LOOK_SECONDS = 0.25  # between looks for a new config
TOOLS_CHANGED = "notifications/tools/list_changed"
_NO_CALL = CallContext()


class ChosenChannels(NamedTuple):
    """What goes out: text in `content`, or data in `structuredContent` with a schema in the tool's definition."""

    text: bool
    structured: bool


TEXT = ChosenChannels(text=True, structured=False)
BOTH = ChosenChannels(text=True, structured=True)
STRUCTURED = ChosenChannels(text=False, structured=True)


def choose_channels(
    setting: Channels, client: KnownClient, *, typed: bool = False, relay: bool = False
) -> ChosenChannels:
    """Choose the channels for a client; `typed` tools keep their schema, and so their structured content, always.

    A relay sends text alone, which every client shows its model, unless the client runs programs over results. In a
    server's own process both channels stay, because programs may use them.
    """
    if setting == "both":
        return BOTH
    if setting == "structured":
        return STRUCTURED
    if setting == "text":
        return BOTH if typed else TEXT
    if not relay:
        return BOTH
    if not (typed or client.code_mode):
        return TEXT
    return STRUCTURED if client.reads == "both" else BOTH


class ToolEntry(NamedTuple):
    """A tool as one session was shown it; fixed for that session's life."""

    wire: dict[str, Any]
    channels: ChosenChannels
    forced: bool = False  # whether a config asked for these channels
    declared: Mapping[str, Any] | None = None
    advertised: Mapping[str, Any] | None = None
    limit: Mapping[str, int] = MappingProxyType({})  # the largest result of which the client shows all
    whole_structure: bool = False  # whether structured content is not shaped: for an app, or an unknown schema
    for_model: bool = True  # whether the model is shown the results


def unlisted_entry(
    plan: Plan, client: KnownClient, *, schema: Mapping[str, Any] | None = None, relay: bool = False
) -> ToolEntry:
    """Return the entry of a tool that this client was not shown in a list, as if it had been."""
    chosen = choose_channels(plan.channels, client, typed=plan.typed, relay=relay)
    shown = advertised_schema(plan, schema) if schema is not None and chosen.structured else None
    return ToolEntry({}, chosen, plan.channels != "auto", schema, shown, client.limit)


def connection_of(session: Any) -> Any:
    """Return the connection of an SDK server session, which lives as long as its client stays.

    It is private API of the SDK, as of mcp 2.3.0; tests/mcp/test_private_api.py fails when it moves.
    """
    return getattr(session, "_connection", None)


@dataclass
class Session:
    """One client's view: the config it began with, and the tools as it was shown them."""

    loaded_config: LoadedConfig
    client_info: Mapping[str, Any] | str | None = None
    tools: dict[str, ToolEntry] = field(default_factory=dict)
    arguments: frozenset[str] = frozenset()
    keeps_schema: dict[str, tuple[Plan, bool]] = field(default_factory=dict)  # whether a tool's edited plan does
    used: float = field(default_factory=time.monotonic)
    owner: str | None = None
    expand_name: str = EXPAND
    id: str = field(default_factory=lambda: uuid4().hex)
    servers: dict[str, str] = field(default_factory=dict)  # the server of each tool that was listed or called
    expand_recorded: bool = False  # whether the definition of our own tool was handed to the ledger, or waits for that
    definition: MeasuredCall | None = None  # what is entered of it with the session's first call
    log_keys: SplitKeyRedactor = field(default_factory=SplitKeyRedactor)  # over the messages that a server logs

    @property
    def client_name(self) -> str:
        """The name that the client gives itself."""
        info = self.client_info
        return info if isinstance(info, str) else str((info or {}).get("name", ""))

    @cached_property
    def client(self) -> KnownClient:
        """What is known of this client."""
        return find_client(self.client_info)


class ToolRequest(NamedTuple):
    """A call of a server's tool, and what it asks of us, by `_meta` or by the `_shape` argument."""

    name: str
    server: str
    profile: str | None = None
    overrides: Overrides | None = None
    if_none_match: str | None = None
    arguments: Mapping[str, Any] | None = None  # what the tool is called with
    trace: Mapping[str, str] | None = None  # the W3C trace context that the client sent, for the span of the call


class ResultContext(NamedTuple):
    """What is known of a call when its result comes back, and by which shaper it is shaped."""

    shaper: Shaper
    called: ToolRequest
    plan: Plan
    entry: ToolEntry
    session: Session
    relay: bool = False  # whether a proxy read it from JSON: plain data, and nobody in this process sees it again
    call: CallContext = _NO_CALL
    error: ErrorDetail | None = None  # what the tool raised, where this process saw it
    hits: Sequence[Warned] = ()  # what redaction replaced besides its data

    @property
    def client(self) -> KnownClient:
        """What is known of the client that reads it."""
        return self.session.client

    def is_shown_to_model(self, result: Mapping[str, Any]) -> bool:
        """Return whether a model reads a result: an answer, no promise of one, of a tool that is not for an app."""
        return self.entry.for_model and ("content" in result or "structuredContent" in result)


class Sessions:
    """The live sessions, each as long as its connection."""

    def __init__(self) -> None:
        self._connected: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()
        self._named: dict[Any, Session] = {}

    def of(self, session: Any, loaded_config: LoadedConfig) -> Session:
        """Return the session that an SDK session object belongs to, begun now where it is new."""
        key = _channel(connection_of(session))
        if key is None:
            return self._known_by_name(_client_info(session), loaded_config)
        found = self._connected.get(key)
        if found is None:
            found = self._connected[key] = Session(loaded_config, _client_info(session), owner=uuid4().hex)
        return found

    def live(self) -> list[tuple[Session, Notify]]:
        """List the sessions that can still be sent a notification, each with what sends it by its method.

        A pipe of the newer protocol takes such news only by subscription, and drops it without harm.
        """
        return [(session, partial(key.notify, params=None)) for key, session in self._connected.items()]

    def _known_by_name(self, client_info: Mapping[str, Any] | None, loaded_config: LoadedConfig) -> Session:
        key = tuple((client_info or {}).values())
        now = time.monotonic()
        found = self._named.get(key)
        if found is None or now - found.used > _IDLE_SECONDS:
            found = self._named[key] = Session(loaded_config, client_info)
        found.used = now
        while len(self._named) > _MOST_NAMED:
            del self._named[next(iter(self._named))]
        return found


class ToolListNotifier:
    """Notifies clients of a changed list of tools, where the config wants changes announced.

    `live` lists the sessions that can be notified, each with what sends the notification.
    """

    def __init__(self, mcp_shaper: MCPShaper, live: Callable[[], Sequence[tuple[Session, Notify]]]) -> None:
        self._mcp_shaper = mcp_shaper
        self._live = live
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look for changes, unless that runs already or nobody wants it."""
        if self._mcp_shaper.announces and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._look())

    def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        while self._live():
            await asyncio.sleep(LOOK_SECONDS)
            for session, notify in self._live():
                if self._mcp_shaper.refresh(session):
                    await notify(TOOLS_CHANGED)


def _client_info(session: Any) -> Mapping[str, Any] | None:
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
        self, context: ResultContext, raw: Mapping[str, Any] | None, shaped: ShapedResult, *, started: float
    ) -> None:
        """Record a tool's answer; where nobody knows what it was without shaping (`raw` is None) nothing was saved."""
        sent, called, session = shaped.wire, context.called, context.session
        if not self._is_active or not context.is_shown_to_model(sent if raw is None else raw):
            return
        session.servers[called.name] = called.server
        after = partial(context.client.shown_within_limit, sent, context.entry.limit)
        before = after if raw is None else partial(context.client.shown_within_limit, raw)
        about = _about(session, context.plan)
        if self._recorder is not None and raw is not None:
            self._recorder.record(
                context.plan,
                raw,
                arguments=called.arguments,
                server=called.server,
                client=about["client"],
                session=session.id,
                before=before,
                after=after,
            )
        if shaped.by_another:
            return
        added = partial(_additions, shaped.parts, raw, sent)
        call = MeasuredCall(called.name, before, after, added, server=called.server, trace=called.trace, **about)
        self._enter(session, call, texts_keeper(self._shaper, shaped.parts), started)

    def record_expansion(
        self, session: Session, plan: Plan, arguments: Mapping[str, Any], sent: Mapping[str, Any], *, started: float
    ) -> None:
        """Record what was asked back, at the cost of the tool that it came from, in this session or another."""
        if not self._is_active:
            return
        server, _, tool = plan.tool.rpartition("/")
        after = partial(session.client.shown_within_limit, sent)
        kind: Any = "expand" if arguments.get("sql") is None else "query"
        server = session.servers.get(tool, server)
        call = MeasuredCall(tool, str, after, after, kind=kind, server=server, **_about(session, plan))
        self._enter(session, call, texts_keeper(self._shaper, (), arguments), started)

    def record_definition(self, session: Session, plan: Plan, entry: Mapping[str, Any]) -> None:
        """Record the definition of our own tool, once a session, with the session's first call.

        Clients list tools also to check a server, where no model reads them.
        """
        if session.expand_recorded or not self._is_active:
            return
        session.expand_recorded = True
        # What a model reads of it: its `_meta` is for the client.
        after = orjson.dumps({key: value for key, value in entry.items() if key != "_meta"}).decode
        session.definition = MeasuredCall(entry["name"], str, after, after, kind="definition", **_about(session, plan))

    @property
    def _is_active(self) -> bool:
        return self._shaper.mode != "off" and (self._ledger is not None or self._recorder is not None)

    def _enter(self, session: Session, call: MeasuredCall, keep: Keep | None, started: float) -> None:
        if self._ledger is None:
            return
        definition, session.definition = session.definition, None
        if definition is not None:
            self._ledger.record(replace(definition, server=call.server))
        took = (perf_counter() - started) * 1000
        self._ledger.record(replace(call, milliseconds=took, keep=keep))


def texts_keeper(shaper: Shaper, parts: Sequence[Shaped], asked: Mapping[str, Any] | None = None) -> Keep | None:
    """Return what keeps the text that a model read of a call beside what its tool sent, for `MeasuredCall.keep`."""
    # What was sent is kept where the user lets originals be kept, and what is private was taken out.
    if not shaper.facts.expandable or shaper.mode != "on":
        return None
    ttl = shaper.loaded_config.store.ttl_seconds
    return lambda read: keep_texts(shaper.keeper("mcp"), read, parts, ttl=ttl, asked=asked)


def _about(session: Session, plan: Plan) -> dict[str, Any]:
    return {
        "client": session.client_name,
        "profile": plan.profile,
        "config": plan.config_hash,
        "session": session.id,
    }


def _additions(shaped: Sequence[Shaped], raw: Mapping[str, Any] | None, sent: Mapping[str, Any]) -> str:
    """Return what shaping itself says: what was left out and how to ask for it, and the code of an error."""
    if sent.get("isError") is not True:
        return "".join(f"{one.notice}{one.absent_line}" for one in shaped)
    told, before = (next(texts_in(result), "") for result in (sent, raw or {}))
    return told.removesuffix(before) if before and told.endswith(before) else ""
