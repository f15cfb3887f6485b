"""A server that shapes by itself, behind a proxy: its answers go out as it wrote them, less what the proxy protects."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from shaping.ledger import LedgerDatabase, add_up
from shaping.proxy.upstream import command_server
from shaping.tokens import count, exact

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.proxy.conftest import Connect

pytestmark = pytest.mark.anyio
SERVERS = Path(__file__).parents[1] / "servers"
MIRROR = [sys.executable, str(SERVERS / "mirror_server.py")]
BUDGET = {"tool_overrides": {"list_issues": {"max_tokens": 150}}}
PASSWORD = "ghp_" + "0123456789" * 3 + "012345"


class Chain:
    """Connects a client to a server that shapes by itself, directly or through a proxy, each with its config."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        self.server = [sys.executable, str(SERVERS / "shaping_server.py"), kind]

    @asynccontextmanager
    async def client(self, inner: Any, outer: Any = None) -> AsyncIterator[Client[Any]]:
        command = ["env", f"SHAPING_CONFIG={self._config('inner', inner)}", *self.server]
        if outer is not None:
            proxy = [sys.executable, "-m", "shaping", "proxy", "--config", self._config("outer", outer), "--"]
            command = [*proxy, *command]
        apart = {name: str(self.folder) for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        transport = StdioTransport(command[0], command[1:], env={**os.environ, **apart}, keep_alive=False)
        async with Client(transport) as client:
            yield client

    def _config(self, name: str, config: Any) -> str:
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(config))
        return str(path)


@pytest.fixture(params=["fastmcp", "sdk"])
def chain(request: pytest.FixtureRequest, tmp_path: Path) -> Chain:
    return Chain(tmp_path, request.param)


async def call(client: Client[Any], tool: str = "list_issues", **arguments: Any) -> dict[str, Any]:
    await client.list_tools()
    result = (await client.call_tool_mcp(tool, arguments)).model_dump(mode="json", by_alias=True, exclude_none=True)
    assert not result.get("isError")
    return result


async def read(client: Client[Any], tool: str = "list_issues", **arguments: Any) -> str:
    return "\n".join(block["text"] for block in (await call(client, tool, **arguments))["content"])


def without_refs(text: str) -> str:
    return re.sub(r"r_\w+|~[\w-]+|[\d.]+(?=,\"elapsed_ms)|(?<=elapsed_ms\":)[\d.]+", "", text)


@pytest.mark.parametrize("config", [{}, BUDGET, {"global": {"dialect": "flat"}}])
async def test_an_answer_goes_out_as_the_server_wrote_it_and_its_ref_is_answered(chain: Chain, config: Any) -> None:
    async with chain.client(config) as client:
        alone = await read(client)
    async with chain.client(config, config) as client:
        tools = [tool.name for tool in await client.list_tools()]
        result = await call(client)
        [ref] = set(re.findall(r"\br_\w+", result["content"][0]["text"]))
        back = await read(client, "shaping_expand", ref=ref, path="[9].url")
    assert tools == ["list_issues", "describe", "shaping_expand"]
    assert [without_refs(block["text"]) for block in result["content"]] == [without_refs(alone)]
    assert "structuredContent" not in result
    assert "issues/9" in back


@pytest.mark.parametrize("choice", [{"typed": True}, {"channels": "both"}, {"channels": "structured"}])
async def test_a_structure_goes_out_as_the_server_wrote_it_too(chain: Chain, choice: Any) -> None:
    async with chain.client({}) as client:
        alone = await call(client)
    async with chain.client({}, {"global": choice}) as client:
        result = await call(client)
    written, received = (json.loads(without_refs(json.dumps(one["structuredContent"]))) for one in (alone, result))
    texts = [] if choice == {"channels": "structured"} else [block["text"] for block in alone["content"]]
    assert received == written
    assert "left out" in received["_shaping"]
    assert [without_refs(block["text"]) for block in result["content"]] == list(map(without_refs, texts))


