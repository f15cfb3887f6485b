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
from collections import deque
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from math import inf
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

import orjson

from shaping.redaction import redact_json
from shaping.response import Warned
from shaping.store.backends import Store, Stored, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.settings.choices import Surface
    from shaping.settings.plan import Plan


logger = logging.getLogger("shaping")
Item = TypeVar("Item")

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
_QUIET: Final = 0.05  # seconds without a new item, after which queues of this machine are worked off
_URGENT_SHARE: Final = 0.125  # share of the room that may fill up meanwhile
_PACKING: Final = 4096  # bytes that what is kept may have more than its payload
_AFTER_FAILURE: Final = 5.0  # seconds without trying after a write failed
_SECRET_TIMEOUT: Final[float] = 2.0  # seconds that the first call waits for the store's key, once
_LOCAL_SECRET_TIMEOUT: Final[float] = 5.0  # the same where the store is a file, which opens late only on a busy machine
_READING: Final = 10.0  # seconds that a reader waits for a write; it asks for what was promised
_AT_EXIT: Final = 5.0  # seconds that a process waits at its end


class BackgroundQueue(Generic[Item]):
    """Hands items over to a thread of its own; where too many wait already one is dropped, and that is counted.

    The thread waits for a pause, so that it takes no time from answers that come close upon each other, and ends where
    there is nothing to do.
    """

    def __init__(
        self,
        name: str,
        handle: Callable[[list[Item]], None],
        *,
        batch: int,
        quiet: float = _QUIET,
        exit_seconds: float = _AT_EXIT,
    ) -> None:
        """Make a queue; `batch` items are handled at once, after `quiet` seconds without another one."""
        self._name, self._handle, self._batch, self._quiet = name, handle, batch, quiet
        self._begin()
        atexit.register(_finish, weakref.ref(self), exit_seconds)

    def _begin(self) -> None:
        self._pid = os.getpid()
        self.changed = threading.Condition()  # another thread of the parent may have held the old one
        self.waiting: deque[Item] = deque()
        self.taken: list[Item] = []  # what the thread works on
        self.dropped = self._new_drops = 0
        self._thread: threading.Thread | None = None
        self._is_urgent = False
        self._last = 0.0  # when the last item came

    def put(self, item: Item, *, urgent: bool = False) -> None:
        """Add an item without waiting; an `urgent` one is not delayed."""
        self.after_fork()
        with self.changed:
            if len(self.waiting) >= _WAITING:
                self.drop()
                return
            self.waiting.append(item)
            self._last = time.monotonic()
            self._is_urgent |= urgent or len(self.waiting) >= self._batch > 1
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            elif self._is_urgent:  # another item does not wake it, which would take the interpreter from its caller
                self.changed.notify_all()

    def drop(self) -> None:
        """Count an item that is lost."""
        with self.changed:
            self.dropped += 1
            self._new_drops += 1

    def new_drops(self) -> int:
        """Return how many items were dropped since this was last asked."""
        with self.changed:
            found, self._new_drops = self._new_drops, 0
            return found

    def wait_for(self, done: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until something is done, without the delay; return whether it was in time."""
        self.after_fork()
        with self.changed:
            self._is_urgent |= not done()
            self.changed.notify_all()
            return self.changed.wait_for(done, timeout)

    def flush(self, timeout: float | None) -> bool:
        """Wait until everything is handled; return whether it was in time."""
        return self.wait_for(lambda: not self.waiting and not self.taken, timeout)

    def close(self, timeout: float) -> bool:
        """Handle what waits, and stop; return whether that was done in time, else the rest is given up."""
        done = self.flush(timeout)
        with self.changed:
            self.waiting.clear()
        return done

    def after_fork(self) -> None:
        """Begin anew in a child process: the thread did not come along, and what waits is the parent's to handle."""
        if self._pid != os.getpid():
            self._begin()

    def _run(self) -> None:
        while self._take():
            try:
                self._handle(self.taken)
            finally:
                with self.changed:
                    self.taken = []
                    self.changed.notify_all()

    def _take(self) -> bool:
        """Take what waits after a pause, which somebody who waits cuts short; the thread ends where nothing does."""
        with self.changed:
            while not self._is_urgent and (left := self._last + self._quiet - time.monotonic()) > 0:
                self.changed.wait(left)
            self.taken = [self.waiting.popleft() for _ in range(min(self._batch, len(self.waiting)))]
            if not self.taken:
                self._thread, self._is_urgent = None, False
            return bool(self.taken)


def _finish(background: weakref.ref[BackgroundQueue[Any]], seconds: float) -> None:
    alive = background()
    if alive is not None:
        alive.flush(seconds)


class _Job(NamedTuple):
    ref: str
    work: Callable[[], None]
    size: int = 0


class Keeper:
    """Writes to one store in the background."""

    def __init__(self, store: Store, *, waiting: int = _WAITING, waiting_bytes: int = _WAITING_BYTES) -> None:
        self.store = store
        self._limits = waiting, waiting_bytes
        self._secret_timeout = _LOCAL_SECRET_TIMEOUT if store.local else _SECRET_TIMEOUT
        self._secret = store.secret if store.at_hand else None
        self._paused_until, self._closed = 0.0, False
        self._jobs = BackgroundQueue("shaping-keeper", self._work, batch=1, quiet=_QUIET if store.local else 0.0)

    @property
    def secret(self) -> bytes | None:
        """The store's key for refs and cursors; None while the store cannot be reached."""
        if self._secret is None and self._ask(_Job("", self._learn_secret)):
            self._jobs.wait_for(lambda: not self._busy_with(""), self._secret_timeout)
            self._secret_timeout = 0.0  # a store that hangs delays one call, once
        return self._secret

    def open(self) -> None:
        """Open the store in the background, so that the first call need not wait for its key."""
        if self._secret is None:
            self._ask(_Job("", self._learn_secret), urgent=True)

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
        said = dict(meta or {})

        def put() -> None:
            self.store.put(ref, make_payload(), meta=said, ttl=ttl)

        if size + size // 64 + _PACKING <= getattr(self.store, "max_bytes", inf):
            return self._ask(_Job(ref, put, size))
        # Whether it fits is known when it is packed: a ref to what did not fit would be a dead one.
        try:
            put()
        except Exception as fault:  # noqa: BLE001  whatever a store does, the answer goes out
            logger.warning("an answer cannot be kept: %s", _reason(fault))
            return False
        return True

    def get(self, ref: str, *, timeout: float = _READING) -> Stored | None:
        """Return what is kept behind the ref, waiting a little where it is still to be written."""
        self._jobs.wait_for(lambda: not self._busy_with(ref), timeout)
        found = self.store.get(ref)
        if found is not None and self._secret is None:
            self._secret = self.store.secret  # who reads waits for the store anyway, and cursors need it next
        return found

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything is written; False where time ran out first."""
        return self._jobs.flush(timeout)

    def close(self, timeout: float = _AT_EXIT) -> None:
        """Write what waits, then let the store go."""
        self._closed = True
        self._jobs.close(timeout)
        self.store.close()

    def _ask(self, job: _Job, *, urgent: bool = False) -> bool:
        self._jobs.after_fork()
        with self._jobs.changed:
            waiting, (count, total) = self._jobs.waiting, self._limits
            held = job.size + sum(one.size for one in waiting)
            full = len(waiting) >= count or (held > total and waiting)
            if self._closed or time.monotonic() < self._paused_until or full:
                return False
            for older in [one for one in waiting if one.ref == job.ref]:
                waiting.remove(older)
            much = len(waiting) >= count * _URGENT_SHARE or held > total * _URGENT_SHARE
            self._jobs.put(job, urgent=urgent or much)
            return True

    def _busy_with(self, ref: str) -> bool:
        return any(job.ref == ref for job in (*self._jobs.waiting, *self._jobs.taken))

    def _learn_secret(self) -> None:
        self._secret = self.store.secret

    def _work(self, jobs: list[_Job]) -> None:
        try:
            for job in jobs:
                job.work()
        except Exception as fault:  # noqa: BLE001  whatever a store does, the thread goes on
            logger.warning(
                "the store failed (%s); what is left out cannot be expanded for %.0f s", _reason(fault), _AFTER_FAILURE
            )
            self._paused_until = time.monotonic() + _AFTER_FAILURE


def _reason(fault: Exception) -> Exception | str:
    # The exception's text alone: a traceback of a payload's maker could carry what it was making.
    return fault if isinstance(fault, StoreError) else type(fault).__name__


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
    digest = _keyed(secret, b"ref", _raw(tool), _raw(owner or ""), content, size=_REF_BYTES)
    # Small letters and digits alone: a model copies them without a slip, and they need no quotes anywhere.
    return "r_" + b32encode(digest).decode().rstrip("=").lower()


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
