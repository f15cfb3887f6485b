"""What is known of an operation before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from shaping.errors import registry as codes
from shaping.operations.access import Access
from shaping.operations.describe import describe
from shaping.operations.kinds import (
    Language,
    Manifest,
    ManifestError,
    OperationType,
    check_input_schema,
    check_kind,
    check_language,
)
from shaping.operations.schemas import Anything, Schema, schema_of

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
    input: Schema = field(default_factory=Anything)
    output: Schema = field(default_factory=Anything)
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

    @property
    def manifest(self) -> Manifest:
        """What the guard needs to know."""
        return Manifest(
            self.id, self.operation_type, self.description, self.input.json, self.language, self.code_members
        )

    def described(self) -> str:
        """Give the description with the codes that the operation can fail with."""
        return describe(self)


def make_spec(name: str, *, input: Any = None, output: Any = None, **more: Any) -> Spec:  # noqa: A002  the spec's own word
    """Make a spec and check it whole: a wrong one is refused before anything is routed to it."""
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
        codes.definition(code)
    return spec
