"""The parts of one result, and its blocks besides them (resources, links, unknown ones), within one budget."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.budget import count_near
from shaping.cleaning.call import limit_value
from shaping.clients import UNKNOWN_CLIENT
from shaping.mcp.reading import DataPart, advertised_schema, is_listing, is_text, read_result
from shaping.mcp.redaction import base64_members
from shaping.parsers.json import write_json
from shaping.response import CallContext
from shaping.settings.plan import KEEP_EMPTIES
from shaping.tokens import counter, upper_bound

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from shaping.clients import KnownClient
    from shaping.mcp.reading import ResultData
    from shaping.response import Shaped
    from shaping.settings import Plan
    from shaping.settings.plan import Channels
    from shaping.shaper import Shaper


_LEAST = 32  # tokens: in fewer a part of a result says nothing
_BLOCKS_FREE: Final = 0.125  # the share of a budget that blocks may have besides what the texts have
_BLOCKS_MOST: Final = 0.5  # and the share above which they are cut
_TEXT_MEMBERS: Final = frozenset({"type", "text"})


@dataclass(frozen=True, slots=True)
class ChosenChannels:
    """What goes out: text in `content`, data in `structuredContent`, and a schema in the tool's definition."""

    text: bool
    structured: bool
    schema: bool


TEXT = ChosenChannels(text=True, structured=False, schema=False)
BOTH = ChosenChannels(text=True, structured=True, schema=True)
STRUCTURED = ChosenChannels(text=False, structured=True, schema=True)


def decide(setting: Channels, client: KnownClient, *, typed: bool = False, relay: bool = False) -> ChosenChannels:
    """Choose the channels for a client; `typed` tools keep their schema, and so their structured content, always.

    A relay sends text alone, which every client shows its model, unless the client runs programs over results. In a
    server's own process both channels stay, because programs may use them.
    """
    if setting == "both":
        return BOTH
    if setting == "structured":
        return STRUCTURED
    if setting == "text":
        return BOTH if typed else TEXT
    if not relay:
        return BOTH
    if not (typed or client.code_mode):
        return TEXT
    return STRUCTURED if client.reads == "both" else BOTH


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool as one session was shown it; fixed for that session's life."""

    wire: dict[str, Any]
    channels: ChosenChannels
    forced: bool = False  # whether a config asked for these channels
    declared: Mapping[str, Any] | None = None
    advertised: Mapping[str, Any] | None = None
    limit: Mapping[str, int] = field(default_factory=dict)  # the largest result of which the client shows all
    whole_structure: bool = False  # whether structured content is not shaped: for an app, or an unknown schema
    for_model: bool = True  # whether the model is shown the results


@dataclass(frozen=True, slots=True)
class ResultContext:
    """What is known of a call when its result comes back."""

    tool: str
    plan: Plan
    entry: ToolEntry
    client: KnownClient = UNKNOWN_CLIENT
    advertised_plan: Plan | None = None  # the plan its schema was made by, where the config was edited since
    marked: bool = True  # whether to mark it as shaped, because middleware in this process may see it again
    arguments: frozenset[str] = frozenset()
    tools: Collection[str] = ()
    expand_name: str = "shaping_expand"
    call: CallContext = field(default_factory=CallContext)


def unlisted_entry(
    plan: Plan,
    client: KnownClient,
    *,
    channels: Channels | None = None,
    schema: Mapping[str, Any] | None = None,
    relay: bool = False,
) -> ToolEntry:
    """Return the entry of a tool that this client was not shown in a list, as if it had been."""
    setting = channels or plan.channels
    chosen = decide(setting, client, typed=plan.typed, relay=relay)
    shown = advertised_schema(plan, schema) if schema is not None and chosen.schema else None
    return ToolEntry({}, chosen, setting != "auto", schema, shown, client.limit)


def read_parts(result: Mapping[str, Any], context: ResultContext) -> ResultData:
    """Find the data of a result; texts that are too many for each to have a share of the budget are one."""
    data = read_result(result, context.entry.declared, verbatim=context.plan.verbatim)
    budget = context.plan.max_tokens
    texts = [part for part in data.parts if part is not data.structured]
    if budget is None or len(texts) * _LEAST <= budget:
        return data
    values = [part.value for part in texts]
    prose = all(part.prose for part in texts)
    blocks = tuple(place for part in texts for place in part.blocks)
    merged = DataPart("\n".join(values) if prose else values, blocks, prose=prose)
    return replace(data, parts=(merged,) if data.structured is None else (data.structured, merged))


def shape_parts(shaper: Shaper, result: Mapping[str, Any], data: ResultData, context: ResultContext) -> list[Shaped]:
    """Shape every part, and where they are over the budget together, cut the largest to their shares of it."""
    budget = context.plan.max_tokens
    shaped = _shape_each(shaper, result, data, context, budget if len(data.parts) == 1 else None)
    # One part alone was cut to the budget already.
    if budget is not None and len(shaped) > 1:
        whole, limit = "\n".join(one.text for one in shaped), budget - len(shaped)
        if upper_bound(whole) > limit and count_near(whole, limit, counter(context.plan.tokenizer).exact) > limit:
            costs = [ceil(one.tokens.after * (1 + one.tokens.after.error_bound / 100)) for one in shaped]
            cut = zip(shaped, costs, shares(costs, budget), strict=True)
            shaped = [one if cost <= share and not one.call.as_json else one.within(share) for one, cost, share in cut]
    return shaped


