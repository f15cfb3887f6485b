"""What of a source's meta may stand beside shaped data: no second copy of the answer, and no secret."""

from __future__ import annotations

from typing import TypeVar

from shaping.envelope.meta import CommandMeta, CommonMeta, HttpMeta, McpMeta
from shaping.errors import scrub
from shaping.errors.scrub import scrub_value

M = TypeVar("M", bound=CommonMeta)

# Headers whose whole value is a credential, whatever it looks like.
_CREDENTIALS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token", "www-authenticate"},
)


def presentable(meta: M) -> M:
    """Give the meta for an envelope whose data has been shaped."""
    if isinstance(meta, McpMeta):
        # The blocks hold what the tool said before fields, budget and redaction had their say.
        return meta.model_copy(update={"content": (), "structured_content": None, "meta": scrub_value(meta.meta)})
    if isinstance(meta, HttpMeta):
        return meta.model_copy(update={"headers": tuple((name, _safe(name, value)) for name, value in meta.headers)})
    if isinstance(meta, CommandMeta):
        return meta.model_copy(update={"argv": tuple(scrub(word) for word in meta.argv)})
    return meta


def _safe(name: str, value: str) -> str:
    return "[redacted:header]" if name.lower() in _CREDENTIALS else scrub(value)
