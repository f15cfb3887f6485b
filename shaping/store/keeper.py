"""How an original is kept behind a ref: redacted, without private paths, written off the caller's thread.

A store that is full, slow or down neither fails nor delays a call. Refs cannot be guessed and cursors cannot be
changed: both carry a keyed hash.
"""

from __future__ import annotations

import atexit
import hmac
import logging
import os
import threading
import time
import weakref
from base64 import b32encode, urlsafe_b64encode
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from math import inf
from typing import TYPE_CHECKING, Final

import orjson

from shaping.redaction import redact_json
from shaping.response import Warned
from shaping.store.backends import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.settings import Plan, Surface
    from shaping.store.backends import Store, Stored


logger = logging.getLogger("shaping")

NOT_KEPT = Warned(
    "NOT_KEPT", "the store is out of reach, full, or too small for this (store.max_bytes): it cannot be expanded"
)

SHAPED: Final = "s"  # before the position of a cursor that goes on in the shaped data, not in the raw value
_REF_BYTES: Final = 16
_KEEPS_HOLD: Final = 2047  # bytes that hashlib hashes without letting other threads run
_SHORT: Final = 256 * 1024  # bytes that are hashed sooner than another thread would give way
_TAG_BYTES: Final = 9  # 72 bits: each guess needs a call, and a good guess only pages what the ref already opens

_WAITING: Final = 256  # writes that may wait
_WAITING_BYTES: Final = 64 * 1024 * 1024  # and what they may hold on to
_REST: Final = 0.05  # seconds that writes to a store of this machine wait, so that answers go out first
_PRESSING: Final = 0.125  # share of the room that may fill up meanwhile
_PACKING: Final = 4096  # bytes that what is kept may have more than its payload
_IDLE: Final = 5.0  # seconds after which the thread ends; the next write starts another
_PAUSE: Final = 5.0  # seconds without trying after a write failed
_PATIENCE: Final[float] = 2.0  # seconds that the first call waits for the store's key, once
_LOCAL_PATIENCE: Final[float] = 5.0  # the same where the store is a file, which opens late only on a busy machine
_READING: Final = 10.0  # seconds that a reader waits for a write; it asks for what was promised
_AT_EXIT: Final = 5.0  # seconds that a process waits at its end


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[], None]
    size: int = 0


