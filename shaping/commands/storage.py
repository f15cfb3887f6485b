"""What programs printed, stored byte for byte less secrets for `shaping expand`."""

from __future__ import annotations

import secrets
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping import errors
from shaping.commands.capture import ByteRedactor, Capture, Finished, decode, withhold_private
from shaping.response import Warned
from shaping.store.backends import Store, StoreError
from shaping.store.expand import Stream, cursor_at, stored_streams
from shaping.store.keeper import NOT_KEPT, make_ref, payload
from shaping.store.pages import Position

if TYPE_CHECKING:
    from shaping.envelope import Envelope
    from shaping.settings.choices import Redact
    from shaping.shaper import Shaper


PART: Final = 1024 * 1024  # bytes of an output that are stored as one value


class PartWriter:
    """Stores one output in parts, without secrets, up to a limit; a store that fails never ends the command."""

    def __init__(self, shaper: Shaper, redact: Redact) -> None:
        settings = shaper.loaded_config.store_for("command")
        self._ttl, self._limit = settings.ttl_seconds, settings.max_bytes // 2  # both outputs must find room
        self._store: Store = shaper.keeper("command").store
        self._redactor = ByteRedactor(redact)
        self._prefix = f"p_{secrets.token_hex(16)}"
        self._waiting = bytearray()
        self._parts = self._size = self._taken = self._kept = 0
        self.failed = False

    def write(self, chunk: bytes) -> None:
        """Take the next bytes."""
        room = max(0, self._limit - self._size)
        self._size += len(chunk)
        if self.failed or not room:
            return
        self._taken += len(chunk[:room])
        self._waiting += self._redactor.feed(chunk[:room])
        while len(self._waiting) >= PART and not self.failed:
            self._put(PART)

    def finish(self) -> Stream:
        """Store the rest and return where all of it is."""
        self._waiting += self._redactor.feed(final=True)
        while self._waiting and not self.failed:
            self._put(PART)
        return Stream(self._prefix, self._parts, self._size, self._kept)

    def _put(self, count: int) -> None:
        part = bytes(self._waiting[:count])
        del self._waiting[:count]
        try:
            self._store.put(f"{self._prefix}.{self._parts}", part, meta={}, ttl=self._ttl)
        except StoreError:
            self.failed = True
            return
        self._parts += 1
        self._kept = self._taken - len(self._waiting) - self._redactor.waiting


def streams_of(shaper: Shaper, ref: str) -> dict[str, Stream]:
    """Return where the outputs behind a ref are stored."""
    found = stored_streams(shaper.keeper("command").store, ref)
    if found is None:
        raise errors.ToolError("REF_NOT_FOUND", "no command's output is kept behind this ref here")
    return found


class StoredOutput:
    """The outputs of one command in the store."""

    def __init__(self, shaper: Shaper, finished: Finished) -> None:
        self._shaper, self._plan, self._finished = shaper, finished.plan, finished
        self._ttl = shaper.loaded_config.store_for("command").ttl_seconds
        self.warnings: list[Warned] = []

    @cached_property
    def _store(self) -> Store:
        return self._shaper.keeper("command").store

    @cached_property
    def text_ref(self) -> str | None:
        """The ref of the two outputs as text, kept when it is first asked for."""
        out, err = self._finished.stdout, self._finished.stderr
        value = {name: withhold_private(one.text(), self._plan) for name, one in (("stdout", out), ("stderr", err))}
        lost = sum(one.size - len(one.held) for one in (out, err) if not one.whole)
        meta = {"tool": self._plan.tool, "owner": "", "surface": "command", **({"lost": str(lost)} if lost else {})}
        try:
            ref = make_ref(self._store.secret, self._plan.tool, out.digest + err.digest)
            self._store.put(ref, payload(orjson.dumps(value), self._plan), meta=meta, ttl=self._ttl)
        except StoreError:
            self.warnings.append(NOT_KEPT)
            return None
        self.keep_streams(ref)
        return ref

    def keep_streams(self, ref: str | None) -> None:
        """Keep the exact outputs behind a ref."""
        if ref is None or self._plan.private is not None:
            # Bytes have no paths: what is private could not be held back from them.
            return
        outputs = {"stdout": self._finished.stdout, "stderr": self._finished.stderr}
        kept = {name: asdict(self._stored(name, one)) for name, one in outputs.items()}
        try:
            self._store.put(f"{ref}.streams", orjson.dumps(kept), meta={}, ttl=self._ttl)
        except StoreError:
            self.warnings.append(NOT_KEPT)

    def cursor(self, ref: str | None, shown: str) -> str | None:
        """Return the cursor for the end of the shown beginning of a text."""
        if ref is None or self._plan.private is not None:
            return None
        whole, same = decode(self._finished.stdout.held), 0
        # What is shown of the beginning is no longer than what is shown.
        beginning = whole[: len(shown) + 1].splitlines(keepends=True)
        for one, other in zip(beginning, shown.splitlines(keepends=True), strict=False):
            if one != other:
                break
            same += len(one)
        at = cursor_at(self._store.secret, ref, "stdout" if whole else "stderr", Position(offset=same))
        return f"{ref}:{at}"

    def members(self, envelope: Envelope[Any], ref: str | None) -> dict[str, Any]:
        """Return the meta members that lead to the rest; a cursor on a command line carries its ref."""
        cursor = envelope.meta.cursor
        return {"ref": ref, "cursor": f"{ref}:{cursor}" if ref and cursor else cursor}

    def _stored(self, name: str, output: Capture) -> Stream:
        writer = output.writer or PartWriter(self._shaper, self._plan.redact)
        if output.whole:
            writer.write(output.held)
        stream = writer.finish()
        if stream.kept < stream.size:
            lost = f"{stream.kept:,} of the {stream.size:,} bytes of {name} can be expanded; the rest is gone"
            self.warnings.append(Warned("NOT_KEPT", lost))
        return stream
