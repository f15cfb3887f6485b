"""An MCP result, wire form in and out: its data shaped once and written to its channels in step."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from shaping.envelope import recognise
from shaping.mcp.errors import shape_error, with_error, write_error
from shaping.mcp.output_schema import is_valid
from shaping.mcp.parts import (
    DataPart,
    ResultData,
    ShapedResult,
    fit_blocks,
    inner_text,
    is_text,
    possible_channels,
    read_parts,
    shape_parts,
    shaped_warnings,
    text_of,
    texts_of,
)
from shaping.mcp.protection import (
    META_KEY,
    is_shaped,
    protect_after_fault,
    protect_around,
    protect_result,
    protect_structure,
    well_formed,
    with_meta,
)
from shaping.mcp.sessions import ChosenChannels, ResultContext, Session, ToolRequest, unlisted_entry
from shaping.parsers.json import write_json
from shaping.redaction import log_fault
from shaping.response import ABSENT, Shaped, Warned
from shaping.settings.plan import KEEP_EMPTIES
from shaping.tokens import count, counter
from shaping.tokens.sampling import LENGTHS, costs_at_most
from shaping.values import with_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.clients import KnownClient
    from shaping.response import CallContext
    from shaping.settings.plan import Plan
    from shaping.shaper import Shaper

logger = logging.getLogger("shaping")
# The member of structured content that says what was left out of it.
NOTICE = "_shaping"
# What a result that was shaped says of itself: what is left out and how to ask for it, and which fields are empty.
_NOTICE_LINE = re.compile(r"\(.*\bref=r_\w+.*\)|" + ABSENT + ": .*")
_APART = "apart"  # in our `_meta`: the structured content says what no text of the result does
_COUNTED = 200  # characters of JSON; in a shorter one blanks are worth no vocabulary to count them by
_TRIES = 4  # budgets that are tried until a client shows all of a result
_SMALLEST = 60  # tokens: below it there is room for no data, only for the notice


def unlisted_context(
    shaper: Shaper, plan: Plan, call: CallContext, client: str | Mapping[str, object] | None = None, **advertised: Any
) -> ResultContext:
    """Return what is known of a call of a tool that no session was shown, as if it had been (see `unlisted_entry`)."""
    session = Session(shaper.loaded_config, client)
    entry = unlisted_entry(plan, session.client, **advertised)
    return ResultContext(shaper, ToolRequest(plan.tool, ""), plan, entry, session, call=call)


def shape_in_context(result: Mapping[str, Any], context: ResultContext) -> ShapedResult:
    """Shape the result of a call; a fault in shaping never loses it, and never lets a secret out.

    What stands beside the data is protected, blocks that are no data are fitted, and then `_shape` reads the parts of
    the data, shapes each, and writes them to the channels of this client.
    """
    mode, plan = context.shaper.mode, context.plan
    if mode == "off" or is_shaped(result):
        return ShapedResult(dict(result), raw=result)
    read = well_formed(result)
    try:
        if mode == "observe":
            return ShapedResult(dict(result), shape_parts(read, read_parts(read, context), context), read)
        if not plan.enabled or not context.is_shown_to_model(read):
            return ShapedResult(protect_result(read, plan), raw=read)
        clean, hits = protect_around(read, plan)
        clean, context = fit_blocks(clean, context._replace(hits=hits))
        return _within_limit(clean, context, by_another=_says_shaped(read, context))._replace(raw=read)
    except Exception as fault:  # noqa: BLE001 (whatever it is, the tool's answer goes out redacted)
        log_fault("shaping a result of %r failed with %s\n%s", context.called.name, fault)
        wire = dict(result) if mode == "observe" else protect_after_fault(read, plan, fault)
        return ShapedResult(wire, raw=read)


def _within_limit(result: Mapping[str, Any], context: ResultContext, *, by_another: bool) -> ShapedResult:
    """Shape a result within the limit of its client, with a smaller budget until it shows all of it."""
    limit = context.entry.limit
    budgets = [most for most in (context.plan.max_tokens, limit.get("tokens")) if most is not None]
    if limit and budgets:
        lengths = tuple((unit, most) for unit, most in limit.items() if unit in LENGTHS)
        context = context._replace(plan=context.plan.replace(max_tokens=min(budgets), max_lengths=lengths))
    out = _shape(result, context, by_another=by_another)
    for _ in range(_TRIES):
        excess = context.client.excess(out.wire, limit)
        if excess <= 1:
            break
        now = int(count(context.client.shown(out.wire)))
        budget = max(_SMALLEST, int(min(now, context.plan.max_tokens or now) / excess * 0.95))
        context = context._replace(plan=context.plan.replace(max_tokens=budget, max_lengths=()))
        out = _shape(result, context, by_another=by_another)
    return out


def _shape(result: Mapping[str, Any], context: ResultContext, *, by_another: bool) -> ShapedResult:
    """Shape an answer, an error, or what another `shaping` has shaped before."""
    if result.get("isError") is True:
        return shape_error(result, context)
    return _shaped_before(result, context) if by_another else _success(result, context)


def _success(result: Mapping[str, Any], context: ResultContext) -> ShapedResult:
    data = read_parts(result, context)
    if not data.parts:
        return ShapedResult(_without_data(result, context))
    shaped = shape_parts(result, data, context)
    if shaped[0].failed and (error := shaped[0].envelope.error) is not None:
        # The tool answered in an envelope of its own, which says that the call failed.
        return ShapedResult(with_error(result, write_error(error, [shaped[0].text], context, shaped)), shaped)
    answer = _Answer(result, data, shaped, context)
    out = answer.written()
    if context.client.whole_result and answer.is_longer(out):
        return ShapedResult(dict(result), shaped)
    if context.entry.advertised is not None and _has_big(shaped):
        # A client that was given a schema checks the numbers by it.
        out = with_numbers(out)
    if _misfit(out, context):
        return _unfiltered(result, data, context)
    out = with_meta(out, shaped, context)
    if META_KEY in (out.get("_meta") or {}) and "structuredContent" in out and _stands_apart(result, data):
        out["_meta"][META_KEY][_APART] = True
    return ShapedResult(out, shaped)


def _stands_apart(result: Mapping[str, Any], data: ResultData) -> bool:
    """Return whether structured content says what no text of the result does."""
    silent = data.structured is not None and not data.structured.blocks
    return silent and any(map(is_text, result.get("content") or ()))


def _says_shaped(result: Mapping[str, Any], context: ResultContext) -> bool:
    """Return whether another `shaping` says that it wrote this result, and nothing that it says would be lost."""
    mark = (result.get("_meta") or {}).get(META_KEY)
    return isinstance(mark, dict) and not (mark.get(_APART) and not _sends_structure(context))


def _sends_structure(context: ResultContext) -> bool:
    return context.entry.channels.structured or context.entry.whole_structure


def _shaped_before(result: Mapping[str, Any], context: ResultContext) -> ShapedResult:
    """Send a result that another `shaping` wrote as it is, redacted, where nothing else is to be done.

    Else its data is shaped, and what the other one says of it stays whole before it. Anybody can say that a result is
    shaped: it switches off no more than the saving.
    """
    plan, data, blocks = context.plan, result.get("structuredContent"), result.get("content") or ()
    texts = texts_of(result)
    said = [line for text in texts for line in text.splitlines() if _NOTICE_LINE.fullmatch(line)]
    rest = ["\n".join(line for line in text.splitlines() if line not in said) for text in texts]
    if isinstance(data, dict):
        said = said or [f"({notice})" for name, notice in data.items() if name == NOTICE]
        data = {name: value for name, value in data.items() if name != NOTICE}
        data = data["result"] if data.keys() == {"result"} else data
    meta = {name: value for name, value in (result.get("_meta") or {}).items() if name != "fastmcp"}
    alone = {**{name: value for name, value in result.items() if name != "structuredContent"}, "_meta": meta}
    if _sends_structure(context):
        keeps_text = context.entry.channels.text or not isinstance(data, dict | list)
        kept = result if keeps_text else {**result, "content": [block for block in blocks if not is_text(block)]}
        sent = protect_result(kept, plan)
        done = _asks_no_more(data, sent, context) and not _misfit(sent, context)
        return ShapedResult(sent, by_another=True) if done else _success(result, context)
    sent = protect_result(alone, plan)
    if texts and _asks_no_more(data, sent, context) and protect_structure(data, plan) == data:
        return ShapedResult(sent, by_another=True)
    texts = ["\n".join(said), *(rest if data is None else [write_json(data).decode()])]
    content = [{"type": "text", "text": text} for text in texts if text]
    return _success({**alone, "content": [*content, *(one for one in blocks if not is_text(one))]}, context)


def _asks_no_more(data: Any, sent: Mapping[str, Any], context: ResultContext) -> bool:
    """Return whether the config leaves nothing to do to a result that another `shaping` wrote, but to redact it."""
    plan = context.plan
    in_form = plan.dialect == "none" or (isinstance(data, dict) and recognise(data) == plan.dialect)
    if not in_form or plan.closed or plan.fields or plan.max_items or plan.max_string:
        return False
    texts = [context.client.shown(sent), write_json(sent.get("structuredContent")).decode()]
    return plan.max_tokens is None or all(count(text) <= plan.max_tokens for text in texts)


def _without_data(result: Mapping[str, Any], context: ResultContext) -> dict[str, Any]:
    """Return a result that has pictures or nothing at all, with a text block for what the tool noted."""
    noted = shaped_warnings(context)
    if noted and noted[0].notice:
        block = {"type": "text", "text": noted[0].notice.strip()}
        result = {**result, "content": [*(result.get("content") or ()), block]}
    return with_meta(result, noted, context)


class _Answer(NamedTuple):
    """A successful result on its way out: its parts as they were shaped, and the channels that they are written to."""

    result: Mapping[str, Any]
    data: ResultData
    shaped: Sequence[Shaped]
    context: ResultContext

    def written(self) -> dict[str, Any]:
        """Write the parts to their channels, beside all else that the result has."""
        result, data, context = self.result, self.data, self.context
        out = {**result, "content": self._content()}
        is_sent, whole = self._channels.structured, context.entry.whole_structure
        if not (is_sent or whole) and (out.get("_meta") or {}).get("fastmcp") == {"wrap_result": True}:
            # It says how the structured content is wrapped, and there is none.
            out["_meta"] = {key: value for key, value in out["_meta"].items() if key != "fastmcp"}
        if whole:
            structured = protect_structure(result.get("structuredContent"), context.plan)
        elif data.repeats_blocks:
            # Once is enough, but for a client that checks it by its schema.
            structured = {"result": out["content"]} if is_sent and context.entry.advertised is not None else None
        else:
            structured = self._structured() if is_sent else None
        out.pop("structuredContent", None)
        if structured is not None:
            out["structuredContent"] = structured
            if structured is not result.get("structuredContent") and NOTICE in structured and _misfit(out, context):
                # The schema may allow no text beside the data; the model reads the notice in the text.
                out["structuredContent"] = {name: structured[name] for name in structured if name != NOTICE}
        elif context.client.fails_on_json_lists and (value := _bare_json(out["content"])) is not None:
            out["structuredContent"] = {"result": value[0]}
        return out

    def is_longer(self, out: Mapping[str, Any]) -> bool:
        """Return whether what says the same as before is longer: JSON in a text has a backslash for each quote."""
        same = self.context.plan.dialect == "none" and all(
            one.data == part.value and not one.notice for part, one in zip(self.data.parts, self.shaped, strict=True)
        )
        return same and len(self.context.client.shown(out)) > len(self.context.client.shown(self.result))

    @property
    def _channels(self) -> ChosenChannels:
        return possible_channels(self.context, self.data)

    def _content(self) -> list[Any]:
        data, context, channels = self.data, self.context, self._channels
        content = list(self.result.get("content") or ())
        placed: dict[int, Any] = {}
        gone: set[int] = set()
        for part, one in zip(data.parts, self.shaped, strict=True):
            gone.update(part.blocks)
            silent = not channels.text and part is (data.structured or data.parts[0])
            if part.blocks and not silent:
                block = content[part.blocks[0]]
                text = self._text(part, one, block["text"])
                placed[part.blocks[0]] = block if block["text"] == text else {**block, "text": text}
        kept = [placed.get(index, block) for index, block in enumerate(content) if index not in gone or index in placed]
        if data.structured is not None and not data.structured.blocks and self._wants_text(kept):
            if not channels.structured and _is_known_to_read(context.client, "structured"):
                kept = [block for block in kept if block.get("type") != "text"]
            kept = [{"type": "text", "text": text_of(self.shaped[0], context)}, *kept]
        return _separated(kept, content) if context.client.joins_blocks else kept

    def _text(self, part: DataPart, one: Shaped, sent: str) -> str:
        """Return the text of a part that stood in a text of the tool's own."""
        data, context = self.data, self.context
        mirrors = part is data.structured
        text = text_of(one, context, data.member if mirrors and not data.packed else None)
        if mirrors and context.client.reads in {None, "content"}:
            text = inner_text(text, one, part, sent)
        if one.encoding != "json" or len(text) <= _COUNTED or text.replace(" ", "") != sent.replace(" ", ""):
            return text
        # With blanks between, as the tool wrote it, lists of strings may cost fewer tokens.
        return text if costs_at_most(text, sent, counter(context.plan.tokenizer).exact) else sent

    def _wants_text(self, blocks: Sequence[Any]) -> bool:
        """Return whether data that came without a text gets one: some clients show their model nothing else."""
        client, channels, has_text = self.context.client, self._channels, any(is_text(block) for block in blocks)
        if not channels.structured and not self.context.entry.whole_structure:
            return not (has_text and _is_known_to_read(client, "content"))
        return channels.text and not has_text and client.reads not in {"structured", "both"}

    def _structured(self) -> Any:
        data, one = self.data, self.shaped[0]
        if _is_not_modified(one):
            return {}
        value, plain = one.value, one.plan.dialect == "none"
        notice = one.notice if plain else ""
        was_text = data.structured is not None and isinstance(data.structured.value, str) and plain
        if data.packed and plain and not isinstance(value, str):
            value = {data.member: write_json(with_numbers(value) if _has_big([one]) else value).decode()}
        elif was_text:
            # A text that was read as data stays a text: the one that the model reads, which is shorter than JSON.
            value = {data.member or "result": value if isinstance(value, str) else one.text.removesuffix(notice)}
        elif (
            data.wrapped
            or (data.packed and data.member == "result")
            or (not isinstance(value, dict) and isinstance(self.result.get("structuredContent"), dict | None))
        ):
            value = {"result": value}
        if not notice:
            return value
        # What another `shaping` left out is said there already.
        before = f"{said}; " if isinstance(said := value.get(NOTICE), str) else ""
        return {**value, NOTICE: f"{before}{notice.strip()[1:-1]}"}


