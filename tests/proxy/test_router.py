"""Several servers behind one proxy."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from shaping.cli.proxy import combined_server, listed_servers
from shaping.proxy.messages import message_of
from shaping.proxy.router import Router
from shaping.proxy.upstream import command_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.proxy.conftest import Connect, Driver

pytestmark = pytest.mark.anyio
SERVERS = Path(__file__).parents[1] / "servers"
TINY = [sys.executable, str(SERVERS / "tiny_server.py")]


def named(*names: str) -> list[Any]:
    entries = {name: {"command": sys.executable, "args": [str(SERVERS / "named_server.py"), name]} for name in names}
    return list(listed_servers(json.dumps({"mcpServers": entries})))


def ghost(name: str = "ghost") -> Any:
    return command_server([f"/no/such/{name}"], name)


def held(flag: Path, name: str = "late", command: Sequence[str] = TINY) -> Any:
    """A server that starts to speak when a file is there."""
    return command_server(["sh", "-c", f'while test ! -f {flag}; do sleep 0.05; done; exec "$0" "$@"', *command], name)


async def names(driver: Driver, kind: str = "tools") -> list[str]:
    result = (await driver.ask(f"{kind}/list"))["result"]
    return [entry["name"] for entry in result[kind] if entry["name"] != "shaping_expand"]


async def said(driver: Driver, tool: str) -> str:
    return str((await driver.call(tool))["result"]["content"][0]["text"]).strip()


async def test_several_servers_stand_side_by_side_and_only_what_collides_is_renamed(connect: Connect) -> None:
    async with connect(combined_server(named("a", "b")), greet=False) as driver:
        greeting = (await driver.greet("2025-06-18"))["result"]
        tools = await names(driver)
        prompts = await names(driver, "prompts")
        answers = [await said(driver, name) for name in ("a_shared", "b_shared", "only_a", "only_b")]
        resources = (await driver.ask("resources/list"))["result"]["resources"]
        templates = (await driver.ask("resources/templates/list"))["result"]["resourceTemplates"]
        read = [
            (await driver.ask("resources/read", {"uri": uri}))["result"]["contents"][0]["text"]
            for uri in ("data://b", "data://a/x", "data://b/unlisted/deep")
        ]
        prompt = await driver.ask("prompts/get", {"name": "b_hello"})
        completed = [
            (await driver.ask("completion/complete", {"ref": ref, "argument": {}}))["result"]["completion"]["values"]
            for ref in (
                {"type": "ref/prompt", "name": "b_hello"},
                {"type": "ref/prompt", "name": "hello_b_only"},
                {"type": "ref/resource", "uri": "data://b/{name}"},
            )
        ]
        level = await driver.ask("logging/setLevel", {"level": "debug"})
        ping = await driver.ask("ping")
        unknown = await driver.ask("no/such/method")
        no_tool = await driver.ask("tools/call", {"name": "nothing"})
    assert (greeting["protocolVersion"], greeting["serverInfo"]["name"]) == ("2025-06-18", "shaping")
    assert greeting["instructions"] == "instructions of a\n\ninstructions of b"
    assert greeting["capabilities"]["resources"] == {"subscribe": True}
    assert tools == ["a_shared", "only_a", "a_ask", "b_shared", "only_b", "b_ask"]
    assert prompts == ["a_hello", "hello_a_only", "b_hello", "hello_b_only"]
    assert answers == ["a shared", "b shared", "a only_a", "b only_b"]
    assert [entry["uri"] for entry in resources] == ["data://a", "data://b"]
    assert len(templates) == 2
    assert read == ["b data://b", "a data://a/x", "b data://b/unlisted/deep"]
    assert prompt["result"]["messages"][0]["content"]["text"] == "hello from b"
    assert completed == [["b hello"], ["b hello_b_only"], ["b "]]
    assert (level["result"], ping["result"], unknown["error"]["code"]) == ({}, {}, -32601)
    assert no_tool["error"]["message"] == "Unknown tool: 'nothing'"


async def test_a_tool_keeps_its_server_while_a_server_says_that_its_tools_changed() -> None:
    router = Router([make() for make in named("a", "b")])
    router._named("tools/list", [[{"name": "shared"}, {"name": "only_a"}], [{"name": "shared"}]])
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    await router.on_message_from(1, message_of(changed))
    assert [router.server_of(tool) for tool in ("only_a", "b_shared", "nothing")] == ["a", "b", "shaping"]


async def test_requests_of_two_servers_with_the_same_id_are_answered_each(connect: Connect) -> None:
    async with connect(combined_server(named("a", "b"))) as driver:
        calls = [asyncio.create_task(said(driver, f"{name}_ask")) for name in "ab"]
        for name in "ab":
            asked = await driver.until(lambda one, name=name: str(one.get("id", "")).startswith(f"{name}:"))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            assert asked["method"] == "roots/list"
            await driver.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [name]}})
        answers = [await call for call in calls]
    for name, answer in zip("ab", answers, strict=True):
        assert '"id": 1' in answer
        assert f'"roots": ["{name}"]' in answer


async def test_one_server_that_cannot_start_does_not_take_the_others_along(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    async with connect(combined_server([ghost(), *named("a")])) as driver:
        listed = [await names(driver) for _ in range(2)]
        answer = await said(driver, "only_a")
    assert (listed, answer) == ([["shared", "only_a", "ask"]] * 2, "a only_a")
    lines = [record.getMessage() for record in caplog.records if record.name == "shaping"]
    assert [line.split(":")[0] for line in lines] == ["the server 'ghost' could not be started"]


async def test_a_server_that_comes_late_is_announced_and_its_tools_work(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("shaping.proxy.router.START_WAIT_SECONDS", 3.0)
    flag = tmp_path / "go"
    async with connect(combined_server([held(flag), *named("a")])) as driver:
        before = await names(driver)
        missing = await driver.failure("pid")
        flag.touch()
        await driver.until(lambda message: message.get("method") == "notifications/tools/list_changed")
        after = await names(driver)
        answer = await driver.text("pid")
    assert (before, len(after), bool(answer["pid"])) == (["shared", "only_a", "ask"], 9, True)
    assert missing.startswith(
        "UNAVAILABLE: no server that answers has 'pid'; not all answer:\nthe server 'late' is still"
    )
    assert "the server 'late' is slow to start and left out until it answers" in caplog.text


async def test_a_server_that_could_not_start_is_tried_again_by_a_later_list(connect: Connect, tmp_path: Path) -> None:
    flag = tmp_path / "go"
    late = command_server(["sh", "-c", f'test -f {flag} || exit 9; exec "$0" "$@"', *TINY], "late")
    async with connect(combined_server([*named("a"), late])) as driver:
        before = await names(driver)
        flag.touch()
        with anyio.fail_after(60):
            while len(await names(driver)) == len(before):  # noqa: ASYNC110 - its backoff ends without an event
                await anyio.sleep(0.1)
        answer = await driver.text("pid")
    assert answer["pid"]


async def test_a_tool_keeps_the_name_that_it_had_before_another_server_came(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shaping.proxy.router.START_WAIT_SECONDS", 3.0)
    flag = tmp_path / "go"
    second = held(flag, "b", [sys.executable, str(SERVERS / "named_server.py"), "b"])
    async with connect(combined_server([second, *named("a")])) as driver:
        assert "shared" in await names(driver)
        flag.touch()
        await driver.until(lambda message: message.get("method") == "notifications/tools/list_changed")
        assert {"a_shared", "b_shared"} <= set(await names(driver))
        answers = [await said(driver, name) for name in ("shared", "a_shared", "b_shared")]
    assert answers[0] == answers[1] != answers[2]


async def test_where_no_server_can_start_every_reason_is_told(connect: Connect) -> None:
    async with connect(combined_server([ghost("a"), ghost("b")]), greet=False) as driver:
        error = (await driver.greet())["error"]
    assert error["message"].splitlines()[:2] == [
        "none of the servers can be used:",
        "the server 'a' could not be started: there is no program '/no/such/a'",
    ]
    assert "there is no program '/no/such/b'" in error["message"]


async def test_servers_that_are_all_slow_are_waited_for(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shaping.proxy.router.START_WAIT_SECONDS", 0.1)
    flag = tmp_path / "go"
    async with connect(combined_server([held(flag, "a"), held(flag, "b")]), greet=False) as driver:
        greeting = asyncio.create_task(driver.greet())
        await anyio.sleep(0.5)
        assert not greeting.done()
        flag.touch()
        assert "result" in await greeting


async def test_a_client_of_the_newer_protocol_is_sent_to_the_handshake(connect: Connect) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    async with connect(combined_server(named("a", "b")), greet=False) as driver:
        error = (await driver.ask("server/discover", {"_meta": meta}))["error"]
    assert (error["code"], "2025-11-25" in error["data"]["supported"]) == (-32022, True)


async def test_a_server_of_several_that_dies_is_restarted(connect: Connect) -> None:
    tiny = command_server(TINY, "tiny")
    async with connect(combined_server([*named("a"), tiny])) as driver:
        before = await driver.text("pid")
        died = await driver.failure("die")
        after = await driver.text("pid")
    assert died == "UNAVAILABLE: the server 'tiny' ended with exit code 3: out of memory"
    assert before["pid"] != after["pid"]


async def test_rules_of_a_server_that_match_none_of_its_tools_are_logged_once(
    connect: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "response_config.json"
    patterns = ("a/only_*", "a/onyl_a", "only_aa", "elsewhere/*", "kubectl get *", "only_b")
    config.write_text(json.dumps({"tool_overrides": {pattern: {"max_items": 5} for pattern in patterns}}))
    async with connect(combined_server(named("a", "b")), config=config) as driver:
        for _ in range(2):
            await names(driver)
    lines = [record.getMessage() for record in caplog.records if "match no tool" in record.getMessage()]
    assert lines == [
        "the rules for 'a/onyl_a' match no tool that the server lists. Did you mean 'a/only_a'?",
        "the rules for 'only_aa' match no tool that the server lists. Did you mean 'only_a'?",
    ]


async def test_the_rules_of_a_server_hold_for_its_resources(connect: Connect, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"tool_overrides": {"b/*": {"redact": False}, "data://b/kept*": {"redact": True}}}))
    token = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
    async with connect(combined_server(named("a", "b")), config=config, names_itself=False) as driver:
        read = {
            uri: (await driver.ask("resources/read", {"uri": f"{uri}?{token}"}))["result"]["contents"][0]["text"]
            for uri in ("data://a/x", "data://b/x", "data://b/kept")
        }
    assert [uri for uri, text in read.items() if token in text] == ["data://b/x"]
