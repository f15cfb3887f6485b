from __future__ import annotations

from typing import Any

import mcp_types
import pytest

from shaping.proxy.former.child import _message


def read(line: bytes, reader: Any) -> tuple[str, str]:
    try:
        message = reader(line)
    except ValueError:
        return "refused", ""
    return type(message).__name__, repr(message)


def by_trying_each_kind(line: bytes) -> Any:
    return mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"a":123456789012345678901234567890,"b":NaN,"c":1e999,"d":-0.0}}',
        b'{"jsonrpc":"2.0","id":"x","result":{"text":"\xc3\xa9\\ud83d\\ude00"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2},"more":true}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","result":{}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m"}',
        b'{"jsonrpc":"2.0","method":"m"}',
        b'{"jsonrpc":"2.0","id":1.0,"result":{}}',
        b'{"jsonrpc":"2.0","id":true,"result":{}}',
        b'{"jsonrpc":"2.0","id":null,"result":{}}',
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":[]}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}}',
        b'{"id":1,"result":{}}',
        b"{} and more",
    ],
)
def test_a_message_is_read_as_it_is_by_trying_each_kind(line: bytes) -> None:
    assert read(line, _message) == read(line, by_trying_each_kind)
