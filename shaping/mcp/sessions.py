"""Client sessions: the entries of `tools/list` as each was shown them, and its calls, as they enter the ledger."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import uuid4
from weakref import WeakKeyDictionary

import orjson

from shaping.clients import KnownClient, find_client
from shaping.errors.codes import list_codes
from shaping.ledger import Ledger, MeasuredCall
from shaping.ledger.texts import keep_texts
from shaping.mcp.parts import BOTH, ResultContext, ToolEntry, choose_channels, texts_of
from shaping.mcp.result import ShapedResult, is_shown_to_model
from shaping.mcp.schema import advertised_schema, inside_wrapper, warn_unmatched
from shaping.paths.spelling import did_you_mean, nearest
from shaping.redaction import SplitKeyRedactor
from shaping.response import EXPAND, Shaped
from shaping.settings.plan import full_name
from shaping.settings.resolve import fits, is_pattern, ranked

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from shaping.learning.record import Recorder
    from shaping.mcp.shaper import MCPShaper, ToolCallOptions
    from shaping.settings.loading import LoadedConfig
    from shaping.settings.model import Config
    from shaping.settings.plan import Plan
    from shaping.shaper import Shaper


Notify: TypeAlias = "Callable[[str], Awaitable[None]]"  # sends the notification of a method
logger = logging.getLogger("shaping")

# A client of the newer protocol over HTTP has no session; it is taken for the same one while it keeps calling.
_IDLE_SECONDS = 1800.0
_MOST_NAMED = 1000
LOOK_SECONDS = 0.25  # between looks for a new config
TOOLS_CHANGED = "notifications/tools/list_changed"
_RESEMBLES: Final = 0.85  # how alike two names are before one is taken for a slip of the other
_COMPARED = 200  # tools that a rule is compared with: a server may list thousands
CONTROL = "_shape"
_OWN = orjson.loads(Path(__file__).with_name("tools.json").read_bytes())
EXPAND_TOOL: dict[str, Any] = _OWN["expand"]  # our own tool
_CONTROL_SCHEMA: dict[str, Any] = _OWN["control"]  # the argument of other tools by which an agent shapes their answers


def tool_entry(
    tool: Mapping[str, Any], plan: Plan, client: KnownClient, config: Config, *, relay: bool = False
) -> ToolEntry | None:
    """Return a tool as a client is shown it, or None where the config drops it from the list.

    The plan has its full name, by which the config may have rules for it.
    """
    rules = _rules(plan.tool, config)
    if rules.get("drop"):
        return None
    for_app, for_model = _audience(tool)
    if not for_model:
        return ToolEntry(dict(tool), BOTH, for_model=False)
    # Where a tool is not enabled its results go out as they come.
    chosen = choose_channels(plan.channels, client, typed=plan.typed or for_app, relay=relay) if plan.enabled else BOTH
    declared = tool.get("outputSchema")
    if declared is not None:
        warn_unmatched(plan, inside_wrapper(declared) or dict(declared))
    shown = None
    if declared is not None and chosen.schema:
        shown = advertised_schema(plan, declared) if plan.enabled or plan.closed else dict(declared)
    wire = {key: value for key, value in tool.items() if key != "outputSchema"}
    if for_app and declared is not None:
        wire["outputSchema"] = declared
    elif shown is not None:
        wire["outputSchema"] = shown
    if config.agent_controls and plan.enabled:
        schema = tool.get("inputSchema") or {"type": "object"}
        wire["inputSchema"] = {**schema, "properties": {**(schema.get("properties") or {}), CONTROL: _CONTROL_SCHEMA}}
    described = _described(tool.get("description"), rules)
    if described is not None:
        wire["description"] = described
    hinted = bool(client.tool_meta) and plan.surface == "mcp"
    if hinted:
        wire["_meta"] = {**client.tool_meta, **(tool.get("_meta") or {})}
    return ToolEntry(
        wire,
        chosen,
        plan.channels != "auto",
        declared,
        None if for_app else shown,
        client.tool_meta_limit if hinted else client.limit,
        for_app,
    )


def is_dropped(name: str, config: Config) -> bool:
    """Return whether the config drops a tool from the list."""
    return bool(_rules(name, config).get("drop"))


def expand_entry(client: KnownClient, taken: Collection[str] = ()) -> dict[str, Any]:
    """Return the definition of the tool that brings back what was left out, under a name that no other tool has."""
    name = EXPAND
    while name in taken:
        name = f"{name}_"
    meta = {**client.tool_meta, **client.expand_meta}
    return {**EXPAND_TOOL, "name": name, **({"_meta": meta} if meta else {})}


def log_idle_rules(config: Config, servers: Mapping[str, str], logged: set[str]) -> None:
    """Log, once, rules that name a server and match none of its tools, and names that only resemble a tool's.

    Other rules may be for other servers, or for commands. `servers` has the server of each tool that is listed.
    """
    names = [full_name(tool, server) for tool, server in sorted(servers.items())]
    for pattern in config.tool_overrides or {}:
        server, slash, _ = pattern.rpartition("/")
        meant = not slash or any(fits(name.partition("/")[0], server) for name in names)
        may_be_wrong = slash or not is_pattern(pattern)
        if not (meant and may_be_wrong) or pattern in logged or any(fits(name, pattern) for name in names):
            continue
        near = nearest(pattern, (names if slash else list(servers))[:_COMPARED], n=1, least=_RESEMBLES)
        if slash or near:
            logged.add(pattern)
            logger.warning("the rules for %r match no tool that the server lists.%s", pattern, did_you_mean(near))


def _audience(tool: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return whether an app draws a tool's results (MCP Apps), and whether the model is shown them."""
    meta = tool.get("_meta") or {}
    ui: Any = meta.get("ui") if isinstance(meta.get("ui"), dict) else {}
    visibility = ui.get("visibility")
    for_model = not isinstance(visibility, list) or "model" in visibility
    return bool(ui.get("resourceUri") or meta.get("ui/resourceUri")), for_model


