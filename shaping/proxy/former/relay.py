"""What a server behind the proxy asks or tells its client, passed on to the client in front."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata

from shaping.errors.detail import scrub

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastmcp.server.dependencies import FastMCPRequestContext
    from mcp.client.session import ClientRequestContext
    from mcp.server.connection import Connection
    from pydantic import BaseModel

    from shaping.proxy.former.front import Front

_CHANGES = (
    mcp_types.ToolListChangedNotification,
    mcp_types.PromptListChangedNotification,
    mcp_types.ResourceListChangedNotification,
    mcp_types.ResourceUpdatedNotification,
)
ResultT = TypeVar("ResultT", bound="BaseModel")


class Relay:
    """One server's way back to one client: requests, log lines, progress and news of changes."""

    def __init__(self, front: Front, changed: Callable[[], None]) -> None:
        self._front = front
        self._bound = anyio.Event()
        if front.connection is not None:
            self._bound.set()
        self.changed = changed
        # The calls this client is waiting for, oldest first: over HTTP only such a call has a stream to speak on.
        self.active: list[FastMCPRequestContext] = []

    @property
    def front(self) -> Front:
        """The client at the other end."""
        return self._front

    def bind(self, front: Front) -> None:
        """Take over for the client whose first knock was refused and who came back by the other door."""
        self._front = front
        self._bound.set()

    async def sample(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK calls with it by name
        params: mcp_types.CreateMessageRequestParams,
    ) -> mcp_types.CreateMessageResult | mcp_types.CreateMessageResultWithTools | mcp_types.ErrorData:
        """Pass on a request for a completion, with everything in it."""
        kind = mcp_types.CreateMessageResultWithTools if params.tools else mcp_types.CreateMessageResult
        return await self._ask(mcp_types.CreateMessageRequest(params=params), kind)

    async def elicit(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the same
        params: mcp_types.ElicitRequestParams,
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        """Pass on a question to the user."""
        return await self._ask(mcp_types.ElicitRequest(params=params), mcp_types.ElicitResult)

    async def roots(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the same
    ) -> mcp_types.ListRootsResult | mcp_types.ErrorData:
        """Pass on the question which directories the client works in."""
        return await self._ask(mcp_types.ListRootsRequest(), mcp_types.ListRootsResult)

    async def log(self, params: mcp_types.LoggingMessageNotificationParams) -> None:
        """Pass on a log line as it is, less the secrets in it."""
        from shaping.redaction import redact  # noqa: PLC0415 (patterns compile at the first response)

        clean = params.model_copy(update={"data": redact(params.data)[0]})
        await self._tell(mcp_types.LoggingMessageNotification(params=clean))

    async def news(self, message: Any) -> None:
        """Pass on that something changed, after forgetting what was known of it."""
        if isinstance(message, _CHANGES):
            self.changed()
            await self._tell(message, standalone=True)

    async def _ask(self, request: Any, kind: type[ResultT]) -> ResultT | mcp_types.ErrorData:
        try:
            if self.active:
                call = self.active[-1]
                metadata = ServerMessageMetadata(related_request_id=call.request_id)
                return await call.session.send_request(request, kind, metadata=metadata)
            return await (await self._connection()).send_request(request, result_type=kind)
        except MCPError as error:
            return error.error

    async def _connection(self) -> Connection:
        await self._bound.wait()
        if self.front.connection is None:
            raise NoBackChannelError("requests to the client")
        await self.front.connection.initialized.wait()
        return self.front.connection

    async def _tell(self, notification: Any, *, standalone: bool = False) -> None:
        if self.active and not standalone:
            call = self.active[-1]
            await call.session.send_notification(notification, call.request_id)
        elif self.front.connection is not None:
            data = notification.model_dump(by_alias=True, mode="json", exclude_none=True)
            await self.front.connection.notify(data["method"], data.get("params"))


def progress_for(call: FastMCPRequestContext | None) -> Callable[..., Any]:
    """Return a handler that passes a server's progress on to the one call it belongs to."""

    async def pass_on(progress: float, total: float | None, message: str | None) -> None:
        token = (call.meta or {}).get("progressToken") if call else None
        if call is not None and token is not None:
            told = message and scrub(message)
            await call.session.send_progress_notification(token, progress, total, told, call.request_id)

    return pass_on
