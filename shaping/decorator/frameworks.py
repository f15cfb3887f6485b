"""The frameworks around a decorated function: what they read of it, whose request it is, its errors and its content."""

from __future__ import annotations

import inspect
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NoReturn, TypeAlias, get_args

import orjson
from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from shaping.errors import ToolError
from shaping.mcp.output_schema import warn_unmatched, wire_schema
from shaping.redaction import log_fault
from shaping.response import TOOL_WARNING, CallContext, Shaped, note, required

if TYPE_CHECKING:
    from shaping.decorator import DecoratedCall, DecoratedTool
    from shaping.settings.choices import Channels

Framework: TypeAlias = Literal["fastmcp", "sdk", "claude", "agents"]
_RAISING: Final = frozenset({"claude", "agents"})
_SDK = "mcp.server.mcpserver"
_STRANDS = "strands.telemetry.tracer"
_MCP_1 = {"mcp.server.lowlevel.server": "request_ctx"}  # version 2 has none
# The context variables that LangChain, LlamaIndex and Agno set around each call of a tool.
_TOOL_RUNS = {
    "langchain_core.runnables.config": "var_child_runnable_config",
    "llama_index_instrumentation.span": "active_span_id",
    "agno.run.authorization": "_AUTHORITY",
}
# All modules by which a request of any framework is known.
_REQUESTS = frozenset({"fastmcp.server.dependencies", "opentelemetry.context", *_TOOL_RUNS, *_MCP_1})
_MCP = frozenset({"mcp", "mcp_types", "fastmcp"})
_BLOCKS = frozenset({"TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink"})
_KINDS = _BLOCKS | {"Image", "Audio", "File", "ToolResult", "CallToolResult"}
MOST_BLOCKS = 100  # elements of a list that is looked through: nobody returns more pictures at once


def calling_framework(tool: DecoratedTool, args: tuple[Any, ...]) -> Framework | None:
    """Return what kind of framework is making the call, by the context variables in which it keeps its request."""
    if sys.modules.keys().isdisjoint(_REQUESTS):
        return None
    if _inside_fastmcp():
        return "fastmcp"
    span = _current_span()
    if tool.under_mcp_sdk and span is not None:
        return "sdk"
    if _is_set(_TOOL_RUNS) or (_STRANDS in sys.modules and span in {_STRANDS, ""}):
        return "agents"
    inside_sdk = _SDK in sys.modules and span in {"mcp-python-sdk", ""}
    if "claude_agent_sdk" in sys.modules and args and type(args[-1]) is dict and (inside_sdk or _is_set(_MCP_1)):
        # The in-process server of the Claude Agent SDK gives a tool its arguments in one dict; MCPServer gives none so.
        return "claude"
    # The SDK's own schema generator, no other's, asks a tool for its schema, where the tool has one.
    return "sdk" if inside_sdk and not tool.advertises else None


def _inside_fastmcp() -> bool:
    module = sys.modules.get("fastmcp.server.dependencies")
    if module is None:
        return False
    try:
        module.get_context()
    except RuntimeError:
        return False
    return True


def _is_set(variables: dict[str, str]) -> bool:
    """Return whether one of these context variables has a value, by module and name."""
    found = (getattr(sys.modules.get(module), name, None) for module, name in variables.items())
    return any(one is not None and one.get(None) is not None for one in found)


def _current_span() -> str | None:
    """Return whose span is OpenTelemetry's current one: "" where nobody records it, None where there is none.

    The MCP SDK and Strands keep a request in no context variable of their own, but open a span for each.
    """
    context, trace = (sys.modules.get(f"opentelemetry.{name}") for name in ("context", "trace"))
    if context is None or trace is None or not context.get_current():
        return None
    scope = getattr(trace.get_current_span(), "instrumentation_scope", None)
    return "" if scope is None else str(scope.name)


def report_error(shaped: Shaped, error: Exception | None, decorated_call: DecoratedCall) -> Any:
    """Raise, or return, what the surrounding framework takes for an error; None where the envelope itself will do."""
    if error is not None and _is_protocol_error(error):
        raise error
    tool, framework = decorated_call.tool, None
    if not decorated_call.nested:
        _log_fault(shaped, error, tool)
        framework = decorated_call.framework
        if framework == "fastmcp":
            _raise_in_fastmcp(shaped, error)
        if framework == "sdk" and not tool.yields:
            return _sdk_result(_envelope(shaped))
    if framework in _RAISING or shaped.plan.dialect == "none" or tool.form != "envelope":
        # Bare data has no place for an error, and these frameworks take what is returned for a success.
        raise error if isinstance(error, ToolError) else ToolError.of(required(shaped.envelope.error)) from error
    return None


def _log_fault(shaped: Shaped, error: Exception | None, tool: DecoratedTool) -> None:
    """Log an exception in a tool's own code, which its caller gets only as INTERNAL_ERROR."""
    if error is None or isinstance(error, ToolError):
        return
    if required(shaped.envelope.error).code == "INTERNAL_ERROR":
        log_fault("%r failed with %s\n%s", tool.name, error)


def _envelope(shaped: Shaped) -> Any:
    """Return the coded envelope; where the dialect is the data alone, in the lean one."""
    plan = shaped.plan
    if plan.dialect != "none":
        return shaped.value
    return shaped.envelope.render("lean", include=plan.envelope, debug=plan.debug)


