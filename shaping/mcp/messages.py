"""What every MCP surface does alike: list tools, take a call's options, shape its result, answer expand."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from shaping.errors import from_exception, make_error
from shaping.mcp.parts import ResultContext, decide
from shaping.mcp.prewarm import warm_up
from shaping.mcp.recording import CallRecorder
from shaping.mcp.redaction import clean_said
from shaping.mcp.result import error_result, shape_call, text_of
from shaping.mcp.result_meta import with_meta
from shaping.mcp.schema import advertised_schema, shows_no_more
from shaping.mcp.sessions import Session, Sessions
from shaping.mcp.tools import CONTROL, EXPAND, ToolEntry, expand_entry, tool_entry
from shaping.response import CallContext
from shaping.settings import Overrides

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.errors import ErrorDetail
    from shaping.learning.record import Recorder
    from shaping.ledger import Ledger
    from shaping.response import Warned
    from shaping.settings import LoadedConfig, Plan
    from shaping.shaper import Shaper

_NO_REF = "the argument ref is missing: it stands with the answer that left something out"
_WAITS = (
    "the edited fields of {!r} wait for the client's next session, because they would change the output schema it was"
    ' shown; "tools_changed": "announce" in the config tells clients of such a change at once'
)
_LOOK_SECONDS = 0.25

logger = logging.getLogger("shaping")


@dataclass(frozen=True, slots=True)
class ToolCallOptions:
    """What one call asks for itself, by `_meta` or by the `_shape` argument."""

    profile: str | None = None
    request: Overrides | None = None
    if_none_match: str | None = None
    arguments: Mapping[str, Any] | None = None  # what the tool is called with
    trace: Mapping[str, str] | None = None  # the W3C trace context that the client sent, for the span of the call


class MessageShaper:
    """A shaper's MCP side; surfaces only move messages between it and their framework.

    `relay` is for a proxy, which sends text alone to clients that run no programs over results. `server` is the name
    that a config may put before a tool's (`github/list_issues`). `ledger` is told what each call saved, and `recorder`
    keeps what tools answered. `local` says that clients run on this machine, and may be given a file.
    """

    def __init__(
        self,
        shaper: Shaper,
        *,
        expand: bool = True,
        relay: bool = False,
        server: str | None = None,
        ledger: Ledger | None = None,
        recorder: Recorder | None = None,
        local: bool = False,
    ) -> None:
        self.shaper = shaper
        self.local = local
        self.expandable = expand
        self.relay = relay
        self.server = server
        self.ledger = ledger
        self.recorder = recorder
        self._call_log = None if ledger is None and recorder is None else CallRecorder(ledger, shaper, recorder)
        self.sessions = Sessions()
        self.told_idle: set[str] = set()  # rules that match no tool, and were logged as such
        self._warmed = False

    def session(self, sdk_session: Any) -> Session:
        """Return the session of a request; with the first one a server has begun to serve."""
        self.warm_up()
        return self.sessions.of(sdk_session, self.shaper.generation)

    def warm_up(self) -> None:
        """Load in the background what the first answer will need, once."""
        if not self._warmed:
            self._warmed = True
            warm_up(self.shaper.generation.config.tokenizer, schemas=not self.relay)

    def list_tools(self, session: Session, tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the tools as this client is shown them; one that it has been shown before is shown the same again."""
        if self.shaper.mode != "on":
            return [dict(tool) for tool in tools]
        listed: list[dict[str, Any]] = []
        names: set[str] = set(session.arguments)
        for tool in tools:
            names.update((tool.get("inputSchema") or {}).get("properties") or {})
            entry = self.tool_entry(session, tool)
            if entry is not None:
                listed.append(entry.wire)
        session.arguments = frozenset(names)
        return clean_said(self.shaper, listed, "tools/list")

    def expand_tool(self, session: Session) -> dict[str, Any]:
        """Return the definition of our own tool, under a name that no tool of this session has."""
        entry = expand_entry(session.known, session.tools)
        session.expand_name = entry["name"]
        if (recorder := self._active_call_log) is not None:
            recorder.record_definition(session, self._plan(session.generation, EXPAND, ToolCallOptions())[0], entry)
        return entry

    def is_expand(self, session: Session, name: str) -> bool:
        """Return whether a call is of our own tool."""
        return self.expandable and name == session.expand_name and name not in session.tools

    def tool_entry(self, session: Session, tool: Mapping[str, Any]) -> ToolEntry | None:
        """Return a tool as this session knows it, decided now where it has not been listed yet."""
        found = session.tools.get(tool["name"])
        if found is not None and found.declared == tool.get("outputSchema"):
            return found
        plan = self._plan(session.generation, tool["name"], ToolCallOptions())[0]
        found = tool_entry(tool, plan, session.known, session.generation.config, relay=self.relay)
        if found is not None:
            session.tools[tool["name"]] = found
        return found

    def is_hidden(self, session: Session, name: str) -> bool:
        """Return whether the config keeps a tool from this client."""
        plan = self._plan(session.generation, name, ToolCallOptions())[0]
        return tool_entry({"name": name}, plan, session.known, session.generation.config) is None

    def take_options(
        self, session: Session, arguments: Mapping[str, Any], meta: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], ToolCallOptions]:
        """Take what a call asks of us out of its arguments and its `_meta`."""
        kept = dict(arguments)
        said = dict(meta or {})
        control = kept.pop(CONTROL, None) if session.generation.config.agent_controls else None
        control = control if isinstance(control, dict) else {}
        fields = control.get("fields", said.get("shaping/fields"))
        most = control.get("max_tokens", said.get("shaping/max_tokens"))
        request = Overrides(fields=_paths(fields), max_tokens=most) if fields is not None or most is not None else None
        return kept, ToolCallOptions(
            control.get("profile", said.get("shaping/profile")),
            request,
            said.get("shaping/if_none_match"),
            kept,
            {key: str(said[key]) for key in ("traceparent", "tracestate") if key in said} or None,
        )

    def shape_result(
        self,
        session: Session,
        tool: str,
        options: ToolCallOptions,
        result: Mapping[str, Any],
        *,
        server: str | None = None,
        **about: Any,
    ) -> dict[str, Any]:
        """Shape the result of a call; `about` is what the surface knows of it (see `CallContext`).

        `server` names the tool's server, for the config's `server/tool` patterns and the ledger, where this object
        serves several or learns the name late.
        """
        started = perf_counter()
        context = self._context(session, tool, options, server=server, **about)
        shaped = shape_call(self.shaper, result, context)
        seconds = perf_counter() - started
        self._record(session, context, result, shaped, options, server=server, seconds=seconds)
        return shaped

    def error_result(
        self,
        session: Session,
        tool: str,
        error: ErrorDetail,
        *,
        raw: Mapping[str, Any] | None = None,
        server: str | None = None,
        **about: Any,
    ) -> dict[str, Any]:
        """Write an error as the result of a call; `raw` is the result that the client would have got without us."""
        started = perf_counter()
        context = self._context(session, tool, ToolCallOptions(), server=server, **about)
        written = error_result(self.shaper, context, error)
        options = ToolCallOptions()
        self._record(session, context, raw, written, options, server=server, seconds=perf_counter() - started)
        return written

    def expand(self, session: Session, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a call of the tool that brings back what was left out."""
        started = perf_counter()
        context = self._context(session, EXPAND, ToolCallOptions())
        result, plan = self._expanded(session, arguments, context)
        if (recorder := self._active_call_log) is not None:
            recorder.record_expansion(session, plan, arguments, result, seconds=perf_counter() - started)
        return result

    def _expanded(
        self, session: Session, arguments: Mapping[str, Any], context: ResultContext
    ) -> tuple[dict[str, Any], Plan]:
        """Return the answer to a call of our own tool, and the plan of the tool that it is about."""
        if not arguments.get("ref"):
            error = make_error("BAD_ARGUMENT", _NO_REF, phase="validation")
            return error_result(self.shaper, context, error), context.plan
        asked = {name: arguments.get(name) for name in ("path", "cursor", "max_tokens", "sql", "search")}
        try:
            expanded = self.shaper.expand(str(arguments["ref"]), **asked, surface="mcp", owner=session.owner)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the model is told in the one form it knows
            return error_result(self.shaper, context, from_exception(problem)), context.plan
        text = text_of(expanded, context)
        result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
        if session.known.fails_on_json_lists and not isinstance(expanded.value, dict):
            result["structuredContent"] = {"result": expanded.value}
        return with_meta(result, expanded.plan, [expanded], session.known, marked=not self.relay), expanded.plan

    def _record(
        self,
        session: Session,
        context: ResultContext,
        raw: Mapping[str, Any] | None,
        sent: Mapping[str, Any],
        options: ToolCallOptions,
        *,
        server: str | None,
        seconds: float,
    ) -> None:
        if (recorder := self._active_call_log) is not None:
            name = server or self.server or ""
            given, trace = options.arguments, options.trace
            recorder.record_call(session, context, raw, sent, given, server=name, seconds=seconds, trace=trace)

    @property
    def _active_call_log(self) -> CallRecorder | None:
        """What records calls, unless there is nothing to record them in or shaping is off."""
        return self._call_log if self._call_log is not None and self.shaper.mode != "off" else None

    def refresh(self, session: Session) -> bool:
        """Let a session see the config of now, where the config says to announce; return whether its tools changed."""
        fresh = self.shaper.generation
        if session.generation is fresh or fresh.config.tools_changed != "announce":
            return False
        before, session.tools, session.generation = session.tools, {}, fresh
        for name, old in before.items():
            self.tool_entry(session, _as_declared(name, old))
        return {name: old.wire for name, old in before.items()} != {
            name: new.wire for name, new in session.tools.items()
        }

    def _context(
        self, session: Session, tool: str, options: ToolCallOptions, *, server: str | None = None, **about: Any
    ) -> ResultContext:
        plan, warnings = self._plan(self.shaper.generation, tool, options, server)
        if plan.overflow == "auto":
            plan = replace(plan, overflow="file" if self.local and session.known.files else "ref")
        entry = session.tools.get(tool)
        edited = session.generation is not self.shaper.generation and options.request is None
        begun = None
        if edited and entry is not None and entry.advertised is not None:
            begun = _as_advertised(plan, self._plan(session.generation, tool, options, server)[0])
            if begun is not None and not _fits(session, entry, plan):
                plan, begun = begun, None
        client = session.known
        chosen = entry.channels if entry else decide(plan.channels, client, typed=plan.typed, relay=self.relay)
        return ResultContext(
            tool,
            plan,
            chosen,
            client,
            entry.limit if entry else client.limit,
            declared=entry.declared if entry else None,
            advertised=entry.advertised if entry else None,
            advertised_plan=begun,
            forced=entry.forced if entry else plan.channels != "auto",
            for_app=entry.for_app if entry else False,
            for_model=entry.for_model if entry else True,
            marked=not self.relay,
            arguments=session.arguments,
            tools=session.tools,
            expand_name=session.expand_name,
            call=CallContext(
                if_none_match=options.if_none_match,
                owner=session.owner,
                warnings=(*about.pop("warnings", ()), *warnings),
                **about,
            ),
        )

    def _plan(
        self, generation: LoadedConfig, tool: str, options: ToolCallOptions, server: str | None = None
    ) -> tuple[Plan, tuple[Warned, ...]]:
        server = server or self.server
        named = tool if not server or tool == EXPAND else f"{server.replace('/', '_')}/{tool}"
        return self.shaper.choose(
            named, surface="mcp", profile=options.profile, request=options.request, generation=generation
        )


class ToolListNotifier:
    """Tells live sessions of a changed list of tools, where the config wants changes announced."""

    def __init__(self, messages: MessageShaper) -> None:
        self.messages = messages
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look for changes, unless that runs already or nobody wants it."""
        if self.messages.shaper.generation.config.tools_changed != "announce":
            return
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        while self.messages.sessions.live():
            await asyncio.sleep(_LOOK_SECONDS)
            for connection, session in self.messages.sessions.live():
                if self.messages.refresh(session):
                    # A pipe of the newer protocol takes such news only by subscription, and drops it without harm.
                    await connection.notify("notifications/tools/list_changed", None)


def _as_advertised(plan: Plan, begun: Plan) -> Plan | None:
    """Return the plan of now with the fields that a session's schemas promise; None where that would let out more."""
    if plan.private_paths != begun.private_paths:
        # What must not leave outranks what was promised.
        return None
    return replace(plan, fields=begun.fields, error_fields=begun.error_fields, dialect=begun.dialect)


def _fits(session: Session, entry: ToolEntry, plan: Plan) -> bool:
    """Return whether what an edited config asks for shows no field that the session's schema does not have."""
    known, answer = session.fitting.get(plan.tool, (None, False))
    if known is not plan:
        fresh = advertised_schema(plan, entry.declared or {})
        answer = fresh is not None and shows_no_more(fresh, entry.advertised or {})
        session.fitting[plan.tool] = plan, answer
        if not answer:
            logger.warning("%s", _WAITS.format(plan.tool.rpartition("/")[2]))
    return answer


def _as_declared(name: str, old: ToolEntry) -> dict[str, Any]:
    wire = {**old.wire, "name": name}
    wire.pop("outputSchema", None)
    return wire if old.declared is None else {**wire, "outputSchema": old.declared}


def _paths(fields: Any) -> tuple[str, ...] | None:
    if fields is None:
        return None
    if isinstance(fields, str):
        return tuple(path.strip() for path in fields.split(",") if path.strip())
    return tuple(fields) if isinstance(fields, list | tuple) else (str(fields),)
