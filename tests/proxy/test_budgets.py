"""The budget of a call holds for everything that its model reads, not only for the data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shaping.clients import find_client
from shaping.proxy.upstream import command_server
from shaping.tokens import exact

if TYPE_CHECKING:
    from tests.proxy.conftest import Connect

pytestmark = pytest.mark.anyio
MIRROR = [sys.executable, str(Path(__file__).parents[1] / "servers" / "mirror_server.py")]
BUDGET = 400
WORDS = " ".join(f"word{number}" for number in range(3000))
ROWS = [{"id": number, "name": f"name {number}", "note": f"note {number * 7919}"} for number in range(1000)]
TOKEN = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"


def text(said: Any) -> dict[str, Any]:
    return {"type": "text", "text": said if isinstance(said, str) else json.dumps(said)}


def failed(**said: Any) -> dict[str, Any]:
    return {"content": [text({"error": {"code": "NOT_FOUND", "message": "no", **said}})], "isError": True}


def resource(said: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "file:///a", **text(said)}}


RESULTS: dict[str, dict[str, Any]] = {
    "an error's words": {"content": [text(WORDS)], "isError": True},
    "an error in two blocks": {"content": [text(WORDS), text(WORDS)], "isError": True},
    "an error's data": {"content": [text({"rows": ROWS})], "isError": True},
    "an error's message": failed(message=WORDS),
    "an error's details": failed(details={"rows": ROWS}),
    "an error's hint": failed(hint=WORDS),
    "an error's next actions": failed(next_actions=[row["note"] for row in ROWS]),
    "an error's similar names": failed(similar=[row["name"] for row in ROWS]),
    "an error's own members": failed(rows=ROWS),
    "an error in structured content": {"content": [], "structuredContent": {"error": WORDS}, "isError": True},
    "refused arguments": {
        "content": [text("MCP error -32602: Invalid arguments for tool x: " + "; ".join(f"Bad at {n}" for n in ROWS))],
        "isError": True,
    },
    "an error and a resource": {"content": [text("failed"), resource(WORDS)], "isError": True},
    "an envelope's error": {"content": [text({"ok": False, "data": None, "error": {"code": "X", "message": WORDS}})]},
    "an envelope's warnings": {"content": [text({"ok": True, "data": 1, "error": None, "warnings": [WORDS]})]},
    "an envelope's meta": {"content": [text({"ok": True, "data": 1, "error": None, "meta": {"more": ROWS}})]},
    "a resource": {"content": [resource(WORDS)]},
    "a resource that is data": {"content": [resource(ROWS)]},
    "two resources": {"content": [resource(WORDS), resource(WORDS)]},
    "a text and a resource": {"content": [text(WORDS), resource(WORDS)]},
    "a text and a resource that fits": {"content": [text(WORDS), resource(WORDS[:600])]},
    "a link's description": {
        "content": [{"type": "resource_link", "uri": "file:///a", "name": "a", "description": WORDS}]
    },
    "many links": {
        "content": [{"type": "resource_link", "uri": f"file:///{n}", "name": f"file {n}"} for n in range(900)]
    },
    "a block that nobody knows": {"content": [{"type": "hologram", "rows": ROWS}]},
    "annotations": {"content": [{**text("a"), "annotations": {"note": WORDS}}]},
    "many texts": {"content": [text(f"block {number}") for number in range(900)]},
    "many texts of data": {"content": [text({f"n{number}": number}) for number in range(900)]},
    "a long name": {"content": [text({WORDS: ROWS})]},
    "many names of nulls": {"content": [text({"a": 1, **{f"null {n}": None for n in range(900)}})]},
    "many secrets": {"content": [text([{f"f{n}": TOKEN} for n in range(900)])]},
}


@pytest.mark.parametrize("config", [{}, {"profile": "standard"}, {"dialect": "invariant"}], ids=str)
async def test_no_part_of_a_result_is_over_the_budget(connect: Connect, tmp_path: Path, config: dict[str, Any]) -> None:
    path = tmp_path / "response_config.json"
    path.write_text(json.dumps({"global": {"max_tokens": BUDGET, **config}}))
    client = find_client("driver")
    over = {}
    async with connect(command_server(MIRROR), config=path) as driver:
        for name, result in RESULTS.items():
            sent = (await driver.call("mirror", result=result))["result"]
            others = [block for block in sent["content"] if block["type"] != "text"]
            read = client.shown({**sent, "content": [block for block in sent["content"] if block not in others]})
            read += json.dumps(others, separators=(",", ":")) if others else ""
            if not sent["content"] or (tokens := exact(read)) > BUDGET:
                over[name] = tokens, read
            meta = sent.get("_meta", {})
            if exact(json.dumps(meta)) > 2 * BUDGET:
                over[f"the meta of {name}"] = exact(json.dumps(meta)), ""
    assert over == {}


async def test_what_a_resource_lost_to_the_budget_can_be_asked_for(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "response_config.json"
    path.write_text(json.dumps({"global": {"max_tokens": BUDGET}}))
    async with connect(command_server(MIRROR), config=path) as driver:
        sent = (await driver.call("mirror", result={"content": [resource(ROWS)]}))["result"]
        ref = sent["_meta"]["shaping"]["ref"]
        found = (await driver.call("shaping_expand", ref=ref, search="note 7911081"))["result"]
        assert "note 7911081" in found["content"][0]["text"]


async def test_an_image_stays_where_its_neighbours_are_cut(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "response_config.json"
    path.write_text(json.dumps({"global": {"max_tokens": BUDGET}}))
    image = {"type": "image", "data": "QUJD" * 2000, "mimeType": "image/png"}
    async with connect(command_server(MIRROR), config=path) as driver:
        sent = (await driver.call("mirror", result={"content": [resource(WORDS), image]}))["result"]
        assert image in sent["content"]


@pytest.mark.parametrize("said", [{"message": WORDS}, {"message": "no", "data": {"rows": ROWS}}], ids=["words", "data"])
async def test_an_error_of_the_protocol_is_within_the_budget(
    connect: Connect, tmp_path: Path, said: dict[str, Any]
) -> None:
    path = tmp_path / "response_config.json"
    path.write_text(json.dumps({"global": {"max_tokens": BUDGET}}))
    async with connect(command_server(MIRROR), config=path) as driver:
        error = (await driver.call("mirror", error={"code": -32000, **said}))["error"]
        assert error["code"] == -32000
        assert error["message"][:2] == said["message"][:2]
        assert exact(json.dumps(error, separators=(",", ":"))) <= BUDGET + 20


@pytest.mark.parametrize("structured", [{"rows": "none", "more": ROWS}, {"more": ROWS}], ids=["wrong", "missing"])
async def test_a_result_that_breaks_its_own_schema_is_within_the_budget(
    connect: Connect, tmp_path: Path, structured: dict[str, Any]
) -> None:
    path = tmp_path / "response_config.json"
    path.write_text(json.dumps({"global": {"max_tokens": BUDGET, "channels": "both"}}))
    async with connect(command_server(MIRROR), config=path) as driver:
        await driver.ask("tools/list")
        result = {"content": [text(structured)], "structuredContent": structured}
        sent = (await driver.call("typed", result=result))["result"]
        assert exact(json.dumps(sent["structuredContent"], separators=(",", ":"))) <= BUDGET
        assert exact("\n".join(block["text"] for block in sent["content"])) <= BUDGET
