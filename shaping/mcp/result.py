"""An MCP result, wire form in and out: its data shaped once and written to its channels in step."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
from dataclasses import asdict, replace
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from shaping.cleaning.call import clean_error, limit_error
from shaping.envelope import recognise
from shaping.envelope.dialects.members import warnings_member
from shaping.mcp.errors import error_from_text, model_members, model_text, own_words
from shaping.mcp.output_schema import is_valid
from shaping.mcp.parts import (
    DataPart,
    ResultData,
    fit_blocks,
    is_only_member,
    is_text,
    possible_channels,
    protecting_plan,
    read_data,
    read_parts,
    shape_parts,
    texts_of,
)
from shaping.mcp.protection import (
    ERROR_KEY,
    META_KEY,
    protect_after_fault,
    protect_around,
    protect_result,
    protect_structure,
    well_formed,
)
from shaping.mcp.sessions import TEXT, ChosenChannels, ResultContext, Session, ToolRequest, unlisted_entry
from shaping.parsers.json import write_json
from shaping.present import Presented, known_meta
from shaping.redaction import log_fault
from shaping.response import ABSENT, EXPAND, Shaped, Warned, grouped, is_never_sent
from shaping.tokens import count, counter
from shaping.tokens.sampling import LENGTHS, costs_at_most
from shaping.values import with_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shaping.clients import KnownClient
    from shaping.errors import ErrorDetail
    from shaping.response import CallContext
    from shaping.settings.plan import Plan
    from shaping.shaper import Shaper

logger = logging.getLogger("shaping")
# The member of structured content that says what was left out of it.
NOTICE = "_shaping"
# What a result that was shaped says of itself: what is left out and how to ask for it, and which fields are empty.
_NOTICE_LINE = re.compile(r"\(.*\bref=r_\w+.*\)|" + ABSENT + ": .*")
_APART = "apart"  # in our `_meta`: the structured content says what no text of the result does
_LONGEST_LINE = 2000  # characters, for clients that show whole lines
_COUNTED = 200  # characters of JSON; in a shorter one blanks are worth no vocabulary to count them by
_TRIES = 4  # budgets that are tried until a client shows all of a result
_SMALLEST = 60  # tokens: below it there is room for no data, only for the notice
# A server may write any mark into its results: only one made with this process's own key is believed.
_KEY = secrets.token_bytes(32)
_META_NAMES: Final = ("ref", "cursor", "etag", "truncated", "not_modified", "request_id")


class ShapedResult(NamedTuple):
    """A result as it goes out, and its parts as they were shaped, by which the ledger tells what was added."""

    wire: dict[str, Any]
    parts: Sequence[Shaped] = ()
    raw: Mapping[str, Any] = MappingProxyType({})  # the result of the tool, as it was read
    by_another: bool = False  # whether another `shaping` wrote it, in whose ledger the call is


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
        log_fault("shaping a result of %r failed with %s\n%s", context.request.name, fault)
        wire = dict(result) if mode == "observe" else protect_after_fault(read, plan, fault)
        return ShapedResult(wire, raw=read)


def error_result(context: ResultContext, error: ErrorDetail) -> dict[str, Any]:
    """Write an error that no result told of."""
    error = clean_error(error, context.plan)
    return _write_error(error, [], context)


def text_of(shaped: Shaped, context: ResultContext | None = None, member: str | None = None) -> str:
    """Return what the model reads of a part: clients cut from the end, so what was cut is said in the first line.

    Data whose point is the text of one member is that text.
    """
    text, notice = shaped.text, shaped.notice
    if member is not None and isinstance(shaped.value, dict) and isinstance(shaped.value.get(member), str):
        text = f"{shaped.value[member]}{notice}"
    if context is not None and context.client.whole_lines and shaped.encoding == "json":
        text = _short_lines(text.removesuffix(notice)) + notice
    if shaped.truncated and notice and text.endswith(notice):
        text = f"{notice.strip()}\n{text.removesuffix(notice)}"
    if context is not None and context.session.expand_name != EXPAND and shaped.ref is not None:
        # What a proxy behind this one says of its own refs stays as it is: its tool keeps its name.
        text = text.replace(f"{EXPAND} ref={shaped.ref}", f"{context.session.expand_name} ref={shaped.ref}")
    return text


def is_shaped(result: Mapping[str, Any]) -> bool:
    """Return whether this process has shaped this very result."""
    meta = result.get("_meta")
    mark = meta.get(META_KEY) if isinstance(meta, dict) else None
    tag = mark.get("tag") if isinstance(mark, dict) else None
    return isinstance(tag, str) and tag.isascii() and hmac.compare_digest(tag, _tag(result))


def with_meta(
    result: Mapping[str, Any], shaped: Sequence[Shaped], context: ResultContext, **more: Any
) -> dict[str, Any]:
    """Add our `_meta` to a result, unless this client's model would read it."""
    plan = context.plan
    if context.client.shows_meta(failed=result.get("isError") is True) and not plan.debug:
        return dict(result)
    about: dict[str, Any] = _about(shaped[0]) if shaped else {}
    if plan.debug:
        about |= {"profile": plan.profile, "config": plan.config_hash}
    if len(shaped) == 1 and plan.debug:
        about["tokens"] = {"before": int(shaped[0].tokens.before), "after": int(shaped[0].tokens.after)}
    warnings = [warned for one in shaped for warned in one.warnings]
    if not context.relay:
        about["tag"] = _tag(result)
    if warnings or (about and context.hits):
        about["warnings"] = [warning(warned) for warned in (*warnings, *context.hits)]
    meta = {**(result.get("_meta") or {}), **({META_KEY: about} if about else {}), **more}
    return {**result, "_meta": meta} if meta else dict(result)