def fit_blocks(result: Mapping[str, Any], context: ResultContext) -> tuple[Mapping[str, Any], ResultContext]:
    """Return a result whose blocks besides its texts are within the budget, and the context with what they leave of it.

    Blocks that are too large become one text block of JSON, which is shaped, cut and kept like any other data. Base64
    is not read as text by a model, and stays.
    """
    plan = context.plan
    if plan.max_tokens is None:
        return result, context
    if result.get("_meta") and context.client.shows_meta(failed=result.get("isError") is True):
        result = {**result, "_meta": limit_value(result["_meta"], _BLOCKS_FREE, plan)}
    texts = [_readable(block) for block in result.get("content") or ()]
    written = write_json([text for text in texts if text]).decode()
    if not any(texts) or len(written) <= plan.max_tokens * _BLOCKS_FREE:
        return result, context
    tokens = counter(plan.tokenizer).exact(written)
    if tokens <= plan.max_tokens * _BLOCKS_MOST:
        return result, replace(context, plan=replace(plan, max_tokens=plan.max_tokens - tokens))
    first = next(place for place, text in enumerate(texts) if text)
    folded = [text.get("resource", text) for text in texts if text]
    content: list[Any] = []
    for place, block in enumerate(result["content"]):
        if place == first:
            content.append({"type": "text", "text": write_json(folded[0] if len(folded) == 1 else folded).decode()})
        if not texts[place]:
            content.append(block)
        elif is_text(block):
            content.append({name: block[name] for name in block if name in _TEXT_MEMBERS})
        elif binary := _binary(block):
            content.append(binary)
    return {**result, "content": content}, context


def shares(costs: Sequence[int], budget: int) -> list[int]:
    """Divide a budget so that small parts stay whole and the largest are cut first, to one level."""
    given = [0] * len(costs)
    left, waiting = budget, len(costs)
    for index in sorted(range(len(costs)), key=costs.__getitem__):
        given[index] = max(1, min(costs[index], left // waiting))
        left, waiting = left - given[index], waiting - 1
    return given


def possible_channels(context: ResultContext, data: ResultData) -> ChosenChannels:
    """Narrow the choice to what the result can carry: data that came as text alone stays there unless a config asks."""
    if data.structured is not None or context.entry.advertised is not None:
        return context.entry.channels
    single = len(data.parts) == 1 and not data.parts[0].prose
    return context.entry.channels if context.entry.forced and single else TEXT


def protecting_plan(plan: Plan) -> Plan:
    """Return a plan that leaves out only what must never leave, and what is over its budget."""
    return replace(
        plan,
        fields=plan.private,
        error_fields=plan.private,
        empties=KEEP_EMPTIES,
        noise=(),
    )


def error_plan(plan: Plan) -> Plan:
    """Return a plan for a tool's error: its words and its data are never noise, and JSON in it stays JSON."""
    return replace(plan, fields=plan.error_fields, noise=(), encoding="json", dialect="none")


def _shape_each(
    shaper: Shaper, result: Mapping[str, Any], data: ResultData, context: ResultContext, budget: int | None
) -> list[Shaped]:
    as_json = possible_channels(context, data).structured
    return [
        shaper.shape_by(
            _plan_for(part, context.plan, budget),
            part.value,
            replace(
                context.call if index == 0 else CallContext(owner=context.call.owner),
                text_before=partial(_text_before, result, data, part, context.client),
                arguments=context.arguments,
                compact_json=part.compact_json,
                as_json=as_json,
            ),
        )
        for index, part in enumerate(data.parts)
    ]


def _text_before(result: Mapping[str, Any], data: ResultData, part: DataPart, client: KnownClient) -> str:
    """Return what this client would have shown its model of a part, had nobody shaped it."""
    text = "\n".join(result["content"][index]["text"] for index in part.blocks)
    if part is not data.structured or (client.reads in {None, "content"} and text):
        return text
    structured = orjson.dumps(result["structuredContent"]).decode()
    return f"{text}\n{structured}" if client.reads == "both" and text else structured


def _plan_for(part: DataPart, plan: Plan, budget: int | None) -> Plan:
    if plan.verbatim and not is_listing(part.value):
        plan = replace(plan, noise=())
    if part.prose:
        # Field rules apply to the data that stands in prose, and hold back prose that may hold what is private.
        return replace(plan, dialect="none", max_tokens=budget)
    return plan if plan.max_tokens == budget else replace(plan, max_tokens=budget)


def _readable(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model may read of a block besides a tool's text; nothing where it is only that, or base64."""
    resource = block.get("resource")
    if isinstance(resource, dict):
        text = {name: value for name, value in resource.items() if name not in base64_members(resource)}
        return {**block, "resource": text}
    own = _TEXT_MEMBERS if is_text(block) else base64_members(block)
    rest = {name: value for name, value in block.items() if name not in own}
    return {} if rest.keys() <= {"type", "mimeType"} and own else rest


def _binary(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block that holds base64 without its texts, or nothing where it holds none."""
    resource = block.get("resource")
    if isinstance(resource, dict):
        held = {name: resource[name] for name in ("uri", "mimeType", *base64_members(resource)) if name in resource}
        return {"type": block["type"], "resource": held} if base64_members(resource) else {}
    named = ("type", "mimeType", *base64_members(block))
    return {name: block[name] for name in named if name in block} if base64_members(block) else {}
