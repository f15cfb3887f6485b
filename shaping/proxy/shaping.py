"""What shaping does to the messages of one client: plain data in, plain data out, the same object where it stays."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, Final

from shaping.learning.record import Recorder
from shaping.ledger import open_ledger
from shaping.mcp.errors import error_from_text
from shaping.mcp.messages import MessageShaper, ToolCallOptions
from shaping.mcp.redaction import clean_error_object, clean_said, has_private, redact_answer, redact_members
from shaping.mcp.sessions import Session
from shaping.mcp.tools import CONTROL
from shaping.proxy.loading import UnknownProfileError
from shaping.proxy.messages import READ_MEMBERS
from shaping.redaction.redact import rules_for
from shaping.response import did_you_mean, nearest
from shaping.settings.resolve import fits, is_pattern
from shaping.shaper import Shaper

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from shaping.errors import ErrorDetail
    from shaping.proxy.loading import Options

_RESEMBLES: Final = 0.85  # how alike two names are before one is taken for a slip of the other

logger = logging.getLogger("shaping")


def message_shaper(options: Options) -> MessageShaper:
    """Make the shaper of a proxy by a command line's options."""
    environ = dict(os.environ) | ({"SHAPING_PROFILE": options.profile} if options.profile else {})
    shaper = Shaper(options.config, expandable=options.expand, environ=environ)
    if options.profile is not None and options.profile not in shaper.generation.profiles:
        known = ", ".join(shaper.generation.profiles)
        raise UnknownProfileError(f"there is no profile {options.profile!r}; there are {known}")
    # A command's store is a file of the user's, which another connection and `shaping expand` find.
    shaper.keeper("command" if options.for_user else "mcp").open()
    ledger = open_ledger(tokenizer=shaper.generation.config.tokenizer)
    recorder = None
    if options.record is not None:
        from shaping.learning.drift import DriftWatch  # noqa: PLC0415 (only where calls are recorded: costs 50 ms)

        recorder = Recorder(options.record, watch=DriftWatch(shaper))
    choices: dict[str, Any] = {"expand": options.expand, "relay": True, "local": options.for_user}
    return MessageShaper(shaper, ledger=ledger, recorder=recorder, **choices)


