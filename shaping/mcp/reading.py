"""The data of an MCP result: where it stands in the two channels, and the JSON Schema of it once it is shaped."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from shaping.envelope.dialects.flat import TAKEN
from shaping.parsers import EXACT, parse, parse_if_cheaper
from shaping.parsers.json import read_json
from shaping.paths import Unprojectable, open_schema
from shaping.paths.schema import WRAPPED
from shaping.response import import_extra
from shaping.values import shallow_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shaping.settings import Plan


logger = logging.getLogger("shaping")

_MISSING = object()
_ENTRY = frozenset({"name", "path", "type"})
_KEPT_AS = frozenset({"sha", "mode"})  # how a repository keeps an entry, which no file says of its own data


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


def read_result(
    result: Mapping[str, Any], schema: Mapping[str, Any] | None = None, *, verbatim: bool = False
) -> ResultData:
    """Find the data of a result, once, whichever channels it is written to; a text that is verbatim is none."""
    texts = [(index, block["text"]) for index, block in enumerate(result.get("content") or ()) if is_text(block)]
    structured = result.get("structuredContent")
    repeats = _repeats_blocks(structured, result.get("content") or ())
    if structured is None or repeats:
        parts = tuple(_to_the_letter(*text) for text in texts) if verbatim else _from_texts(texts)
        return ResultData(parts, repeats_blocks=repeats)
    read = _to_the_letter if verbatim else _text_part
    return _from_structured(structured, texts, _says_wrapped(result, schema), read)


def is_text(block: Mapping[str, Any]) -> bool:
    """Return whether a block is a text block, whose text is read as the tool's data; all others pass besides it."""
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def is_listing(value: Any) -> bool:
    """Return whether a value is a folder as code hosts list it, which their tools give in place of a file."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, dict) and each.keys() >= _ENTRY and not _KEPT_AS.isdisjoint(each) for each in value)
    )


def _from_structured(
    structured: Any, texts: Sequence[tuple[int, str]], wrapped: bool, read: Callable[[int, str], DataPart]
) -> ResultData:
    if (found := _one_string(structured, texts, read)) is not None:
        return found
    inner = structured["result"] if _is_wrap(structured) else _MISSING
    part = _mirrored(structured, texts)
    if inner is not _MISSING and not part.blocks:
        # A mirror of the inner value is as good as the framework's own mark that the outer one is only a wrapper.
        inside = _mirrored(inner, texts)
        wrapped = wrapped or bool(inside.blocks)
        part = inside if wrapped else part
    elif wrapped and inner is not _MISSING:
        part = DataPart(inner, part.blocks)
    wrapped = wrapped and inner is not _MISSING
    rest = [read(index, text) for index, text in texts if index not in part.blocks]
    return ResultData((part, *rest), part, wrapped)


def _repeats_blocks(structured: Any, content: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether structured content is the content blocks again, as the SDK before 2 wraps what a tool returns."""
    blocks = structured["result"] if _is_wrap(structured) else None
    if not isinstance(blocks, list) or not blocks or len(blocks) != len(content):
        return False
    said = [{name: value for name, value in block.items() if value is not None} for block in content]
    return all(isinstance(one, dict) and contains(block, one) for one, block in zip(blocks, said, strict=True))


def _one_string(
    structured: Any, texts: Sequence[tuple[int, str]], read: Callable[[int, str], DataPart]
) -> ResultData | None:
    """Read `{"result": "..."}`, as frameworks write for tools that return a string, and its mirror in a text block.

    Where the string holds JSON, that is the data, and the structured content stays a string.
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
    rest = [read(other, text) for other, text in texts if other != index]
    inside = read(-1, string)
    if not inside.prose:
        part = replace(inside, blocks=blocks)
        return ResultData((part, *rest), part, member=key, packed=True)
    wrapped = key == "result"
    is_data = wrapped or (read is _text_part and parse_if_cheaper(string) is not None)
    part = DataPart(string if is_data else structured, blocks)
    return ResultData((part, *rest), part, wrapped, member=None if wrapped else key)


def _is_wrap(structured: Any) -> bool:
    return isinstance(structured, dict) and structured.keys() == {"result"}


def _says_wrapped(result: Mapping[str, Any], schema: Mapping[str, Any] | None) -> bool:
    meta = (result.get("_meta") or {}).get("fastmcp")
    if isinstance(meta, dict) and meta.get("wrap_result") is True:
        return True
    return schema is not None and is_wrapper(schema)


def is_wrapper(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema is of an object into which a framework put a value that is none."""
    if schema.get(WRAPPED) is True:
        return True
    # The SDK's own wrapper carries no mark but a title of its own making.
    return str(schema.get("title", "")).endswith("Output") and (schema.get("properties") or {}).keys() == {"result"}


