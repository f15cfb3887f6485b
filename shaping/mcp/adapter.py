"""What every MCP surface does alike: show tools, take a call's wishes, and shape its result."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shaping.mcp.advertise import CONTROL, EXPAND, EXPAND_TOOL, Listed, advertised_schema, listed
from shaping.mcp.channels import decide
from shaping.mcp.errors import coded
from shaping.mcp.meta import marked
from shaping.mcp.prewarm import warm_up
from shaping.mcp.result import Call, shape_call, text_of
from shaping.mcp.sessions import Session, Sessions
from shaping.settings import Overrides

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.errors import ErrorDetail
    from shaping.response import Warned
    from shaping.settings import LoadedConfig, Plan
    from shaping.shaper import Shaper


logger = logging.getLogger("shaping")
_NO_REF = "the argument ref is missing: it stands below the answer that left something out"
_HELD = (
    "the edited fields of {!r} wait for the client's next session, because they would change the output schema it was"
    ' shown; "tools_changed": "announce" in the config tells clients of such a change at once'
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one call asks for itself, by `_meta` or by the `_shape` argument."""

    profile: str | None = None
    request: Overrides | None = None
    if_none_match: str | None = None


class Adapter:
    """A shaper's MCP side; surfaces only move messages between it and their framework."""

    def __init__(self, shaper: Shaper, *, expand: bool = True) -> None:
        self.shaper = shaper
        self.expandable = expand
        self.sessions = Sessions()
        self._warmed = False

    def session(self, sdk_session: Any) -> Session:
        """Return the session of a request; with the first one a server has begun to serve."""
        self.warm_up()
        return self.sessions.of(sdk_session, self.shaper.generation)

    def warm_up(self) -> None:
        """Load in the background what the first answer will need, once."""
        if not self._warmed:
            self._warmed = True
            warm_up(self.shaper.generation.config.tokenizer)

    def show(self, session: Session, tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Show a client its tools; one that it has been shown before is shown the same again."""
        if self.shaper.mode != "on":
            return [dict(tool) for tool in tools]
        shown: list[dict[str, Any]] = []
        names: set[str] = set(session.arguments)
        for tool in tools:
            names.update((tool.get("inputSchema") or {}).get("properties") or {})
            found = self.known(session, tool)
            if found is not None:
                shown.append(found.wire)
        session.arguments = frozenset(names)
        return shown

    def known(self, session: Session, tool: Mapping[str, Any]) -> Listed | None:
        """Return a tool as this session knows it, decided now where it has not been shown yet."""
        found = session.tools.get(tool["name"])
        if found is not None and found.declared == tool.get("outputSchema"):
            return found
        plan = self._plan(session.generation, tool["name"], Wishes())[0]
        found = listed(tool, plan, session.reads, session.generation.config)
        if found is not None:
            session.tools[tool["name"]] = found
        return found

    def dropped(self, session: Session, name: str) -> bool:
        """Say whether the config keeps a tool from this client."""
        plan = self._plan(session.generation, name, Wishes())[0]
        return listed({"name": name}, plan, session.reads, session.generation.config) is None

    def wishes(
        self, session: Session, arguments: Mapping[str, Any], meta: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], Wishes]:
        """Take a call's wishes out of its arguments and its `_meta`."""
        kept = dict(arguments)
        said = dict(meta or {})
        control = kept.pop(CONTROL, None) if session.generation.config.agent_controls else None
        control = control if isinstance(control, dict) else {}
        fields = control.get("fields", said.get("shaping/fields"))
        most = control.get("max_tokens", said.get("shaping/max_tokens"))
        request = Overrides(fields=_paths(fields), max_tokens=most) if fields is not None or most is not None else None
        return kept, Wishes(
            control.get("profile", said.get("shaping/profile")), request, said.get("shaping/if_none_match")
        )

    def finish(self, session: Session, tool: str, wishes: Wishes, result: Mapping[str, Any]) -> dict[str, Any]:
        """Shape the result of a call."""
        return shape_call(self.shaper, result, self._call(session, tool, wishes))

    def failed(self, session: Session, tool: str, error: ErrorDetail) -> dict[str, Any]:
        """Write an error that no result told."""
        return coded(self.shaper, self._plan(session.generation, tool, Wishes())[0], error)

    def expand(self, session: Session, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a call of the tool that brings back what was left out."""
        from shaping.errors import from_exception, make_error  # noqa: PLC0415 (rarely called)

        if not arguments.get("ref"):
            return self.failed(session, EXPAND, make_error("BAD_ARGUMENT", _NO_REF, phase="validation"))
        asked = {name: arguments.get(name) for name in ("path", "cursor", "max_tokens")}
        try:
            expanded = self.shaper.expand(str(arguments["ref"]), **asked, surface="mcp", owner=session.owner)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the model is told in the one form it knows
            return self.failed(session, EXPAND, from_exception(problem))
        return marked({"content": [{"type": "text", "text": text_of(expanded)}]}, expanded.plan, [expanded])

    def refresh(self, session: Session) -> bool:
        """Let a session see the config of now, where the config says to announce; say whether its tools changed."""
        fresh = self.shaper.generation
        if session.generation is fresh or fresh.config.tools_changed != "announce":
            return False
        before, session.tools, session.generation = session.tools, {}, fresh
        for name, old in before.items():
            self.known(session, _as_declared(name, old))
        return {name: old.wire for name, old in before.items()} != {
            name: new.wire for name, new in session.tools.items()
        }

    def _call(self, session: Session, tool: str, wishes: Wishes) -> Call:
        plan, warnings = self._plan(self.shaper.generation, tool, wishes)
        known = session.tools.get(tool)
        edited = session.generation is not self.shaper.generation and wishes.request is None
        if edited and known is not None and not _keeps(session, known, plan):
            plan = _pinned(plan, self._plan(session.generation, tool, wishes)[0])
        chosen = known.channels if known else decide(plan.channels, session.reads, typed=plan.typed)
        return Call(
            tool,
            plan,
            chosen,
            known.declared if known else None,
            known.advertised if known else None,
            forced=known.forced if known else plan.channels != "auto",
            if_none_match=wishes.if_none_match,
            arguments=session.arguments,
            tools=session.tools,
            warnings=warnings,
            owner=session.owner,
            reads=session.reads,
        )

    def _plan(self, generation: LoadedConfig, tool: str, wishes: Wishes) -> tuple[Plan, tuple[Warned, ...]]:
        return self.shaper.choose(
            tool, surface="mcp", profile=wishes.profile, request=wishes.request, generation=generation
        )


def _keeps(session: Session, known: Listed, plan: Plan) -> bool:
    """Tell whether a tool would be shown the same schema today; most schemas of dicts say nothing of their members."""
    if known.advertised is None or known.declared is None:
        return True
    asked, answer = session.kept.get(plan.tool, (None, False))
    if asked is not plan:
        answer = advertised_schema(plan, known.declared) == known.advertised
        session.kept[plan.tool] = plan, answer
        if not answer:
            logger.warning("%s", _HELD.format(plan.tool))
    return answer


def _pinned(plan: Plan, begun: Plan) -> Plan:
    """Keep from the config a session began with what its schemas promise; everything else is of now."""
    if plan.private_paths != begun.private_paths:
        # What must not leave outranks what was promised.
        return plan
    return replace(plan, fields=begun.fields, error_fields=begun.error_fields, dialect=begun.dialect)


def _as_declared(name: str, old: Listed) -> dict[str, Any]:
    wire = {**old.wire, "name": name}
    wire.pop("outputSchema", None)
    return wire if old.declared is None else {**wire, "outputSchema": old.declared}


def _paths(fields: Any) -> tuple[str, ...] | None:
    if fields is None:
        return None
    if isinstance(fields, str):
        return tuple(path.strip() for path in fields.split(",") if path.strip())
    return tuple(fields) if isinstance(fields, list | tuple) else (str(fields),)


__all__ = ["EXPAND", "EXPAND_TOOL", "Adapter", "Wishes"]
