"""The declaration of an operation, its checks, and the operations that the modules of a directory export."""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from collections import Counter
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import orjson
from pydantic import ConfigDict, create_model

from shaping.errors import registry
from shaping.errors.codes import CodedError
from shaping.nearest import did_you_mean, nearest
from shaping.operations.access import Access, Context
from shaping.operations.schemas import JsonSchema, OperationSchema, schema_of
from shaping.tokens import count

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

OperationType: TypeAlias = Literal[
    "command",  # changes state
    "query",  # reads state
    "eval",  # runs code that the caller wrote
    "screenshot",
    "logs",
    "window_info",
]
Language: TypeAlias = Literal["python", "javascript"]
Shape: TypeAlias = Literal["query", "mutation", "subscription"]


class ManifestError(ValueError):
    """A tool that must not be registered as it is declared: which tool, which member, and why."""

    def __init__(self, tool: str, member: str, reason: str) -> None:
        super().__init__(f"tool {tool!r} cannot be registered: {reason}")
        self.tool = tool
        self.member = member
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Spec:
    """The declaration of an operation: name, operation type, input, output, access rights and error codes."""

    name: str
    operation_type: OperationType
    type: Shape = "query"
    namespace: str = ""
    version: str = "1.0.0"
    description: str = ""
    input: OperationSchema = field(default_factory=JsonSchema)
    output: OperationSchema = field(default_factory=JsonSchema)
    access: Access = field(default_factory=Access)
    codes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    language: Language | None = None  # of the code that an eval operation runs
    code_members: tuple[str, ...] = ()
    time_limit: float | None = None  # seconds for one call, where the operation has its own limit
    origin: Mapping[str, Any] = field(default_factory=dict)  # what the adapter knows: method, path, server

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise ManifestError(str(self.name), "name", "it has no name")
        self._check_word("operation_type", get_args(OperationType))
        self._check_word("type", get_args(Shape))
        if self.operation_type == "eval" and self.language not in get_args(Language):
            expected = f"expected {' or '.join(get_args(Language))}, so that its payloads can be checked"
            raise ManifestError(self.id, "language", f"an eval tool's language is {self.language!r}; {expected}")
        for code in self.codes:
            registry.definition(code)

    def _check_word(self, member: str, known: tuple[str, ...]) -> None:
        declared = getattr(self, member)
        if declared in known:
            return
        says = f"its manifest declares no {member}" if declared is None else f"{member} is {declared!r}"
        near = nearest(declared, known) if isinstance(declared, str) else ()
        hint = f".{did_you_mean(near)}" if near else ""
        raise ManifestError(self.id, member, f"{says}; expected one of {', '.join(known)}{hint}")

    @property
    def id(self) -> str:
        """The name by which it is called: `namespace.name`."""
        return f"{self.namespace}.{self.name}" if self.namespace else self.name

    @property
    def state_changing(self) -> bool:
        """Whether a repetition would do something twice."""
        return self.type == "mutation" and self.operation_type in {"command", "eval"}


def make_spec(name: str, **fields: Any) -> Spec:
    """Make a spec; one that is wrong raises ManifestError before anything can be routed to it.

    `input` and `output` are a JSON Schema, a pydantic model, a TypeAdapter or any type; `access` an `Access` or a
    mapping. `fields` are the other fields of `Spec`; `operation_type` is required.
    """
    access = fields.get("access")
    read = {
        "operation_type": fields.get("operation_type"),
        "input": schema_of(fields.get("input")),
        "output": schema_of(fields.get("output")),
        "access": Access(**access) if isinstance(access, Mapping) else access or Access(),
        "codes": tuple(fields.get("codes", ())),
        "tags": tuple(fields.get("tags", ())),
    }
    return Spec(name, **{**fields, **read})


DEFAULT_OPERATION_TYPES = {"query": "query", "subscription": "query", "mutation": "command"}


@dataclass(frozen=True)
class Operation:
    """A function that is an operation: call it as before, or register it with `registry.register(op)`."""

    spec: Spec
    function: Callable[..., Any]
    context_name: str | None  # of the parameter that receives the call's context

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    @property
    def pair(self) -> tuple[Spec, Callable[..., Any]]:
        """What a registry takes: the spec and its handler."""
        if not inspect.iscoroutinefunction(self.function):
            return self.spec, self._start

        async def run(given: Any, context: Context) -> Any:
            return await self._start(given, context)

        return self.spec, run

    def _start(self, given: Any, context: Context) -> Any:
        """Spread the input over the function's parameters."""
        # The values stay as the model read them; dumping would turn nested models into dicts.
        named = {name: getattr(given, name) for name in type(given).model_fields}
        return self.function(**named, **({self.context_name: context} if self.context_name else {}))