def _mirrored(value: Any, texts: Sequence[tuple[int, str]]) -> DataPart:
    """Return a value with the text blocks that say the same: one block, or one for each of its items."""
    if not isinstance(value, dict | list):
        index = next((index for index, text in texts if _says(value, text)), None)
        return DataPart(value, () if index is None else (index,))
    compact_json = shallow_json(value)
    for index, text in texts:
        data, read = _read(text)
        # What a parser of JSON has just made of the same bytes is known to be plain, and a tool's own value is not.
        if read is not None and read == compact_json:
            return DataPart(data, (index,), compact_json=read)
        if data is _MISSING:
            continue
        if data == value or contains(value, data) or is_only_member(data, value):
            return DataPart(value, (index,))
        if contains(data, value, same_names=True):
            return DataPart(data, (index,))
    split = isinstance(value, list) and 0 < len(value) == len(texts)
    if split and all(_same(item, text) for item, (_, text) in zip(value, texts, strict=True)):
        return DataPart(value, tuple(index for index, _ in texts))
    return DataPart(value, ())


def is_only_member(data: Any, value: Any) -> bool:
    """Return whether data is all that an object holds; under `result` it may be a framework's wrapper."""
    return isinstance(value, dict) and len(value) == 1 and not _is_wrap(value) and data in value.values()


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
    return parsed is not _MISSING and contains(value, parsed)


def _says(value: Any, text: str) -> bool:
    if isinstance(value, str):
        return value.strip() == text.strip()
    if text.strip() == str(value):
        return True
    try:
        return text.strip() == orjson.dumps(value).decode()
    except TypeError:  # an integer beyond 64 bits, which can only be said as it is
        return False


def _from_texts(texts: Sequence[tuple[int, str]]) -> tuple[DataPart, ...]:
    parts = [_text_part(index, text) for index, text in texts]
    if len(parts) > 1 and _one_list(parts):
        return (DataPart([part.value for part in parts], tuple(index for index, _ in texts)),)
    return tuple(parts)


def _one_list(parts: Sequence[DataPart]) -> bool:
    """Return whether blocks look like the items of one list: all of them objects, alike enough to share a member."""
    if not all(isinstance(part.value, dict) for part in parts):
        return False
    first = parts[0].value.keys()
    return all(part.value.keys() & first for part in parts[1:])


def _text_part(index: int, text: str) -> DataPart:
    data, compact_json = _read(text)
    if data is _MISSING:
        return _prose(index, text)
    # The Shaper reads a log in JSON lines itself: one that is cut keeps its errors, as a text.
    return DataPart(text if _is_log(text, data) else data, (index,), compact_json=compact_json)


def _is_log(text: str, data: Any) -> bool:
    lines = text.lstrip()[:1] == "{" and isinstance(data, list) and data
    return bool(lines) and isinstance(data[0], dict) and "level" in data[0]


def _to_the_letter(index: int, text: str) -> DataPart:
    if text.lstrip().startswith("[") and is_listing((listed := _text_part(index, text)).value):
        return listed
    return _prose(index, text)


def _prose(index: int, text: str) -> DataPart:
    return DataPart(text, (index,), prose=True)


def read_data(text: str) -> Any:
    """Read an object or a list that stands as text, in JSON or as Python prints it; anything else is prose."""
    return _read(text)[0]


def _read(text: str) -> tuple[Any, bytes | None]:
    """Read data that stands as text; with its compact JSON where it needs no opening."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            data = read_json(text)
        except orjson.JSONDecodeError:
            data = None
        if isinstance(data, dict | list):
            return data, shallow_json(data)
    parsed = parse(text, EXACT)  # other formats are read by the Shaper, where they are cheaper as data
    return (_MISSING if parsed is None else parsed.value), None


def data_schema(plan: Plan, declared: dict[str, Any]) -> dict[str, Any]:
    """Project a schema as the plan projects data; an empty schema where that cannot be said."""
    if declared.get("type") == "string":
        # Data in a string stays in a string where the data stands alone; an envelope holds it as data.
        return declared if plan.dialect == "none" else {}
    try:
        return open_schema(declared) if plan.fields is None else plan.fields.schema(declared)
    except Unprojectable as reason:
        logger.warning("the output schema of %r is not advertised: %s", plan.tool, reason)
    except Exception as fault:  # noqa: BLE001 - a server may declare anything, and its tools must still be listed
        logger.warning("the output schema of %r cannot be read (%s)", plan.tool, type(fault).__name__)
    return {}


def warn_unmatched(plan: Plan, declared: dict[str, Any]) -> None:
    """Log the fields to keep that no answer of a tool can have: somebody misspelt them."""
    try:
        missed = [] if plan.fields is None else plan.fields.matches_nothing_in(declared)
    except Exception:  # noqa: BLE001 - what cannot be followed is told where it is to be advertised
        return
    if missed:
        logger.warning(
            "of %r, include_only names what its output schema does not have: %s", plan.tool, ", ".join(missed)
        )


def wire_schema(plan: Plan, declared: dict[str, Any], *, nullable: bool = False) -> dict[str, Any]:
    """Wrap the projected schema as the plan's dialect wraps the data; nullable where nothing may have changed."""
    projected = data_schema(plan, declared)
    definitions: dict[str, Any] = {name: projected.pop(name) for name in ("$defs", "definitions") if name in projected}
    if plan.dialect == "flat":
        return {**_flat(projected), **definitions}
    may_be_null = nullable or plan.dialect not in {"none", "lean"}
    data = {"anyOf": [*_forms(plan, projected), {"type": "null"}]} if may_be_null else projected
    if plan.dialect == "none":
        return {**data, **definitions}
    return {"type": "object", "properties": {"data": data}, "additionalProperties": True, **definitions}