def _rules(name: str, config: Config) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    for pattern in ranked(name, config.tools):
        rules |= config.tools[pattern].model_dump(exclude_none=True)
    return rules


def _described(description: str | None, rules: Mapping[str, Any]) -> str | None:
    text: str | None = rules.get("description", description)
    most = rules.get("max_description")
    if text is not None and most is not None and len(text) > most:
        text = _cut(text, most)
    return list_codes(text or "", rules["codes"]) if rules.get("codes") else text


def _cut(text: str, most: int) -> str:
    """Cut at the last sentence that fits, else at the last word: half a word says nothing."""
    head = text[:most]
    sentence = max(head.rfind(". "), head.rfind(".\n"))
    if sentence > most // 2:
        return head[: sentence + 1]
    return head[:-1].rsplit(None, 1)[0].rstrip(",;:") + "…" if " " in head else head


def connection_of(session: Any) -> Any:
    """Return the connection of an SDK server session, which lives as long as its client stays.

    It is private API of the SDK, as of mcp 2.3.0; tests/mcp/test_private_api.py fails when it moves.
    """
    return getattr(session, "_connection", None)


@dataclass
class Session:
    """One client's view: the config it began with, and the tools as it was shown them."""

    loaded_config: LoadedConfig
    client_info: Mapping[str, Any] | None = None
    tools: dict[str, ToolEntry] = field(default_factory=dict)
    arguments: frozenset[str] = frozenset()
    fitting: dict[str, tuple[Plan, bool]] = field(default_factory=dict)  # whether an edited plan fits a tool's schema
    used: float = field(default_factory=time.monotonic)
    owner: str | None = None
    expand_name: str = EXPAND
    id: str = field(default_factory=lambda: uuid4().hex)
    servers: dict[str, str] = field(default_factory=dict)  # the server of each tool that was listed or called
    expand_recorded: bool = False  # whether the definition of our own tool was handed to the ledger, or waits for that
    definition: MeasuredCall | None = None  # what is entered of it with the session's first call
    keys: SplitKeyRedactor = field(default_factory=SplitKeyRedactor)  # over the messages that a server logs

    @cached_property
    def client(self) -> KnownClient:
        """What is known of this client."""
        return find_client(self.client_info)


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
        self,
        session: Session,
        context: ResultContext,
        raw: Mapping[str, Any] | None,
        shaped: ShapedResult,
        options: ToolCallOptions,
        *,
        server: str,
        started: float,
    ) -> None:
        """Record a tool's answer; where nobody knows what it was without shaping (`raw` is None) nothing was saved."""
        sent, parts = shaped.wire, shaped.parts
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
        call = MeasuredCall(context.tool, before, after, partial(_additions, parts, raw, sent), trace=options.trace)
        self._enter(session, call, parts, server=server, started=started, about=about)

    def record_expansion(
        self, session: Session, plan: Plan, arguments: Mapping[str, Any], sent: Mapping[str, Any], *, started: float
    ) -> None:
        """Record what was asked back, at the cost of the tool that it came from, in this session or another."""
        server, _, tool = plan.tool.rpartition("/")
        after = partial(session.client.shown_within_limit, sent)
        call = MeasuredCall(tool, str, after, after, kind="expand" if arguments.get("sql") is None else "query")
        if self._is_active:
            server = session.servers.get(tool, server)
            about = _about(session, plan)
            self._enter(session, call, (), server=server, started=started, about=about, asked=arguments)

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
        asked: Mapping[str, Any] | None = None,  # of an expansion
    ) -> None:
        if self._ledger is None:
            return
        definition, session.definition = session.definition, None
        if definition is not None:
            self._ledger.record(replace(definition, server=server))
        # What was sent is kept where the user lets originals be kept, and what is private was taken out.
        keeps = self._shaper.facts.expandable and self._shaper.mode == "on"
        keep = partial(self._keep, shaped, asked) if keeps else None
        took = (perf_counter() - started) * 1000
        self._ledger.record(replace(call, server=server, milliseconds=took, keep=keep, **about))

    def _keep(self, shaped: Sequence[Shaped], asked: Mapping[str, Any] | None, read: str) -> str | None:
        ttl = self._shaper.loaded_config.store.ttl_seconds
        return keep_texts(self._shaper.keeper("mcp"), read, shaped, ttl=ttl, asked=asked)


def _about(session: Session, plan: Plan) -> dict[str, Any]:
    return {
        "client": str((session.client_info or {}).get("name", "")),
        "profile": plan.profile,
        "config": plan.config_hash,
        "session": session.id,
    }


def _additions(shaped: Sequence[Shaped], raw: Mapping[str, Any] | None, sent: Mapping[str, Any]) -> str:
    """Return what shaping itself says: what was left out and how to ask for it, and the code of an error."""
    if sent.get("isError") is not True:
        return "".join(f"{one.notice}{one.absent_line}" for one in shaped)
    told, before = (next(iter(texts_of(result)), "") for result in (sent, raw or {}))
    return told.removesuffix(before) if before and told.endswith(before) else ""


def _shown_definition(entry: Mapping[str, Any]) -> str:
    """Return what a model reads of a tool's definition; its `_meta` is for the client."""
    return orjson.dumps({key: value for key, value in entry.items() if key != "_meta"}).decode()
