"""The parts of one result: found in its two channels, and shaped within one budget with the blocks besides them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from shaping.budget.fit import LOOK, Budget
from shaping.cleaning import record_in
from shaping.cleaning.call import limit_value
from shaping.encoders import encode
from shaping.mcp.output_schema import asks_inside, is_excluded, is_wrapper
from shaping.mcp.sessions import TEXT, ChosenChannels, ResultContext
from shaping.parsers import EXACT, FORMATS, Parsed, is_cheaper, parse, parse_if_cheaper
from shaping.parsers.json import read_json_or_text, write_json
from shaping.parsers.pairs import read_record
from shaping.paths.private import base64_text
from shaping.response import EXPAND, CallContext, Shaped
from shaping.tokens import counter
from shaping.tokens.sampling import LENGTHS
from shaping.values import json_if_shallow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from shaping.clients import KnownClient
    from shaping.response import Json
    from shaping.settings.plan import Plan


_LEAST = 32  # tokens: in fewer a part of a result says nothing
_BLOCKS_FREE: Final = 0.125  # the share of a budget that blocks may have besides what the texts have
_BLOCKS_MOST: Final = 0.5  # and the share above which they are cut
_LONGEST_LINE = 2000  # characters, for clients that show whole lines
TEXT_MEMBERS: Final = frozenset({"type", "text"})
_INTRODUCTIONS: Final = 2  # blocks before those that are the items of a list
_RECORDS: Final = 3  # blocks behind those, or of `name: value` lines, from which they are items
_MIRRORS: Final = 16  # first text blocks, one of which may say all data again: comparing every block takes n^2
_ENTRY = frozenset({"name", "path", "type"})
_KEPT_AS = frozenset({"sha", "mode"})  # how a repository keeps an entry, which no file says of its own data
_BINARY = ("data", "blob", "bytes")  # members that hold base64, in which a rule can only match by chance and break it
_KEPT_NAMES = frozenset({"type", "mimeType", "uri"})  # what says of base64 what it is
_BASE64 = re.compile(r"[A-Za-z0-9+/_\r\n-]{256,}={0,2}\s*")


@dataclass(frozen=True, slots=True)
class DataPart:
    """Data or prose, and the text blocks that hold it; `blocks` is empty where only structured content holds it."""

    value: Any
    blocks: tuple[int, ...]
    prose: bool = False
    compact_json: bytes | None = field(default=None, compare=False)  # of a value that was read from a text of JSON


@dataclass(frozen=True, slots=True)
class ResultData:
    """All parts of a result in order, which of them the structured content mirrors, and how that wraps it."""

    parts: tuple[DataPart, ...]
    structured: DataPart | None = None
    wrapped: bool = False  # the framework put the value under `result`
    member: str | None = None  # the one member of the structured content whose string the text repeats
    packed: bool = False  # and that string holds JSON, which is the data
    repeats_blocks: bool = False  # the structured content is the content blocks again


class ShapedResult(NamedTuple):
    """A result as it goes out, and its parts as they were shaped, by which the ledger tells what was added."""

    wire: dict[str, Any]
    parts: Sequence[Shaped] = ()
    raw: Mapping[str, Any] = MappingProxyType({})  # the result of the tool, as it was read
    by_another: bool = False  # whether another `shaping` wrote it, in whose ledger the call is


def read_result(
    result: Mapping[str, Any],
    schema: Mapping[str, Any] | None = None,
    plan: Plan | None = None,
    *,
    is_plain: bool = False,
) -> ResultData:
    """Find the data of a result, once, whichever channels it is written to; a text that is verbatim is none.

    What was read from JSON `is_plain` data.
    """
    verbatim = plan is not None and plan.verbatim
    texts = [(index, block["text"]) for index, block in enumerate(result.get("content") or ()) if is_text(block)]
    structured = result.get("structuredContent")
    repeats = _repeats_blocks(structured, result.get("content") or ())
    if structured is None or repeats:
        formats = FORMATS if plan is None else plan.parse
        parts = tuple(_verbatim_part(*text) for text in texts) if verbatim else _from_texts(texts, formats)
        return ResultData(parts, repeats_blocks=repeats)
    read = _verbatim_part if verbatim else _text_part
    found = _one_string(structured, texts, read, plan)
    if found is None:
        found = _whole(structured, texts, wrapped=_says_wrapped(result, schema), is_plain=is_plain)
    mirrors = frozenset(found.parts[0].blocks)
    rest = [read(index, text) for index, text in texts if index not in mirrors]
    return replace(found, parts=(*found.parts, *rest), structured=found.parts[0])


def is_text(block: Mapping[str, Any]) -> bool:
    """Return whether a block is a text block, whose text is read as the tool's data; all others pass besides it."""
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def texts_of(result: Mapping[str, Any]) -> list[str]:
    """Return the texts of a result's text blocks."""
    return [block["text"] for block in result.get("content") or () if is_text(block)]


