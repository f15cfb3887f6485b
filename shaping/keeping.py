"""What was left out stays behind a ref: redacted, without private paths, written off the caller's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from shaping.stages.intake import plain_or_careful
from shaping.types import Warned

if TYPE_CHECKING:
    from shaping.settings import Plan, StoreSettings
    from shaping.store import Keeper
    from shaping.types import Draft


def keep(draft: Draft, keeper: Keeper, settings: StoreSettings) -> str | None:
    """Keep the raw value of a response and give its ref; None, with a warning, where the store cannot take it."""
    from shaping.store.keeper import TTL  # noqa: PLC0415 (most responses keep nothing)
    from shaping.store.refs import make_ref  # noqa: PLC0415 (the same)

    secret = keeper.secret
    if secret is not None:
        # Written at once, stored later: whoever owns the raw value may change it as soon as the call is over.
        content = orjson.dumps(plain_or_careful(draft.raw))
        ref = make_ref(secret, draft.call.tool, content, draft.call.owner)
        meta = {"tool": draft.call.tool, "owner": draft.call.owner or "", "surface": draft.plan.surface}
        if keeper.keep(
            ref, lambda: payload(content, draft.plan), meta=meta, ttl=settings.ttl_seconds or TTL, size=len(content)
        ):
            return ref
    draft.warnings.append(Warned("NOT_KEPT", "the store is out of reach or full: what was left out cannot be expanded"))
    return None


def payload(content: bytes, plan: Plan) -> bytes:
    """Take out what must not even be stored: private paths and secrets."""
    from shaping.redaction import redact  # noqa: PLC0415 (runs on the keeper's thread)

    value: Any = orjson.loads(content)
    if plan.private is not None:
        value = plan.private.apply(value)
    rules = plan.redact
    if not rules.off:
        value, _ = redact(value, values=rules.values, names=rules.names, paths=rules.paths)
    return orjson.dumps(value)
