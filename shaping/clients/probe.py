"""Questions that `shaping wrap` asks servers: whether a remote one wants credentials, whether one starts as wrapped."""

from __future__ import annotations

import http.client
import os
import selectors
import subprocess
import urllib.error
import urllib.request
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.commands.process import end_group

if TYPE_CHECKING:
    from collections.abc import Mapping

_ASK_SECONDS: Final = 5.0
_START_SECONDS: Final = 60.0
_LONGEST: Final = 300  # characters of what a server printed that a reason quotes
_REFUSALS: Final = (401, 403)
_METHOD_NOT_FOUND: Final = -32601
_INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "shaping", "version": "1"},
    },
}
_LIST_TOOLS: Final = (
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


def asks_credentials(url: str) -> bool:
    """Return whether a server refuses a client without credentials; one that cannot be reached counts as no."""
    if not url.startswith(("http://", "https://")):
        return False
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    try:
        request = urllib.request.Request(url, orjson.dumps(_INITIALIZE), headers)  # noqa: S310 (the scheme was checked above)
        with urllib.request.urlopen(request, timeout=_ASK_SECONDS):  # noqa: S310 (the scheme was checked above)
            return False
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code in _REFUSALS
    except (OSError, ValueError, http.client.HTTPException):
        return False


def why_it_fails(entry: Mapping[str, Any], seconds: float = _START_SECONDS) -> str | None:
    """Start the server of a client's entry, list its tools, and return why that failed, or None."""
    words = [entry["command"], *entry.get("args", [])]
    environ = os.environ | {str(name): str(value) for name, value in (entry.get("env") or {}).items()}
    try:
        process = subprocess.Popen(  # noqa: S603 (what the client's config starts; there is no shell)
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            cwd=entry.get("cwd"),
            start_new_session=True,
        )
    except OSError as problem:
        return f"{words[0]}: {problem.strerror}"
    try:
        return _Conversation(process, monotonic() + seconds).failure()
    finally:
        end_group(process)


class _Conversation:
    """The first messages of an MCP session over a process's pipes, until a deadline."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        self._process, self._deadline = process, deadline
        self._log = bytearray()

    def failure(self) -> str | None:
        with selectors.DefaultSelector() as selector:
            selector.register(_open(self._process.stdout), selectors.EVENT_READ, bytearray())
            selector.register(_open(self._process.stderr), selectors.EVENT_READ, self._log)
            error = self._ask(selector, [_INITIALIZE], 1) or self._ask(selector, _LIST_TOOLS, 2)
        return error or None

    def _ask(self, selector: selectors.BaseSelector, messages: Any, wanted: int) -> str:
        try:
            for message in messages:
                _open(self._process.stdin).write(orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE))
            _open(self._process.stdin).flush()
        except BrokenPipeError:
            return self._ended()
        while (left := self._deadline - monotonic()) > 0:
            for key, _ in selector.select(left):
                chunk = os.read(key.fd, 1 << 16)
                if not chunk and key.data is not self._log:
                    return self._ended()
                if not chunk:
                    selector.unregister(key.fileobj)
                received: bytearray = key.data
                received += chunk
                if received is not self._log and (answer := _answer(received, wanted)) is not None:
                    return answer
        return f"it did not answer in {_START_SECONDS:.0f} s{self._said()}"

    def _ended(self) -> str:
        self._process.wait(_ASK_SECONDS)
        if self._process.stderr is not None:
            os.set_blocking(self._process.stderr.fileno(), False)
            self._log += self._process.stderr.read() or b""
        return f"it ended with exit code {self._process.returncode}{self._said()}"

    def _said(self) -> str:
        lines = self._log.decode(errors="replace").strip().splitlines()
        return f": {lines[-1][:_LONGEST]}" if lines else ""


def _answer(received: bytearray, wanted: int) -> str | None:
    """Return "" for a result, the message of an error, or None where the answer has not come yet."""
    *lines, rest = received.split(b"\n")
    received[:] = rest
    for line in lines:
        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(message, dict) and message.get("id") == wanted and "method" not in message:
            error = message.get("error") or {}
            return "" if not error or error.get("code") == _METHOD_NOT_FOUND else str(error.get("message"))
    return None


def _open(pipe: Any) -> Any:
    if pipe is None:  # pragma: no cover  all three pipes are asked for
        raise RuntimeError("the server was started without its pipes")
    return pipe
