"""The fields that a class declares, with their defaults: dataclasses, attrs and msgspec."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias

# A list of (name, value, has a declared default, that default) for every class with declared fields.
Fields: TypeAlias = list[tuple[str, Any, bool, Any]]


def declared_fields(value: Any) -> Fields | None:
    """Read the fields of a dataclass, attrs or msgspec object with their declared defaults; None for anything else."""
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return [(f.name, getattr(value, f.name), *_dataclass_default(f)) for f in dataclasses.fields(kind)]
    if hasattr(kind, "__attrs_attrs__"):
        return [(a.name, getattr(value, a.name), *_attrs_default(a.default)) for a in kind.__attrs_attrs__]
    if hasattr(kind, "__struct_fields__"):
        return _msgspec_fields(value)
    return None


def _dataclass_default(field: dataclasses.Field[Any]) -> tuple[bool, Any]:
    if field.default is not dataclasses.MISSING:
        return True, field.default
    if field.default_factory is not dataclasses.MISSING:
        return True, field.default_factory()
    return False, None


def _attrs_default(default: Any) -> tuple[bool, Any]:
    factory = getattr(default, "factory", None)
    if factory is not None:
        return (False, None) if default.takes_self else (True, factory())
    return (False, None) if type(default).__name__ == "_Nothing" else (True, default)


def _msgspec_fields(value: Any) -> Fields:
    kind = type(value)
    names = kind.__struct_fields__
    defaults = (
        *((False, None),) * (len(names) - len(kind.__struct_defaults__)),
        *map(_msgspec_default, kind.__struct_defaults__),
    )
    wire, config = kind.__struct_encode_fields__, kind.__struct_config__
    # The tag tells which of several classes this is, and stands first as msgspec writes it.
    tag: Fields = [] if config.tag is None else [(config.tag_field, config.tag, False, None)]
    return [*tag, *((wire[i], getattr(value, name), *defaults[i]) for i, name in enumerate(names))]


def _msgspec_default(default: Any) -> tuple[bool, Any]:
    if type(default).__name__ == "NoDefault" or repr(default) == "NODEFAULT":
        return False, None
    factory = getattr(default, "factory", None)
    return (True, factory()) if factory is not None else (True, default)
