"""The return annotation of a decorated function: an open type whose JSON Schema is what is really sent."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, WithJsonSchema
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from shaping.surfaces.frameworks import asks_for_signature
from shaping.surfaces.schema import wire_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import MappingProxyType

    from shaping.surfaces.decorator import Tool


class Signature(inspect.Signature):
    """A signature that works out its annotations when they are read, and knows who reads them."""

    __slots__ = ("_known", "_tool")

    def __init__(
        self,
        parameters: Sequence[inspect.Parameter] | None = None,
        *,
        return_annotation: Any = inspect.Signature.empty,
        __validate_parameters__: bool = True,
        tool: Tool | None = None,
    ) -> None:
        super().__init__(
            parameters, return_annotation=return_annotation, __validate_parameters__=__validate_parameters__
        )
        self._tool = tool
        self._known: inspect.Signature | None = None

    def _evaluated(self) -> inspect.Signature | None:
        if self._known is None and self._tool is not None:
            try:
                self._known = inspect.signature(self._tool.function, eval_str=True)
            except NameError:  # a name that is defined further down in the module, or only for type checkers
                return None
        return self._known

    @property
    def parameters(self) -> MappingProxyType[str, inspect.Parameter]:
        """The parameters as the function declares them, with evaluated annotations."""
        known = self._evaluated()
        return super().parameters if known is None else known.parameters

    @property
    def return_annotation(self) -> Any:
        """An open type that carries the schema of the shaped answer; empty where the function says nothing."""
        if self._tool is None:
            return super().return_annotation
        if asks_for_signature(sys._getframe()):  # noqa: SLF001 (inspect's way is a hundred times slower)
            self._tool.under_mcp_sdk = True
        known = self._evaluated()
        declared = super().return_annotation if known is None else known.return_annotation
        return declared if declared is inspect.Signature.empty else annotation_for(self._tool, declared)


def describe_return(wrapper: Any, function: Any, tool: Tool) -> Any:
    """Give a wrapper the function's signature with the return annotation of the shaped answer."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # builtins and some C callables have none
        return wrapper
    wrapper.__signature__ = Signature(
        list(signature.parameters.values()), return_annotation=signature.return_annotation, tool=tool
    )
    annotations = dict(getattr(function, "__annotations__", {}))
    if "return" in annotations:
        wrapper.__annotations__ = {
            **annotations,
            "return": _open_dict(lambda: _schema(tool, signature.return_annotation)),
        }
    return wrapper


def annotation_for(tool: Tool, declared: Any) -> Any:
    """Make the type that a framework derives an output schema from."""
    schema = _schema(tool, declared)
    if schema.get("type") == "object" or tool.shaper.plan(tool.name, profile=tool.profile).dialect != "none":
        return _open_dict(lambda: schema)
    return Annotated[Any, WithJsonSchema(schema)]


def declared_schema(declared: Any) -> dict[str, Any]:
    """Give the JSON Schema of a return annotation; an empty one for what has none."""
    try:
        return TypeAdapter(declared).json_schema(mode="serialization", schema_generator=_IntakeSchema)
    except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError):
        return {}


def inlined(schema: Any, definitions: dict[str, Any], inside: tuple[str, ...] = ()) -> Any:
    """Put definitions in the place of references, which pydantic refuses in a custom schema; a recursive one is open."""
    if isinstance(schema, list):
        return [inlined(item, definitions, inside) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions:
        return {} if name in inside else inlined(definitions[name], definitions, (*inside, name))
    return {key: inlined(item, definitions, inside) for key, item in schema.items() if key != "$defs"}


def _schema(tool: Tool, declared: Any) -> dict[str, Any]:
    schema = wire_schema(tool.shaper.plan(tool.name, profile=tool.profile), declared_schema(declared))
    whole: dict[str, Any] = inlined(schema, schema.get("$defs", {}))
    return whole


def _open_dict(schema: Callable[[], dict[str, Any]]) -> type[BaseModel]:
    """Make a type that validates and writes like dict[str, Any].

    It is a model class by name only: the MCP SDK drops the metadata of an annotated dict, but asks a model class.
    """

    class Answer(BaseModel):
        model_config = ConfigDict(defer_build=True)

        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
            return core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())

        @classmethod
        def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
            return dict(schema())

    return Answer


class _IntakeSchema(GenerateJsonSchema):
    """Schemas as intake writes values: a NamedTuple by its names, which pydantic would call an array."""

    def arguments_schema(self, _schema: core_schema.ArgumentsSchema) -> dict[str, Any]:
        return {}

    def bytes_schema(self, _schema: core_schema.BytesSchema) -> dict[str, Any]:
        return {}
