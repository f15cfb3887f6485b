"""The guard that every payload passes before its tool runs; for code it is a filter in depth, not a sandbox.

It stops what a model writes by mistake or under injection; code that must do no harm needs a process without rights.
"""

from __future__ import annotations

import ast
import hashlib
import logging
import re
import unicodedata
import warnings
from typing import TYPE_CHECKING, Any

import orjson

from shaping.errors import ToolError
from shaping.operations.guard_javascript import find_construct

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


# Names that run text as code, or hand out namespaces in which anything can be looked up.
NAMES = frozenset(
    {"exec", "eval", "compile", "breakpoint", "globals", "locals", "vars", "exit", "quit"}
    | {"attrgetter", "methodcaller", "setattr", "delattr", "import_module", "help", "make_dataclass"}
)
MODULES = frozenset(
    {"os", "sys", "subprocess", "ctypes", "cffi", "socket", "socketserver", "shutil", "pty", "signal", "posix", "nt"}
    | {"multiprocessing", "threading", "concurrent", "asyncio", "importlib", "imp", "builtins", "runpy", "code"}
    | {"codeop", "pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "inspect", "gc", "tempfile"}
    | {"pathlib", "glob", "io", "fileinput", "fcntl", "resource", "mmap", "webbrowser", "http", "urllib", "urllib3"}
    | {"requests", "httpx", "aiohttp", "ftplib", "smtplib", "telnetlib", "paramiko", "pexpect", "site", "sysconfig"}
    | {"pkgutil", "zipimport", "linecache", "trace", "pdb", "bdb", "cProfile", "profile", "timeit", "faulthandler"}
    | {"atexit", "dis", "operator", "distutils", "setuptools", "pip", "venv", "ensurepip", "sqlite3", "winreg"}
    | {"msvcrt", "sched", "select", "selectors", "ssl", "types", "opcode", "symtable", "doctest", "unittest"}
    | {"logging", "antigravity", "test", "this", "turtle", "turtledemo", "lib2to3", "wsgiref", "mailbox", "dbm"}
    | {"jsonpickle", "pydoc", "tkinter", "idlelib", "xmlrpc", "imaplib", "poplib", "nntplib", "zipfile", "tarfile"}
)
# Modules that other modules carry as attributes (`random._os`), without words that objects commonly have as members.
CARRIED = frozenset(
    {"os", "sys", "subprocess", "ctypes", "builtins", "importlib", "posix", "nt", "socket", "shutil", "pty"}
)
# Modules that a host may have put within reach, under names that few variables have.
GIVEN = frozenset({"os", "sys", "subprocess", "ctypes", "builtins", "importlib", "shutil"})
ATTRIBUTES = frozenset(
    {"get_type_hints", "ForwardRef", "unsafe_load", "ctypeslib", "load_library", "runstring"}
    | {"popen", "fork", "forkpty", "killpg", "putenv", "startfile", "check_output", "check_call", "Popen"}
    | {"posix_spawn", "create_subprocess_exec", "create_subprocess_shell", "import_module", "load_module"}
    | {"exec_module", "LoadLibrary"}
    | {"CDLL", "dlopen", "rmtree", "unlink", "rmdir", "write_text", "write_bytes", "read_pickle", "to_pickle"}
    | {"attrgetter", "methodcaller", "eval", "exec", "format_map", "mro", "make_dataclass"}
    # What looks members up by text, and what configures code by name.
    | {"get_field", "vformat", "Formatter", "dictConfig", "fileConfig", "FileHandler", "SocketHandler"}
    # What writes files without saying open.
    | {"tofile", "savez", "savez_compressed", "savetxt", "to_csv", "to_parquet", "to_excel", "to_feather", "to_hdf"}
    | {"to_sql", "to_stata", "to_orc", "savefig"}
    | {"gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_code", "ag_frame", "ag_code", "tb_frame", "tb_next"}
    | {"f_globals", "f_locals", "f_builtins", "f_back", "f_code", "func_globals", "func_code", "co_code", "co_consts"}
)
ATTRIBUTE_FAMILIES = re.compile(r"(?:spawn|exec)[lv]p?e?")
DUNDER = re.compile(r"__\w+__")
HARMLESS = frozenset({"__name__", "__doc__", "__version__", "__init__", "__main__", "__file__", "__all__", "__slots__"})
READING = re.compile(r"r?[bt]?|[bt]r")


def find_python_construct(code: str) -> str | None:
    """Name the first construct that a payload must not have, or None; text that is not Python is `unparsable`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Hosts that evaluate snippets commonly allow `await` at the top.
            tree = compile(
                code, "payload", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
            )
        # The names that are called on the spot, where their arguments can be judged.
        called = frozenset(id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))
        return next((found for node in ast.walk(tree) if (found := _judge(node, called))), None)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "unparsable"


def _judge(node: ast.AST, called: frozenset[int]) -> str | None:
    match node:
        case ast.Name(id=name):
            return _judge_name(name, called=id(node) in called)
        case ast.Attribute(attr=name):
            return _judge_attribute(name, node.value)
        case ast.Call():
            return _judge_call(node)
        case ast.Import(names=names):
            return next((found for alias in names if (found := _judge_module(alias.name))), None)
        case ast.ImportFrom(module=module, names=names):
            return _judge_module(module or "") or next(
                (f"import of {a.name}" for a in names if a.name.lstrip("_") in CARRIED or _judge_name(a.name)), None
            )
        case ast.MatchClass(kwd_attrs=names):
            return next((found for name in names if (found := _judge_attribute(name, None))), None)
        case ast.Constant() | ast.BinOp() | ast.JoinedStr():
            return _judge_text(node)
        case _:
            return None


def _judge_name(name: str, *, called: bool = False) -> str | None:
    if name in NAMES or name in GIVEN or (DUNDER.fullmatch(name) and name not in HARMLESS):
        return name
    # Called on the spot these two are judged by their arguments; passed around they could be given any.
    if name in {"getattr", "open"} and not called:
        return name
    return None


def _judge_attribute(name: str, owner: ast.expr | None) -> str | None:
    if DUNDER.fullmatch(name) and name not in HARMLESS:
        return f"attribute {name}"
    if name in ATTRIBUTES or ATTRIBUTE_FAMILIES.fullmatch(name):
        return f"attribute {name}"
    if name.lstrip("_") in CARRIED or name == "_exit":
        return f"attribute {name}"
    if name == "system" and not (isinstance(owner, ast.Name) and owner.id == "platform"):
        return "attribute system"
    return None


def _judge_module(dotted: str) -> str | None:
    parts = dotted.split(".")
    if parts[0].lstrip("_") in MODULES or any(part.lstrip("_") in CARRIED for part in parts):
        return f"import of {dotted}"
    return None


def _judge_call(node: ast.Call) -> str | None:
    match node.func:
        case ast.Name(id="getattr"):
            return _judge_getattr(node)
        case ast.Name(id="open") | ast.Attribute(attr="open"):
            return _judge_open(node)
        # The standard input of a server is its protocol.
        case ast.Name(id="input"):
            return "input"
        case ast.Name(id="type") if len(node.args) != 1 or node.keywords:
            return "class made by type()"
        # A format string reads attributes, so one that is not written out could read any.
        case ast.Attribute(attr="format", value=receiver) if _fold(receiver) is None:
            return "format of a computed string"
        case _:
            return "allow_pickle" if any(k.arg == "allow_pickle" for k in node.keywords) else None


def _judge_getattr(node: ast.Call) -> str | None:
    name = node.args[1] if len(node.args) > 1 else None
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return "getattr with a computed name"
    return _judge_attribute(name.value, node.args[0]) or _judge_name(name.value, called=True)


def _judge_open(node: ast.Call) -> str | None:
    position = 1 if isinstance(node.func, ast.Name) else 0
    modes = [k.value for k in node.keywords if k.arg in {"mode", None}] or node.args[position : position + 1]
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return "open with computed arguments"
    literal = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    reads = len(literal) == len(modes) and all(READING.fullmatch(mode) for mode in literal)
    return None if reads else "open for writing"


def _judge_text(node: ast.expr) -> str | None:
    """Refuse dunder names inside strings, also where they are put together from pieces."""
    folded = _fold(node)
    if folded is None:
        return None
    return next((f"text with {name}" for name in DUNDER.findall(folded) if name not in HARMLESS), None)


def _fold(node: ast.expr) -> str | None:
    """Return the text of an expression that is constant, or None; a hole in an f-string reads as nothing."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Constant(value=bytes(raw)):
            return raw.decode("latin-1")
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            texts = (_fold(left), _fold(right))
            return None if None in texts else "".join(text or "" for text in texts)
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mult(), right=ast.Constant(value=int(times))):
            return text * min(times, 8)
        case ast.JoinedStr(values=parts):
            return "".join(_fold(part.value if isinstance(part, ast.FormattedValue) else part) or "" for part in parts)
        case _:
            return None
