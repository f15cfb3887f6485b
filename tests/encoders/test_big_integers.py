"""Integers beyond 64 bits are read by a model as the numbers that the tool sent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fastmcp import Client, FastMCP

from shaping import Shaper, ShapingMiddleware
from shaping.encoders import decode

BIG = 2**90
VALUES: list[Any] = [
    BIG,
    {"n": BIG, "m": [2**64, 2**63, -BIG], "digits": str(BIG), "safe": 2**53 + 1},
    [{"id": BIG + n, "n": n, "word": f"row number {n}"} for n in range(40)],
    [{"id": BIG + n * 7919, "n": n, "inner": {"total": -BIG, "digits": str(BIG)}} for n in range(10)],
    {"many": [BIG] * 30},
    {"sign": "\ue0f1", "n": 5},
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("surface", ["mcp", "python"])
def test_a_big_integer_is_a_number_in_the_text_and_comes_back(value: Any, surface: Any) -> None:
    shaped = Shaper({}).shape(value, surface=surface)
    assert decode(shaped.text, shaped.encoding) == value


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("wrapped", [True, False])
def test_the_text_of_an_mcp_result_has_the_numbers_of_the_tool(
    value: Any, wrapped: bool, caplog: pytest.LogCaptureFixture
) -> None:
    result: dict[str, Any] = {"content": [{"type": "text", "text": json.dumps(value)}]}
    shaper = Shaper({})
    sent = shaper.shape_result(result | ({"structuredContent": {"result": value}} if wrapped else {}))
    assert sent["content"][0]["text"] == shaper.shape(value, surface="mcp").text
    assert "failed" not in caplog.text


def test_what_is_masked_or_private_stays_so() -> None:
    shaper = Shaper({"global": {"redact": {"paths": ["a"], "names": True}, "private": ["p"]}})
    text = shaper.shape({"a": BIG, "p": BIG, "password": BIG, "k": BIG}, surface="mcp").text
    assert json.loads(text) == {"a": "[redacted:path]", "password": "[redacted:field-name]", "k": BIG}


def test_data_with_the_sign_that_marks_numbers_is_written_as_it_is() -> None:
    value = {"sign": "\ue0f15\ue0f1", "n": BIG}
    shaped = Shaper({}).shape(value, surface="mcp")
    assert json.loads(shaped.text) == {"sign": value["sign"], "n": str(BIG)}


def test_a_client_that_checks_results_by_their_schema_takes_big_integers() -> None:
    server = FastMCP("big")

    @server.tool
    def number() -> int:
        return BIG

    @server.tool
    def rows() -> dict[str, list[dict[str, int]]]:
        return {"rows": [{"id": BIG + n, "n": n} for n in range(12)]}

    @server.tool
    def text() -> str:
        return json.dumps({"n": BIG})

    async def structured(tool: str) -> Any:
        async with Client(server) as client:
            result = await client.call_tool(tool)
            assert str(BIG) in result.content[0].text
            assert f'"{BIG}"' not in result.content[0].text
            return result.structured_content

    server.add_middleware(ShapingMiddleware({}))
    assert asyncio.run(structured("number")) == {"result": BIG}
    assert asyncio.run(structured("rows")) == rows()
    assert json.loads(asyncio.run(structured("text"))["result"]) == {"n": BIG}


def test_what_is_asked_back_has_the_numbers_of_the_tool() -> None:
    rows = [{"id": BIG + n, "digits": str(BIG), "word": f"row number {n}"} for n in range(90)]
    shaper = Shaper({"global": {"max_tokens": 400}}, expandable=True)
    shaped = shaper.shape(rows)
    assert shaped.ref is not None
    assert json.loads(shaper.expand(shaped.ref, "[80]").text) == rows[80]
    assert json.loads(shaper.expand(shaped.ref, "[80].id").text) == BIG + 80
    assert (
        str(BIG + 1) in shaper.query(shaped.ref, "SELECT max(id) AS most FROM items WHERE word LIKE '%number 1'").text
    )
    text = shaper.expand(shaped.ref, cursor=shaped.cursor).text
    assert str(BIG + len(shaped.data)) in text
    assert f'"{BIG + len(shaped.data)}"' not in text
