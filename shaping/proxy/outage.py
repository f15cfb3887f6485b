"""Why an upstream server cannot be used, in words by which a person can mend it."""

from __future__ import annotations

import errno
import re
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from shaping.proxy.messages import without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.errors import ErrorDetail
    from shaping.proxy.upstream import Child

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
_CODES = {401: "AUTH_REQUIRED", 403: "PERMISSION_DENIED"}
_LINE_SHOWN, _LINES_SHOWN = 200, 5
_FRAME = re.compile(r'  File "|    [ ~]*\^[ ~^]*$')  # of a traceback: where it was, or the marks below the source
_NODE = re.compile(r"Node\.js v\d")  # ends what Node prints of an exception that nobody catches
_EXCEPTION = re.compile(r"\s*(?:\[cause\]: )?(?:Uncaught )?[\w$.]*(?:Error|Exception)\b(?: \[\w+\])?:")


def describe(detail: ErrorDetail) -> str:
    """Return the reason in words, and what to do where that is known of this very failure."""
    return f"{detail.message}\n{detail.hint}" if detail.has_own_hint else detail.message


def log_parts(detail: ErrorDetail) -> tuple[str, str]:
    """Return the reason on one line, as our own words and what they quote; each function here quotes after a colon."""
    line = describe(detail).replace(":\n  ", ": ").replace("\n  ", " | ").replace(".\n", "\n").replace("\n", ". ")
    ours, _, quoted = line.partition(": ")
    return ours, quoted


def start_failure(name: str, child: Child | None, problem: OSError) -> ErrorDetail:
    """Describe a server that could not be started or, where it is no child process, not be reached."""
    begin = f"the server {name!r} could not be started: "
    if child is None:
        return _error("UNAVAILABLE", f"the server {name!r} cannot be reached: {problem}", hint=_START_IT)
    program = child.command[0]
    if child.cwd is not None and problem.filename == child.cwd:
        return _error("UNAVAILABLE", f"{begin}there is no directory {child.cwd!r}", hint="Correct its cwd.")
    if problem.errno == errno.ENOENT:
        return _error("UNAVAILABLE", f"{begin}there is no program {program!r}", hint=_FIND_IT)
    if problem.errno in {errno.EACCES, errno.ENOEXEC}:
        return _error("UNAVAILABLE", f"{begin}{program!r} cannot be executed", hint=_MAKE_RUN)
    return _error("UNAVAILABLE", f"{begin}{problem}")


def connection_end(name: str, child: Child | None, *, answered: bool) -> ErrorDetail:
    """Describe a connection that has ended; `answered` says whether it ever brought a message."""
    if child is None:
        return _error("UNAVAILABLE", f"the server {name!r} closed the connection", hint=_START_IT)
    code, lines = child.exit_code, _last_lines(child)
    ended = "closed its output" if code is None else f"ended with exit code {code}"
    if answered:
        words = f": {lines[-1]}" if lines else ""
        return _error("UNAVAILABLE", f"the server {name!r} {ended}{words}")
    message = f"the server {name!r} {ended} before it answered{':' if lines else ''}{_listed(lines)}"
    return _error("UNAVAILABLE", message, hint=_RUN_IT)


def timeout(name: str, child: Child | None, seconds: float) -> ErrorDetail:
    """Describe a server that has not answered in the time that it was given."""
    lines = [] if child is None else _last_lines(child)
    printed = ", and printed:" if lines else ""
    message = f"the server {name!r} did not answer within {seconds:.0f} s{printed}{_listed(lines)}"
    return _error("UNAVAILABLE", message, hint=_START_IT if child is None else _WAIT_FOR_IT)


def still_starting(name: str) -> ErrorDetail:
    """Describe a server that has not answered yet, and may."""
    return _error("UNAVAILABLE", f"the server {name!r} is still starting", retry_after=1.0)


def session_refusal(name: str, refused: Exception) -> ErrorDetail:
    """Describe a server that was started again and refuses to initialize."""
    return _error("UNAVAILABLE", f"the server {name!r} would not start a session: {refused}", hint=_RUN_IT)


def http_status(name: str, address: str, status: int) -> ErrorDetail:
    """Describe a server that answered a request with an error of HTTP."""
    message = f"the server {_at(name, address)} answered with HTTP status {status}"
    return _error(_CODES.get(status, "UNAVAILABLE"), message, hint=_HINTS.get(status, _START_IT))


def unreachable(name: str, address: str, words: str) -> ErrorDetail:
    """Describe a server that cannot be reached by HTTP."""
    return _error("UNAVAILABLE", f"the server {_at(name, address)} cannot be reached: {words}", hint=_START_IT)


def paused(name: str, last: ErrorDetail | None, pause: float) -> ErrorDetail:
    """Describe a server that has failed too often to be tried again at once."""
    before = last.message if last else f"the server {name!r} has failed"
    hint = last.hint if last and last.has_own_hint else None
    message = f"{before}\nIt is left alone for {max(pause, 0.1):.1f} s before it is tried again."
    code = last.code if last else "UNAVAILABLE"
    return _error(code, message, hint=hint, retryable=True, retry_after=round(pause, 1) or None, foreign=True)


def combined_error(details: Sequence[ErrorDetail]) -> ErrorDetail:
    """Describe several servers of which none can be used."""
    if len(details) == 1:
        return details[0]
    message = "\n".join(describe(detail) for detail in details)
    return _error("UNAVAILABLE", f"none of the servers can be used:\n{message}")


def not_found(name: str, details: Sequence[ErrorDetail]) -> ErrorDetail:
    """Describe that none has what was asked for of the servers that answer, while some do not."""
    message = "\n".join(map(describe, details))
    return _error("UNAVAILABLE", f"no server that answers has {name!r}; not all answer:\n{message}")


def invalid_json(name: str, line: bytes) -> ErrorDetail:
    """Describe an answer that is no JSON that can be read."""
    try:
        line.decode()
    except UnicodeDecodeError as problem:
        why = f"byte {problem.start:,} of it is not UTF-8"
    else:
        why = "it is cut short, nested too deep, or has a number of thousands of digits"
    message = f"the server {name!r} answered with {len(line):,} bytes that cannot be read: {why}"
    return _error("BAD_RESPONSE", message, hint="Ask it for less, or for something else; the server has to mend this.")


def _error(code: str, message: str, **fields: Any) -> ErrorDetail:
    from shaping.errors import make_error  # noqa: PLC0415 (only where a server fails: costs 150 ms)

    return make_error(code, message, **fields)


def _last_lines(child: Child) -> list[str]:
    # What it logged says why; what it printed may be anything.
    lines = [line.decode(errors="replace").rstrip() for line in child.last_logged or child.last_printed]
    # Of a traceback, the exception's own lines say what is wrong.
    frames = [at for at, line in enumerate(lines) if _FRAME.match(line)]
    own = list(dropwhile(lambda line: line.startswith(" "), lines[frames[-1] :])) if frames else lines
    if lines and _NODE.match(lines[-1]):
        own = list(filter(_EXCEPTION.match, lines))
    return [without_secrets(line.strip())[:_LINE_SHOWN] for line in (own or lines)[-_LINES_SHOWN:]]


def _listed(lines: Sequence[str]) -> str:
    return "".join(f"\n  {line}" for line in lines)


def _at(name: str, address: str) -> str:
    return f"at {address}" if name == address else f"{name!r} at {address}"
