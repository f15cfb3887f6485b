"""The return annotation of a decorated function: an open type with the JSON Schema of the shaped answer."""

from __future__ import annotations

import inspect
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from shaping.decorator.frameworks import mentions_content
from shaping.mcp.schema import warn_unmatched, wire_schema

if TYPE_CHECKING:
    from shaping.decorator import DecoratedTool


class Signature(inspect.Signature):
    """A signature that works out its annotations when they are read; the tool stands for its return annotation.

    So it stands there, too, in the signatures that `inspect` derives from this one, as of a bound method.
    """

    __slots__ = ()

    @property
    def parameters(self) -> MappingProxyType[str, inspect.Parameter]:
        """The parameters as the function declares them, with evaluated annotations."""
        own, tool = super().parameters, super().return_annotation
        if not hasattr(tool, "declared"):
            return own
        known = tool.declared.parameters
        named = {name: known[name] if type(one.annotation) is str else one for name, one in own.items()}
        return MappingProxyType(named)

    @property
    def return_annotation(self) -> Any:
        """An open type with the schema of the shaped answer; empty where the function has no annotation."""
        tool = super().return_annotation
        if not hasattr(tool, "declared"):
            return tool
        declared = tool.declared.return_annotation
        # Of a generator each item is shaped, and frameworks know no type for a row of answers.
        if declared is inspect.Signature.empty or tool.yields:
            return inspect.Signature.empty
        return declared if mentions_content(declared) else annotation_for(tool, declared)


def describe_return(wrapper: Any, function: Any, tool: DecoratedTool) -> Any:
    """Set a wrapper's signature: the function's, with the return annotation of the shaped answer."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # builtins and some C callables have none
        return wrapper
    wrapper.__signature__ = Signature(list(signature.parameters.values()), return_annotation=tool)
    annotations = dict(getattr(function, "__annotations__", {}))
    if "return" in annotations:
        del annotations["return"]
        declared = tool.declared.return_annotation
        annotation = declared if mentions_content(declared) else _open_dict(tool)
        annotation = {"text": str, "content_and_artifact": declared}.get(tool.form, annotation)
        returned = {} if tool.yields else {"return": annotation}
        wrapper.__annotations__ = {**annotations, **returned}
    return wrapper


def annotation_for(tool: DecoratedTool, declared: Any) -> Any:
    """Make the type that a framework derives an output schema from."""
    if tool.form != "envelope":
        return str if tool.form == "text" else declared
    schema = _schema(tool, declared)
    if schema.get("type") == "object" or tool.plan_to_advertise().dialect != "none":
        return _open_dict(tool, schema)
    return Annotated[Any, _AdvertisedSchema(tool, schema)]


def declared_schema(declared: Any) -> dict[str, Any]:
    """Return the JSON Schema of a return annotation; an empty one for what has none."""
    try:
        return TypeAdapter(declared).json_schema(mode="serialization", schema_generator=_IntakeSchema)
    except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError):
        return {}


def inlined(schema: Any, definitions: dict[str, Any], inside: tuple[str, ...] = ()) -> Any:
    """Put definitions in the place of references, which pydantic refuses in custom schemas; a recursive one is open."""
    if isinstance(schema, list):
        return [inlined(item, definitions, inside) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions:
        return {} if name in inside else inlined(definitions[name], definitions, (*inside, name))
    return {key: inlined(item, definitions, inside) for key, item in schema.items() if key != "$defs"}


def _schema(tool: DecoratedTool, declared: Any) -> dict[str, Any]:
    plan, described = tool.plan_to_advertise(), declared_schema(declared)
    if described.get("type") == "string":
        described = {}  # a string may hold JSON, which is sent as data
    warn_unmatched(plan, described)
    schema = wire_schema(plan, described, nullable=tool.if_none_match is not None)
    whole: dict[str, Any] = inlined(schema, schema.get("$defs", {}))
    return whole


class _AdvertisedSchema:
    """Metadata of an annotation: the schema that a framework gets when it registers the tool."""

    def __init__(self, tool: DecoratedTool, schema: dict[str, Any] | None = None) -> None:
        self.tool = tool
        self.schema = schema

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        self.tool.registered(getattr(handler, "generate_json_schema", None))
        return dict(_schema(self.tool, self.tool.declared.return_annotation) if self.schema is None else self.schema)


def _open_dict(tool: DecoratedTool, schema: dict[str, Any] | None = None) -> type[BaseModel]:
    """Make a type that validates and writes like dict[str, Any].

    It is a model class by name only: the MCP SDK drops the metadata of an annotated dict, but asks a model class.
    """
    advertised = _AdvertisedSchema(tool, schema)

    class ShapedAnswer(BaseModel):
        model_config = ConfigDict(defer_build=True)

        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
            return core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())

        @classmethod
        def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
            return advertised.__get_pydantic_json_schema__(core, handler)

    # Frameworks print the annotation into a tool's description.
    ShapedAnswer.__module__, ShapedAnswer.__qualname__ = "shaping", "ShapedAnswer"
    return ShapedAnswer


class _IntakeSchema(GenerateJsonSchema):
    """Schemas as intake writes values, where that is not how pydantic does."""

    ignored_warning_kinds = GenerateJsonSchema.ignored_warning_kinds | {"non-serializable-default"}

    def named_tuple_schema(self, schema: Any) -> dict[str, Any]:
        # An object by its names; an array inside a pydantic model, which writes itself.
        return self._members(schema["fields"])

    def call_schema(self, schema: Any) -> dict[str, Any]:
        # A named tuple, before pydantic 2.14.
        return self._members(schema["arguments_schema"]["arguments_schema"])

    def _members(self, fields: Any) -> dict[str, Any]:
        return {"properties": {field["name"]: self.generate_inner(field["schema"]) for field in fields}}

    def int_schema(self, schema: core_schema.IntSchema) -> dict[str, Any]:
        # Beyond 64 bits an integer is written as a string, and so are NaN and the infinities.
        return {**super().int_schema(schema), "type": ["integer", "string"]}

    def float_schema(self, schema: core_schema.FloatSchema) -> dict[str, Any]:
        return {**super().float_schema(schema), "type": ["number", "string"]}

    def bytes_schema(self, _schema: core_schema.BytesSchema) -> dict[str, Any]:
        return {}