def is_listing(value: Any) -> bool:
    """Return whether a value is a folder as code hosts list it, which their tools give in place of a file."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, dict) and each.keys() >= _ENTRY and not _KEPT_AS.isdisjoint(each) for each in value)
    )


def _whole(structured: Any, texts: Sequence[tuple[int, str]], *, wrapped: bool, is_plain: bool) -> ResultData:
    """Read structured content with the texts that say the same."""
    if not _is_wrap(structured):
        return ResultData((_mirrored(structured, texts, is_plain=is_plain),))
    # A mirror of the inner value is as good as the framework's own mark that the outer one is only a wrapper.
    inside = _mirrored(structured["result"], texts, is_plain=is_plain)
    if inside.blocks:
        return ResultData((inside,), wrapped=True)
    part = _mirrored(structured, texts, is_plain=is_plain)
    return ResultData((replace(inside, blocks=part.blocks) if wrapped else part,), wrapped=wrapped)


def _repeats_blocks(structured: Any, content: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether structured content is the content blocks again, as the SDK before 2 wraps what a tool returns."""
    blocks = structured["result"] if _is_wrap(structured) else None
    if not isinstance(blocks, list) or not blocks or len(blocks) != len(content):
        return False
    said = [{name: value for name, value in block.items() if value is not None} for block in content]
    return all(isinstance(one, dict) and contains(block, one) for one, block in zip(blocks, said, strict=True))


def _one_string(
    structured: Any, texts: Sequence[tuple[int, str]], read: Callable[[int, str], DataPart], plan: Plan | None
) -> ResultData | None:
    """Read `{"result": "..."}`, as frameworks write for tools that return a string, and its mirror in a text block.

    Where the string holds JSON, that is the data: `{"result": "[1, null]"}` is shaped as a list and sent as a string.
    """
    if not isinstance(structured, dict) or len(structured) != 1:
        return None
    [(key, string)] = structured.items()
    if not isinstance(string, str):
        return None
    index = next((index for index, text in texts if text == string), None)
    if index is None and key != "result":
        return None
    blocks = () if index is None else (index,)
    inside = read(-1, string)
    wrapped = key == "result"
    # Data under a name that must go is not looked into: all of it goes, in both channels.
    excluded = not wrapped and plan is not None and is_excluded(plan, key)
    if not inside.prose and not excluded:
        part = replace(inside, blocks=blocks)
        return ResultData((part,), member=key, packed=True)
    is_data = wrapped or (not excluded and read is _text_part and _is_data(string, key, plan))
    part = DataPart(string if is_data else structured, blocks)
    return ResultData((part,), wrapped=wrapped, member=None if wrapped else key)


def _is_data(string: str, key: str, plan: Plan | None) -> bool:
    """Return whether the one string of an object is the data, by what it is and by what the plan asks for."""
    if plan is not None and (asks_inside(plan, key) or record_in(string, plan) is not None):
        return True
    return parse_if_cheaper(string) is not None


def _is_wrap(structured: Any) -> bool:
    return isinstance(structured, dict) and structured.keys() == {"result"}


def _says_wrapped(result: Mapping[str, Any], schema: Mapping[str, Any] | None) -> bool:
    meta = (result.get("_meta") or {}).get("fastmcp")
    if isinstance(meta, dict) and meta.get("wrap_result") is True:
        return True
    return schema is not None and is_wrapper(schema)