def operation(**fields: Any) -> Callable[[Callable[..., Any]], Operation]:
    """Make an operation of a typed function: its parameters are the input, its return annotation the output.

    `fields` are fields of `Spec`. `type` (`query` or `mutation`) is required, because a signature does not tell what a
    function changes; an async generator is a `subscription`. A parameter annotated with `Context` receives the call's
    context and is no input. The function can still be called as before; `registry.register(function)` registers it.
    """

    def decorate(function: Callable[..., Any]) -> Operation:
        hints = get_type_hints(function, include_extras=True)
        context_name = next((name for name, hint in hints.items() if hint is Context and name != "return"), None)
        given = {"type": "subscription", **fields} if inspect.isasyncgenfunction(function) else fields
        declared = {
            "name": function.__name__,
            "operation_type": DEFAULT_OPERATION_TYPES.get(given.get("type", "")),
            "input": _input_model(function, hints, context_name),
            "output": _output_type(hints.get("return")),
            "description": inspect.getdoc(function) or "",
        }
        made = Operation(make_spec(**{**declared, **given}), function, context_name)
        made.__dict__.update(__name__=function.__name__, __doc__=function.__doc__, __wrapped__=function)
        return made

    return decorate


def _input_model(function: Callable[..., Any], hints: Mapping[str, Any], context_name: str | None) -> Any:
    members: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise TypeError(f"{function.__name__} takes {parameter}; an operation's parameters have names")
        if name != context_name:
            default = ... if parameter.default is parameter.empty else parameter.default
            members[name] = (hints.get(name, Any), default)
    return create_model(f"{function.__name__}_input", __config__=ConfigDict(extra="forbid"), **members)


def _output_type(hint: Any) -> Any:
    """Return the type of one answer; for a generator, that of one item."""
    origin = get_origin(hint)
    if isinstance(origin, type) and issubclass(origin, AsyncIterable):
        return next(iter(get_args(hint)), None)
    return None if hint in (None, Any, type(None)) else hint


# A model carries the list of tools through the whole session; beyond this it is larger than most answers.
MAX_TOKENS = 25_000
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 300


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Which operations are wanted; each member that is given narrows, several values of one widen."""

    tags: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # glob patterns: `/repos/*`
    ids: tuple[str, ...] = ()  # glob patterns of operation ids: `repos_*`
    read_only: bool = False

    def matches(self, spec: Spec) -> bool:
        """Whether an operation is wanted."""
        origin = spec.origin
        names = (spec.id, spec.name, str(origin.get("operation_id") or spec.name))
        return (
            (not self.tags or not set(self.tags).isdisjoint(spec.tags))
            and (not self.methods or origin.get("method") in {wanted.upper() for wanted in self.methods})
            and (not self.paths or any(fnmatchcase(str(origin.get("path", "")), pattern) for pattern in self.paths))
            and (not self.ids or any(fnmatchcase(name, pattern) for name in names for pattern in self.ids))
            and (not self.read_only or (spec.type != "mutation" and spec.operation_type not in {"command", "eval"}))
        )


class TooManyError(CodedError):
    """A list of tools that would cost too many tokens, with the ways to narrow it."""

    code = "TOO_LARGE"

    def __init__(self, specs: Sequence[Spec], tokens: int, limit: int) -> None:
        reading = sum(spec.type == "query" for spec in specs)
        numbers = Counter(tag for spec in specs for tag in spec.tags)
        tags = ", ".join(f"{tag} ({number})" for tag, number in numbers.most_common(12))
        more = f" and {len(numbers) - 12} more" if len(numbers) > 12 else ""
        super().__init__(
            f"{len(specs):,} operations are about {tokens:,} tokens of tool definitions; the limit is {limit:,}.\n"
            f"Choose some: --tag, --method, --path '/a/*', --id 'get_*', or --read-only ({reading:,} only read).\n"
            + (f"Tags: {tags}{more}.\n" if tags else "")
            + "Or raise the limit: --max-tool-tokens."
        )


def select_operations(specs: Iterable[Spec], choice: OperationFilter, *, limit: int | None = MAX_TOKENS) -> list[Spec]:
    """Return the operations that are wanted; more of them than a model should carry are refused."""
    chosen = [spec for spec in specs if choice.matches(spec)]
    if limit is not None and (tokens := listing_tokens(chosen)) > limit:
        raise TooManyError(chosen, tokens, limit)
    return chosen


def listing_tokens(specs: Sequence[Spec]) -> int:
    """Count the tokens of the list of tools as a client shows it to its model; MCP has no form for a subscription."""
    texts = [orjson.dumps(tool_definition(spec)).decode() for spec in specs if spec.type != "subscription"]
    return int(count("\n".join(texts)))


def tool_definition(spec: Spec) -> dict[str, Any]:
    """Return a tool as it is listed: MCP asks for an object as the input schema."""
    schema = {"type": "object", **spec.input.json}
    return {"name": listed_name(spec), "description": short_description(spec), "inputSchema": schema}


def listed_name(spec: Spec) -> str:
    """Return a name that every client takes: letters, digits, `_` and `-`, at most 64 of them."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", spec.id)
    # The end tells operations apart better than the middle does.
    return name if len(name) <= LONGEST_NAME else f"{name[:31]}__{name[-31:]}"


