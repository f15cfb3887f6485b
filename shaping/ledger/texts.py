"""What a tool sent and what the model read of it, in the store for as long as that keeps originals."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.redaction import redact_text, scrub
from shaping.response import Omission
from shaping.store.protocol import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.response import Shaped
    from shaping.store import Keeper, Store
    from shaping.store.protocol import Stored

PREFIX: Final = "c_"  # of a call's ref: `expand` takes none but those of originals, so no model can ask for a call
_LARGEST: Final = 256 * 1024  # characters of what a model read that are kept
_LARGEST_WHOLE: Final = 64 * 1024
_MOST_OMISSIONS: Final = 400


@dataclass(frozen=True, slots=True)
class SentPart:
    """One part of a tool's answer: its value as the store has it, redacted, and what was left out of it."""

    value: Any
    omissions: tuple[Omission, ...] = ()


@dataclass(frozen=True, slots=True)
class CallTexts:
    """One call: what the model read, and the parts of what the tool sent that the store still has."""

    read: str
    sent: tuple[SentPart, ...] = ()


def keep_texts(keeper: Keeper, read: str, parts: Sequence[Shaped], *, ttl: float) -> str | None:
    """Keep what a model read beside the originals of its parts; return the ref, None where the store takes nothing."""
    # A large answer of which nothing was left out would push out originals that a model may still ask for.
    kept = [one for one in parts if one.omissions or len(read) <= _LARGEST_WHOLE]
    return _keep(keeper, read, [{"ref": one.ref, "omissions": _written(one.omissions)} for one in kept], ttl)


def keep_output(keeper: Keeper, read: str, printed: str, *, ttl: float) -> str | None:
    """Keep what a model read beside what a command printed, from which secrets are taken here."""
    return _keep(keeper, redact_text(read)[0], [{"value": redact_text(printed[:_LARGEST])[0]}], ttl)


def find_texts(store: Store, ref: str | None) -> CallTexts | None:
    """Read what the store still has of a call; None where its time is over or nothing was kept."""
    found = _stored(store, ref)
    if found is None:
        return None
    body = orjson.loads(found.payload)
    return CallTexts(body["read"], tuple(part for one in body["parts"] if (part := _part(store, one)) is not None))


def _keep(keeper: Keeper, read: str, parts: list[dict[str, Any]], ttl: float) -> str | None:
    ref = f"{PREFIX}{secrets.token_hex(16)}"
    content = orjson.dumps({"read": read[:_LARGEST], "parts": parts})
    return ref if keeper.keep(ref, lambda: content, ttl=ttl, size=len(content)) else None


def _written(omissions: Sequence[Omission]) -> list[list[Any]]:
    return [[scrub(one.path), one.count, one.reason] for one in omissions[:_MOST_OMISSIONS]]


def _part(store: Store, part: dict[str, Any]) -> SentPart | None:
    omissions = tuple(Omission(path, count, reason) for path, count, reason in part.get("omissions", ()))
    if "value" in part:
        return SentPart(part["value"], omissions)
    found = _stored(store, part["ref"])
    return None if found is None else SentPart(orjson.loads(found.payload), omissions)


def _stored(store: Store, ref: str | None) -> Stored | None:
    try:
        return None if ref is None else store.get(ref)
    except StoreError:
        return None
