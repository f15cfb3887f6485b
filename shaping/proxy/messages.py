"""JSON-RPC messages as lines over pipes: read once, and written anew only where something in them changed."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import stat
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
INVALID_REQUEST = -32600
INTERNAL_ERROR = -32603
METHOD_NOT_FOUND = -32601
# Every rule for secrets wants a long run of letters and digits, a word for a secret, or a password in an address.
_SECRETIVE = re.compile(
    rb"(?=[A-Za-z+/=_.%\\-]{0,60}[0-9])[A-Za-z0-9+/=_.%\\-]{16}"
    rb"|(?i:pass|pwd|secret|token|key|auth|cred|bearer|cookie|login|account)|:[^\s/@]{2,}@|:[0-9]{2,5}:"
    rb"|[ \"']-[up]|\\u|&[#A-Za-z]|[^\x00-\x7f]"
)
_DIGITS = bytes(ord("0") if chr(byte).isascii() and chr(byte).isdigit() else ord(" ") for byte in range(256))
_LONG_NUMBER = b"0" * 19
_SOME_OF_IT = b"0" * (19 // 4)
_NAME = re.compile(r"[\w$./:=+@#-]{1,200}")  # of a method, or the id of a request, in which no data stands
_LONGEST_ID = 200


@dataclass(frozen=True, slots=True)
class Message:
    """One JSON-RPC message: the line it came in, without its line break, and what that line says."""

    line: bytes
    data: dict[str, Any]

    @property
    def id(self) -> Any:
        """The id of a request or an answer."""
        return self.data.get("id")

    @property
    def method(self) -> str | None:
        """The method of a request or a notification."""
        method = self.data.get("method")
        return method if isinstance(method, str) else None

    @property
    def has_usable_id(self) -> bool:
        """Whether the id is one that JSON-RPC allows, or none."""
        return self.id is None or isinstance(self.id, str | int | float)

    @property
    def is_named(self) -> bool:
        """Whether the method is a name and the id has no JSON in it, so that no data stands in them."""
        said = self.id if isinstance(self.id, str) else ""
        is_id = len(said) <= _LONGEST_ID and said.isprintable() and '"' not in said
        return is_id and _NAME.fullmatch(self.method or "") is not None

    @property
    def is_asked_by_words(self) -> bool:
        """Whether this is a request whose id is more than a name, such as `(a, b)`."""
        return self.is_request and isinstance(self.id, str) and _NAME.fullmatch(self.id) is None

    @property
    def is_request(self) -> bool:
        """Whether an answer is expected."""
        return "method" in self.data and "id" in self.data

    @property
    def is_answer(self) -> bool:
        """Whether this answers a request."""
        return "method" not in self.data and "id" in self.data

    @property
    def params(self) -> dict[str, Any]:
        """The parameters, or none."""
        params = self.data.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def cancelled_id(self) -> str | int | None:
        """The id of the request that a cancellation is about."""
        request_id = self.params.get("requestId") if self.method == "notifications/cancelled" else None
        return request_id if isinstance(request_id, str | int) else None

    @property
    def meta(self) -> dict[str, Any]:
        """The `_meta` of the parameters, or none."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


class UnusableConfigError(Exception):
    """A config that cannot be used: nothing goes through before it is right, because it may hold something back."""

    def __init__(self, problem: BaseException) -> None:
        super().__init__(
            f"this was not done: {problem}\nshaping may pass nothing on before its config is right. Correct it and try"
            " again; nothing has to be restarted."
        )


_LONG_LINE = 16_384  # bytes
_ID_LENGTH = 300  # bytes of an id with what stands beside it
_ID = rb"""\"id\"\s{0,9}:\s{0,9}(\d{1,18}|\"[\w.:-]{1,200}\")\s{0,9}"""
_VERSION = rb"""\"jsonrpc\"\s{0,9}:\s{0,9}\"2.0\"\s{0,9}"""
_ID_FIRST = re.compile(rb"\s{0,9}\{\s{0,9}(?:" + _VERSION + rb",\s{0,9})?" + _ID + rb",")
_ID_LAST = re.compile(rb",\s{0,9}" + _ID + rb"(?:,\s{0,9}" + _VERSION + rb")?\}\s{0,9}$")


def messages_in(line: bytes) -> list[Message]:
    """Read the messages of a line: one, several where it is a batch, none where it is no JSON-RPC."""
    if line.lstrip()[:1] not in (b"{", b"["):
        return []
    try:
        # A long number is found so forty times as fast as by a pattern; of most lines every fourth byte tells enough.
        may_be = _SOME_OF_IT in line[::4].translate(_DIGITS) and _LONG_NUMBER in line.translate(_DIGITS)
        data = _exact(line) if may_be else None
        data = orjson.loads(line) if data is None else data
    except orjson.JSONDecodeError:
        data = _exact(line)
    if isinstance(data, dict):
        return [Message(line, data)]
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        return []
    return [message_of(one) for one in data]


def from_server(line: bytes) -> list[Message]:
    """Read the messages of a server's line, each as one of the kinds that JSON-RPC has.

    What has a result is an answer whatever else it has, and what has an error has no result: a client may take it so.
    """
    messages = map(_of_one_kind, messages_in(line))
    return [message for message in messages if message.has_usable_id and _is_json_rpc(message.data)]


