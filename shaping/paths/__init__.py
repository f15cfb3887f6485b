"""The path language: naming places in data, and filtering data and its JSON Schema by them."""

from shaping.paths.grammar import Path, PathError, join, parse
from shaping.paths.opening import open_plainly
from shaping.paths.plan import FieldPlan, compile_fields
from shaping.paths.schema import open_schema
from shaping.paths.schema_refs import Unprojectable
from shaping.paths.select import select

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