def warning(warned: Warned) -> dict[str, Any]:
    """Write a warning as programs read it."""
    return _filled({"code": warned.code, "message": warned.message, "path": warned.path})


def _tag(result: Mapping[str, Any]) -> str:
    body = [result.get("content"), result.get("structuredContent"), bool(result.get("isError"))]
    return blake2b(write_json(body, option=orjson.OPT_SORT_KEYS), key=_KEY, digest_size=12).hexdigest()


def _about(shaped: Shaped) -> dict[str, Any]:
    # Most calls have nothing to say of themselves, and need no envelope for that.
    if isinstance(shaped, Presented) and not (shaped.call.source or shaped.call.upgrade_hints):
        known = known_meta(shaped)
    else:
        known = vars(shaped.envelope.meta)
    said = {name: known.get(name) or None for name in _META_NAMES}
    said["upgrade_hints"] = [_filled(asdict(hint)) for hint in known.get("upgrade_hints") or ()] or None
    chosen = shaped.plan.envelope
    about = {name: value for name, value in _filled(said).items() if not is_never_sent(name, chosen)}
    if shaped.plan.debug:
        wire = shaped.envelope.render("lean", include=shaped.plan.envelope, debug=True)
        about |= {name: value for name, value in wire.items() if name not in {"data", "error", "omissions"}}
    if shaped.plan.omissions == "list" and (listed := grouped(shaped.omissions)):
        told = ("path", "count", "reason", "tokens")
        about["omissions"] = [_filled({name: getattr(one, name) for name in told}) for one in listed]
        # Data alone has no place for a ref, so here is where a program finds it.
        if shaped.expandable and "ref" not in about:
            about["ref"] = shaped.ref
    return about


def _filled(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, "")}


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
        return _error(result, context)
    return _shaped_before(result, context) if by_another else _success(result, context)


def _success(result: Mapping[str, Any], context: ResultContext) -> ShapedResult:
    data = read_parts(result, context)
    if not data.parts:
        return ShapedResult(_without_data(result, context))
    shaped = shape_parts(result, data, context)
    if shaped[0].failed and (error := shaped[0].envelope.error) is not None:
        # The tool answered in an envelope of its own, which says that the call failed.
        return ShapedResult(_beside(result, _write_error(error, [shaped[0].text], context, shaped)), shaped)
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
    noted = _noted(context)
    if noted and noted[0].notice:
        block = {"type": "text", "text": noted[0].notice.strip()}
        result = {**result, "content": [*(result.get("content") or ()), block]}
    return with_meta(result, noted, context)


def _noted(context: ResultContext) -> list[Shaped]:
    """Return the warnings of a call as the notice below an empty text; nothing where it has none."""
    plan = context.plan.replace(dialect="none")
    return [context.shaper.shape_by(plan, "", context.call)] if context.call.warnings else []


def _error(result: Mapping[str, Any], context: ResultContext) -> ShapedResult:
    """Write an error result: the tool's own words, within the budget, with the code that they tell of."""
    context = context._replace(entry=context.entry._replace(channels=TEXT, advertised=None))
    data = _words_first(read_parts(result, context))
    said = "\n".join(texts_of(result))
    structured = result.get("structuredContent")
    told = said or (orjson.dumps(structured).decode() if structured else "")
    error = clean_error(
        context.error or error_from_text(told, context.request.name, context.session.tools), context.plan
    )
    shaped = shape_parts(result, data, context._replace(plan=context.plan.for_error()))
    texts = [text for one, part in zip(shaped, data.parts, strict=True) if (text := _error_text(one, part, data, said))]
    out = _write_error(error, texts, context, shaped)
    if not said and shaped and context.client.meta == "errors" and isinstance(shaped[0].value, dict):
        # Such a client shows its model all of a failed result: a text would tell the data twice.
        out = {**out, "content": [], "structuredContent": shaped[0].value}
    rest = [block for block in result.get("content") or () if block.get("type") != "text"]
    return ShapedResult(_beside(result, {**out, "content": [*out["content"], *rest]}), shaped)