def _mirrored(value: Any, texts: Sequence[tuple[int, str]], *, is_plain: bool) -> DataPart:
    """Return a value with the text blocks that say the same: one block, or one for each of its items."""
    if not isinstance(value, dict | list):
        index = next((index for index, text in texts if _says(value, text)), None)
        return DataPart(value, () if index is None else (index,))
    compact_json = json_if_shallow(value)
    for index, text in texts[:_MIRRORS]:
        # What a parser of JSON has just made of the same bytes is known to be plain, and a tool's own value is not.
        if compact_json is not None and text.encode(errors="replace") == compact_json:
            plain = value if is_plain else orjson.loads(compact_json)
            return DataPart(plain, (index,), compact_json=compact_json)
        parsed, read = _read(text)
        if parsed is None:
            continue
        data = parsed.value
        if read is not None and read == compact_json:
            return DataPart(data, (index,), compact_json=read)
        if data == value or contains(value, data) or _is_only_member(data, value):
            return DataPart(value, (index,))
        if contains(data, value, same_names=True):
            return DataPart(data, (index,))
    split = isinstance(value, list) and 0 < len(value) == len(texts)
    if split and all(_same(item, text) for item, (_, text) in zip(value, texts, strict=True)):
        return DataPart(value, tuple(index for index, _ in texts))
    return DataPart(value, ())


def _is_only_member(data: Any, value: Any) -> bool:
    """Return whether data is all that an object holds; under `result` it may be a framework's wrapper."""
    is_wider = isinstance(value, dict) and len(value) == 1 and not _is_wrap(value)
    return is_wider and data is not None and data in value.values()


def contains(whole: Any, part: Any, *, same_names: bool = False) -> bool:
    """Return whether `part` says nothing that `whole` does not: nulls, order and the spelling of names aside."""
    if isinstance(whole, dict) and isinstance(part, dict):
        named = whole if same_names else {_spelling(key): item for key, item in whole.items()}
        return all(
            _is_in(named, key if same_names else _spelling(key), item, same_names=same_names)
            for key, item in part.items()
            if item is not None
        )
    if isinstance(whole, list) and isinstance(part, list):
        return len(whole) == len(part) and all(
            contains(one, other, same_names=same_names) for one, other in zip(whole, part, strict=True)
        )
    # A number that one side writes as text is the same number.
    return bool(whole == part) or (whole is not None and part is not None and _scalar(whole) == _scalar(part))


def _is_in(named: Mapping[str, Any], key: str, item: Any, *, same_names: bool) -> bool:
    if key not in named:
        return item in ("", [], {})
    return contains(named[key], item, same_names=same_names)


