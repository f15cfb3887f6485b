import asyncio

import httpx
import pytest
import redis.exceptions

from shaping.errors import registry
from shaping.errors.exceptions import TABLE, look_up


class OwnError(FileNotFoundError):
    pass


class BothError(OwnError, ValueError):
    pass


def test_every_code_in_the_table_is_registered() -> None:
    assert [code for code in TABLE.values() if registry.find(code) is None] == []


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (FileNotFoundError, "FILE_NOT_FOUND"),
        (OwnError, "FILE_NOT_FOUND"),
        (BothError, "FILE_NOT_FOUND"),
        (asyncio.TimeoutError, "TIMEOUT"),
        (ConnectionResetError, "UNAVAILABLE"),
        (ModuleNotFoundError, "DEPENDENCY_UNAVAILABLE"),
        (NotImplementedError, "NOT_IMPLEMENTED"),
        (MemoryError, "RESOURCE_EXHAUSTED"),
        (RecursionError, "RESOURCE_EXHAUSTED"),
        (UnicodeDecodeError, "BAD_RESPONSE"),
        (httpx.ReadTimeout, "TIMEOUT"),
        (httpx.ConnectError, "UNAVAILABLE"),
        (redis.exceptions.ConnectionError, "UNAVAILABLE"),
        (RuntimeError, None),
        (KeyError, None),
    ],
)
def test_an_exception_is_found_by_its_nearest_ancestor(kind: type[BaseException], code: str | None) -> None:
    assert look_up(kind, TABLE) == code


@pytest.mark.parametrize(
    "key", [OwnError, f"{OwnError.__module__}.OwnError", FileNotFoundError, "FileNotFoundError", "OSError"]
)
def test_a_table_is_keyed_by_type_or_name(key: str | type) -> None:
    assert look_up(OwnError, {key: "CONFLICT"}) == "CONFLICT"