def _forms(plan: Plan, projected: dict[str, Any]) -> list[dict[str, Any]]:
    """List what may stand for the data: where the contract takes no bare scalar, an object that holds it."""
    if plan.dialect != "invariant" or projected.get("type") in ("object", "array"):
        return [projected]
    return [projected, {"type": "object", "properties": {"value": projected}}]


def _flat(projected: dict[str, Any]) -> dict[str, Any]:
    """Describe only what holds beside `ok` and `_meta`; data whose own names are taken stands under `result`."""
    known = projected.get("properties", {})
    if projected.get("type") != "object" or not TAKEN.isdisjoint(known):
        return {"type": "object"}
    unsaid = ("required", "additionalProperties", "patternProperties", "propertyNames", "maxProperties")
    return {word: said for word, said in projected.items() if word not in unsaid}


def advertised_schema(plan: Plan, declared: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema of what will be sent, or None where that cannot be said: a wrong schema is worse than none."""
    inner = inside_wrapper(declared)
    projected = wire_schema(plan, dict(declared) if inner is None else inner)
    if not projected:
        return None
    # A call may choose its own fields, so no member can be promised to be there.
    schema = open_schema(projected)
    if inner is not None:
        schema = _wrapped(schema, declared)
    if not _is_object(schema) or not usable(schema):
        logger.warning("the output schema of %r is not one that clients accept and is not advertised", plan.tool)
        return None
    # Older clients accept a schema only with this word at its root, even beside a reference.
    return {"type": "object", **schema}


def inside_wrapper(declared: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the value that a framework wrapped into an object, with the definitions it refers to."""
    properties = declared.get("properties") or {}
    if not is_wrapper(declared) or "result" not in properties:
        return None
    definitions = {key: declared[key] for key in ("$defs", "definitions") if key in declared}
    return {**properties["result"], **definitions}


def _wrapped(schema: dict[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    inner = dict(schema)
    definitions: dict[str, Any] = {key: inner.pop(key) for key in ("$defs", "definitions") if key in inner}
    mark: dict[str, Any] = {key: declared[key] for key in (WRAPPED, "title") if key in declared}
    return {"type": "object", "properties": {"result": inner}, **definitions, **mark}


def _is_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type", "object") == "object" and any(key in schema for key in ("type", "properties", "$ref"))


def shows_no_more(new: Any, old: Any) -> bool:
    """Return whether every property of one schema is also one of another, at the same place."""
    if isinstance(new, dict) and isinstance(old, dict):
        named = new.get("properties") or {}
        return named.keys() <= (old.get("properties") or {}).keys() and all(
            shows_no_more(value, old.get(key)) for key, value in new.items() if isinstance(value, dict | list)
        )
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(shows_no_more, new, old))
    return not isinstance(new, dict | list)


def is_valid(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether a value fits a schema; the schema is compiled once."""
    valid = _compiled(orjson.dumps(schema))
    try:
        return valid(value)
    except ValueError:  # it takes no subclass, as the digits of an integer beyond 64 bits are of a string
        return valid(orjson.loads(orjson.dumps(value)))


def usable(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema can be compiled at all: one that cannot must not be advertised."""
    try:
        _compiled(orjson.dumps(schema))
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1024)
def _compiled(schema: bytes) -> Callable[[Any], bool]:
    rules = import_extra("jsonschema_rs", "mcp", "checking an MCP result")
    is_valid: Callable[[Any], bool] = rules.validator_for(orjson.loads(schema)).is_valid
    return is_valid
