"""What shaping does to the messages of one client: plain data in, plain data out, the same object where it stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.mcp import faults
from shaping.mcp.adapter import Adapter, Wishes
from shaping.mcp.advertise import CONTROL, EXPAND, EXPAND_TOOL
from shaping.mcp.beside import answer
from shaping.mcp.sessions import Session
from shaping.proxy.messages import READ_OF_NOTIFICATIONS, READ_OF_REQUESTS
from shaping.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.errors import ErrorDetail


class ClientShaping:
    """The tools as one client was shown them, and what is done to their results."""

    def __init__(self, adapter: Adapter, client: Mapping[str, Any] | None, owner: str | None) -> None:
        self.adapter = adapter
        self.session = Session(adapter.shaper.generation, client, owner=owner)
        self._names: set[str] = set()
        self._apps: set[str] = set()  # tools whose results are drawn by an app of the server's

    @property
    def is_on(self) -> bool:
        """Whether results are shaped, and not only passed on or measured."""
        return self.adapter.shaper.mode == "on"

    @property
    def announces(self) -> bool:
        """Whether the config wants clients told of tools that it changes."""
        return self.adapter.shaper.generation.config.tools_changed == "announce"

    @property
    def expand_tool(self) -> str:
        """The name of our own tool: another one where the server has a tool of that name."""
        name = EXPAND
        while name in self._names:
            name += "_"
        return name

    def list_tools(self, result: dict[str, Any]) -> dict[str, Any]:
        """Show the tools as this client may see them, and our own after the last."""
        tools = result.get("tools")
        if not self.is_on or not isinstance(tools, list):
            return result
        self._names |= {tool["name"] for tool in tools}
        self._apps |= {tool["name"] for tool in tools if _has_app(tool)}
        shown: list[Any] = self.adapter.show(self.session, tools)
        if self.adapter.expandable and self.session.tools and not result.get("nextCursor"):
            shown.append({**EXPAND_TOOL, "name": self.expand_tool})
        return {**result, "tools": shown}

    def is_expand(self, tool: str) -> bool:
        """Whether a call is for our own tool."""
        return self.adapter.expandable and self.is_on and tool == self.expand_tool

    def is_dropped(self, tool: str) -> bool:
        """Whether the config keeps a tool from this client."""
        return self.is_on and tool not in self.session.tools and self.adapter.dropped(self.session, tool)

    def unknown_tool(self, tool: str) -> ErrorDetail:
        """Describe a call of a tool that this client may not see."""
        return faults.of_text(f"Unknown tool: {tool!r}", tool, self.session.tools)

    def wishes(self, params: dict[str, Any]) -> tuple[dict[str, Any], Wishes]:
        """Take what a call asks of us out of its parameters."""
        given = params.get("arguments")
        arguments = given if isinstance(given, dict) else {}
        meta = params.get("_meta")
        kept, wishes = self.adapter.wishes(self.session, arguments, meta if isinstance(meta, dict) else None)
        return ({**params, "arguments": kept} if CONTROL in arguments and CONTROL not in kept else params), wishes

    def expand(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a call of our own tool."""
        return self.adapter.expand(self.session, arguments)

    def result(self, tool: str, wishes: Wishes | None, result: dict[str, Any]) -> dict[str, Any]:
        """Shape the result of a call."""
        if self.is_on and (tool in self._apps or _has_app(result)):
            return self._clean(result, tool)
        shaped = self.adapter.finish(self.session, tool, wishes or Wishes(), result)
        return result if shaped == result else shaped

    def failed(self, tool: str, error: ErrorDetail) -> dict[str, Any]:
        """Write an error that no result told as the result of a call."""
        return self.adapter.failed(self.session, tool, error)

    def refresh(self) -> bool:
        """Let the session see the config of now where it says so; say whether the tools changed by it."""
        return self.adapter.refresh(self.session)

    def read(self, name: str, result: dict[str, Any]) -> dict[str, Any]:
        """Take the secrets out of a resource or a prompt."""
        return answer(self.adapter.shaper, name, result)

    def error(self, error: dict[str, Any]) -> dict[str, Any]:
        """Take the secrets out of a JSON-RPC error."""
        return self._clean_members(error, ("message", "data"), "")

    def params(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Take the secrets out of a notification or a request of the server's that somebody reads."""
        members = READ_OF_NOTIFICATIONS.get(method) or READ_OF_REQUESTS[method]
        return self._clean_members(params, members, "", names=method in READ_OF_NOTIFICATIONS)

    def _clean(self, result: dict[str, Any], tool: str) -> dict[str, Any]:
        content = result.get("content")
        out = self._clean_members(result, ("structuredContent",), tool)
        if not isinstance(content, list):
            return out
        blocks = [self._clean_members(block, ("text",), tool) for block in content if isinstance(block, dict)]
        same = len(blocks) == len(content) and all(map(_is, blocks, content))
        return out if same else {**out, "content": blocks}

    def _clean_members(
        self, value: dict[str, Any], members: tuple[str, ...], tool: str, *, names: bool = True
    ) -> dict[str, Any]:
        plan = self.adapter.shaper.plan(tool, surface="mcp")
        if not self.is_on or plan.redact.off:
            return value
        looked = {name: value[name] for name in members if name in value}
        clean, hits = redact(looked, values=plan.redact.values, names=plan.redact.names and names)
        return {**value, **clean} if hits else value


def _is(left: object, right: object) -> bool:
    return left is right


def _has_app(entry: Mapping[str, Any]) -> bool:
    """Say whether a tool or a result belongs to an app that the client draws (MCP Apps)."""
    meta = entry.get("_meta")
    return isinstance(meta, dict) and any(key == "ui" or key.startswith("ui/") for key in meta)
