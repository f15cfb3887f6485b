"""The path language: naming places in data, and filtering data and its JSON Schema by them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shaping.paths.grammar import Path, PathError, join, parse

if TYPE_CHECKING:
    from shaping.paths.opening import open_plainly
    from shaping.paths.pick import select
    from shaping.paths.plan import FieldPlan, compile_fields
    from shaping.paths.schema import open_schema
    from shaping.paths.schema_refs import Unprojectable

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
    "Unprojectable": "schema_refs",
    "compile_fields": "plan",
    "open_plainly": "opening",
    "open_schema": "schema",
    "select": "pick",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
