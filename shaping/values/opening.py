"""One level of any Python object, opened: every type that has a JSON form is known here."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import enum
import math
import operator
import re
import types
import uuid
from collections.abc import AsyncIterator, Collection, Container, Iterator, Mapping, Set as AbstractSet
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

import orjson
from pydantic_core import PydanticSerializationError, to_jsonable_python

from shaping.paths.filter import PLAIN

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_UNOPENABLE = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
    types.CoroutineType,
    AsyncIterator,
    type,
)


class OneShotError(Exception):
    """A generator was met: it can be read once only, so whoever reads it must keep what it gave."""


class UnknownTypeError(Exception):
    """A value of a type that has no JSON form; `text` is what stands for it, or `kind` where that may say too much."""

    def __init__(self, value: Any) -> None:
        super().__init__(f"{type(value).__module__}.{type(value).__qualname__}")
        self.kind = f"<{type(value).__qualname__}>"
        self.text = _words_of(value) or self.kind


def open_value(value: Any) -> Any:
    """Open one level: a dict with string keys, a list, or a scalar; an unknown type becomes its text."""
    try:
        return open_known(value)
    except UnknownTypeError as unknown:
        return unknown.text


def open_closed(value: Any) -> Any:
    """Open one level; of an unknown type only its name is told, because its text may hold what is private."""
    try:
        return open_known(value)
    except UnknownTypeError as unknown:
        return unknown.kind


def open_known(value: Any) -> Any:
    """Open one level, or raise UnknownTypeError or OneShotError."""
    try:
        return _opened(value)
    except (OneShotError, UnknownTypeError):
        raise
    except Exception as fault:  # an object whose own code raises when it is looked at must not cost the whole answer
        raise UnknownTypeError(value) from fault


def _opened(value: Any) -> Any:
    kind = type(value)
    opener = _EXACT.get(kind)
    if opener is not None:
        return opener(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (str, bool, int, float)):
        return _without_subclass(value)
    if hasattr(kind, "__pydantic_serializer__"):
        return _open_pydantic(value)
    if isinstance(value, Mapping):
        return _with_text_keys(value)
    if isinstance(value, tuple):
        return _open_tuple(value)
    if isinstance(value, (list, AbstractSet)):
        return list(value) if isinstance(value, list) else in_order(value)
    declared = declared_fields(value)
    if declared is not None:
        return {name: item for name, item, _ in declared}
    return _open_other(value)


# What a class has that declares its fields: pydantic's, dataclasses, attrs', msgspec's.
_DECLARING = ("__pydantic_serializer__", "__dataclass_fields__", "__attrs_attrs__", "__struct_fields__")


def is_data(value: Any) -> bool:
    """Whether a value that is not plain is data by its type; an object that is not may have attributes and a text."""
    kind = type(value)
    if kind in _EXACT:
        return True
    if isinstance(value, _UNOPENABLE):
        return False
    try:
        return (
            isinstance(value, (enum.Enum, int, float, Collection, Iterator, types.SimpleNamespace))
            or any(hasattr(kind, name) for name in _DECLARING)
            or is_table(value)
            or to_jsonable_python(value) is not None
        )
    except Exception:  # noqa: BLE001 (pydantic knows no form of it, or its own code raises when it is looked at)
        return False


def key_text(key: Any) -> str:
    """Write a key that is not a string as JSON would write the value; a tuple as a JSON array."""
    opened = key
    for _ in range(8):  # an enum of an enum is as deep as keys get; what is still not plain is said in its own words
        if type(opened) in PLAIN:
            break
        opened = open_value(opened)
    if type(opened) is str:
        return opened
    if type(opened) is float and not math.isfinite(opened):
        return number_name(opened)
    try:
        return orjson.dumps(opened, default=open_value).decode()
    except (TypeError, ValueError):
        return str(key)


def number_name(value: float) -> str:
    """Name a number that JSON has no number for."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def in_order(values: AbstractSet[Any]) -> list[Any]:
    """Sort a set so that the same set gives the same bytes."""
    # Only these have an order of their own that is whole: sets compare by what they contain.
    if any({type(item) for item in values} <= kinds for kinds in _ORDERED):
        return sorted(values)
    return sorted(values, key=lambda item: (type(item).__name__, key_text(item)))


_ORDERED = (frozenset({str}), frozenset({int, float, bool}))


def _binary(value: bytes | bytearray | memoryview) -> dict[str, str]:
    return {"$base64": base64.b64encode(bytes(value)).decode()}


_EXACT: dict[type, Any] = {
    tuple: list,
    set: in_order,
    frozenset: in_order,
    bytes: _binary,
    bytearray: _binary,
    memoryview: _binary,
    Decimal: str,
    uuid.UUID: str,
    dt.datetime: to_jsonable_python,
    dt.date: to_jsonable_python,
    dt.time: to_jsonable_python,
    dt.timedelta: to_jsonable_python,
}


def _without_subclass(value: str | float) -> Any:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return operator.index(value)
    return float.__float__(value)


def _with_text_keys(value: Mapping[Any, Any]) -> Any:
    if all(type(key) is str for key in value):
        return dict(value)
    out: dict[str, Any] = {}
    for key, item in value.items():
        out[free_name(key_text(key), out)] = item
    return out


def _open_tuple(value: tuple[Any, ...]) -> Any:
    names = getattr(value, "_fields", None)
    if isinstance(names, tuple) and len(names) == len(value):
        return dict(zip(names, value, strict=True))
    return list(value)