class Keeper:
    """One background thread that works with one store."""

    def __init__(self, store: Store, *, waiting: int = _WAITING, waiting_bytes: int = _WAITING_BYTES) -> None:
        self.store = store
        self._limits = waiting, waiting_bytes
        self._patience = _LOCAL_PATIENCE if store.local else _PATIENCE
        self._secret = store.secret if store.at_hand else None
        self._begin()
        atexit.register(_finish, weakref.ref(self))

    @property
    def secret(self) -> bytes | None:
        """The store's key for refs and cursors; None while the store cannot be reached."""
        if self._secret is None:
            self._after_fork()
            with self._changed:
                if self._asked("", _Job(self._learn_secret)):
                    self._hurry(True)
                    self._changed.wait_for(lambda: not self._busy_with(""), self._patience)
                    self._patience = 0.0  # a store that hangs delays one call, once
        return self._secret

    def open(self) -> None:
        """Open the store in the background, so that the first call need not wait for its key."""
        if self._secret is None:
            with self._changed:
                self._hurry(self._asked("", _Job(self._learn_secret)))

    def keep(
        self,
        ref: str,
        make_payload: Callable[[], bytes],
        *,
        ttl: float,
        meta: Mapping[str, str] | None = None,
        size: int = 0,
    ) -> bool:
        """Have the payload written soon; False where it will not be, so that nothing can be expanded."""
        self._after_fork()
        said = dict(meta or {})
        if size + size // 64 + _PACKING > getattr(self.store, "max_bytes", inf):
            # Whether it fits is known when it is packed: a ref to what did not fit would be a dead one.
            return self._kept_now(lambda: self.store.put(ref, make_payload(), meta=said, ttl=ttl))
        job = _Job(lambda: self.store.put(ref, make_payload(), meta=said, ttl=ttl), size)
        with self._changed:
            return self._asked(ref, job)

    def _kept_now(self, put: Callable[[], None]) -> bool:
        try:
            put()
        except Exception as fault:  # noqa: BLE001  whatever a store does, the answer goes out
            logger.warning(
                "an answer cannot be kept: %s", fault if isinstance(fault, StoreError) else type(fault).__name__
            )
            return False
        return True

    def get(self, ref: str, *, timeout: float = _READING) -> Stored | None:
        """Return what is kept behind the ref, waiting a little where it is still to be written."""
        self._after_fork()
        with self._changed:
            self._hurry(self._busy_with(ref))
            self._changed.wait_for(lambda: not self._busy_with(ref), timeout)
        found = self.store.get(ref)
        if found is not None and self._secret is None:
            self._secret = self.store.secret  # who reads waits for the store anyway, and cursors need it next
        return found

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything is written; False where time ran out first."""
        self._after_fork()
        with self._changed:
            self._hurry(bool(self._waiting))
            return self._changed.wait_for(lambda: not self._waiting and self._writing is None, timeout)

    def close(self, timeout: float = _AT_EXIT) -> None:
        """Write what waits, then let the store go."""
        self.flush(timeout)
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
        self.store.close()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._waiting: OrderedDict[str, _Job] = OrderedDict()
        self._writing: str | None = None
        self._thread: threading.Thread | None = None
        self._resting = self._hurried = False
        self._paused_until = 0.0
        self._closed = False

    def _after_fork(self) -> None:
        # The thread did not come along, its lock may be held forever, and what waits is the parent's to write.
        if self._pid != os.getpid():
            closed = self._closed
            self._begin()
            self._closed = closed

    def _asked(self, ref: str, job: _Job) -> bool:
        if self._closed or time.monotonic() < self._paused_until or not self._room(job.size):
            return False
        self._waiting[ref] = job
        self._start()
        self._hurry(self._pressing())
        if not self._resting:
            self._changed.notify_all()
        return True

    def _hurry(self, needed: bool) -> None:
        if needed:
            self._hurried = True
            self._changed.notify_all()

    def _pressing(self) -> bool:
        count, total = self._limits
        return len(self._waiting) > count * _PRESSING or self._held() > total * _PRESSING

    def _room(self, size: int) -> bool:
        count, total = self._limits
        return len(self._waiting) < count and (self._held() + size <= total or not self._waiting)

    def _held(self) -> int:
        return sum(job.size for job in self._waiting.values())

    def _busy_with(self, ref: str) -> bool:
        return ref in self._waiting or self._writing == ref

    def _learn_secret(self) -> None:
        self._secret = self.store.secret

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="shaping-keeper", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while self._awaited():
            while (job := self._next()) is not None:
                try:
                    job.work()
                except Exception as fault:  # noqa: BLE001  whatever a store does, the thread goes on
                    self._pause(fault)
                finally:
                    with self._changed:
                        self._writing = None
                        self._changed.notify_all()

    def _awaited(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed, _IDLE)
            if not self._waiting:
                self._thread = None
                return False
            self._rest()
            return True

    def _next(self) -> _Job | None:
        with self._changed:
            if not self._waiting:
                return None
            self._writing, job = self._waiting.popitem(last=False)
            return job

    def _rest(self) -> None:
        # Whoever asks for something that waits ends the rest, and so does the end of the process: the work is done all
        # the same, but not while the answer that it is for is still being written and sent.
        self._resting = self.store.local
        if self._resting:
            self._changed.wait_for(lambda: self._hurried or self._closed, _REST)
        self._resting = self._hurried = False

    def _pause(self, fault: Exception) -> None:
        # The exception's text alone: a traceback of a payload's maker could carry what it was making.
        reason = fault if isinstance(fault, StoreError) else type(fault).__name__
        logger.warning("the store failed (%s); what is left out cannot be expanded for %.0f s", reason, _PAUSE)
        with self._changed:
            self._paused_until = time.monotonic() + _PAUSE


def _finish(keeper: weakref.ref[Keeper]) -> None:
    alive = keeper()
    if alive is not None:
        alive.flush(_AT_EXIT)


class CursorError(ValueError):
    """A cursor that was not made here for this ref, or was changed on the way."""


@dataclass(frozen=True, slots=True)
class Originals:
    """Keeps the raw values of responses; the store is opened when something is first kept."""

    keeper: Callable[[Surface], Keeper]
    ttl: Callable[[], float]  # seconds, as the config has them now

    def keep(self, content: bytes, plan: Plan, owner: str | None, about: Mapping[str, str]) -> str | None:
        """Have the JSON of a raw value written to the store and return its ref; None where it cannot be taken."""
        keeper = self.keeper(plan.surface)
        secret = keeper.secret
        if secret is None:
            return None
        ref = make_ref(secret, plan.tool, content, owner)
        meta = {"tool": plan.tool, "owner": owner or "", "surface": plan.surface, **about}
        accepted = keeper.keep(ref, partial(payload, content, plan), meta=meta, ttl=self.ttl(), size=len(content))
        return ref if accepted else None

    def cursor(self, plan: Plan, ref: str, path: str, offset: int) -> str | None:
        """Write the cursor for a place in the shaped form of what a ref names."""
        secret = self.keeper(plan.surface).secret
        return None if secret is None else make_cursor(secret, ref, f"{SHAPED}{offset}//{path}")


def payload(content: bytes, plan: Plan) -> bytes:
    """Take out of a value's JSON what must not even be stored: private paths and secrets."""
    if plan.private is not None:
        content = orjson.dumps(plan.private.apply(orjson.loads(content)))
    rules = plan.redact
    return content if rules.off else redact_json(content, values=rules.values, names=rules.names, paths=rules.paths)


