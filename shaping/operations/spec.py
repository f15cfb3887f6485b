"""What is known of an operation before it runs, and the checks that a declaration must pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from shaping.errors import registry
from shaping.operations.context import Access
from shaping.operations.schemas import Anything, OperationSchema, schema_of
from shaping.response import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable


OperationType: TypeAlias = Literal[
    "command",  # changes state
    "query",  # reads state
    "eval",  # runs code that the caller wrote
    "screenshot",
    "logs",
    "window_info",
]
Language: TypeAlias = Literal["python", "javascript"]

OPERATION_TYPES: tuple[OperationType, ...] = get_args(OperationType)
LANGUAGES: tuple[Language, ...] = get_args(Language)
READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})
MARKERS = ("operation_type", "operationType", "operation-type", "x-operation-type")


class ManifestError(ValueError):
    """A tool that must not be registered as it is declared: which tool, which member, and why."""

    def __init__(self, tool: str, member: str, reason: str) -> None:
        super().__init__(f"tool {tool!r} cannot be registered: {reason}")
        self.tool = tool
        self.member = member
        self.reason = reason


def check_kind(tool: str, declared: object) -> OperationType:
    """Return the operation type, or refuse the tool that declares none or one that does not exist."""
    if declared in OPERATION_TYPES:
        return declared
    expected = f"expected one of {', '.join(OPERATION_TYPES)}"
    if declared is None:
        raise ManifestError(tool, "operation_type", f"its manifest declares no operation_type; {expected}")
    near = nearest(str(declared), OPERATION_TYPES)
    hint = f".{did_you_mean(near)}" if near else ""
    raise ManifestError(tool, "operation_type", f"operation_type is {declared!r}; {expected}{hint}")


def check_language(tool: str, kind: OperationType, declared: object) -> Language | None:
    """Return the language of an eval tool's code, without which its payloads could not be checked."""
    if kind != "eval":
        return None
    if declared in LANGUAGES:
        return declared
    expected = f"expected {' or '.join(LANGUAGES)}, so that its payloads can be checked"
    raise ManifestError(tool, "language", f"an eval tool's language is {declared!r}; {expected}")


def check_input_schema(tool: str, schema: Mapping[str, Any] | None) -> None:
    """Refuse an input schema that shows the operation type: a caller must neither see it nor be able to claim it."""
    if schema is None:
        return
    for marker in MARKERS:
        member = (schema.get("properties") or {}).get(marker)
        if marker in schema or _claims_a_kind(member):
            raise ManifestError(
                tool,
                "input_schema",
                f"its input schema has {marker!r}; the operation type belongs in the manifest only",
            )


def _claims_a_kind(member: object) -> bool:
    """Return whether a member is our marker, not an API's own member of that name, which has values of its own."""
    if not isinstance(member, Mapping):
        return False
    values = [*(member.get("enum") or ()), *([member["const"]] if "const" in member else [])]
    return any(value in OPERATION_TYPES for value in values)


def kind_of_method(method: str) -> OperationType:
    """Derive the type of an HTTP operation: methods that only read are queries, the rest change state."""
    return "query" if method.upper() in READING_METHODS else "command"


def kind_of_annotations(annotations: object) -> OperationType:
    """Derive the type of an MCP tool: only an explicit readOnlyHint makes it a query."""
    if isinstance(annotations, Mapping):
        hint = annotations.get("readOnlyHint", annotations.get("read_only_hint"))
    else:
        hint = getattr(annotations, "readOnlyHint", getattr(annotations, "read_only_hint", None))
    return "query" if hint is True else "command"


LEAD = "Errors: "


def describe(description: str, codes: Iterable[str]) -> str:
    """Append the codes a tool can return as one short line, in place of such a line that is already there."""
    known = dict.fromkeys(_known(code) for code in codes)
    body = "\n".join(line for line in description.rstrip().splitlines() if not line.startswith(LEAD)).rstrip()
    return f"{body}\n{LEAD}{', '.join(known)}".lstrip("\n") if known else body


def _known(code: str) -> str:
    """Return the canonical spelling of a registered code; an unknown one is refused with the nearest that exists."""
    registry.definition(code)
    return registry.canonical(code)


Shape: TypeAlias = Literal["query", "mutation", "subscription"]
SHAPES: tuple[Shape, ...] = get_args(Shape)


@dataclass(frozen=True, slots=True)
class Spec:
    """An operation: its name, what it does to the world, what it takes and gives, who may call it, how it fails."""

    name: str
    operation_type: OperationType
    type: Shape = "query"
    namespace: str = ""
    version: str = "1.0.0"
    description: str = ""
    input: OperationSchema = field(default_factory=Anything)
    output: OperationSchema = field(default_factory=Anything)
    access: Access = field(default_factory=Access)
    codes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    language: Language | None = None  # of the code that an eval operation runs
    code_members: tuple[str, ...] = ()
    time_limit: float | None = None  # seconds for one call, where the operation has its own limit
    origin: Mapping[str, Any] = field(default_factory=dict)  # what the adapter knows: method, path, server

    @property
    def id(self) -> str:
        """The name by which it is called: `namespace.name`."""
        return f"{self.namespace}.{self.name}" if self.namespace else self.name

    @property
    def state_changing(self) -> bool:
        """Whether a repetition would do something twice."""
        return self.type == "mutation" and self.operation_type in {"command", "eval"}


def make_spec(name: str, *, input: Any = None, output: Any = None, **more: Any) -> Spec:  # noqa: A002  the spec's own word
    """Make a spec and check it; one that is wrong raises ManifestError before anything can be routed to it.

    `input` and `output` are a JSON Schema, a pydantic model, a TypeAdapter or any type; `access` an `Access` or a
    mapping. `more` are the other fields of `Spec`; `operation_type` is required.
    """
    access = more.pop("access", None)
    spec = Spec(
        name=name,
        input=schema_of(input),
        output=schema_of(output),
        access=Access(**access) if isinstance(access, Mapping) else access or Access(),
        operation_type=more.pop("operation_type", None),
        codes=tuple(more.pop("codes", ())),
        tags=tuple(more.pop("tags", ())),
        **more,
    )
    return check_spec(spec)


def check_spec(spec: Spec) -> Spec:
    """Refuse a spec that nothing may be routed by, and say why."""
    if not spec.name or not isinstance(spec.name, str):
        raise ManifestError(str(spec.name), "name", "it has no name")
    check_kind(spec.id, spec.operation_type)
    check_language(spec.id, spec.operation_type, spec.language)
    check_input_schema(spec.id, spec.input.json)
    if spec.type not in SHAPES:
        raise ManifestError(spec.id, "type", f"type is {spec.type!r}; expected one of {', '.join(SHAPES)}")
    for code in spec.codes:
        registry.definition(code)
    return spec
