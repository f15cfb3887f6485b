"""Client sessions: what a client was told of the tools stays true as long as it stays."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4
from weakref import WeakKeyDictionary

from shaping.clients import find_client
from shaping.mcp.tools import EXPAND

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from shaping.clients import KnownClient
    from shaping.ledger import MeasuredCall
    from shaping.mcp.messages import MessageShaper
    from shaping.mcp.parts import ToolEntry
    from shaping.settings import LoadedConfig, Plan

    Notify: TypeAlias = Callable[[str], Awaitable[None]]  # sends the notification of a method


# A client of the newer protocol over HTTP has no session; it is taken for the same one while it keeps calling.
_IDLE_SECONDS = 1800.0
_MOST_NAMED = 1000
LOOK_SECONDS = 0.25  # between looks for a new config
TOOLS_CHANGED = "notifications/tools/list_changed"


def connection_of(session: Any) -> Any:
    """Return the connection of an SDK server session, which lives as long as its client stays.

    It is private API of the SDK, as of mcp 2.3.0; tests/mcp/test_private_api.py fails when it moves.
    """
    return getattr(session, "_connection", None)


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
    servers: dict[str, str] = field(default_factory=dict)  # the server of each tool that was listed or called
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

    def live(self) -> list[tuple[Session, Notify]]:
        """List the sessions that can still be sent a notification, each with what sends it by its method.

        A pipe of the newer protocol takes such news only by subscription, and drops it without harm.
        """
        return [(session, partial(key.notify, params=None)) for key, session in self._connected.items()]

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
    """Notifies clients of a changed list of tools, where the config wants changes announced.

    `live` lists the sessions that can be notified, each with what sends the notification.
    """

    def __init__(self, messages: MessageShaper, live: Callable[[], Sequence[tuple[Session, Notify]]]) -> None:
        self._messages = messages
        self._live = live
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look for changes, unless that runs already or nobody wants it."""
        if self._messages.announces and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._look())

    def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        while self._live():
            await asyncio.sleep(LOOK_SECONDS)
            for session, notify in self._live():
                if self._messages.refresh(session):
                    await notify(TOOLS_CHANGED)


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