def _is_known_to_read(client: KnownClient, channel: str) -> bool:
    """Return whether a client was seen to show its model this channel and, where there are both, not the other."""
    return client.measured is not None and client.reads == channel


def _separated(blocks: list[Any], sent: Sequence[Any]) -> list[Any]:
    """End our own text blocks but the last with a newline, for a client that joins them without a separator."""
    own = {id(block) for block in blocks[:-1] if is_text(block)} - {id(block) for block in sent}
    return [{**block, "text": f"{block['text'].rstrip()}\n"} if id(block) in own else block for block in blocks]


def _is_not_modified(shaped: Shaped) -> bool:
    """Return whether the data is what the caller has already, or the envelope that the tool answered in says so."""
    source = shaped.call.source
    return shaped.not_modified or (source is not None and source.meta.not_modified)


def _has_big(shaped: Sequence[Shaped]) -> bool:
    return any(warned.code == "BIG_INTEGER" for one in shaped for warned in one.warnings)


def _misfit(out: Mapping[str, Any], context: ResultContext) -> bool:
    return context.entry.advertised is not None and not is_valid(context.entry.advertised, out.get("structuredContent"))


def _unfiltered(result: Mapping[str, Any], data: ResultData, context: ResultContext) -> ShapedResult:
    """Send the unfiltered data, less only what must never leave, where the shaped data does not fit the schema.

    It is within the budget, unless only all of it fits: a tool may break the schema that it gave itself.
    """
    mismatch = Warned("SCHEMA_MISMATCH", "the shaped data did not match the advertised schema; this is unfiltered")
    logger.warning("%r: %s", context.called.name, mismatch.message)
    call = context.call._replace(if_none_match=None, warnings=(*context.call.warnings, mismatch))
    private = context.plan.private
    plan = context.plan.replace(fields=private, error_fields=private, empties=KEEP_EMPTIES, noise=())

    def attempt(plan: Plan) -> tuple[dict[str, Any], list[Shaped]]:
        whole = context._replace(plan=plan, call=call)
        shaped = shape_parts(result, data, whole)
        return _Answer(result, data, shaped, whole).written(), shaped

    out, shaped = attempt(plan)
    if _misfit(out, context):
        every, of_every = attempt(plan.replace(max_tokens=None, max_items=None, max_string=None))
        if not _misfit(every, context):
            out, shaped = every, of_every
    return ShapedResult(with_meta(out, shaped, context), shaped)


def _bare_json(content: Sequence[Any]) -> tuple[Any] | None:
    """Return the value of a first text that is JSON and no object: one client takes such a text for a wrong result."""
    text = next((block["text"] for block in content if is_text(block)), "")
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return None if isinstance(value, dict) else (value,)
