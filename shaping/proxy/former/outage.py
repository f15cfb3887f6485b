"""Why a server behind the proxy cannot be used, told so that a person can mend it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import mcp_types
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from shaping.envelope.dialects.errors import has_own_hint
from shaping.errors import ErrorDetail, make_error
from shaping.mcp.errors import all_members
from shaping.proxy.former.child import Child
from shaping.proxy.former.remote import door_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.proxy.former.remote import Door

_RUN_IT = "Run its command by itself in a terminal and mend what it says."
_FIND_IT = "Install it, or give its whole path: a client started from a desktop has another PATH than your shell."
_MAKE_RUN = "Make it executable (chmod +x), or name the program that runs it."
_WAIT_FOR_IT = (
    "Check that the command is an MCP server on its standard input and output; "
    "give one that is slow to start more time with --start-timeout."
)
_START_IT = "Start it, or correct the address."
_LET_IN = "Give it a token: --header 'Authorization: Bearer ...', `headers` in the list of servers, or --oauth."
_PATH = "Correct the address: it usually ends in /mcp, or in /sse for the older transport (--transport sse)."
_HINTS = {401: _LET_IN, 403: _LET_IN, 404: _PATH, 405: _PATH, 406: _PATH, 410: _PATH}
_FORGOTTEN = 404
_HANGUPS = ("Connection closed", "SSE stream ")
_CODES = {401: "AUTH_REQUIRED", 403: "PERMISSION_DENIED"}


class CodedError(MCPError):
    """An error of the proxy's own: a model reads its `detail`, the protocol its words."""

    def __init__(self, detail: ErrorDetail) -> None:
        super().__init__(code=mcp_types.INTERNAL_ERROR, message=told(detail), data=all_members(detail))
        self.detail = detail


class ServerUnavailableError(CodedError):
    """A server behind the proxy cannot be used; `detail` says why, what to do, and when to try again."""


class StillStartingError(ServerUnavailableError):
    """A server that has not answered yet, and may."""


def told(detail: ErrorDetail) -> str:
    """Give the reason in words, and what to do where that is known of this very failure."""
    return f"{detail.message}\n{detail.hint}" if has_own_hint(detail) else detail.message


def is_hangup(error: MCPError, transport: object) -> bool:
    """Say whether an error of the SDK's own means a lost connection; servers use the same numbers for their own."""
    code, message = error.error.code, error.error.message
    if code == mcp_types.CONNECTION_CLOSED and message.startswith(_HANGUPS):
        return True
    door = door_of(transport)
    # A server that was restarted does not know the session any more.
    return door is not None and door.refused == _FORGOTTEN and code != mcp_types.METHOD_NOT_FOUND


def reason(name: str, transport: object, error: Exception, *, seconds: float | None = None) -> ErrorDetail:
    """Describe a lost connection; `seconds` is how long the server was waited for, where it never answered."""
    if isinstance(transport, Child):
        return _of_start(transport, error, seconds) if seconds is not None else _of_end(transport)
    door = door_of(transport)
    if door is not None:
        return _of_address(name, door, error, seconds)
    return make_error("UNAVAILABLE", f"the server {name!r} is gone: {_words(error)}")


def refusal(name: str, transport: object) -> ErrorDetail | None:
    """Describe an answer of HTTP that sent us away, where that was the last one."""
    door = door_of(transport)
    return _of_status(name, door) if door is not None and door.refused in _CODES else None


def left_alone(name: str, last: ErrorDetail | None, wait: float) -> ErrorDetail:
    """Describe a server that has failed too often to be tried again at once."""
    before = last.message if last else f"the server {name!r} has failed"
    hint = last.hint if last and has_own_hint(last) else None
    message = f"{before}\nIt is left alone for {max(wait, 0.1):.1f} s before it is tried again."
    code = last.code if last else "UNAVAILABLE"
    return make_error(code, message, hint=hint, retryable=True, retry_after=_after(wait))


def together(problems: Sequence[MCPError]) -> MCPError:
    """Give one error for several servers of which none can be used."""
    details = [problem.detail for problem in problems if isinstance(problem, ServerUnavailableError)]
    if len(details) < len(problems) or len(details) == 1:
        return problems[0]
    message = "\n".join(told(detail) for detail in details)
    return ServerUnavailableError(make_error("UNAVAILABLE", f"none of the servers can be used:\n{message}"))


