"""What every MCP surface does alike: list tools, take a call's options, shape its result, answer expand."""

from __future__ import annotations

import contextlib
import logging
import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any

import orjson

from shaping.errors import ErrorDetail, ToolError, from_exception, make_error
from shaping.errors.exceptions import says_less
from shaping.ledger import Ledger, open_ledger
from shaping.mcp.errors import error_from_cause, error_from_text, error_result, error_text, own_words
from shaping.mcp.output_schema import advertised_schema, shows_no_more, usable
from shaping.mcp.parts import ShapedResult, text_of
from shaping.mcp.protection import with_meta
from shaping.mcp.result import shape_in_context
from shaping.mcp.server_messages import MessageProtection
from shaping.mcp.sessions import (
    CallRecorder,
    Notify,
    ResultContext,
    Session,
    Sessions,
    ToolEntry,
    ToolListNotifier,
    ToolRequest,
    unlisted_entry,
)
from shaping.mcp.tool_entries import CONTROL, EXPAND_TOOL, expand_entry, is_dropped, log_idle_rules, tool_entry
from shaping.response import EXPAND, CallContext, Warned
from shaping.settings.patterns import is_for
from shaping.settings.plan import Overrides, Plan, full_name
from shaping.shaper import Shaper
from shaping.store.expand import recall
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from shaping.learning.record import Recorder
    from shaping.proxy.serving import Options
    from shaping.settings.loading import LoadedConfig

_NO_REF = "the argument ref is missing: it stands with the answer that left something out"
_WAITS = (
    "the edited fields of {!r} wait for the client's next session, because they would change the output schema it was"
    ' shown; "tools_changed": "announce" in the config tells clients of such a change at once'
)
# Of every kind that is met often: records, links, repeats, nulls, and a text that is long enough for a table.
_RECORDS = [
    {"id": n, "title": f"Widget {n} squeaks", "url": f"https://api.example.com/{n}", "state": "open", "by": None}
    for n in range(8)
]

logger = logging.getLogger("shaping")


_EXPAND = ToolRequest(EXPAND, "")


