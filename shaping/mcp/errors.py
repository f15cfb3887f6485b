"""Coded errors from what MCP servers say or frameworks raise, and the results that tell of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.cleaning.call import clean_error, limit_error
from shaping.envelope import is_envelope, recognise
from shaping.envelope.dialects.members import lenient_error, warnings_member
from shaping.errors import ErrorDetail, ToolError, from_exception, make_error, nearest
from shaping.errors.detail import code_for_status, phrase
from shaping.errors.exceptions import look_up, summary
from shaping.errors.texts import plain_without_secrets
from shaping.mcp.parts import (
    DataPart,
    ResultData,
    ShapedResult,
    is_text,
    read_parts,
    shape_parts,
    shaped_warnings,
    text_of,
    texts_of,
)
from shaping.mcp.protection import ERROR_KEY, with_meta
from shaping.mcp.sessions import TEXT, ResultContext
from shaping.parsers.json import read_json_or_text, write_json
from shaping.parsers.terminal import COLOURS
from shaping.redaction import without_secrets
from shaping.response import required

if TYPE_CHECKING:
    from shaping.response import Shaped

# A longer text is the output of something, where any of these words may stand.
_LOOK: Final = 600
# What the SDKs put before an exception's own words; the name of a tool is no sign of what went wrong in it.
_WRAPPED: Final = re.compile(r"^Error (?:calling|executing) tool '?[\w./:-]+'?(?:: ?|$)")
# A number is a status where it is called one, follows the address that was asked, or has its own words after it.
_STATUS: Final = re.compile(
    r"(?:\b(HTTP(?:/[\d.]+)?|status(?:[ _]?code)?)[\s:=(]{1,3}|(https?://\S+)\s|[\s:('\"])([45]\d\d)\b(?=(.{0,40}))",
    re.IGNORECASE,
)
_WAIT: Final = re.compile(
    r"\bretry[ -]?after:? +(\d{1,5}) ?(?:s|secs?|seconds?)?(?:[.,;)]|$)", re.IGNORECASE | re.MULTILINE
)
# The first that is found tells, so what is more particular stands first there; and wrong arguments before what passes:
# one that is called after a limit or a timeout is as wrong the next time.
_PHRASES: Mapping[str, list[str]] = orjson.loads(Path(__file__).with_name("phrases.json").read_bytes())
_COMPILED = tuple((re.compile("|".join(each), re.IGNORECASE), code) for code, each in _PHRASES.items())


def own_words(text: str) -> str:
    """Return an error's text without what the SDK of its server put before it."""
    return _WRAPPED.sub("", text.strip(), count=1)


def _status(text: str) -> int | None:
    for called, asked, number, after in _STATUS.findall(f" {text}"):
        words = phrase(int(number)).casefold()
        if called or asked or (words and after.lstrip(" :-").casefold().startswith(words)):
            return int(number)
    return None


# The SDKs' own refusals, which come before any work.
_REFUSED = re.compile(
    r"^(MCP error -32602|Input validation error|Invalid arguments?\b|\d+ validation errors? for )"
    r"|\b\d+ validation errors? for \w*(arguments|call\[)",
    re.IGNORECASE | re.MULTILINE,
)
# Some servers call a tool that there is not an invalid parameter.
_UNKNOWN_TOOL = re.compile(
    r"^(MCP error -32602: ?)?(Unknown tool\b|Tool \S+ not found)|^MCP error -32601", re.IGNORECASE | re.MULTILINE
)
_PYDANTIC = re.compile(r"^(?P<path>[\w.\[\]-]+)\n {2}(?P<message>.+?)(?: \[type=(?P<type>\w+).*)?$", re.MULTILINE)
_ZOD = re.compile(r"(?P<message>.+?) at (?P<path>[\w.\[\]-]+)")
# No code can be told from the words; a hint to retry or to give up would be a guess.
_NO_HINT = "The message has the tool's own words; it does not say what kind of failure this is."
# The members of an error that are read; all others are the server's own and go into the details.
_READ = frozenset(
    {"code", "error_code", "message", "error", "hint", "suggestion", "retryable", "http", "retry_after", "phase"}
    | {"next_actions", "similar", "similar_refs", "details", "error_details", "redirect", "docs_url"}
)
_ENVELOPE = frozenset({"error", "ok", "meta", "_meta", "warnings", "jsonrpc", "id"})
_FOR_MODELS = ("code", "message", "hint", "retry_after", "next_actions", "similar", "details", "redirect")


