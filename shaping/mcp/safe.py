"""What goes out when shaping a result fails: the result itself, less what must never leave."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from shaping.cleaning.failsafe import WITHHELD, without_held
from shaping.mcp.meta import MARK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.settings import Plan

logger = logging.getLogger("shaping")


def withheld(result: Mapping[str, Any], plan: Plan, fault: Exception) -> dict[str, Any]:
    """Return the result unshaped but redacted, with a warning; everything is withheld where that fails too."""
    message = f"shaping failed ({type(fault).__name__}); this result is unshaped"
    about = {
        "profile": plan.profile,
        "config": plan.config_hash,
        "warnings": [{"code": "SHAPING_FAULT", "message": message}],
    }
    try:
        out = _redacted(result, plan)
        return {**out, "_meta": {**(out.get("_meta") or {}), MARK: about}}
    except Exception:
        logger.exception("redaction failed; the result is withheld")
        return {"content": [{"type": "text", "text": WITHHELD}], "isError": True, "_meta": {MARK: about}}


def _redacted(result: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    from shaping.mcp.beside import cleaned  # noqa: PLC0415 (a fault there must be survived here)

    out = dict(cleaned(result, plan)[0])
    if "content" in out:
        out["content"] = [_block(block, plan) for block in out["content"]]
    if out.get("structuredContent") is not None:
        out["structuredContent"] = without_held(out["structuredContent"], plan)
    return out


def _block(block: Any, plan: Plan) -> Any:
    from shaping.mcp.source import read_data  # noqa: PLC0415 (the same)

    if not isinstance(block.get("text"), str):
        return block
    data = read_data(block["text"]) if plan.private is not None else None
    if isinstance(data, dict | list):
        import orjson  # noqa: PLC0415 (only results with private paths are written anew)

        return {**block, "text": orjson.dumps(without_held(data, plan)).decode()}
    return {**block, "text": redacted_text(block["text"], plan)}


def redacted_text(text: str, plan: Plan) -> str:
    """Return prose with its secrets replaced."""
    from shaping.redaction import redact_text  # noqa: PLC0415 (patterns compile at the first response)

    return text if plan.redact.off else redact_text(text)[0]