class MCPShaper:
    """A shaper's MCP side; surfaces only move messages between it and their framework.

    `relay` is for a proxy, which sends text alone to clients that run no programs over results. `ledger` is told what
    each call saved, and `recorder` keeps what tools answered. `local` says that clients run on this machine, and may be
    given a file. The `server` of a tool is the name that a config may put before the tool's (`github/list_issues`).
    """

    def __init__(
        self,
        shaper: Shaper,
        *,
        expand: bool = True,
        relay: bool = False,
        ledger: Ledger | None = None,
        recorder: Recorder | None = None,
        local: bool = False,
    ) -> None:
        self.shaper = shaper
        self.local = local
        self.expandable = expand
        self.relay = relay
        self.ledger = ledger
        self.recorder = recorder
        self.protection = MessageProtection(shaper)
        self.sessions = Sessions()
        self._notifier = self.notifier(self.sessions.live)
        self._call_log = CallRecorder(ledger, shaper, recorder)
        self._idle_rules: set[str] = set()  # rules that match no tool, and were logged as such
        self._warmed = False

    def begin(self, client_info: Mapping[str, Any] | None, owner: str | None) -> Session:
        """Begin the session of a client of the proxy."""
        return Session(self.shaper.loaded_config, client_info, owner=owner)

    async def open_session(self, sdk_session: Any) -> Session:
        """Return the session of a request, up to date; with the first one a server has begun to serve."""
        self.warm_up()
        session = self.sessions.of(sdk_session, self.shaper.loaded_config)
        if self.refresh(session):
            await sdk_session.send_tool_list_changed()
        self._notifier.start()
        return session

    def notifier(self, live: Callable[[], Sequence[tuple[Session, Notify]]]) -> ToolListNotifier:
        """Return what notifies the clients of sessions of changed tools."""
        return ToolListNotifier(self, live)

    def warm_up(self) -> None:
        """Load in the background what the first answer will need, once."""
        if not self._warmed:
            self._warmed = True
            prewarm(self.shaper.loaded_config.config.tokenizer, schemas=not self.relay)

    @property
    def is_on(self) -> bool:
        """Whether results are shaped, and not only passed on or measured."""
        return self.shaper.mode == "on"

    def list_result(self, session: Session, result: dict[str, Any], server_of: Callable[[str], str]) -> dict[str, Any]:
        """Return the answer to `tools/list` as this client is shown it, with our own tool after the last.

        `server_of` names the server of a tool.
        """
        tools = result.get("tools")
        if not isinstance(tools, list):
            return result
        if self.recorder is not None:
            kept = self.protection.recorded_tools(tools)
            for name in dict.fromkeys(server_of(tool["name"]) for tool in tools):
                self.recorder.record_tools(name, [tool for tool in kept if server_of(tool["name"]) == name])
        if not self.is_on:
            return result
        shown = self.list_tools(session, tools, server_of)
        if not result.get("nextCursor"):
            if self.expandable and session.tools and not self._is_expand_listed(session):
                shown.append(self.expand_tool(session))
            names = {*session.tools, *(tool["name"] for tool in tools)}
            log_idle_rules(session.loaded_config.config, {name: server_of(name) for name in names}, self._idle_rules)
        rest = {name: value for name, value in result.items() if name != "tools"}
        return {**self.protection.protect(rest, "tools/list"), "tools": shown}

    def list_tools(
        self, session: Session, tools: Sequence[Mapping[str, Any]], server_of: Callable[[str], str]
    ) -> list[dict[str, Any]]:
        """Return the tools as this client is shown them; one that it has been shown before is shown the same again."""
        if not self.is_on:
            return [dict(tool) for tool in tools]
        names = {name for tool in tools for name in (tool.get("inputSchema") or {}).get("properties") or {}}
        session.arguments |= names
        session.servers |= {tool["name"]: server_of(tool["name"]) for tool in tools}
        listed = [entry.wire for tool in tools if (entry := self._tool_entry(session, tool)) is not None]
        return self.protection.protect(listed, "tools/list")

    def expand_tool(self, session: Session) -> dict[str, Any]:
        """Return the definition of our own tool, under a name that no tool of this session has."""
        entry = expand_entry(session.client, session.tools)
        session.expand_name = entry["name"]
        self._call_log.record_definition(session, self._plan(session.loaded_config, _EXPAND)[0], entry)
        return entry

    def _is_expand_listed(self, session: Session) -> bool:
        """Return whether the server of a proxy shapes by itself: then its tool is ours too, told apart by the ref."""
        entry = session.tools.get(EXPAND)
        return self.relay and entry is not None and entry.wire.get("description") == EXPAND_TOOL["description"]

    def _is_expand(self, session: Session, called: ToolRequest) -> bool:
        """Return whether a call is of our own tool; where a server behind a proxy has the same one, the store tells."""
        if not self.is_on or not self.expandable or called.name != session.expand_name:
            return False
        if called.name not in session.tools:
            return True
        if not self._is_expand_listed(session):
            return False
        try:
            recall(self.shaper.keeper("mcp"), (called.arguments or {}).get("ref"), owner=session.owner)
        except ToolError:
            return False
        return True

    def _tool_entry(self, session: Session, tool: Mapping[str, Any]) -> ToolEntry | None:
        """Return a tool as this session knows it, decided now where it has not been listed yet."""
        found = session.tools.get(tool["name"])
        if found is not None and found.declared == tool.get("outputSchema"):
            return found
        called = ToolRequest(tool["name"], session.servers[tool["name"]])
        plan = self._plan(session.loaded_config, called)[0]
        found = tool_entry(tool, plan, session.client, session.loaded_config.config, relay=self.relay)
        if found is not None:
            session.tools[tool["name"]] = found
        return found

    def is_hidden(self, session: Session, name: str, server: str) -> bool:
        """Return whether the config keeps a tool from this client."""
        if not self.is_on or name in session.tools:
            return False
        return is_dropped(self.full_name(name, server), session.loaded_config.config)

    def full_name(self, tool: str, server: str) -> str:
        """Return a tool's name with its server's before it, as the config's rules may have it."""
        return tool if tool == EXPAND else full_name(tool, server)

    def name_of(self, method: str, name: str, server: str) -> str:
        """Return the name by which the config may have rules for a prompt, or for a resource: its URI where one is."""
        rules = self.shaper.loaded_config.config.tool_overrides or {}
        if method == "resources/read" and any("://" in rule and is_for(name, rule) for rule in rules):
            return name
        return self.full_name(name, server)

    def is_own(self, session: Session, called: ToolRequest) -> bool:
        """Return whether a call is not for the server: of our own tool, or of one that is hidden."""
        return self._is_expand(session, called) or self.is_hidden(session, called.name, called.server)

    def own_answer(self, session: Session, called: ToolRequest) -> dict[str, Any]:
        """Answer a call that was found not to be for the server, whatever the config says by now."""
        if self.expandable and called.name == session.expand_name:
            return self.expand(session, called.arguments or {})
        error = error_from_text(f"Unknown tool: {called.name!r}", called.name, session.tools)
        return self.error_result(session, called, error)

    def describe_error(
        self, called: ToolRequest, error: BaseException, describe: Callable[..., ErrorDetail] = error_from_cause
    ) -> ErrorDetail:
        """Describe what a tool raised by the config's codes for exceptions."""
        plan = self.shaper.plan(self.full_name(called.name, called.server), surface="mcp")
        return describe(error, self.shaper.loaded_config.config.errors, debug=plan.debug)

    def take_call(self, session: Session, params: dict[str, Any], server: str) -> tuple[dict[str, Any], ToolRequest]:
        """Take what a call asks of us out of its parameters; they are the same object where it asks nothing there."""
        given, said = (value if isinstance(value := params.get(name), dict) else {} for name in ("arguments", "_meta"))
        control: Any = {}
        if session.loaded_config.config.agent_controls and CONTROL in given:
            control = given[CONTROL] if isinstance(given[CONTROL], dict) else {}
            given = {name: value for name, value in given.items() if name != CONTROL}
            params = {**params, "arguments": given}
        fields = control.get("fields", said.get("shaping/fields"))
        most, profile = (_scalar(control.get(name, said.get(f"shaping/{name}"))) for name in ("max_tokens", "profile"))
        asks = fields is not None or most is not None
        return params, ToolRequest(
            str(params.get("name", "")),
            server,
            None if profile is None else str(profile),
            Overrides(fields=_paths(fields), max_tokens=most) if asks else None,
            _scalar(said.get("shaping/if_none_match")),
            given,
            {key: str(said[key]) for key in ("traceparent", "tracestate") if key in said} or None,
        )

    def shape_result(
        self, session: Session, called: ToolRequest, result: Mapping[str, Any], **about: Any
    ) -> dict[str, Any]:
        """Shape the result of a call; `about` is what the surface knows of it (see `CallContext`)."""
        started = perf_counter()
        context = self._context(session, called, **about)
        shaped = shape_in_context(result, context)
        self._call_log.record_call(context, shaped.raw, shaped, started=started)
        if "inputRequests" not in shaped.wire:
            return shaped.wire
        requests = self.protection.input_requests(result.get("inputRequests"), shaped.wire["inputRequests"])
        return {**shaped.wire, "inputRequests": requests}

    def error_result(
        self,
        session: Session,
        called: ToolRequest,
        error: ErrorDetail,
        *,
        raised: BaseException | None = None,
        raw: Mapping[str, Any] | None = None,
        **about: Any,
    ) -> dict[str, Any]:
        """Write an error as the result of a call, with all words of what a tool `raised`.

        `raw` is the result that the client would have got without us, where that is not those words.
        """
        started = perf_counter()
        # What the call asks for of its answer is not asked of an error.
        context = self._context(session, ToolRequest(called.name, called.server), **about)
        told = None if raised is None else error_text(raised)
        if raised is not None and told is not None and says_less(error, own_words(str(raised))):
            # The words of a tool are its answer, and have the budget of one.
            shaped = shape_in_context(told, context._replace(error=error))
        else:
            shaped = ShapedResult(error_result(context, error))
        self._call_log.record_call(context, raw or told, shaped, started=started)
        return shaped.wire

    def expand(self, session: Session, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a call of the tool that brings back what was left out."""
        started = perf_counter()
        result, plan = self._expanded(session, arguments, self._context(session, _EXPAND))
        self._call_log.record_expansion(session, plan, arguments, result, started=started)
        return result

    def _expanded(
        self, session: Session, arguments: Mapping[str, Any], context: ResultContext
    ) -> tuple[dict[str, Any], Plan]:
        """Return the answer to a call of our own tool, and the plan of the tool that it is about."""
        if not arguments.get("ref"):
            error = make_error("BAD_ARGUMENT", _NO_REF, phase="validation")
            return error_result(context, error), context.plan
        asked = {name: arguments.get(name) for name in ("path", "cursor", "max_tokens", "sql", "search")}
        try:
            expanded = self.shaper.expand(str(arguments["ref"]), **asked, surface="mcp", owner=session.owner)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the model is told in the one form it knows
            return error_result(context, from_exception(problem)), context.plan
        result: dict[str, Any] = {"content": [{"type": "text", "text": text_of(expanded, context)}]}
        if session.client.fails_on_json_lists and not isinstance(expanded.value, dict):
            result["structuredContent"] = {"result": expanded.value}
        return with_meta(result, [expanded], context._replace(plan=expanded.plan)), expanded.plan

    @property
    def announces(self) -> bool:
        """Whether the config wants clients told of tools that it changes."""
        return self.shaper.loaded_config.config.tools_changed == "announce"

    def refresh(self, session: Session) -> bool:
        """Let a session see the config of now, where the config says to announce; return whether its tools changed."""
        fresh = self.shaper.loaded_config
        if session.loaded_config is fresh or not self.announces:
            return False
        before, session.tools, session.loaded_config = session.tools, {}, fresh
        for name, old in before.items():
            self._tool_entry(session, _as_declared(name, old))
        return {name: old.wire for name, old in before.items()} != {
            name: new.wire for name, new in session.tools.items()
        }

    def _context(
        self, session: Session, called: ToolRequest, warnings: Sequence[Warned] = (), **about: Any
    ) -> ResultContext:
        plan, wrong = self._plan(self.shaper.loaded_config, called)
        if plan.overflow == "auto":
            plan = plan.replace(overflow="file" if self.local and session.client.files else "ref")
        entry = session.tools.get(called.name)
        if entry is None:
            entry = unlisted_entry(plan, session.client, relay=self.relay)
            # A client that was told of the tool elsewhere may check the structured content, or hand it to an app.
            entry = entry._replace(whole_structure=self.relay and not entry.forced)
        edited = session.loaded_config is not self.shaper.loaded_config and called.overrides is None
        if edited and entry.advertised is not None:
            old = self._plan(session.loaded_config, called)[0]
            # What must not leave outranks what was promised.
            if plan.private_paths == old.private_paths and not _keeps_schema(session, entry, plan):
                plan = plan.replace(fields=old.fields, error_fields=old.error_fields, dialect=old.dialect)
        call = CallContext(
            if_none_match=called.if_none_match, owner=session.owner, warnings=(*warnings, *wrong), **about
        )
        return ResultContext(self.shaper, called, plan, entry, session, self.relay, call)

    def _plan(self, loaded_config: LoadedConfig, called: ToolRequest) -> tuple[Plan, tuple[Warned, ...]]:
        return self.shaper.choose(
            self.full_name(called.name, called.server),
            surface="mcp",
            profile=called.profile,
            overrides=called.overrides,
            loaded_config=loaded_config,
        )


def open_mcp_shaper(
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
    *,
    shaper: Shaper | None = None,
    expand: bool = True,
    **choices: Any,
) -> MCPShaper:
    """Make the MCP side of a shaper, which enters what it saves into the user's ledger."""
    shaper = shaper or Shaper(config, expandable=expand)
    ledger = open_ledger(tokenizer=shaper.loaded_config.config.tokenizer)
    return MCPShaper(shaper, expand=expand, ledger=ledger, **choices)


def open_proxy_shaper(options: Options, environ: Mapping[str, str]) -> MCPShaper:
    """Make the MCP side of a proxy by a command line's options."""
    shaper = Shaper(options.config, expandable=options.expand, environ=environ, names_itself=options.names_itself)
    # A command's store is a file of the user's, which another connection and `shaping expand` find.
    shaper.keeper("command" if options.for_user else "mcp").open()
    recorder = None
    if options.record is not None:
        from shaping.learning import drift, record  # noqa: PLC0415 (only where calls are recorded: costs 50 ms)

        recorder = record.Recorder(options.record, watch=drift.DriftWatch(shaper))
    return open_mcp_shaper(shaper=shaper, expand=options.expand, relay=True, local=options.for_user, recorder=recorder)


def prewarm(tokenizer: str, *, schemas: bool) -> threading.Thread:
    """Load in the background what the first answer needs, and what checks results by schemas where they have any."""

    def load() -> None:
        # What is wrong with any of it is reported where it is used.
        with contextlib.suppress(Exception):
            # By the bundled config: what a user's config says to keep or to log is not for this one.
            result = {"content": [{"type": "text", "text": orjson.dumps(_RECORDS).decode()}]}
            Shaper({}, watch=False, environ={}).shape_result(result, tool="prewarm")
            if schemas:
                usable({"type": "object"})
            counter(tokenizer).count("warm")

    thread = threading.Thread(target=load, name="shaping-prewarm", daemon=True)
    thread.start()
    return thread


def _keeps_schema(session: Session, entry: ToolEntry, plan: Plan) -> bool:
    """Return whether what an edited config asks for shows no field that the session's schema does not have."""
    known, answer = session.keeps_schema.get(plan.tool, (None, False))
    if known is not plan:
        fresh = advertised_schema(plan, entry.declared or {})
        answer = fresh is not None and shows_no_more(fresh, entry.advertised or {})
        session.keeps_schema[plan.tool] = plan, answer
        if not answer:
            logger.warning("%s", _WAITS.format(plan.tool.rpartition("/")[2]))
    return answer


def _as_declared(name: str, old: ToolEntry) -> dict[str, Any]:
    wire = {**old.wire, "name": name}
    wire.pop("outputSchema", None)
    return wire if old.declared is None else {**wire, "outputSchema": old.declared}


def _scalar(value: Any) -> Any:
    """Return a choice that may be a key; one that is an object or a list is no choice, and is told as its text."""
    return str(value) if isinstance(value, dict | list) else value


def _paths(fields: Any) -> tuple[str, ...] | None:
    if fields is None:
        return None
    if isinstance(fields, str):
        return tuple(path.strip() for path in fields.split(",") if path.strip())
    return tuple(map(str, fields)) if isinstance(fields, list | tuple) else (str(fields),)