def make_ref(secret: bytes, tool: str, content: bytes, owner: str | None = None) -> str:
    """Name an answer: under one secret, the same tool, content and owner give the same ref, and nothing else does."""
    return "r_" + _letters(_keyed(secret, b"ref", _raw(tool), _raw(owner or ""), content, size=_REF_BYTES))


def make_cursor(secret: bytes, ref: str, position: str) -> str:
    """Sign a position inside what a ref names; it stays legible, because a model pays for what is encoded."""
    return f"{position}~{_signature(secret, ref, position)}"


def read_cursor(secret: bytes, ref: str, cursor: str) -> str:
    """Read a position back, or raise CursorError where the signature is not ours for this ref."""
    position, _, signature = cursor.rpartition("~")
    if not hmac.compare_digest(_raw(signature), _raw(_signature(secret, ref, position))):
        raise CursorError("the cursor was not made for this ref, or was changed")
    return position


def _signature(secret: bytes, ref: str, position: str) -> str:
    return urlsafe_b64encode(_keyed(secret, b"cursor", _raw(ref), _raw(position), size=_TAG_BYTES)).decode()


def _keyed(secret: bytes, *parts: bytes, size: int) -> bytes:
    digest = blake2b(key=secret, digest_size=size)
    for part in parts:
        # Lengths go in too: ("ab", "c") and ("a", "bc") are different things.
        digest.update(len(part).to_bytes(8, "big"))
        _take_in(digest, part)
    return digest.digest()


def _take_in(digest: blake2b, part: bytes) -> None:
    if len(part) > _SHORT:
        digest.update(part)
        return
    # In one piece it would let go of the interpreter, and getting that back takes longer than all the hashing.
    for start in range(0, len(part), _KEEPS_HOLD):
        digest.update(part[start : start + _KEEPS_HOLD])


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _letters(raw: bytes) -> str:
    # Small letters and digits alone: a model copies them without a slip, and they need no quotes anywhere.
    return b32encode(raw).decode().rstrip("=").lower()
