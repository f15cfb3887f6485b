"""The path language: naming places in data, and filtering data and its JSON Schema by them."""

from shaping.paths.grammar import Path, PathError, join, parse
from shaping.paths.plan import FieldPlan, compile_fields, open_schema
from shaping.paths.schema_projection import Unprojectable
from shaping.paths.selection import select
from shaping.paths.walk import open_plainly

__all__ = [
    "FieldPlan",
    "Path",
    "PathError",
    "Unprojectable",
    "compile_fields",
    "join",
    "open_plainly",
    "open_schema",
    "parse",
    "select",
]