def short_description(spec: Spec) -> str:
    """Return the first paragraphs of a description, as far as they fit, and the codes that a call can fail with."""
    text, start = spec.description, spec.description[:LONGEST_DESCRIPTION]
    if start != text:
        text = start.rsplit("\n\n" if "\n\n" in start else " ", 1)[0].rstrip() + " …"
    return registry.describe(text, spec.codes)


@dataclass(frozen=True, slots=True)
class ScanProblem:
    """A module that cannot be used, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """The operations of a directory: those with handlers, specs without one, and modules that failed."""

    operations: list[tuple[Spec, Callable[..., Any]]] = field(default_factory=list)
    specs: list[Spec] = field(default_factory=list)
    problems: list[ScanProblem] = field(default_factory=list)


def scan(directory: str | Traversable) -> Scan:
    """Import every module under a directory, each on its own, and collect the operations that it exports.

    A module exports `spec` (with or without `handler`) or functions under `@operation`; a module that cannot be
    imported is one of the result's `problems`. Besides a path, `directory` may be any `Traversable`, as of a zip file.
    """
    found = Scan()
    for file in _modules(Path(directory) if isinstance(directory, str) else directory):
        try:
            exports = list(_exports(_load(str(file), file.read_bytes())))
        except KeyboardInterrupt:
            raise
        except BaseException as fault:  # noqa: BLE001  a module may do anything when it is imported, even exit
            reason = f"{type(fault).__name__}: {fault}".strip(": \n").splitlines()[0]
            found.problems.append(ScanProblem(str(file), reason))
            continue
        found.operations.extend((spec, handler) for spec, handler in exports if handler is not None)
        found.specs.extend(spec for spec, handler in exports if handler is None)
    return found


def _modules(directory: Traversable) -> Iterator[Traversable]:
    """Yield modules, depth first, without links and without names that begin with `_` or `.`."""
    for entry in sorted(directory.iterdir(), key=lambda entry: entry.name):
        if entry.name.startswith(("_", ".")) or (isinstance(entry, Path) and entry.is_symlink()):
            continue
        if entry.is_dir():
            yield from _modules(entry)
        elif entry.name.endswith(".py"):
            yield entry


def _load(path: str, source: bytes) -> ModuleType:
    """Run a module under a name of its own, so that two of one name do not meet."""
    name = f"shaping_scanned_{hashlib.sha256(path.encode()).hexdigest()[:16]}"
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  importing is what was asked for
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _exports(module: ModuleType) -> Iterator[tuple[Spec, Callable[..., Any] | None]]:
    """Yield the operations of a module: `spec` with or without `handler`, and every function under `@operation`."""
    members = dict(vars(module))
    spec, handler = members.get("spec"), members.get("handler")
    if spec is not None:
        if not isinstance(spec, Spec | Mapping):
            raise TypeError(f"spec is {type(spec).__name__}; expected a Spec or a mapping")
        if handler is not None and not callable(handler):
            raise TypeError(f"handler is {type(handler).__name__}; expected a callable")
        yield spec if isinstance(spec, Spec) else make_spec(**spec), handler
    for member in members.values():
        # What it imported from elsewhere is exported there.
        if isinstance(member, Operation) and member.function.__module__ == module.__name__:
            yield member.pair