def is_model(value: Any) -> TypeGuard[BaseModel]:
    """Whether a value is one of pydantic's models; to ask pydantic would import it, which costs a command 40 ms."""
    return hasattr(type(value), "__pydantic_serializer__") and hasattr(type(value), "model_dump")


def _open_pydantic(value: Any) -> Any:
    serializer = type(value).__pydantic_serializer__
    try:
        return serializer.to_python(value, mode="json", by_alias=True, warnings=False)
    except (PydanticSerializationError, ValueError):  # bytes that are not UTF-8, a field of an unknown type, a cycle
        return {name: getattr(value, name) for name in type(value).__pydantic_fields__}


def _open_other(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _binary(value)
    if isinstance(value, types.SimpleNamespace):
        return dict(vars(value))
    if is_table(value):
        return open_table(value)
    if isinstance(value, Iterator):
        raise OneShotError
    if isinstance(value, _UNOPENABLE):
        raise UnknownTypeError(value)
    if isinstance(value, Collection):  # a range, a view of a dict, a user's own sequence
        return list(value)
    return _open_by_pydantic_core(value)


def _open_by_pydantic_core(value: Any) -> Any:
    try:
        return to_jsonable_python(value)
    except (PydanticSerializationError, ValueError):
        pass
    attributes = getattr(value, "__dict__", None)
    if attributes and not _says_itself(value):
        return {name: item for name, item in attributes.items() if not name.startswith("_")}
    raise UnknownTypeError(value)


def _words_of(value: Any) -> str:
    try:
        # Where an object lies in memory is different each time.
        return _ADDRESS.sub("", str(value)) if _says_itself(value) else ""
    except Exception:  # noqa: BLE001 (a user's __str__ may raise anything)
        return ""


def _says_itself(value: Any) -> bool:
    kind: Any = type(value)
    return kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__


# The name of a field, its value, and the default that it was declared with, or MISSING.
Fields: TypeAlias = list[tuple[str, Any, Any]]
MISSING = dataclasses.MISSING


def declared_fields(value: Any) -> Fields | None:
    """Read the fields of a dataclass, attrs or msgspec object; None for anything else."""
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return [(one.name, getattr(value, one.name), _default(one)) for one in dataclasses.fields(kind)]
    if hasattr(kind, "__attrs_attrs__"):
        return [(one.name, getattr(value, one.name), _declared(one.default)) for one in kind.__attrs_attrs__]
    if not hasattr(kind, "__struct_fields__"):
        return None
    config = kind.__struct_config__
    # The tag tells which of several classes this is, and stands first as msgspec writes it.
    tag: Fields = [] if config.tag is None else [(config.tag_field, config.tag, MISSING)]
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    declared = (*(MISSING for _ in names[len(defaults) :]), *map(_declared, defaults))
    fields = zip(kind.__struct_encode_fields__, names, declared, strict=True)
    return [*tag, *((written, getattr(value, name), default) for written, name, default in fields)]


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _declared(default: Any) -> Any:
    """Return the default that attrs or msgspec keeps for a field."""
    if hasattr(default, "factory"):
        return MISSING if getattr(default, "takes_self", False) else default.factory()
    return MISSING if repr(default) in {"NOTHING", "NODEFAULT"} else default


def open_table(value: Any) -> Any:
    """Open a frame as rows, a series as its values under its name, an array as lists; telling labels stay."""
    if hasattr(value, "columns"):
        return value.to_dicts() if hasattr(value, "to_dicts") else _rows(value)
    if hasattr(value, "index") and hasattr(value, "reset_index"):
        return _series(value)
    return _open_array(value)


def is_table(value: Any) -> bool:
    """Whether a value is a frame, a series, an array or a scalar of numpy."""
    if hasattr(value, "columns"):
        return hasattr(value, "to_dict")
    return hasattr(value, "dtype") and hasattr(value, "tolist")


def _rows(frame: Any) -> list[dict[str, Any]]:
    if _labelled(frame):
        frame = frame.reset_index(allow_duplicates=True)
    if frame.columns.is_unique:
        rows: list[dict[str, Any]] = frame.to_dict(orient="records")
        return rows
    names: list[Any] = []
    for column in frame.columns:
        names.append(free_name(column, names))
    return [dict(zip(names, row, strict=True)) for row in frame.itertuples(index=False, name=None)]


def _series(series: Any) -> Any:
    if _labelled(series) and not series.index.is_unique:
        return _rows(series.reset_index())
    values = series.to_dict() if _labelled(series) else series.tolist()
    return {series.name: values} if isinstance(series.name, str) else values


def _labelled(table: Any) -> bool:
    """Whether the index is more than row numbers."""
    index = table.index
    return index.name is not None or index.nlevels > 1 or index.dtype.kind not in "iu"


def _open_array(value: Any) -> Any:
    if value.dtype.names:
        return [_open_array(row) for row in value] if value.ndim else {name: value[name] for name in value.dtype.names}
    # numpy gives times finer than Python's as bare integers.
    return (value.astype(f"{value.dtype.kind}8[us]") if value.dtype.kind in "mM" else value).tolist()


def free_name(name: T, taken: Container[T | str]) -> T | str:
    """Return a name that is not taken: itself, or the first of `name (2)`, `name (3)` and so on."""
    free: T | str = name
    number = 2
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free