def waiting(name: str, seconds: float) -> ErrorDetail:
    """Describe a server that has not answered yet."""
    message = f"the server {name!r} has not answered for {seconds:.0f} s and is still starting"
    return make_error("UNAVAILABLE", message, retry_after=_after(1.0))


def only_handshakes() -> MCPError:
    """Return the refusal that makes a client of the newer protocol open the older one."""
    return MCPError(
        code=mcp_types.UNSUPPORTED_PROTOCOL_VERSION,
        message="the server behind this proxy speaks the initialize handshake only",
        data={"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": MODERN_PROTOCOL_VERSIONS[-1]},
    )


def _of_end(child: Child) -> ErrorDetail:
    return make_error("UNAVAILABLE", child.obituary)


def _of_start(child: Child, error: Exception, seconds: float) -> ErrorDetail:
    if child.problem is not None:
        return _of_program(child, child.problem)
    said = "".join(f"\n  {line}" for line in child.words)
    printed = ", and printed" if said else ""
    if isinstance(error, TimeoutError):
        message = f"the server {child.name!r} did not answer within {seconds:.0f} s{printed}{':' if said else ''}{said}"
        return make_error("UNAVAILABLE", message, hint=_WAIT_FOR_IT)
    if child.exit_code is None or (isinstance(error, MCPError) and not is_hangup(error, child)):
        message = f"the server {child.name!r} would not start a session: {_words(error)}{said}"
        return make_error("UNAVAILABLE", message, hint=_RUN_IT)
    ended = f"the server {child.name!r} ended with exit code {child.exit_code} before it answered"
    return make_error("UNAVAILABLE", f"{ended}{':' if said else ''}{said}", hint=_RUN_IT)


def _of_program(child: Child, problem: OSError) -> ErrorDetail:
    program = child.command[0]
    begin = f"the server {child.name!r} could not be started: "
    if child.cwd is not None and problem.filename == child.cwd:
        return make_error("UNAVAILABLE", f"{begin}there is no directory {child.cwd!r}", hint="Correct its cwd.")
    if problem.errno == errno.ENOENT:
        return make_error("UNAVAILABLE", f"{begin}there is no program {program!r}", hint=_FIND_IT)
    if problem.errno in {errno.EACCES, errno.ENOEXEC}:
        return make_error("UNAVAILABLE", f"{begin}{program!r} cannot be executed", hint=_MAKE_RUN)
    return make_error("UNAVAILABLE", f"{begin}{problem}")


def _of_address(name: str, door: Door, error: Exception, seconds: float | None) -> ErrorDetail:
    if door.refused is not None:
        return _of_status(name, door)
    if isinstance(error, TimeoutError) and seconds is not None:
        message = f"the server {_named(name, door)} did not answer within {seconds:.0f} s"
    else:
        message = f"the server {_named(name, door)} cannot be reached: {_without_keys(_words(error), door)}"
    return make_error("UNAVAILABLE", message, hint=_START_IT)


def _of_status(name: str, door: Door) -> ErrorDetail:
    status = door.refused or 0
    message = f"the server {_named(name, door)} answered with HTTP status {status}"
    return make_error(_CODES.get(status, "UNAVAILABLE"), message, hint=_HINTS.get(status, _START_IT))


def _named(name: str, door: Door) -> str:
    return f"at {door.address}" if name == door.address else f"{name!r} at {door.address}"


def _words(error: Exception) -> str:
    return str(error).removeprefix("Client failed to connect: ") or type(error).__name__


def _without_keys(words: str, door: Door) -> str:
    """Take out what may be secret in an address: an error may quote it, or where it was redirected with its query."""
    whole = urlsplit(door.url)
    words = words.replace(door.url, door.address)
    words = words.replace(whole.path, urlsplit(door.address).path) if whole.path else words
    return words.replace(f"?{whole.query}", "") if whole.query else words


def _after(wait: float) -> float | None:
    return round(wait, 1) or None
