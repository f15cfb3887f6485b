"""A small MCP client to try servers out: whether a remote one wants credentials, whether one starts and answers."""

from __future__ import annotations

import http.client
import os
import selectors
import subprocess
import urllib.error
import urllib.request
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from shaping.commands.process import end_group
from shaping.response import required

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ASK_SECONDS: Final = 5.0
_START_SECONDS: Final = 60.0
_LONGEST: Final = 300  # characters of what a server printed that a reason quotes
_REFUSALS: Final = (401, 403)
_METHOD_NOT_FOUND: Final = -32601
_INITIALIZE: Final = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "shaping", "version": "1"},
}


def asks_credentials(url: str) -> bool:
    """Return whether a server refuses a client without credentials; one that cannot be reached counts as no."""
    if not url.startswith(("http://", "https://")):
        return False
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    try:
        request = urllib.request.Request(url, orjson.dumps(_request(1, "initialize", _INITIALIZE)), headers)  # noqa: S310 (the scheme was checked above)
        with urllib.request.urlopen(request, timeout=_ASK_SECONDS):  # noqa: S310 (the scheme was checked above)
            return False
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code in _REFUSALS
    except (OSError, ValueError, http.client.HTTPException):
        return False


def why_it_fails(entry: Mapping[str, Any], seconds: float = _START_SECONDS) -> str | None:
    """Start the server of a client's entry, list its tools, and return why that failed, or None.

    On Windows, where its pipes cannot be waited for, no server is started.
    """
    if not hasattr(os, "killpg"):
        return None
    # What a probe asks no model reads: it is no entry of the user's ledger.
    environ = (
        os.environ
        | {"SHAPING_LEDGER": "off"}
        | {str(name): str(value) for name, value in (entry.get("env") or {}).items()}
    )
    try:
        with StdioSession([entry["command"], *entry.get("args", [])], environ, entry.get("cwd"), seconds) as session:
            session.request("tools/list")
    except ServerFailedError as problem:
        return None if problem.code == _METHOD_NOT_FOUND else str(problem)
    return None


class ServerFailedError(Exception):
    """A server that could not be started, ended, fell silent, or answered with a JSON-RPC error."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class StdioSession:
    """An MCP session with a server that is started for it, one request at a time; made for trying servers out."""

    def __init__(
        self, words: Sequence[str], environ: Mapping[str, str], cwd: str | None = None, seconds: float = _START_SECONDS
    ) -> None:
        self._seconds, self._requests = seconds, 0
        self._received, self._log = bytearray(), bytearray()
        try:
            self._process = subprocess.Popen(  # noqa: S603 (what the client's config starts; there is no shell)
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environ),
                cwd=cwd,
                start_new_session=True,
            )
        except OSError as problem:
            raise ServerFailedError(f"{words[0]}: {problem.strerror}") from None
        self._selector = selectors.DefaultSelector()
        self._selector.register(required(self._process.stdout), selectors.EVENT_READ, self._received)
        self._selector.register(required(self._process.stderr), selectors.EVENT_READ, self._log)

    def __enter__(self) -> Self:
        try:
            self.request("initialize", _INITIALIZE)
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        end_group(self._process)

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its result."""
        self._requests += 1
        self._send(_request(self._requests, method, params))
        deadline = monotonic() + self._seconds
        while (left := deadline - monotonic()) > 0:
            for key, _ in self._selector.select(left):
                chunk = os.read(key.fd, 1 << 16)
                if not chunk and key.data is self._received:
                    raise self._ended()
                if not chunk:
                    self._selector.unregister(key.fileobj)
                received: bytearray = key.data
                received += chunk
            if (answer := self._answer()) is not None:
                return answer
        raise ServerFailedError(f"it did not answer in {self._seconds:.0f} s{self._last_line()}")

    def _send(self, message: Mapping[str, Any]) -> None:
        pipe = required(self._process.stdin)
        try:
            pipe.write(orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE))
            pipe.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def _answer(self) -> dict[str, Any] | None:
        *lines, rest = self._received.split(b"\n")
        self._received[:] = rest
        for line in lines:
            with suppress(orjson.JSONDecodeError):
                message = orjson.loads(line)
                if isinstance(message, dict) and message.get("id") == self._requests and "method" not in message:
                    if error := message.get("error"):
                        raise ServerFailedError(str(error.get("message")), error.get("code"))
                    return dict(message["result"])
        return None

    def _ended(self) -> ServerFailedError:
        try:
            how = f"ended with exit code {self._process.wait(_ASK_SECONDS)}"
        except subprocess.TimeoutExpired:
            how = "closed its output"
        pipe = required(self._process.stderr)
        os.set_blocking(pipe.fileno(), False)
        self._log += pipe.read() or b""
        return ServerFailedError(f"it {how}{self._last_line()}")

    def _last_line(self) -> str:
        lines = self._log.decode(errors="replace").strip().splitlines()
        return f": {lines[-1][:_LONGEST]}" if lines else ""


def _request(number: int, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params or {})}
