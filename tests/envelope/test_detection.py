from typing import Any

import orjson
import pytest

from shaping.envelope import (
    Envelope,
    command_envelope,
    http_envelope,
    is_envelope,
    local_envelope,
    mcp_envelope,
    unwrap,
)
from shaping.errors import ToolError, make_error

OOPS = make_error("NOT_FOUND", "no such thing")
EVERY_SOURCE = [
    local_envelope({"a": 1}, "op"),
    http_envelope("x", status=200, headers={"a": "b"}),
    mcp_envelope([1], content=[{"type": "text", "text": "x"}]),
    command_envelope("out", argv=["ls"]),
    command_envelope(None, error=OOPS),
]


@pytest.mark.parametrize("envelope", EVERY_SOURCE)
def test_an_envelope_is_one_before_and_after_json(envelope: Envelope[Any]) -> None:
    assert is_envelope(envelope)
    assert is_envelope(orjson.loads(orjson.dumps(envelope.render("sourced"))))
    assert is_envelope(envelope.model_dump(mode="json"))


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        "data",
        [],
        {},
        {"data": 1},
        {"meta": {"source": "local", "operationId": "x", "timestamp": 1}},
        {"data": 1, "meta": None},
        {"data": 1, "meta": []},
        {"data": 1, "meta": {}},
        {"data": 1, "meta": {"source": "web", "operationId": "x", "timestamp": 1}},
        {"data": 1, "meta": {"source": ["local"]}},
        {"data": 1, "meta": {"source": "local"}},
        {"data": 1, "meta": {"source": "http", "page": 2}},
        {"data": [], "meta": {"source": "mcp", "isError": "no", "content": []}},
        {"ok": True, "data": 1, "error": None, "warnings": [], "meta": {"duration_ms": 1}},
    ],
)
def test_a_look_alike_is_not_an_envelope(value: Any) -> None:
    assert not is_envelope(value)


def test_unwrapping_gives_the_data() -> None:
    assert unwrap(local_envelope({"a": 1}, "op")) == {"a": 1}


def test_unwrapping_an_error_raises_it() -> None:
    with pytest.raises(ToolError, match="NOT_FOUND: no such thing") as caught:
        unwrap(local_envelope(None, "op", error=OOPS))
    assert caught.value.detail is OOPS
