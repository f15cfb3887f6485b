"""An MCP result, wire form in and out: its data shaped once and written to its channels in step."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from shaping.clients.table import reads
from shaping.mcp.beside import cleaned, noted
from shaping.mcp.channels import Channels, decide
from shaping.mcp.errors import error_result
from shaping.mcp.meta import MARK, is_passed_on, marked
from shaping.mcp.safe import withheld
from shaping.mcp.source import Piece, Source, is_listing, read_source
from shaping.response import CallContext, Warned
from shaping.settings.plan import PRUNE_NOTHING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from shaping.clients.table import Reads
    from shaping.response import Shaped
    from shaping.settings import Overrides, Plan
    from shaping.settings.model import Channels as Setting
    from shaping.shaper import Shaper

logger = logging.getLogger("shaping")


@dataclass(frozen=True, slots=True)
class Call:
    """What is known of one call when its result comes back."""

    tool: str
    plan: Plan
    channels: Channels
    declared: Mapping[str, Any] | None = None  # the schema the server gave its tool
    advertised: Mapping[str, Any] | None = None  # the schema the client was shown
    forced: bool = False  # whether a config, not a guess about the client, asked for these channels
    if_none_match: str | None = None
    arguments: frozenset[str] = frozenset()
    tools: Collection[str] = ()
    warnings: tuple[Warned, ...] = ()
    owner: str | None = None
    reads: Reads | None = None  # the channel the client's model reads


def shape_result(
    shaper: Shaper,
    result: Mapping[str, Any],
    *,
    tool: str,
    client: str | Mapping[str, object] | None = None,
    channels: Setting | None = None,
    schema: Mapping[str, Any] | None = None,
    profile: str | None = None,
    request: Overrides | None = None,
) -> dict[str, Any]:
    """Shape one result of a tool for a client, as if the tool had been advertised to it with the projected schema."""
    from shaping.mcp.advertise import advertised_schema  # noqa: PLC0415 (only where a schema is given)

    plan = shaper.plan(tool, surface="mcp", profile=profile, request=request)
    setting = channels or plan.channels
    channel = reads(client)
    chosen = decide(setting, channel, typed=plan.typed)
    shown = advertised_schema(plan, schema) if schema is not None and chosen.schema else None
    call = Call(tool, plan, chosen, schema, shown, forced=setting != "auto", reads=channel)
    return shape_call(shaper, result, call)


def shape_call(shaper: Shaper, result: Mapping[str, Any], call: Call) -> dict[str, Any]:
    """Shape the result of a call; a fault in shaping never loses it, and never lets a secret out."""
    mode = shaper.mode
    if is_passed_on(result) or mode == "off":
        return dict(result)
    try:
        if mode == "observe":
            _shape_pieces(shaper, result, read_source(result, call.declared, verbatim=call.plan.verbatim), call)
            return dict(result)
        clean, hits = cleaned(result, call.plan)
        if result.get("isError") is True:
            return noted(error_result(shaper, clean, call.plan, call.tools), hits)
        return noted(_shaped(shaper, clean, call), hits)
    except Exception as fault:
        logger.exception("shaping a result of %r failed; it goes out unshaped", call.tool)
        return withheld(result, call.plan, fault)


def _shaped(shaper: Shaper, result: Mapping[str, Any], call: Call) -> dict[str, Any]:
    source = read_source(result, call.declared, verbatim=call.plan.verbatim)
    if not source.pieces:
        return marked(result, call.plan, ())
    shaped = _shape_pieces(shaper, result, source, call)
    written = _written(result, source, shaped, call)
    if _misfit(written, call):
        return _unfiltered(shaper, result, source, call)
    return marked(written, call.plan, shaped, raw=result)


def _shape_pieces(shaper: Shaper, result: Mapping[str, Any], source: Source, call: Call) -> list[Shaped]:
    """Shape every piece within the whole budget, and where they are over it together, again within their shares."""
    budget = call.plan.max_tokens
    shaped = _shape_within(shaper, result, source, call, [budget] * len(source.pieces))
    if budget is None or len(shaped) == 1:
        return shaped
    if sum(len(one.text.encode()) for one in shaped) <= budget:  # no text has more tokens than bytes
        return shaped
    costs = [int(one.tokens.after) for one in shaped]
    if sum(costs) <= budget:
        return shaped
    return _shape_within(shaper, result, source, call, shares(costs, budget))


def shares(costs: Sequence[int], budget: int) -> list[int]:
    """Divide a budget so that small pieces stay whole and the largest are cut first, to one level."""
    given = [0] * len(costs)
    left, waiting = budget, len(costs)
    for index in sorted(range(len(costs)), key=costs.__getitem__):
        given[index] = max(1, min(costs[index], left // waiting))
        left, waiting = left - given[index], waiting - 1
    return given


def _shape_within(
    shaper: Shaper, result: Mapping[str, Any], source: Source, call: Call, budgets: Sequence[int | None]
) -> list[Shaped]:
    as_json = _possible(call, source).structured
    return [
        shaper.shape_by(
            _plan_for(piece, call.plan, budget),
            piece.value,
            CallContext(
                if_none_match=call.if_none_match if index == 0 else None,
                warnings=call.warnings if index == 0 else (),
                shown=partial(_shown, result, source, piece, call.reads),
                arguments=call.arguments,
                owner=call.owner,
                written=piece.written,
                as_json=as_json,
            ),
        )
        for index, (piece, budget) in enumerate(zip(source.pieces, budgets, strict=True))
    ]


def _shown(result: Mapping[str, Any], source: Source, piece: Piece, reads: Reads | None) -> str:
    """Give what this client would have shown its model of a piece, had nobody shaped it."""
    text = "\n".join(result["content"][index]["text"] for index in piece.blocks)
    if piece is not source.structured or (reads in {None, "content"} and text):
        return text
    structured = orjson.dumps(result["structuredContent"]).decode()
    return f"{text}\n{structured}" if reads == "both" and text else structured


def _plan_for(piece: Piece, plan: Plan, budget: int | None) -> Plan:
    if plan.verbatim and not is_listing(piece.value):
        plan = replace(plan, noise=())
    if piece.prose:
        # Field rules apply to the data that stands in prose, and hold back prose that may hold what is private.
        return replace(plan, dialect="none", max_tokens=budget)
    return plan if plan.max_tokens == budget else replace(plan, max_tokens=budget)


def _written(result: Mapping[str, Any], source: Source, shaped: Sequence[Shaped], call: Call) -> dict[str, Any]:
    out = dict(result)
    chosen = _possible(call, source)
    out["content"] = _content(result, source, shaped, chosen)
    structured = _structured(result, source, shaped, chosen)
    out.pop("structuredContent", None)
    if structured is not None:
        out["structuredContent"] = structured
    return out


def _possible(call: Call, source: Source) -> Channels:
    """Narrow the choice to what the result can carry: data that came as text alone stays there unless a config asks."""
    if source.structured is not None or call.advertised is not None:
        return call.channels
    single = len(source.pieces) == 1 and not source.pieces[0].prose
    return call.channels if call.forced and single else Channels(text=True, structured=False, schema=False)


def _content(result: Mapping[str, Any], source: Source, shaped: Sequence[Shaped], chosen: Channels) -> list[Any]:
    content = list(result.get("content") or ())
    placed: dict[int, Any] = {}
    gone: set[int] = set()
    for piece, one in zip(source.pieces, shaped, strict=True):
        gone.update(piece.blocks)
        silent = not chosen.text and piece is (source.structured or source.pieces[0])
        if piece.blocks and not silent:
            spoken = source.spoken if piece is source.structured and not source.packed else None
            placed[piece.blocks[0]] = {**content[piece.blocks[0]], "text": text_of(one, spoken)}
    kept = [placed.get(index, block) for index, block in enumerate(content) if index not in gone or index in placed]
    if source.structured is not None and not source.structured.blocks and not chosen.structured:
        return [{"type": "text", "text": text_of(shaped[0])}, *kept]
    return kept


def text_of(shaped: Shaped, spoken: str | None = None) -> str:
    """Give what the model reads; data whose point is one text is that text, with the notice below it."""
    if spoken is not None and isinstance(shaped.value, dict) and isinstance(shaped.value.get(spoken), str):
        return f"{shaped.value[spoken]}{shaped.notice}"
    return shaped.text


def _structured(result: Mapping[str, Any], source: Source, shaped: Sequence[Shaped], chosen: Channels) -> Any:
    if not chosen.structured:
        return None
    if shaped[0].envelope.meta.not_modified:
        return {} if chosen.schema else None
    value = shaped[0].value
    if source.packed:
        return {source.spoken: orjson.dumps(value).decode()}
    if source.wrapped or (not isinstance(value, dict) and isinstance(result.get("structuredContent"), dict | None)):
        return {"result": value}
    return value


def _misfit(written: Mapping[str, Any], call: Call) -> bool:
    if call.advertised is None:
        return False
    from shaping.mcp.validate import matches  # noqa: PLC0415 (an extra, and only for tools with a schema)

    return not matches(call.advertised, written.get("structuredContent"))


def _unfiltered(shaper: Shaper, result: Mapping[str, Any], source: Source, call: Call) -> dict[str, Any]:
    """Send the whole data, less only what must never leave, where the shaped data does not fit the schema."""
    warning = Warned("SCHEMA_MISMATCH", "the shaped data did not match the advertised schema; this is all of it")
    logger.warning("%r: %s", call.tool, warning.message)
    plan = replace(
        call.plan,
        fields=call.plan.private,
        error_fields=call.plan.private,
        prune=PRUNE_NOTHING,
        noise=(),
        max_tokens=None,
        max_items=None,
        max_string=None,
    )
    whole = replace(call, plan=plan, if_none_match=None, warnings=(*call.warnings, warning))
    shaped = _shape_pieces(shaper, result, source, whole)
    return marked(_written(result, source, shaped, whole), call.plan, shaped, raw=result)


__all__ = ["MARK", "Call", "shape_call", "shape_result", "text_of"]
