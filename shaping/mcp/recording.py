"""Each call is entered in the ledger and the recording, with what a model would have read of it without shaping."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import orjson

from shaping.ledger import MeasuredCall
from shaping.ledger.texts import keep_texts
from shaping.mcp.result import is_shown_to_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.learning.record import Recorder
    from shaping.ledger import Ledger
    from shaping.mcp.messages import ToolCallOptions
    from shaping.mcp.parts import ResultContext
    from shaping.mcp.result import ShapedResult
    from shaping.mcp.sessions import Session
    from shaping.response import Shaped
    from shaping.settings import Plan
    from shaping.shaper import Shaper


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
        sent, parts = shaped
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
