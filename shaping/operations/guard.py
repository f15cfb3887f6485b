"""The guard that every payload passes before its tool runs; for code it is a filter in depth, not a sandbox.

It stops what a model writes by mistake or under injection; code that must do no harm needs a process without rights.
"""

from __future__ import annotations

import hashlib
import logging
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import orjson

from shaping.errors import ToolError
from shaping.operations import guard_javascript, guard_python

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shaping.operations.spec import Language, Spec

MAX_CODE_BYTES = 65_536
MAX_PAYLOAD_BYTES = 4_194_304
MAX_DEPTH = 64

# Words with no ordinary use in an evaluated snippet. They are looked for first because they need no parser.
KEYWORDS: dict[Language, tuple[str, ...]] = {
    "python": (
        r"\b__import__\b",
        r"\b__subclasses__\b",
        r"\b__globals__\b",
        r"\b__builtins__\b",
        r"\bos\s*\.\s*system\b",
        r"\bsubprocess\b",
        r"\bctypes\b",
        r"\bpty\s*\.\s*spawn\b",
    ),
    "javascript": (
        r"\bchild_process\b",
        r"__proto__",
        r"\bprocess\s*\.\s*(?:exit|kill|abort|binding|dlopen|mainModule)\b",
        r"(?<![\w$.])require\s*\(",
        r"(?<![\w$])Function\s*\(",
        r"(?<![\w$.])eval\s*\(",
        r"(?<![\w$.])importScripts\s*\(",
    ),
}
INSPECTORS = {"python": guard_python.find_construct, "javascript": guard_javascript.find_construct}
log = logging.getLogger("shaping")


def visible(tools: Iterable[Spec], *, allow_eval: bool = False) -> list[Spec]:
    """Return the tools that may be listed: without `allow_eval`, those that evaluate code are left out."""
    return [tool for tool in tools if allow_eval or tool.operation_type != "eval"]


def admit(tool: Spec, payload: Any, *, allow_eval: bool = False) -> None:
    """Check a payload before its tool runs: return, or raise the ToolError that says which rule it breaks.

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
    """Refuse what is not JSON, nested too deeply, or too large; give the bytes that are hashed."""
    if _is_too_deep(payload):
        raise ToolError("BAD_ARGUMENT", f"the payload is nested more than {MAX_DEPTH} levels deep", phase="validation")
    try:
        encoded = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):
        raise ToolError("BAD_ARGUMENT", "the payload is not JSON", phase="validation") from None
    if len(encoded) > MAX_PAYLOAD_BYTES:
        raise ToolError("TOO_LARGE", f"the payload has {len(encoded)} bytes of at most {MAX_PAYLOAD_BYTES}")
    return encoded


def _is_too_deep(value: Any) -> bool:
    """Walk level by level and each container once, so that neither depth nor a cycle can exhaust the machine."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = list({id(child): child for node in level for child in _children(node) if _children(child)}.values())
        if not level:
            return False
    return True


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
    if language is None:
        raise _blocked("EVAL_BLOCKED_CONSTRUCT", "code in an undeclared language", digest)
    if len(code.encode("utf-8", "surrogatepass")) > MAX_CODE_BYTES:
        raise _blocked("EVAL_BLOCKED_CONSTRUCT", f"code of more than {MAX_CODE_BYTES} bytes", digest)
    # Python reads identifiers in this normal form, so a keyword in full-width letters is the keyword.
    plain = unicodedata.normalize("NFKC", code)
    for pattern in KEYWORDS[language]:
        if found := re.search(pattern, plain):
            raise _blocked("EVAL_BLOCKED_KEYWORD", re.sub(r"\s+", "", found.group()), digest)
    if construct := INSPECTORS[language](code):
        raise _blocked("EVAL_BLOCKED_CONSTRUCT", construct, digest)


def _blocked(code: str, construct: str, digest: str) -> ToolError:
    return ToolError(
        code,
        f"the payload was not run: {construct}",
        details={"construct": construct, "code_hash": digest},
        phase="validation",
    )