def _beside(result: Mapping[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    """Keep the members of a result that are the protocol's or the server's own, with the error in place of its data."""
    kept = {key: value for key, value in result.items() if key not in {"content", "structuredContent", "_meta"}}
    meta = {**(result.get("_meta") or {}), **(error.get("_meta") or {})}
    return {**kept, **error, **({"_meta": meta} if meta else {})}


def _words_first(data: ResultData) -> ResultData:
    """Put what an error says before the data that goes with it."""
    return replace(data, parts=tuple(sorted(data.parts, key=lambda part: not part.blocks)))


def _error_text(shaped: Shaped, part: DataPart, data: ResultData, said: str) -> str:
    """Return what a part of an error says; nothing where its text is said already, or it is empty."""
    if part is data.structured and not part.blocks and said:
        repeated = isinstance(part.value, dict) and all(str(value) in said for value in part.value.values())
        return "" if repeated or not shaped.data else shaped.text
    return text_of(shaped, member=data.member if part is data.structured and not data.packed else None)


def _write_error(
    error: ErrorDetail, texts: Sequence[str], context: ResultContext, shaped: Sequence[Shaped] = ()
) -> dict[str, Any]:
    """Write an error: the code and the tool's own words, or the coded envelope where profile or dialect ask for it."""
    plan = context.plan
    noted = _noted(context)
    notice = noted[0].notice if noted else ""
    texts = [text.removesuffix(notice) for text in texts]
    refused = error.phase == "validation" and bool(error.details)
    words = error.message if refused or not texts else _joined([own_words(texts[0]), *texts[1:]]) or error.message
    coded = _is_json(words)
    told = limit_error(error if coded else error.model_copy(update={"message": words}), plan)
    if plan.dialect != "none" or not shaped:
        shaped = [context.shaper.shape_by(plan, None, context.call._replace(error=told))]
    if plan.dialect != "none":
        text = shaped[0].text
    elif plan.debug or "error" in plan.envelope:
        said = {"error": model_members(told), **warnings_member(shaped[0].envelope, plan.envelope, debug=False)}
        text = orjson.dumps(said).decode()
    else:
        text = (words if coded else model_text(told)) + notice
    out = {"content": [{"type": "text", "text": text}], "isError": True}
    return with_meta(out, shaped, context, **{ERROR_KEY: error.members()})


def _joined(texts: Sequence[str]) -> str:
    """Join what the parts of an error say: an error that is JSON and the data beside it stay one JSON object."""
    if len(texts) == 2 and all(map(_is_json, texts)):
        error, data = map(orjson.loads, texts)
        if isinstance(error, dict) and "data" not in error:
            return orjson.dumps({**error, "data": data}).decode()
    return "\n".join(texts)


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


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
            text = _inner_text(text, one, part, sent)
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


def _inner_text(text: str, shaped: Shaped, part: DataPart, sent: str) -> str:
    """Write only the value of an object with one member where the tool's own text had only that, too."""
    if shaped.notice or not isinstance(shaped.value, dict) or len(shaped.value) != 1:
        return text
    before = f"{{{orjson.dumps(next(iter(shaped.value))).decode()}:"
    is_object = text.startswith(before) and text.endswith("}")
    return text[len(before) : -1] if is_object and is_only_member(read_data(sent), part.value) else text


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
    logger.warning("%r: %s", context.request.name, mismatch.message)
    call = context.call._replace(if_none_match=None, warnings=(*context.call.warnings, mismatch))
    plan = protecting_plan(context.plan)

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


def _short_lines(text: str) -> str:
    """Break JSON into lines that a client which shows whole lines does not drop; one element or member a line."""
    if len(text) <= _LONGEST_LINE or "\n" in text:
        return text
    try:
        return _broken(orjson.loads(text))
    except orjson.JSONDecodeError:
        return text


def _broken(value: Any) -> str:
    compact = orjson.dumps(value).decode()
    if len(compact) <= _LONGEST_LINE or not isinstance(value, dict | list):
        return compact
    if isinstance(value, list):
        return "[\n" + ",\n".join(_broken(item) for item in value) + "\n]"
    members = (f"{orjson.dumps(key).decode()}:{_broken(item)}" for key, item in value.items())
    return "{\n" + ",\n".join(members) + "\n}"