def _is_protocol_error(error: Exception) -> bool:
    """Return whether the error answers the protocol, not the model: frameworks make a JSON-RPC error of it."""
    module = sys.modules.get("mcp.shared.exceptions")
    named = (getattr(module, name, None) for name in ("MCPError", "McpError"))  # the latter before version 2
    return isinstance(error, tuple(kind for kind in named if kind is not None))


def _raise_in_fastmcp(shaped: Shaped, error: Exception | None) -> NoReturn:
    from fastmcp.exceptions import ToolError as FastMCPError  # noqa: PLC0415 (an extra, loaded by now)

    for warned in shaped.envelope.warnings:
        if warned.code == TOOL_WARNING:
            # Middleware of ours writes the error anew, from what was raised and noted.
            note(warning=warned.message)
    raise FastMCPError(orjson.dumps(_envelope(shaped)).decode()) from error


def _sdk_result(envelope: Any) -> Any:
    # If it were raised, the SDK would put its own text before the envelope, and no program could parse it.
    from mcp_types import CallToolResult, TextContent  # noqa: PLC0415 (an extra, loaded by now)

    return CallToolResult(content=[TextContent(type="text", text=orjson.dumps(envelope).decode())], is_error=True)


def mentions_content(annotation: Any) -> bool:
    """Return whether a return annotation names something that only a framework can send."""
    return _is_kind(annotation) or any(mentions_content(part) for part in get_args(annotation))


def framework_content(value: Any, decorated_call: DecoratedCall) -> Any:
    """Return content as a result of the framework's own kind, shaped; None where it is data."""
    if decorated_call.framework == "claude":
        return _for_claude(value, decorated_call)
    if "mcp_types" not in sys.modules or not _is_content(value) or decorated_call.tool.shaper.mode != "on":
        return None
    if decorated_call.framework == "fastmcp":
        return _for_fastmcp(value, decorated_call)
    in_sdk = decorated_call.framework == "sdk" and not decorated_call.tool.yields
    return _for_sdk(value, decorated_call) if in_sdk else None


def _is_kind(kind: Any) -> bool:
    return getattr(kind, "__name__", None) in _KINDS and str(getattr(kind, "__module__", "")).split(".")[0] in _MCP


def _is_content(value: Any) -> bool:
    if isinstance(value, (list, tuple)) and len(value) <= MOST_BLOCKS:
        return any(_is_kind(type(item)) for item in value)
    return _is_kind(type(value))


def _for_claude(value: Any, decorated_call: DecoratedCall) -> dict[str, Any]:
    """Return the dict of which the Claude Agent SDK reads `content`; data stands beside it, for a tool's own code."""
    if _is_content(value):
        result = _for_sdk(value, decorated_call).model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"content": result["content"]}
    if isinstance(value, dict) and isinstance(value.get("content"), list):
        wire = {"content": value["content"], "isError": bool(value.get("is_error"))}
        return {**value, "content": _shaped(wire, value, decorated_call, channels="text")["content"]}
    shaped = decorated_call.shape(value, as_json=False)
    if shaped.failed:
        report_error(shaped, None, decorated_call)
    beside = shaped.value if isinstance(shaped.value, dict) and shaped.plan.dialect != "none" else {}
    return {**beside, "content": [{"type": "text", "text": shaped.text}]}


def _for_fastmcp(value: Any, decorated_call: DecoratedCall) -> Any:
    from fastmcp.tools.base import ToolResult  # noqa: PLC0415 (an extra, loaded by now)

    from shaping.mcp.fastmcp import tool_result, wire_result  # noqa: PLC0415 (an extra, loaded by now)

    given = value if isinstance(value, ToolResult) else ToolResult(content=value)
    return tool_result(_shaped(wire_result(given), value, decorated_call))


def _for_sdk(value: Any, decorated_call: DecoratedCall) -> Any:
    from mcp_types import CallToolResult  # noqa: PLC0415 (an extra, loaded by now)

    blocks = value if isinstance(value, list | tuple) else [value]
    given = value if isinstance(value, CallToolResult) else CallToolResult(content=[_block(item) for item in blocks])
    wire = given.model_dump(mode="json", by_alias=True, exclude_none=True)
    return CallToolResult.model_validate(_shaped(wire, value, decorated_call))


def _block(item: Any) -> Any:
    """Make a block as the SDK does."""
    from mcp_types import TextContent  # noqa: PLC0415 (an extra, loaded by now)

    if type(item).__name__ in _BLOCKS:
        return item
    for make in ("to_image_content", "to_audio_content"):
        if hasattr(item, make):
            return getattr(item, make)()
    if isinstance(item, str):
        return TextContent(type="text", text=item)
    import pydantic_core  # noqa: PLC0415 (only data beside pictures is written here)

    return TextContent(type="text", text=pydantic_core.to_json(item, fallback=str).decode())


def _shaped(
    wire: dict[str, Any], value: Any, decorated_call: DecoratedCall, channels: Channels | None = None
) -> dict[str, Any]:
    tool, context = decorated_call.tool, CallContext(**decorated_call.about())
    shaped = tool.shaper.shape_result(
        wire, tool=tool.name, channels=channels, default_profile=tool.profile, call=context
    )
    if tool.advertises:
        # A framework that advertises a schema refuses an answer without structured content.
        plan, wrong = decorated_call.chosen
        shaped["structuredContent"] = tool.shaper.shape_by(plan, value, CallContext(as_json=True, warnings=wrong)).value
    return shaped


# What a framework reads of the function: its signature, with the schema of the shaped answer.


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


def with_shaped_signature(wrapper: Any, function: Any, tool: DecoratedTool) -> Any:
    """Return the wrapper with the function's signature and the return annotation of the shaped answer."""
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
