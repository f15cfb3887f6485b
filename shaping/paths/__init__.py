"""The path language: naming places in data, and filtering data and its JSON Schema by them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shaping.paths.grammar import Path, PathError, join, parse

if TYPE_CHECKING:
    from shaping.paths.plan import FieldPlan, compile_fields
    from shaping.paths.schema import open_schema
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

# Many rooms only name places; the compiler and the schemas are loaded by those that use them.
_HOMES = {
    "FieldPlan": "plan",
    "Unprojectable": "schema_projection",
    "compile_fields": "plan",
    "open_plainly": "walk",
    "open_schema": "schema",
    "select": "selection",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