def _spelling(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _scalar(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _same(value: Any, text: str) -> bool:
    if not isinstance(value, dict | list):
        return _says(value, text)
    parsed = read_data(text)
    return parsed is not None and contains(value, parsed)


def _says(value: Any, text: str) -> bool:
    if isinstance(value, str):
        return value.strip() == text.strip()
    if text.strip() == str(value):
        return True
    try:
        return text.strip() == orjson.dumps(value).decode()
    except TypeError:  # an integer beyond 64 bits, which can only be said as it is
        return False


def _from_texts(texts: Sequence[tuple[int, str]], formats: Collection[str]) -> tuple[DataPart, ...]:
    parts = [_text_part(index, text) for index, text in texts]
    # What was found is often counted in a block of its own before the items.
    for start in range(min(_INTRODUCTIONS + 1, len(parts) - 1)):
        items = parts[start:]
        if start and (len(items) < _RECORDS or not parts[start - 1].prose):
            break
        values = [part.value for part in items]
        if _are_alike(values) or ("pairs" in formats and (values := _records(values))):
            blocks = tuple(index for part in items for index in part.blocks)
            return (*parts[:start], DataPart(values, blocks))
    return tuple(parts)


def _are_alike(values: Sequence[Any]) -> bool:
    """Return whether values look like the items of one list: all of them objects that share a member."""
    return all(isinstance(value, dict) for value in values) and all(value.keys() & values[0] for value in values[1:])


def _records(texts: Sequence[Any]) -> list[Json]:
    """Return the objects that several texts of `name: value` lines are, where that is cheaper, or nothing."""
    if len(texts) < _RECORDS or not all(isinstance(text, str) for text in texts):
        return []
    records: list[Json] = []
    names = None
    for text in texts:
        record = read_record(text)
        if record is None or record.keys() != (names := names or record.keys()):
            return []
        records.append({name: _unquoted(value) for name, value in record.items()})
    parsed = Parsed(records, "pairs", text="\n".join(texts))
    return records if is_cheaper(parsed, encode(records).text) else []


def _unquoted(value: Any) -> Any:
    return read_json_or_text(value) if isinstance(value, str) and value.startswith('"') else value


def _text_part(index: int, text: str) -> DataPart:
    parsed, compact_json = _read(text)
    if parsed is None:
        return DataPart(text, (index,), prose=True)
    # The Shaper reads a log in JSON lines itself: one that is cut keeps its errors, as a text.
    return DataPart(text if parsed.is_log else parsed.value, (index,), compact_json=compact_json)


def _verbatim_part(index: int, text: str) -> DataPart:
    if text.lstrip().startswith("[") and is_listing((listed := _text_part(index, text)).value):
        return listed
    return DataPart(text, (index,), prose=True)


def read_data(text: str) -> Any:
    """Read an object or a list that stands as text, in JSON or as Python prints it; None where it is prose."""
    parsed, _ = _read(text)
    return None if parsed is None else parsed.value


def _read(text: str) -> tuple[Parsed | None, bytes | None]:
    """Read data that stands as text; with its compact JSON where it needs no opening."""
    if text.lstrip()[:1] in {"{", "["}:
        data = read_json_or_text(text)
        if isinstance(data, dict | list):
            return Parsed(data, "json"), json_if_shallow(data)
    return parse(text, EXACT), None  # other formats are read by the Shaper, where they are cheaper as data


def read_parts(result: Mapping[str, Any], context: ResultContext) -> ResultData:
    """Find the data of a result; texts that are too many for each to have a share of the budget are one."""
    data = read_result(result, context.entry.declared, context.plan, is_plain=context.relay)
    budget = context.plan.max_tokens
    texts = [part for part in data.parts if part is not data.structured]
    if budget is None or len(texts) * _LEAST <= budget:
        return data
    values = [part.value for part in texts]
    prose = all(part.prose for part in texts)
    blocks = tuple(place for part in texts for place in part.blocks)
    merged = DataPart("\n".join(values) if prose else values, blocks, prose=prose)
    return replace(data, parts=(merged,) if data.structured is None else (data.structured, merged))


def shape_parts(result: Mapping[str, Any], data: ResultData, context: ResultContext) -> list[Shaped]:
    """Shape every part, and where they are over the budget together, cut the largest to their shares of it."""
    budget, alone = context.plan.max_tokens, len(data.parts) == 1
    as_json = possible_channels(context, data).structured
    shaped: list[Shaped] = []
    for part in data.parts:
        call = (CallContext(owner=context.call.owner) if shaped else context.call)._replace(
            text_before=partial(_text_before, result, data, part, context.client),
            arguments=context.session.arguments,
            compact_json=part.compact_json,
            as_json=as_json,
        )
        shaped.append(
            context.shaper.shape_by(_plan_for(part, context.plan, budget if alone else None), part.value, call)
        )
    if budget is None or alone:
        return shaped
    return _within_together(shaped, context.plan.replace(max_tokens=budget - len(shaped)))  # with their line ends


def _within_together(parts: list[Shaped], plan: Plan) -> list[Shaped]:
    """Cut parts to the budget of all: the smallest stay whole, and the largest are cut to one level."""
    budget, limit, exact = Budget.of(plan), plan.max_tokens or 0, counter(plan.tokenizer).exact
    sizes = [len(write_json(one.value)) for one in parts]
    # What is far over the limit is not written whole to know it.
    if sum(sizes) <= limit * LOOK and budget.holds("\n".join(one.text for one in parts), exact):
        return parts
    fitted, left = list(parts), limit
    lengths = {unit: most - len(parts) for unit, most in plan.max_lengths}  # without their line ends
    for done, index in enumerate(sorted(range(len(parts)), key=sizes.__getitem__)):
        waiting = len(parts) - done
        share = max(1, left // waiting)
        one = parts[index].within(share, tuple((unit, max(1, most // waiting)) for unit, most in lengths.items()))
        sent = [one.text, *([write_json(one.value).decode()] if one.call.as_json else [])]
        left -= share if one.truncated else max(map(exact, sent))
        lengths = {unit: most - max(map(LENGTHS[unit], sent)) for unit, most in lengths.items()}
        fitted[index] = one
    return fitted


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
    split = [_split_block(block) for block in result.get("content") or ()]
    texts = [text for text, _ in split if text]
    written = write_json(texts).decode()
    if not texts or len(written) <= plan.max_tokens * _BLOCKS_FREE:
        return result, context
    tokens = counter(plan.tokenizer).exact(written)
    if tokens <= plan.max_tokens * _BLOCKS_MOST:
        return result, context._replace(plan=plan.replace(max_tokens=plan.max_tokens - tokens))
    folded = [text.get("resource", text) for text in texts]
    said = {"type": "text", "text": write_json(folded[0] if len(folded) == 1 else folded).decode()}
    first = next(place for place, (text, _) in enumerate(split) if text)
    blocks = [rest if text else block for block, (text, rest) in zip(result["content"], split, strict=True)]
    content = [block for block in (*blocks[:first], said, *blocks[first:]) if block]
    return {**result, "content": content}, context


def possible_channels(context: ResultContext, data: ResultData) -> ChosenChannels:
    """Narrow the choice to what the result can carry: data that came as text alone stays there unless a config asks."""
    if data.structured is not None or context.entry.advertised is not None:
        return context.entry.channels
    single = len(data.parts) == 1 and not data.parts[0].prose
    return context.entry.channels if context.entry.forced and single else TEXT


def _text_before(result: Mapping[str, Any], data: ResultData, part: DataPart, client: KnownClient) -> str:
    """Return what this client would have shown its model of a part, had nobody shaped it."""
    text = "\n".join(result["content"][index]["text"] for index in part.blocks)
    if part is not data.structured or (client.reads in {None, "content"} and text):
        return text
    structured = write_json(result["structuredContent"]).decode()
    return f"{text}\n{structured}" if client.reads == "both" and text else structured


def _plan_for(part: DataPart, plan: Plan, budget: int | None) -> Plan:
    if plan.verbatim and not is_listing(part.value):
        plan = plan.replace(noise=())
    if part.prose:
        # Field rules apply to the data that stands in prose, and hold back prose that may hold what is private.
        return plan.replace(dialect="none", max_tokens=budget)
    return plan if plan.max_tokens == budget else plan.replace(max_tokens=budget)


def _split_block(block: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a model may read of a block besides a tool's text, and the block with only that text or base64."""
    resource = block.get("resource")
    holder = resource if isinstance(resource, dict) else block
    held = base64_members(holder) if holder is resource or not is_text(block) else TEXT_MEMBERS
    rest = {name: value for name, value in holder.items() if name not in held}
    kept = {name: holder[name] for name in holder if name in held or name in _KEPT_NAMES} if held else {}
    if holder is resource:
        return {**block, "resource": rest}, {"type": block.get("type"), "resource": kept} if kept else {}
    return ({} if held and rest.keys() <= _KEPT_NAMES else rest), kept


def base64_members(value: Mapping[str, Any]) -> set[str]:
    """Return the names of the members that are base64."""
    return {name for name in _BINARY if isinstance(value.get(name), str) and _BASE64.fullmatch(value[name])}


def binary_members(value: Mapping[str, Any]) -> set[str]:
    """Return the names of the members that are base64 of anything but text, in which a private field may stand."""
    return {name for name in base64_members(value) if not base64_text(value[name])}


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


def inner_text(text: str, shaped: Shaped, part: DataPart, sent: str) -> str:
    """Write only the value of an object with one member where the tool's own text had only that, too."""
    if shaped.notice or not isinstance(shaped.value, dict) or len(shaped.value) != 1:
        return text
    before = f"{{{orjson.dumps(next(iter(shaped.value))).decode()}:"
    is_object = text.startswith(before) and text.endswith("}")
    return text[len(before) : -1] if is_object and _is_only_member(read_data(sent), part.value) else text


def _short_lines(text: str) -> str:
    """Break JSON into lines that a client which shows whole lines does not drop; one element or member a line."""
    if len(text) <= _LONGEST_LINE or "\n" in text:
        return text
    value = read_json_or_text(text)
    return text if value is text else _broken(value)


def _broken(value: Any) -> str:
    compact = write_json(value).decode()
    if len(compact) <= _LONGEST_LINE or not isinstance(value, dict | list):
        return compact
    if isinstance(value, list):
        return "[\n" + ",\n".join(_broken(item) for item in value) + "\n]"
    members = (f"{orjson.dumps(key).decode()}:{_broken(item)}" for key, item in value.items())
    return "{\n" + ",\n".join(members) + "\n}"


def shaped_warnings(context: ResultContext) -> list[Shaped]:
    """Return the warnings of a call as the notice below an empty text; nothing where it has none."""
    plan = context.plan.replace(dialect="none")
    return [context.shaper.shape_by(plan, "", context.call)] if context.call.warnings else []
