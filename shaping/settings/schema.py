"""The JSON Schema of response_config.json, made from its model, for editors to complete and check by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from shaping.settings.model import ConfigFile

if TYPE_CHECKING:
    from pydantic_core import core_schema


class _Unsaid(GenerateJsonSchema):
    """Leaves out what the model needs only to say "unsaid": nulls, and defaults of null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


def config_schema() -> dict[str, Any]:
    """Make the schema of a config file."""
    made = ConfigFile.model_json_schema(schema_generator=_Unsaid, by_alias=True)
    return {"$schema": _Unsaid.schema_dialect, **_untitled(made), "title": "response_config.json"}


def config_schema_text() -> bytes:
    """Write the schema as the file that ships."""
    return orjson.dumps(config_schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _untitled(schema: Any) -> Any:
    """Drop the titles that pydantic derives from names: an editor shows the name already."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _untitled(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}
