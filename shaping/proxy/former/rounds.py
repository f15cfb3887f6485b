"""Questions that a server puts into its answer, for a client that can only be asked one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp import InputRequiredRoundsExceededError
from mcp.shared.exceptions import MCPError

from shaping.errors import make_error
from shaping.proxy.former.outage import CodedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import mcp_types

_ABILITIES = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
_OTHER_CLIENT = "Call it from a client that can ({}), or use another tool."
_ASK_AGAIN = "Call it again when the question can be answered."


async def driven(
    name: str,
    first: mcp_types.InputRequiredResult,
    can: mcp_types.ClientCapabilities,
    drive: Callable[[Any, Any], Awaitable[Any]],
    retry: Callable[..., Awaitable[Any]],
) -> Any:
    """Put the questions to the client round by round, and code what keeps them from being answered."""
    server: list[MCPError] = []

    async def again(responses: Any, state: str | None) -> Any:
        try:
            return await retry(responses, state)
        except MCPError as error:
            server.append(error)
            raise

    try:
        return await drive(first, again)
    except InputRequiredRoundsExceededError as endless:
        raise CodedError(make_error("ABORTED", f"the server {name!r} asked without end: {endless}")) from endless
    except MCPError as error:
        if error in server:
            raise
        raise _unanswered(name, first, can, error) from error


def _unanswered(
    name: str, first: mcp_types.InputRequiredResult, can: mcp_types.ClientCapabilities, error: MCPError
) -> CodedError:
    wanted = [_ABILITIES.get(request.method, request.method) for request in (first.input_requests or {}).values()]
    missing = [ability for ability in wanted if getattr(can, ability, None) is None]
    begin = f"the server {name!r} asks before it answers"
    if missing:
        message = f"{begin}, and this client cannot be asked ({', '.join(missing)})"
        hint = _OTHER_CLIENT.format(", ".join(missing))
        return CodedError(make_error("NOT_IMPLEMENTED", message, hint=hint))
    return CodedError(make_error("PRECONDITION", f"{begin}, and got no answer: {error}", hint=_ASK_AGAIN))
