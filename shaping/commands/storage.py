"""What a program printed waits in the store, byte for byte less secrets, for `shaping expand` to ask for."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.commands.output import withhold_private
from shaping.commands.process import decode
from shaping.errors import ToolError
from shaping.redaction import redact_text
from shaping.response import Warned
from shaping.store import StoreError, make_ref
from shaping.store.expand import cursor_at
from shaping.store.originals import NOT_KEPT, payload
from shaping.store.pages import Position

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.commands.output import CapturedOutput, Finished
    from shaping.commands.process import Capture
    from shaping.envelope import Envelope
    from shaping.settings import Plan
    from shaping.settings.plan import Redact
    from shaping.shaper import Shaper
    from shaping.store import Store


PART: Final = 1024 * 1024  # bytes of an output that are stored as one value
_KEY: Final = 64 * 1024  # bytes that a private key may take; one is not torn apart, so that it is seen for what it is
_BEGINS, _ENDS = b"-----BEGIN ", b"-----END "


@dataclass(frozen=True, slots=True)
class Stream:
    """Where the parts of one output lie, and how much of it they are."""

    prefix: str
    parts: int
    size: int
    kept: int


class OutputStore:
    """The store of one shaper, as commands use it: written at once, because the process is about to end."""

    def __init__(self, shaper: Shaper) -> None:
        settings = shaper.generation.store_for("command")
        self.store: Store = shaper.keeper("command").store
        self.ttl = settings.ttl_seconds
        # Both outputs of one command must find room.
        self.limit = settings.max_bytes // 2

    def writer(self, redact: Redact) -> PartWriter:
        """Give a place for the parts of one output."""
        return PartWriter(self, redact)

    def keep(self, tool: str, content: bytes, value: Any, plan: Plan) -> str:
        """Keep a value and give its ref."""
        ref = make_ref(self.store.secret, tool, content)
        meta = {"tool": tool, "owner": "", "surface": "command"}
        self.store.put(ref, payload(orjson.dumps(value), plan), meta=meta, ttl=self.ttl)
        return ref

    def keep_streams(self, ref: str, streams: dict[str, Stream]) -> None:
        """Say where the exact outputs of an answer lie."""
        said = {name: asdict(one) for name, one in streams.items()}
        self.store.put(f"{ref}.streams", orjson.dumps(said), meta={}, ttl=self.ttl)


class PartWriter:
    """Stores one output in parts, up to a limit; a store that fails ends the keeping, never the command."""

    def __init__(self, shelf: OutputStore, redact: Redact) -> None:
        self._shelf, self._redact = shelf, redact
        self._prefix = f"p_{secrets.token_hex(16)}"
        self._waiting = bytearray()
        self._parts = self._size = self._kept = 0
        self.failed = False

    def write(self, chunk: bytes) -> None:
        """Take the next bytes."""
        room = self._shelf.limit - self._size
        self._size += len(chunk)
        if self.failed or room <= 0:
            return
        self._waiting += chunk[:room]
        while len(self._waiting) >= PART and not self.failed:
            self._put(_whole_lines(self._waiting[:PART]))

    def finish(self) -> Stream:
        """Store what waits and say where all of it lies."""
        if self._waiting:
            self._put(len(self._waiting))
        return Stream(self._prefix, self._parts, self._size, self._kept)

    def _put(self, count: int) -> None:
        part = bytes(self._waiting[:count])
        del self._waiting[:count]
        try:
            self._shelf.store.put(
                f"{self._prefix}.{self._parts}", _without_secrets(part, self._redact), meta={}, ttl=self._shelf.ttl
            )
        except StoreError:
            self.failed = True
            return
        self._parts += 1
        self._kept += len(part)


def streams_of(shaper: Shaper, ref: str) -> dict[str, Stream]:
    """Find where the outputs behind a ref lie."""
    try:
        found = OutputStore(shaper).store.get(f"{ref}.streams")
    except StoreError:
        raise ToolError("UNAVAILABLE", "the store cannot be read now") from None
    if found is None:
        raise ToolError("REF_NOT_FOUND", "no command's output is kept behind this ref here")
    return {name: Stream(**said) for name, said in orjson.loads(found.payload).items()}


def read_stream(shaper: Shaper, stream: Stream) -> Iterator[bytes]:
    """Give the bytes of one output, part by part."""
    store = OutputStore(shaper).store
    for number in range(stream.parts):
        part = store.get(f"{stream.prefix}.{number}")
        if part is None:
            raise ToolError("REF_NOT_FOUND", "a part of this output has made way for newer ones")
        yield part.payload


def store_capture(capture: Capture, writer: PartWriter) -> Stream:
    """Store what a capture still holds, and say where all of it lies."""
    if capture.whole:
        writer.write(capture.held)
    return writer.finish()


def _whole_lines(part: bytearray) -> int:
    """Say how much of a part to store, so that no line and no private key is torn apart."""
    begins = part.rfind(_BEGINS)
    if begins > 0 and begins > part.rfind(_ENDS) and len(part) - begins < _KEY:
        return begins
    return part.rfind(b"\n") + 1 or len(part)


def _without_secrets(part: bytes, redact: Redact) -> bytes:
    if redact.off:
        return part
    # One character a byte: what is no UTF-8 comes back as it was, and secrets are ASCII.
    text = part.decode("latin-1")
    clean, hits = redact_text(text, values=redact.values, names=redact.names)
    return clean.encode("latin-1") if hits else part


class StoredOutput:
    """What of one command's outputs lies in the store."""

    def __init__(self, shaper: Shaper, plan: Plan, ran: Finished) -> None:
        self._shaper, self._plan, self._ran = shaper, plan, ran
        self.warnings: list[Warned] = []

    @cached_property
    def text_ref(self) -> str | None:
        """The ref of the two outputs as text."""
        out, err = self._ran.stdout.capture, self._ran.stderr.capture
        value = {name: withhold_private(one.text(), self._plan) for name, one in (("stdout", out), ("stderr", err))}
        try:
            ref = self._shelf.keep(self._ran.tool, out.digest + err.digest, value, self._plan)
        except StoreError:
            self.warnings.append(NOT_KEPT)
            return None
        self.streams(ref)
        return ref

    def streams(self, ref: str | None) -> None:
        """Keep the exact outputs behind a ref."""
        if ref is None or self._plan.private is not None:
            # Bytes have no paths: what is private could not be held back from them.
            return
        outputs = {"stdout": self._ran.stdout, "stderr": self._ran.stderr}
        kept = {name: self._stored(name, one) for name, one in outputs.items()}
        try:
            self._shelf.keep_streams(ref, kept)
        except StoreError:
            self.warnings.append(NOT_KEPT)

    def cursor(self, ref: str | None, shown: str) -> str | None:
        """Write the cursor for where the shown beginning of a text ends."""
        if ref is None or self._plan.private is not None:
            return None
        whole, same = decode(self._ran.stdout.capture.held), 0
        # What is shown of the beginning is no longer than what is shown.
        beginning = whole[: len(shown) + 1].splitlines(keepends=True)
        for one, other in zip(beginning, shown.splitlines(keepends=True), strict=False):
            if one != other:
                break
            same += len(one)
        at = cursor_at(self._shelf.store.secret, ref, "stdout" if whole else "stderr", Position(offset=same))
        return f"{ref}:{at}"

    def members(self, envelope: Envelope[Any], ref: str | None) -> dict[str, Any]:
        """Give the members of meta by which the rest is asked for; a cursor of a command carries its ref."""
        cursor = envelope.meta.cursor
        return {"ref": ref, "cursor": f"{ref}:{cursor}" if ref and cursor else cursor}

    @cached_property
    def _shelf(self) -> OutputStore:
        return OutputStore(self._shaper)

    def _stored(self, name: str, output: CapturedOutput) -> Any:
        stream = store_capture(output.capture, output.writer or self._shelf.writer(self._plan.redact))
        if stream.kept < stream.size:
            lost = f"{stream.kept:,} of the {stream.size:,} bytes of {name} can be expanded; the rest is gone"
            self.warnings.append(Warned("NOT_KEPT", lost))
        return stream