def error_from_text(text: str, tool: str, tools: Collection[str] = ()) -> ErrorDetail:
    """Describe an error result by its text: a coded error where it holds one, else by the words in it."""
    coded = _coded(text)
    if coded is not None:
        return coded
    message = text.strip()
    if not message or (message.endswith(":") and not own_words(text)):
        message = f"The tool {tool!r} failed and did not say why."
    if _UNKNOWN_TOOL.search(text[:2000]):
        return make_error("OPERATION_NOT_FOUND", message, similar=nearest(tool, [*tools]))
    if _REFUSED.search(text[:2000]):
        found = _issues(message)  # each apart, where the text tells them apart
        details = {"issues": found} if found else None
        return make_error("BAD_ARGUMENT", summary(found) if found else message, details=details, phase="validation")
    return _by_words(message)


def _by_words(text: str) -> ErrorDetail:
    said = own_words(text)[:_LOOK]
    status, wait = _status(said), _WAIT.search(text[:_LOOK])
    by_phrase = (code for pattern, code in _COMPILED if pattern.search(said))
    code = next(by_phrase, None) if status is None else code_for_status(status)
    if code is None:
        return make_error("INTERNAL_ERROR", text, hint=_NO_HINT)
    return make_error(code, text, retry_after=int(wait[1]) if wait else None)


def error_from_exception(error: Exception, table: Mapping[str, str], *, debug: bool = False) -> ErrorDetail:
    """Describe an exception that a framework wrapped, without telling what the framework masked."""
    cause = exception_of_tool(error)
    return error_from_text(str(error), "") if cause is error else error_from_cause(cause, table, debug=debug)


def exception_of_tool(error: Exception) -> Exception:
    """Return what a tool raised, or the framework's own exception where that tells no more than it was meant to."""
    cause = error.__cause__
    while cause is not None and cause.__cause__ is not None and str(cause.__cause__) == str(cause):
        cause = cause.__cause__  # FastMCP marks by an exception of its own what the body of a tool raised
    return cause if isinstance(cause, Exception) and _tells(error, cause) else error


def error_from_cause(cause: BaseException, table: Mapping[str, str], *, debug: bool = False) -> ErrorDetail:
    """Describe what a tool raised, as a proxy in front of it would: by its words where its type tells no code.

    A bare ValueError tells none, because a tool may raise it after it acted.
    """
    found = from_exception(cause, table=table, debug=debug)
    told = isinstance(cause, ToolError) or look_up(type(cause), table) is not None
    if told or (found.code != "INTERNAL_ERROR" and type(cause) is not ValueError):
        return found
    error = _coded(found.message) or _by_words(found.message)
    kept = {name: getattr(error, name) or getattr(found, name) for name in ("details", "similar")}
    return error.model_copy(update={**kept, "detail": found.detail})


def model_text(error: ErrorDetail) -> str:
    """Write an error in one line for a model: its code, where that says more than that there is one, and its words."""
    words = error.message
    text = words if error.code == "INTERNAL_ERROR" or words.startswith(error.code) else f"{error.code}: {words}"
    if error.hint and error.has_own_hint and error.hint not in (_NO_HINT, *text.splitlines()):
        text = f"{text}\n{error.hint}"
    if error.retry_after is not None and str(error.retry_after) not in text:
        text = f"{text}\nRetry after {error.retry_after:g} s."
    if error.similar:
        text = f"{text}\nDid you mean {', '.join(map(str, error.similar))}?"
    return text


def model_members(error: ErrorDetail) -> dict[str, Any]:
    """Return the members that a model can act on."""
    known = error.members()
    details = {name: value for name, value in known.get("details", {}).items() if name != "issues"}
    known["details"] = details  # what is wrong with each argument stands in the message
    return {name: known[name] for name in _FOR_MODELS if known.get(name) not in (None, {})}


def _tells(error: Exception, cause: Exception) -> bool:
    # A server that hides its errors puts none of the cause's words into the error that it raises from it.
    words = str(cause).strip()
    return bool(words) and words.splitlines()[0] in str(error)


def _coded(text: str) -> ErrorDetail | None:
    if not text.lstrip().startswith("{"):
        return None
    wire = read_json_or_text(text)
    if not isinstance(wire, dict):
        return None
    if recognise(wire) == "flat":
        wire = {name: value for name, value in wire.items() if name not in ("ok", "_meta")}
    told = _error_in(wire)
    if not isinstance(told.get("code", told.get("error_code")), str):
        return None
    clean = plain_without_secrets(wire)
    told = _error_in(clean)
    found = required(lenient_error(told))
    more = _own_members({} if told is clean else clean, told)
    return found.model_copy(
        update={
            "message": found.message or without_secrets(text),
            "details": {**(found.details or {}), **more} if more else found.details,
        }
    )


def _error_in(wire: dict[str, Any]) -> dict[str, Any]:
    inner = wire["meta"].get("error") if is_envelope(wire) else wire.get("error")
    return inner if isinstance(inner, dict) else wire


