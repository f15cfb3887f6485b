"""A last look before a result leaves: does it match the schema that its tool was advertised with."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def matches(schema: Mapping[str, Any], value: Any) -> bool:
    """Say whether a value fits a schema; the schema is compiled once."""
    return _compiled(orjson.dumps(schema))(value)


def usable(schema: Mapping[str, Any]) -> bool:
    """Say whether a schema can be compiled at all: one that cannot must not be advertised."""
    try:
        _compiled(orjson.dumps(schema))
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1024)
def _compiled(schema: bytes) -> Callable[[Any], bool]:
    try:
        import jsonschema_rs  # noqa: PLC0415 (an extra)
    except ImportError:
        raise ImportError('MCP results are checked by an extra: pip install "shaping[mcp]"') from None
    return jsonschema_rs.validator_for(orjson.loads(schema)).is_valid