class ClientShaping:
    """The tools as one client was shown them, and what is done to their results."""

    def __init__(self, messages: MessageShaper, client: Mapping[str, Any] | None, owner: str | None) -> None:
        self.messages = messages
        self.session = Session(messages.shaper.generation, client, owner=owner)

    @property
    def is_on(self) -> bool:
        """Whether results are shaped, and not only passed on or measured."""
        return self.messages.shaper.mode == "on"

    @property
    def announces(self) -> bool:
        """Whether the config wants clients told of tools that it changes."""
        return self.messages.shaper.generation.config.tools_changed == "announce"

    def list_tools(self, result: dict[str, Any], server_of: Callable[[str], str]) -> dict[str, Any]:
        """Show the tools as this client may see them, and our own after the last."""
        tools = result.get("tools")
        if self.messages.recorder is not None and isinstance(tools, list):
            for server in dict.fromkeys(server_of(tool["name"]) for tool in tools):
                listed = [tool for tool in tools if server_of(tool["name"]) == server]
                self.messages.recorder.record_tools(server, listed)
        if not self.is_on or not isinstance(tools, list):
            return result
        shown: list[Any] = self.messages.list_tools(self.session, tools)
        if self.messages.expandable and self.session.tools and not result.get("nextCursor"):
            shown.append(self.messages.expand_tool(self.session))
        if not result.get("nextCursor"):
            self._tell_idle_rules({*self.session.tools, *(tool["name"] for tool in tools)}, server_of)
        rest = {name: value for name, value in result.items() if name != "tools"}
        return {**self.scrub(rest, "tools/list"), "tools": shown}

    def _tell_idle_rules(self, tools: Collection[str], server_of: Callable[[str], str]) -> None:
        """Log, once, rules that name a server and match none of its tools, and names that only resemble a tool's.

        Other rules may be for other servers, or for commands.
        """
        names = [f"{server_of(tool).replace('/', '_')}/{tool}" for tool in sorted(tools)]
        for pattern in self.session.generation.config.tool_overrides or {}:
            server, slash, _ = pattern.rpartition("/")
            ours = names if slash else [name.rpartition("/")[2] for name in names]
            meant = not slash or any(fits(name.partition("/")[0], server) for name in names)
            if not meant or pattern in self.messages.told_idle or any(fits(name, pattern) for name in names):
                continue
            near = nearest(pattern, ours, n=1, least=_RESEMBLES)
            if slash or (near and not is_pattern(pattern)):
                self.messages.told_idle.add(pattern)
                told = did_you_mean(near)
                logger.warning("the rules for %r match no tool that the server lists.%s", pattern, told)

    def is_expand(self, tool: str) -> bool:
        """Whether a call is for our own tool."""
        return self.is_on and self.messages.is_expand(self.session, tool)

    def is_hidden(self, tool: str) -> bool:
        """Whether the config keeps a tool from this client."""
        return self.is_on and tool not in self.session.tools and self.messages.is_hidden(self.session, tool)

    def unknown(self, tool: str, server: str) -> dict[str, Any]:
        """Answer a call of a tool that this client may not see."""
        return self.failed(tool, error_from_text(f"Unknown tool: {tool!r}", tool, self.session.tools), server)

    def take_options(self, params: dict[str, Any]) -> tuple[dict[str, Any], ToolCallOptions]:
        """Take what a call asks of us out of its parameters."""
        given = params.get("arguments")
        arguments = given if isinstance(given, dict) else {}
        meta = params.get("_meta")
        kept, options = self.messages.take_options(self.session, arguments, meta if isinstance(meta, dict) else None)
        return ({**params, "arguments": kept} if CONTROL in arguments and CONTROL not in kept else params), options

    def expand(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a call of our own tool."""
        return self.messages.expand(self.session, arguments)

    def result(
        self,
        tool: str,
        options: ToolCallOptions | None,
        result: dict[str, Any],
        server: str,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """Shape the result of a call that took so many seconds, where that is known."""
        about = {} if seconds is None else {"duration_ms": round(seconds * 1000, 3)}
        asked = options or ToolCallOptions()
        shaped = self.messages.shape_result(self.session, tool, asked, result, server=server, **about)
        return result if shaped == result else shaped

    def failed(self, tool: str, error: ErrorDetail, server: str) -> dict[str, Any]:
        """Write an error that no result told as the result of a call."""
        return self.messages.error_result(self.session, tool, error, server=server)

    def refresh(self) -> bool:
        """Let the session see the config of now where it says so; say whether the tools changed by it."""
        return self.messages.refresh(self.session)

    def redact_resource(self, name: str, result: dict[str, Any]) -> dict[str, Any]:
        """Take the secrets out of a resource or a prompt."""
        return redact_answer(self.messages.shaper, name, result)

    def scrub(self, said: Any, method: str = "") -> Any:
        """Take secrets and private fields out of whatever else a server says; the same object where there are none."""
        return clean_said(self.messages.shaper, said, method)

    def may_hold_back(self, line: bytes) -> bool:
        """Return whether the bytes of a message may hold a secret, or something private."""
        shaper = self.messages.shaper
        if shaper.mode != "on":
            return False
        return has_private(shaper) or bool(rules_for(line.decode(errors="replace")).rules)

    def redact_error(self, error: Any) -> Any:
        """Take the secrets out of a JSON-RPC error."""
        if not isinstance(error, dict):
            return self.scrub(error)
        return clean_error_object(self.messages.shaper, error)

    def redact_params(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Take the secrets out of a notification or a request of the server's that somebody reads."""
        members: tuple[str, ...] = READ_MEMBERS.get(method, ())
        return redact_members(self.messages.shaper, params, members, names=method.startswith("notifications/"))