def _is_json_rpc(data: Mapping[str, Any]) -> bool:
    """Return whether a message of a server is of the protocol's version and of one of its kinds."""
    if data.get("jsonrpc") != "2.0":
        return False
    if "method" in data:
        return isinstance(data["method"], str)
    return "error" in data or ("result" in data and "id" in data)


def _of_one_kind(message: Message) -> Message:
    data = message.data
    if "method" not in data and not ("error" in data and ("result" in data or data["error"] is None)):
        return message
    if "method" in data and "result" not in data and "error" not in data:
        return message
    unwanted = {"method", "params", "result" if data.get("error") is not None else "error"}
    return message_of({name: value for name, value in data.items() if name not in unwanted})


def may_hold_secret(line: bytes) -> bool:
    """Return whether a message is worth a look for secrets; said without loading the rules, which takes a while."""
    return len(line) > _LONG_LINE or _SECRETIVE.search(line) is not None


def without_secrets(said: Any) -> Any:
    """Take secrets out of what a server says by the rules that hold without a config."""
    from shaping.redaction import redact  # noqa: PLC0415 (loaded by now, or a server failed: costs 150 ms)

    return redact(said)[0]


def log_warning(ours: str, quoted: str) -> None:
    """Log a sentence of ours and what it quotes of a server, without secrets."""
    logging.getLogger("shaping").warning("%s", without_secrets(f"{ours}: {quoted}" if quoted else ours))


def _exact(line: bytes) -> Any:
    """Read JSON with every digit of a long number, and NaN, which orjson does not; None where it is not JSON."""
    import json  # noqa: PLC0415 (most lines need it never: costs 5 ms)

    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def unreadable_answer_id(line: bytes) -> Any:
    """Return the id of an answer that cannot be read, as it stands before or after the result; None without one."""
    found = _ID_FIRST.match(line) or _ID_LAST.search(line, max(0, len(line) - _ID_LENGTH))
    return None if found is None else orjson.loads(found[1])


def message_of(data: Mapping[str, Any]) -> Message:
    """Make a message of data."""
    try:
        return Message(orjson.dumps(data), dict(data))
    except (TypeError, ValueError):
        import json  # noqa: PLC0415 (only for numbers of more than 64 bits: costs 5 ms)

        return Message(json.dumps(data, separators=(",", ":")).encode(), dict(data))


def answer_message(request_id: Any, result: Mapping[str, Any]) -> Message:
    """Make the answer to a request."""
    return message_of({"jsonrpc": "2.0", "id": request_id, "result": result})


def error_message(request_id: Any, code: int, message: str, data: Any = None) -> Message:
    """Make the answer to a request that failed."""
    body: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    return message_of({"jsonrpc": "2.0", "id": request_id, "error": body})


# Bytes that nobody has taken yet; beyond twice that the writer at the other end has to wait.
_MOST_WAITING = 4 * 1024 * 1024


class PipeReader(asyncio.StreamReader):
    """The lines that come out of a pipe."""

    transport: asyncio.BaseTransport | None = None

    def __init__(self) -> None:
        super().__init__(limit=_MOST_WAITING)
        self.ended = asyncio.Event()

    def feed_eof(self) -> None:
        """Note the end, which comes before the last lines are taken."""
        super().feed_eof()
        self.ended.set()

    def close(self) -> None:
        """Read no more."""
        if self.transport is not None:
            self.transport.close()
        self.feed_eof()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield each line without its line break, until the pipe is closed; the last may have none."""
        parts: list[bytes] = []  # of a line whose end has not come yet
        while data := await self.read(_MOST_WAITING):
            first, *rest = data.split(b"\n")
            parts.append(first)
            for part in rest:
                if line := b"".join(parts):
                    yield line
                parts = [part]
        if line := b"".join(parts):
            yield line


class PipeWriter:
    """A pipe that lines are written to, or a file, for which nobody has to wait."""

    def __init__(self, writer: asyncio.StreamWriter | BinaryIO) -> None:
        self._writer = writer

    async def send(self, line: bytes) -> None:
        """Write a line and wait while the reader is slow; raise OSError where nobody reads any more."""
        self._writer.write(line + b"\n")
        if isinstance(self._writer, asyncio.StreamWriter):
            await self._writer.drain()
        else:
            self._writer.flush()

    def close(self) -> None:
        """Close the pipe after what was written."""
        self._writer.close()


async def open_reader(file: Any) -> PipeReader:
    """Read the lines of a pipe."""
    reader = PipeReader()
    loop = asyncio.get_running_loop()
    reader.transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader


async def open_writer(file: Any) -> PipeWriter:
    """Write lines to a pipe, or to a file that takes them at once."""
    if not _is_pipe(file.fileno()):
        return PipeWriter(file)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, file)
    return PipeWriter(asyncio.StreamWriter(transport, protocol, None, loop))


def claim_standard_streams() -> tuple[Any, Any]:
    """Reserve standard input and output for messages, so that a stray print does not land between two of them."""
    given, taken = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    source = given if _is_pipe(given) else _pumped(given)
    return os.fdopen(source, "rb", 0), os.fdopen(taken, "wb")


def _is_pipe(number: int) -> bool:
    """Return whether a descriptor can be waited for; a file or the null device cannot."""
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _pumped(file: int) -> int:
    source, target = os.pipe()
    threading.Thread(target=_copy, args=(file, target), daemon=True).start()
    return source


def _copy(source: int, target: int) -> None:
    with os.fdopen(source, "rb", 0) as given, os.fdopen(target, "wb", 0) as taken:
        while data := given.read(65536):
            taken.write(data)
