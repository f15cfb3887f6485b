"""The JSON Schema of response_config.json, made from its model, for editors to complete and check by."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from shaping.settings import model
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
    made = _described(ConfigFile.model_json_schema(schema_generator=_Unsaid, by_alias=True))
    return {"$schema": _Unsaid.schema_dialect, **_untitled(made), "title": "response_config.json"}


def config_schema_text() -> bytes:
    """Write the schema as the file that ships."""
    return orjson.dumps(config_schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """Add the sentence below each field of the model; read from the source here, so that no other process has to."""
    tree = ast.parse(inspect.getsource(model))
    sentences = {node.name: _sentences(node) for node in tree.body if isinstance(node, ast.ClassDef)}
    for name, definition in {**schema["$defs"], ConfigFile.__name__: schema}.items():
        kind = getattr(model, name, None)
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            continue
        texts = {
            field: text for base in reversed(kind.__mro__) for field, text in sentences.get(base.__name__, {}).items()
        }
        for field, text in texts.items():
            alias = kind.model_fields[field].alias or field
            definition["properties"][alias]["description"] = text
    return schema


def _sentences(node: ast.ClassDef) -> dict[str, str]:
    found: dict[str, str] = {}
    for before, after in pairwise(node.body):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(after, ast.Expr):
            found[before.target.id] = inspect.cleandoc(str(ast.literal_eval(after.value)))
    return found


def _untitled(schema: Any) -> Any:
    """Drop the titles that pydantic derives from names: an editor shows the name already."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _untitled(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}