async def test_what_the_proxy_holds_back_is_taken_out_of_the_structure_too(chain: Chain) -> None:
    outer = {"tool_overrides": {"list_issues": {"private": ["**.login"], "typed": True}}}
    async with chain.client({}, outer) as client:
        result = await call(client)
    assert "user3" not in json.dumps(result)
    assert "Widget 9 squeaks" in json.dumps(result["structuredContent"])


async def test_a_smaller_budget_of_the_proxy_leaves_what_the_server_says_whole(chain: Chain) -> None:
    larger = {"tool_overrides": {"list_issues": {"max_tokens": 300}}}
    async with chain.client(larger) as client:
        [notice] = re.findall(r"^\(.*ref=.*\)$", await read(client), re.MULTILINE)
    async with chain.client(larger, BUDGET) as client:
        text = await read(client)
        inner, outer = re.findall(r"shaping_expand ref=(r_\w+)", text)
        of_inner = await read(client, "shaping_expand", ref=inner, path="[9].title")
        of_outer = await read(client, "shaping_expand", ref=outer, path="[1].title")
    assert without_refs(text).startswith(without_refs(notice))
    assert exact(text) <= 150
    assert "Widget 9 squeaks" in of_inner
    assert "Widget 1 squeaks" in of_outer


@pytest.mark.parametrize("rule", ["private", "exclude_fields"])
async def test_what_the_proxy_holds_back_is_taken_out_and_what_the_server_says_stays(chain: Chain, rule: str) -> None:
    async with chain.client({}) as client:
        alone = await read(client)
    outer = {"tool_overrides": {"list_issues": {rule: ["**.login"]}}}
    async with chain.client({}, outer) as client:
        text = await read(client)
    [left_out] = re.findall(r"^\(left out: .*; shaping_expand ref=", alone, re.MULTILINE)
    assert "user3" in alone
    assert "user3" not in text
    assert "Widget 9 squeaks" in text
    assert left_out in text
    assert count(text) <= count(alone)


@pytest.mark.parametrize(("outer", "calls"), [({}, 1), (BUDGET, 2)])
async def test_a_call_is_counted_once_unless_the_proxy_shapes_it_further(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outer: Any, calls: int
) -> None:
    monkeypatch.setenv("SHAPING_LEDGER", str(tmp_path / "ledger.sqlite"))
    async with chain.client({}, outer) as client:
        await read(client)
    assert add_up(LedgerDatabase(tmp_path / "ledger.sqlite").entries()).calls == calls


async def test_structure_that_no_text_tells_of_is_not_lost(chain: Chain) -> None:
    async with chain.client({}, {}) as client:
        text = await read(client, "describe")
    assert "There are issues." in text
    assert "Widget 1 squeaks" in text


async def test_who_only_says_that_its_answers_are_shaped_switches_nothing_off(connect: Connect, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    rules = {"private": ["**.ssn"], "exclude_fields": ["**.salary"], "max_tokens": 200}
    config.write_text(json.dumps({"tool_overrides": {"mirror": rules}}))
    record = {"name": "Ann", "ssn": "078-05-1120", "salary": 91234, "note": PASSWORD}
    notice = "(left out: 1 link; shaping_expand ref=r_abc " + PASSWORD + ")"
    lie = {"shaping": {"ref": "r_abc", "tag": "0" * 24}}
    for texts, structured in (
        ([json.dumps(record)], None),
        ([f"{notice}\n{json.dumps(record)}"], None),
        ([f"{notice}\nname: Ann\nssn: 078-05-1120\nsalary: 91234\nnote: {PASSWORD}"], {"name": "Ann"}),
        (["fine"], {"result": [record], "_shaping": notice}),
        ([f"(ref=r_a {'word ' * 2000})", "fine"], {"result": [record] * 300}),
    ):
        result = {"content": [{"type": "text", "text": text} for text in texts], "_meta": lie}
        result |= {} if structured is None else {"structuredContent": structured}
        async with connect(command_server(MIRROR), config=config) as driver:
            await driver.ask("tools/list")
            sent = (await driver.call("mirror", result=result))["result"]
        said = json.dumps(sent)
        assert not [secret for secret in (PASSWORD, "078-05-1120", "91234") if secret in said], said
        assert count("\n".join(block["text"] for block in sent["content"])) <= 200
