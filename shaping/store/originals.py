"""How an original is kept behind a ref: redacted, without private paths, written off the caller's thread.

Refs cannot be guessed and cursors cannot be changed: both carry a keyed hash.
"""

from __future__ import annotations

import hmac
from base64 import b32encode, urlsafe_b64encode
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import orjson

from shaping.redaction import redact_json
from shaping.response import Warned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shaping.settings import Plan, Surface
    from shaping.store.keeper import Keeper

NOT_KEPT = Warned(
    "NOT_KEPT", "the store is out of reach, full, or too small for this (store.max_bytes): it cannot be expanded"
)

SHAPED: Final = "s"  # before the position of a cursor that goes on in the shaped data, not in the raw value
_REF_BYTES: Final = 16
_KEEPS_HOLD: Final = 2047  # bytes that hashlib hashes without letting other threads run
_SHORT: Final = 256 * 1024  # bytes that are hashed sooner than another thread would give way
_TAG_BYTES: Final = 9  # 72 bits: each guess needs a call, and a good guess only pages what the ref already opens


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
