"""The guard that every payload passes before its tool runs; for code it is a filter in depth, not a sandbox.

It stops what a model writes by mistake or under injection; code that must do no harm needs a process without rights.
"""

import ast
import hashlib
import logging
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import orjson

from shaping.errors import ToolError
from shaping.operations.guard_javascript import find_construct, is_deeper
from shaping.operations.spec import Language, Spec

MAX_CODE_BYTES = 65_536
MAX_PAYLOAD_BYTES = 4_194_304
MAX_DEPTH = 64

# By language: `keywords` have no ordinary use in an evaluated snippet, and are looked for first because that needs no
# parser; `names` run text as code, open files, or hand out namespaces in which anything can be looked up.
WORDS = orjson.loads(Path(__file__).with_name("guard.json").read_bytes())
log = logging.getLogger("shaping")


def visible(tools: Iterable[Spec], *, allow_eval: bool = False) -> list[Spec]:
    """Return the tools that may be listed: without `allow_eval`, tools that evaluate code are left out."""
    return [tool for tool in tools if allow_eval or tool.operation_type != "eval"]


def admit(tool: Spec, payload: Any, *, allow_eval: bool = False) -> None:
    """Check a payload before its tool runs, and raise ToolError where it breaks a rule.

    Any payload must be JSON of bounded size and depth; the code of an `eval` tool is also looked through for what
    reaches outside of it, and is refused altogether without `allow_eval`.
    """
    if tool.operation_type != "eval":
        _check_shape(payload)
        return
    if not allow_eval:
        raise ToolError(
            "PERMISSION_DENIED",
            f"{tool.id} evaluates code, and this server does not allow that",
            hint="The server's operator can set allow_eval; prefer a tool that does the one thing you need.",
        )
    encoded = _check_shape(payload)
    digest = hashlib.sha256(encoded).hexdigest()
    log.info("eval tool=%s sha256=%s bytes=%d", tool.id, digest, len(encoded))
    for code in _code_in(payload, tool.code_members):
        _check_code(code, tool.language, digest)


def _check_shape(payload: Any) -> bytes:
    """Refuse a payload that is not JSON, too deep or too large; return its bytes, which are hashed."""
    if is_deeper(payload, lambda node: filter(_children, _children(node)), MAX_DEPTH + 1):
        raise ToolError("BAD_ARGUMENT", f"the payload is nested more than {MAX_DEPTH} levels deep", phase="validation")
    try:
        encoded = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):
        raise ToolError("BAD_ARGUMENT", "the payload is not JSON", phase="validation") from None
    if len(encoded) > MAX_PAYLOAD_BYTES:
        raise ToolError("TOO_LARGE", f"the payload has {len(encoded)} bytes of at most {MAX_PAYLOAD_BYTES}")
    return encoded


def _children(node: Any) -> Iterable[Any]:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, (list, tuple)) else ()


def _code_in(payload: Any, members: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts of a payload that its tool would run; where no member is named, every text."""
    if members and isinstance(payload, dict):
        chosen: list[Any] = [payload.get(member) for member in members]
    else:
        chosen = [payload]
    while chosen:
        node = chosen.pop()
        if isinstance(node, str):
            yield node
        chosen.extend(_children(node))


def _check_code(code: str, language: Language | None, digest: str) -> None:
    if len(code.encode("utf-8", "surrogatepass")) > MAX_CODE_BYTES:
        raise _blocked("EVAL_BLOCKED_CONSTRUCT", f"code of more than {MAX_CODE_BYTES} bytes", digest)
    # Python reads identifiers in this normal form, so a keyword in full-width letters is the keyword.
    plain = unicodedata.normalize("NFKC", code)
    for pattern in WORDS[language]["keywords"]:
        if found := re.search(pattern, plain):
            raise _blocked("EVAL_BLOCKED_KEYWORD", re.sub(r"\s+", "", found.group()), digest)
    find = find_python_construct if language == "python" else find_construct
    if construct := find(code):
        raise _blocked("EVAL_BLOCKED_CONSTRUCT", construct, digest)


def _blocked(code: str, construct: str, digest: str) -> ToolError:
    return ToolError(
        code,
        f"the payload was not run: {construct}",
        details={"construct": construct, "code_hash": digest},
        phase="validation",
    )


NAMES, MODULES = frozenset(WORDS["python"]["names"]), frozenset(WORDS["python"]["modules"])
# Modules that a host may have put within reach, or that other modules carry as attributes (`random._os`).
CARRIED = frozenset(WORDS["python"]["carried"])
# Frames, code objects and classes of everything; programs; and what runs text or writes files.
ATTRIBUTES = re.compile(WORDS["python"]["attributes"])
DUNDER = re.compile(r"__\w+__")
HARMLESS = frozenset(WORDS["python"]["harmless"])


def find_python_construct(code: str) -> str | None:
    """Name the first construct that a payload must not have, or None; text that is not Python is `unparsable`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Hosts that evaluate snippets commonly allow `await` at the top.
            tree = compile(
                code, "payload", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
            )
        return next((found for node in ast.walk(tree) if (found := _judge(node))), None)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "unparsable"


def _judge(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name):
            return name if name in NAMES | CARRIED or _is_inner(name) else None
        # A format string reads attributes, so one that is not written out could read any, be it called now or later.
        case ast.Attribute(attr="format", value=receiver):
            if not isinstance(receiver, ast.Constant):
                return "format of a computed string"
            read = _attributes_read(str(receiver.value))
            return next((found for name in read if (found := _judge_attribute(name))), None)
        case ast.Attribute(attr=name):
            return _judge_attribute(name)
        # The standard input of a server is its protocol.
        case ast.Call(func=ast.Name(id="input")):
            return "input"
        case ast.Call(keywords=keywords) if any(keyword.arg == "allow_pickle" for keyword in keywords):
            return "allow_pickle"
        case ast.Import(names=names):
            return next((found for alias in names if (found := _judge_module(alias.name))), None)
        case ast.ImportFrom(module=module, names=names):
            parts = (alias.name for alias in names if alias.name in NAMES or _judge_attribute(alias.name))
            return _judge_module(".".join([module or "", *(alias.name for alias in names)])) or next(parts, None)
        case ast.MatchClass(kwd_attrs=names):
            return next((found for name in names if (found := _judge_attribute(name))), None)
        case ast.Constant(value=str(text)):
            return next((f"text with {name}" for name in DUNDER.findall(text) if _is_inner(name)), None)
    return None


def _attributes_read(template: str) -> Iterator[str]:
    """Yield the attributes that a format string reads, also within its format specifications."""
    for _, field, specification, _ in Formatter().parse(template):
        yield from re.findall(r"\.(\w+)", field or "")
        yield from _attributes_read(specification or "")


def _is_inner(name: str) -> bool:
    """Return whether a name is one of Python's own that leads out of a snippet."""
    return DUNDER.fullmatch(name) is not None and name not in HARMLESS


def _judge_attribute(name: str) -> str | None:
    refused = _is_inner(name) or ATTRIBUTES.fullmatch(name) or name.lstrip("_") in CARRIED
    return f"attribute {name}" if refused else None


def _judge_module(dotted: str) -> str | None:
    parts = [part.lstrip("_") for part in dotted.split(".")]
    return f"import of {dotted}" if parts[0] in MODULES or not CARRIED.isdisjoint(parts) else None
