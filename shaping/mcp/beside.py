"""What a model reads besides a tool's data: embedded resources, links, resources, prompts; secrets leave by none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.cleaning.redact import replaced
from shaping.mcp.meta import MARK, warning

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mcp.shared.exceptions import MCPError

    from shaping.response import Warned
    from shaping.settings import Plan
    from shaping.settings.plan import Redact
    from shaping.shaper import Shaper

_BARE = frozenset({"type", "text"})
_KNOWN = frozenset({"content", "structuredContent", "_meta"})  # and what else a result has is a server's own
_BINARY = frozenset({"data", "blob"})  # base64, in which a rule can only hit by chance and so break it


def cleaned(result: Mapping[str, Any], plan: Plan) -> tuple[Mapping[str, Any], list[Warned]]:
    """Take secrets and private fields out of a tool's result but for its data, which is shaped."""
    result = _without_private(result, plan)
    if plan.redact.off:
        return result, []
    hits: list[Warned] = []
    own = bool(result.keys() - _KNOWN - {"isError"})
    out = dict(_members(result, "result", plan.redact, hits, _KNOWN) if own else result)
    if any(block.keys() - _BARE for block in result.get("content") or ()):
        blocks = enumerate(result["content"])
        out["content"] = [_block(block, f"content[{place}]", plan.redact, hits, {"text"}) for place, block in blocks]
    if result.get("_meta"):
        # Names are the protocol's and the server's own there: a progressToken is no secret.
        out["_meta"] = _members(result["_meta"], "_meta", plan.redact, hits, {MARK}, names=False)
    return (out, hits) if hits else (result, hits)


def _without_private(result: Mapping[str, Any], plan: Plan) -> Mapping[str, Any]:
    """Take private fields out of `_meta`, embedded resources, links, and all of an error."""
    if plan.private is None:
        return result
    private = plan.private.at_any_depth()
    failed = result.get("isError") is True
    out = {
        key: value if key == "content" or (key == "structuredContent" and not failed) else private.apply(value)
        for key, value in result.items()
    }
    if "content" in result:
        out["content"] = [
            {
                key: value if key in _BINARY or (key == "text" and not failed) else private.apply(value)
                for key, value in block.items()
            }
            for block in result["content"]
        ]
    return out


def noted(result: dict[str, Any], hits: Collection[Warned]) -> dict[str, Any]:
    """Warn of what was taken out, beside what shaping the data has to warn of."""
    if not hits:
        return result
    about = dict(result["_meta"][MARK])
    about["warnings"] = [*about.get("warnings", ()), *(warning(hit) for hit in hits)]
    return {**result, "_meta": {**result["_meta"], MARK: about}}


def answer(shaper: Shaper, name: str, wire: dict[str, Any]) -> dict[str, Any]:
    """Take the secrets out of a resource that was read or a prompt that was asked for, by the rules for its name."""
    plan = shaper.plan(name, surface="mcp")
    if shaper.mode != "on" or plan.redact.off:
        return wire
    hits: list[Warned] = []
    out = dict(wire)
    if "contents" in wire:
        # The address is what was asked for and comes back as it was.
        skipped = {*_BINARY, "uri"}
        out["contents"] = [_members(one, "", plan.redact, hits, skipped) for one in wire["contents"]]
    if "messages" in wire:
        out["messages"] = [
            {**one, "content": _block(one["content"], "", plan.redact, hits)} for one in wire["messages"]
        ]
    return out if hits else wire


def passed_on(error: MCPError) -> MCPError:
    """Give an answer to the protocol without the secrets in its words and data; itself where there are none."""
    from mcp.shared.exceptions import MCPError as ProtocolError  # noqa: PLC0415 (an extra)

    from shaping.redaction import redact  # noqa: PLC0415 (patterns compile at the first response)

    told = {"message": error.error.message, "data": error.error.data}
    clean, found = redact(told)
    return ProtocolError(error.error.code, clean["message"], clean["data"]) if found else error


def _block(
    block: Mapping[str, Any], place: str, rules: Redact, hits: list[Warned], skipped: Collection[str] = ()
) -> Mapping[str, Any]:
    """Clean a content block; the text of a text block is skipped where it is data."""
    resource = block.get("resource")
    if isinstance(resource, dict):
        block = {**block, "resource": _members(resource, f"{place}.resource", rules, hits, _BINARY)}
    passed = {*_BINARY, "resource", *(skipped if block.get("type") == "text" else ())}
    return _members(block, place, rules, hits, passed)


def _members(
    value: Mapping[str, Any],
    place: str,
    rules: Redact,
    hits: list[Warned],
    skipped: Collection[str],
    *,
    names: bool = True,
) -> Mapping[str, Any]:
    from shaping.redaction import redact  # noqa: PLC0415 (patterns compile at the first response)

    looked = {key: member for key, member in value.items() if key not in skipped}
    clean, found = redact(looked, values=rules.values, names=rules.names and names)
    if not found:
        return value
    hits.extend(replaced(hit.rule, f"{place}.{hit.path}") for hit in found)
    return {**clean, **{key: value[key] for key in skipped if key in value}}