def _own_members(around: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a server says of an error in members of its own, which have no other place than the details."""
    own = {key: value for key, value in told.items() if key not in _READ}
    if "message" in told and "error" in told:
        own["error"] = told["error"]
    if not isinstance(told.get("details", {}), dict):
        own["details"] = told["details"]
    rest = {key: value for key, value in around.items() if key not in _ENVELOPE}
    return {key: value for key, value in {**rest, **own}.items() if value not in (None, "", [], {})}


def _issues(text: str) -> list[dict[str, str]]:
    found = _zod_json(text) or [match.groupdict() for match in _PYDANTIC.finditer(text)]
    if not found:
        found = _zod_lines(text.rsplit(": Invalid arguments for tool ", 1)[-1].partition(": ")[2])
    return [
        {name: str(issue.get(name) or "") for name in ("path", "type", "message") if issue.get(name) or name == "path"}
        for issue in found
    ]


def _zod_lines(text: str) -> list[dict[str, Any]]:
    """Read `what is wrong at where`, one issue a line or after a semicolon; what names no place is kept without."""
    parts = [part.strip() for part in re.split(r"; |\n", text) if part.strip()]
    told = [_ZOD.fullmatch(part) for part in parts]
    if not any(told):
        return []
    return [match.groupdict() if match else {"message": part} for part, match in zip(parts, told, strict=True)]


def _zod_json(text: str) -> list[dict[str, Any]]:
    start = text.find("[\n")
    listed = read_json_or_text(text[start:]) if start >= 0 else []
    return [
        {
            "path": ".".join(map(str, path)) if isinstance(path := issue.get("path"), list) else path,
            "type": issue.get("code"),
            "message": issue.get("message"),
        }
        for issue in listed
        if isinstance(issue, dict)
    ]


def error_text(error: BaseException) -> dict[str, Any]:
    """Return the result that MCP servers answer with where a tool raises."""
    return {"content": [{"type": "text", "text": str(error)}], "isError": True}


def error_result(context: ResultContext, error: ErrorDetail) -> dict[str, Any]:
    """Write an error that no result told of."""
    error = clean_error(error, context.plan)
    return write_error(error, [], context)


def shape_error(result: Mapping[str, Any], context: ResultContext) -> ShapedResult:
    """Write an error result: the tool's own words, within the budget, with the code that they tell of."""
    context = context._replace(entry=context.entry._replace(channels=TEXT, advertised=None))
    if "boilerplate" in context.plan.noise:
        result = {**result, "content": list(map(_without_colours, result.get("content") or ()))}
    data = read_parts(result, context)
    data = replace(data, parts=tuple(sorted(data.parts, key=lambda part: not part.blocks)))  # what it says comes first
    said = "\n".join(texts_of(result))
    structured = result.get("structuredContent")
    told = said or (write_json(structured).decode() if structured else "")
    error = clean_error(
        context.error or error_from_text(told, context.called.name, context.session.tools), context.plan
    )
    shaped = shape_parts(result, data, context._replace(plan=context.plan.for_error()))
    texts = [text for one, part in zip(shaped, data.parts, strict=True) if (text := _error_text(one, part, data, said))]
    out = write_error(error, texts, context, shaped)
    if not said and shaped and context.client.meta == "errors" and isinstance(shaped[0].value, dict):
        # Such a client shows its model all of a failed result: a text would tell the data twice.
        out = {**out, "content": [], "structuredContent": shaped[0].value}
    rest = [block for block in result.get("content") or () if block.get("type") != "text"]
    return ShapedResult(with_error(result, {**out, "content": [*out["content"], *rest]}), shaped)


def _without_colours(block: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**block, "text": COLOURS.sub("", block["text"])} if is_text(block) and "\x1b" in block["text"] else block


def with_error(result: Mapping[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    """Keep the members of a result that are the protocol's or the server's own, with the error in place of its data."""
    kept = {key: value for key, value in result.items() if key not in {"content", "structuredContent", "_meta"}}
    meta = {**(result.get("_meta") or {}), **(error.get("_meta") or {})}
    return {**kept, **error, **({"_meta": meta} if meta else {})}


def _error_text(shaped: Shaped, part: DataPart, data: ResultData, said: str) -> str:
    """Return what a part of an error says; nothing where its text is said already, or it is empty."""
    if part is data.structured and not part.blocks and said:
        repeated = isinstance(part.value, dict) and all(str(value) in said for value in part.value.values())
        return "" if repeated or not shaped.data else shaped.text
    return text_of(shaped, member=data.member if part is data.structured and not data.packed else None)


def write_error(
    error: ErrorDetail, texts: Sequence[str], context: ResultContext, shaped: Sequence[Shaped] = ()
) -> dict[str, Any]:
    """Write an error: the code and the tool's own words, or the coded envelope where profile or dialect ask for it."""
    plan = context.plan
    said_besides = shaped_warnings(context)
    notice = said_besides[0].notice if said_besides else ""
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
    return text.lstrip().startswith(("{", "[")) and read_json_or_text(text) is not text
