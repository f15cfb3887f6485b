"""What passes the relay: everything byte for byte, but for what a model reads."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shaping.ledger import writer
from shaping.proxy import relay
from shaping.proxy.upstream import command_server
from shaping.tokens import count
from shaping.tokens.counters import count_closely

if TYPE_CHECKING:
    from tests.proxy.conftest import Connect

pytestmark = pytest.mark.anyio
MIRROR = [sys.executable, str(Path(__file__).parents[1] / "servers" / "mirror_server.py")]
TOKEN = "ghp_" + "0123456789" * 3 + "012345"
RECORDS: list[dict[str, Any]] = [
    {"id": n, "title": f"Widget {n} squeaks", "state": "open", "by": None, "tags": []} for n in range(40)
]


def text(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}]}


def as_sent(message: dict[str, Any]) -> bytes:
    """Write a message as the mirror server does."""
    return json.dumps(message, separators=(" , ", " : "), ensure_ascii=False).encode()


async def test_what_is_no_tool_answer_passes_byte_for_byte_both_ways(connect: Connect) -> None:
    news: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "method": "notifications/unheard_of", "params": {"é": [1.0, 12345678901234567890123]}},
        {"jsonrpc": "2.0", "id": "s1", "method": "unheard/of", "params": {"x": None}, "extra": True},
        {"jsonrpc": "2.0", "id": 7, "method": "roots/list"},
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": {"a": [1]}}},
    ]
    async with connect(command_server(MIRROR)) as driver:
        answer = await driver.ask("no/such/method", {"before": 1, "arguments": {"before": news}, "deep": {"é": "ü"}})
        assert driver.lines[1:5] == [as_sent(message) for message in news]
        assert driver.lines[5] == as_sent(answer)
        assert answer["result"]["echoed"]["deep"] == {"é": "ü"}
        await driver.send({"jsonrpc": "2.0", "id": "s1", "result": {"odd": "  spaces  "}})
        heard = await driver.until(lambda message: message.get("method") == "notifications/heard")
        assert heard["params"]["line"].encode().rstrip() == driver.sent[-1]


@pytest.mark.parametrize(
    "request_id", ["{3f2b9c1e}", "{3f2b9c1e-0000-4000-8000-1234567890ab}", "a, b", "k%3D~", "it's", ""]
)
async def test_a_request_of_a_server_is_answered_under_any_printable_id(connect: Connect, request_id: str) -> None:
    asked = {"jsonrpc": "2.0", "id": request_id, "method": "roots/list"}
    async with connect(command_server(MIRROR)) as driver:
        await driver.call("mirror", before=[asked], result=text("x"))
        assert as_sent(asked) in driver.lines
        await driver.send({"jsonrpc": "2.0", "id": request_id, "result": {"roots": []}})
        heard = await driver.until(lambda message: message.get("method") == "notifications/heard")
        assert heard["params"]["line"].encode().rstrip() == driver.sent[-1]


async def test_a_request_of_a_server_that_is_not_passed_on_is_answered_with_an_error(connect: Connect) -> None:
    asked = {"jsonrpc": "2.0", "id": '{"a": 1}', "method": "roots/list"}
    async with connect(command_server(MIRROR)) as driver:
        await driver.call("mirror", before=[asked], result=text("x"))
        heard = await driver.until(lambda message: message.get("method") == "notifications/heard")
        answer = json.loads(heard["params"]["line"])
        assert (answer["id"], answer["error"]["code"]) == (asked["id"], -32600)
        assert b"roots/list" not in b"".join(driver.lines)


async def test_an_introduction_passes_byte_for_byte_with_extensions_and_unknown_capabilities(connect: Connect) -> None:
    async with connect(command_server(MIRROR), greet=False) as driver:
        answer = await driver.greet("2099-01-01")
        assert answer["result"]["capabilities"]["extensions"] == {"x/y": {}}
        assert driver.lines == [as_sent(answer)]


async def test_tools_are_listed_with_all_that_a_server_says_of_them_and_ours_is_last(connect: Connect) -> None:
    async with connect(command_server(MIRROR)) as driver:
        tools = (await driver.ask("tools/list"))["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["mirror", "app", "typed", "shaping_expand"]
    assert tools[0]["x-unknown"] == {"kept": True}


async def test_our_tool_takes_another_name_where_the_server_has_one_of_that_name(connect: Connect) -> None:
    async with connect(command_server([*MIRROR, "shaping_expand"])) as driver:
        tools = (await driver.ask("tools/list"))["result"]["tools"]
        theirs = await driver.call("shaping_expand", result=text("theirs"))
    assert [tool["name"] for tool in tools[-2:]] == ["shaping_expand", "shaping_expand_"]
    assert theirs["result"]["content"][0]["text"].strip() == "theirs"


async def test_records_are_shaped_and_what_was_left_out_is_expanded(connect: Connect, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"tool_overrides": {"mirror": {"max_tokens": 200}}}))
    async with connect(command_server(MIRROR), config=config) as driver:
        await driver.ask("tools/list")
        shown = (await driver.call("mirror", result=text(RECORDS)))["result"]["content"][0]["text"]
        assert len(shown) < len(json.dumps(RECORDS)) / 2
        ref = next(word for word in shown.replace("=", " ").split() if word.startswith("r_")).strip(".,;:)]\"'")
        back = await driver.call("shaping_expand", ref=ref, path="[39].title")
    assert "Widget 39 squeaks" in back["result"]["content"][0]["text"]


async def test_a_proxy_behind_a_proxy_costs_no_more_and_its_refs_are_answered(connect: Connect, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"tool_overrides": {"mirror": {"max_tokens": 200}}}))
    apart = [f"{name}={tmp_path / name}" for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")]
    proxy = ["env", *apart, sys.executable, "-m", "shaping", "proxy", "--config", str(config), "--", *MIRROR]
    async with connect(command_server(proxy), config=config) as driver:
        tools = (await driver.ask("tools/list"))["result"]["tools"]
        [block] = (await driver.call("mirror", result=text(RECORDS)))["result"]["content"]
        [ref] = re.findall(r"shaping_expand ref=(r_\w+)", block["text"])
        back = await driver.call("shaping_expand", ref=ref, path="[39].title")
    assert [tool["name"] for tool in tools if "expand" in tool["name"]] == ["shaping_expand"], "one tool for both"
    assert "Widget 39 squeaks" in back["result"]["content"][0]["text"]
    async with connect(command_server(MIRROR), config=config) as driver:
        [alone] = (await driver.call("mirror", result=text(RECORDS)))["result"]["content"]
    assert count(block["text"]) <= count(alone["text"]) + 4, "a ref of its own may have a few tokens more"


async def test_what_was_left_out_is_found_by_another_connection_of_the_same_user(
    connect: Connect, tmp_path: Path
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"tool_overrides": {"mirror": {"max_tokens": 200}}}))
    async with connect(command_server(MIRROR), config=config) as driver:
        shown = (await driver.call("mirror", result=text(RECORDS)))["result"]["content"][0]["text"]
    ref = next(word for word in shown.replace("=", " ").split() if word.startswith("r_")).strip(".,;:)]\"'")
    async with connect(command_server(MIRROR), config=config) as driver:
        back = await driver.call("shaping_expand", ref=ref, path="[39].title")
    assert "Widget 39 squeaks" in back["result"]["content"][0]["text"]


async def test_an_answer_that_nobody_knows_the_form_of_passes(connect: Connect) -> None:
    block = {"type": "hologram", "beam": [1, 2], "text": 5}
    async with connect(command_server(MIRROR)) as driver:
        answer = await driver.call("mirror", result={"content": [block], "more": {"x": 1}})
    assert (answer["result"]["content"], answer["result"]["more"]) == ([block], {"x": 1})


async def test_a_question_back_and_a_promise_to_answer_later_pass_byte_for_byte(connect: Connect) -> None:
    question = {"resultType": "input_required", "inputRequests": {"q": {"method": "elicitation/create"}}}
    task = {"task": {"taskId": "t1", "status": "working", "ttl": 1000}}
    async with connect(command_server(MIRROR)) as driver:
        for result in (question, task):
            answer = await driver.call("mirror", result=result)
            assert driver.lines[-1] == as_sent(answer)
            assert answer["result"] == result


async def test_the_result_of_a_task_is_shaped_as_that_of_its_tool(connect: Connect) -> None:
    async with connect(command_server(MIRROR)) as driver:
        await driver.call("mirror", result={"task": {"taskId": "t1", "status": "working"}})
        answer = await driver.ask("tasks/result", {"taskId": "t1", "result": text(RECORDS)})
        status = await driver.ask("tasks/get", {"taskId": "t1"})
    assert driver.lines[-1] == as_sent(status)
    assert len(answer["result"]["content"][0]["text"]) < len(json.dumps(RECORDS)) / 2


async def test_the_data_of_an_app_is_never_shaped(connect: Connect) -> None:
    data = {"rows": RECORDS}
    async with connect(command_server(MIRROR)) as driver:
        await driver.ask("tools/list")
        by_tool = (await driver.call("app", result={"content": [], "structuredContent": data}))["result"]
        secret = await driver.call(
            "app", result={"content": text(f"key {TOKEN}")["content"], "structuredContent": data}
        )
    assert by_tool["structuredContent"] == secret["result"]["structuredContent"] == data
    assert TOKEN not in json.dumps(secret)


async def test_what_only_an_app_reads_keeps_its_bytes_nulls_and_both_channels(connect: Connect) -> None:
    tool = {"name": "read_bytes", "_meta": {"ui": {"visibility": ["app"]}}}
    data = {"bytes": b64encode(bytes(range(256)) * 400).decode(), "next": None, "rows": RECORDS}
    result = {"content": text("40 KB of a file")["content"], "structuredContent": data}
    async with connect(command_server([*MIRROR, json.dumps(tool)])) as driver:
        await driver.ask("tools/list")
        answer = await driver.call("read_bytes", result=result)
    assert answer["result"] == result


async def test_a_line_of_ten_megabytes_passes_both_ways(connect: Connect) -> None:
    long = "x" * (10 * 1024 * 1024)
    async with connect(command_server(MIRROR)) as driver:
        answer = await driver.ask("no/such/method", {"long": long})
        assert driver.lines[-1] == as_sent(answer)
        assert answer["result"]["echoed"]["long"] == long
        shown = await driver.call("mirror", result=text({"long": long}))
    assert "result" in shown


async def test_long_numbers_keep_their_digits(connect: Connect) -> None:
    number = 123456789012345678901234567890
    result = {"content": [], "structuredContent": {"n": number, "null": None}}
    async with connect(command_server(MIRROR)) as driver:
        answer = await driver.call("mirror", result=result)
    assert str(number) in json.dumps(answer["result"])


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": f"key {TOKEN}"}},
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "message": TOKEN}},
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "sampling/createMessage",
            "params": {"messages": [{"role": "user", "content": {"type": "text", "text": TOKEN}}]},
        },
        {"jsonrpc": "2.0", "id": 2, "method": "elicitation/create", "params": {"message": f"is {TOKEN} yours?"}},
    ],
)
async def test_a_secret_leaves_by_no_message_that_somebody_reads(connect: Connect, message: dict[str, Any]) -> None:
    async with connect(command_server(MIRROR)) as driver:
        await driver.call("mirror", before=[message], result=text("done"))
        told = await driver.until(lambda one: one.get("method") == message["method"])
    assert TOKEN not in json.dumps(told)
    assert "[redacted:github-token]" in json.dumps(told)
    assert {**told, "params": None} == {**message, "params": None}


async def test_a_secret_leaves_by_no_error_and_no_resource(connect: Connect) -> None:
    async with connect(command_server(MIRROR)) as driver:
        error = await driver.call("mirror", error={"code": -32050, "message": f"no {TOKEN}", "data": {"k": [TOKEN]}})
        plain = await driver.call("mirror", error={"code": -32050, "message": "not today", "data": {"why": "rain"}})
        assert driver.lines[-1] == as_sent(plain)
        read = await driver.ask("resources/read", {"uri": "x:y", "arguments": {"error": {"code": 1, "message": TOKEN}}})
    assert error["error"]["code"] == -32050
    assert TOKEN not in json.dumps([error, read])


async def test_news_that_came_before_an_answer_comes_before_it(connect: Connect) -> None:
    """Where the news must be looked through and the answer passes, and where the answer is long."""
    news = [
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": n}} for n in range(50)
    ]
    async with connect(command_server(MIRROR)) as driver:
        for result in ({"task": {"taskId": "t"}}, text([{"n": n, "x": "y" * 90} for n in range(2000)])):
            before = len(driver.lines)
            await driver.call("mirror", before=news, result=result)
            assert [json.loads(line)["method"] for line in driver.lines[before:-1]] == ["notifications/message"] * 50


async def test_a_tool_that_the_config_drops_cannot_be_called(connect: Connect, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"tools": {"mirror": {"drop": True}}}))
    async with connect(command_server(MIRROR), config=config) as driver:
        before = await driver.failure("mirror", result=text("hidden"))
        tools = (await driver.ask("tools/list"))["result"]["tools"]
        after = await driver.failure("mirror", result=text("hidden"))
    assert [tool["name"] for tool in tools] == ["app", "typed", "shaping_expand"]
    assert before.startswith("OPERATION_NOT_FOUND: Unknown tool: 'mirror'")
    assert after == before


@pytest.mark.parametrize("mode", ["off", "observe"])
async def test_switched_off_everything_passes_byte_for_byte(
    connect: Connect, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPING", mode)
    async with connect(command_server(MIRROR)) as driver:
        listed = await driver.ask("tools/list")
        assert driver.lines[-1] == as_sent(listed)
        answer = await driver.call("mirror", result=text(RECORDS))
        assert driver.lines[-1] == as_sent(answer)
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["mirror", "app", "typed"]


async def test_a_call_may_say_how_it_wants_its_answer(connect: Connect, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"agent_controls": True}))
    async with connect(command_server(MIRROR), config=config) as driver:
        asked = {"result": text(RECORDS[:2]), "_shape": {"fields": ["id"]}}
        answer = await driver.call("mirror", **asked)
    assert "squeaks" not in json.dumps(answer)


async def test_a_new_config_is_announced_where_it_says_so(connect: Connect, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"tools_changed": "announce"}))
    async with connect(command_server(MIRROR), config=config) as driver:
        await driver.ask("tools/list")
        config.write_text(json.dumps({"tools_changed": "announce", "tools": {"mirror": {"description": "New."}}}))
        await driver.until(lambda message: message.get("method") == "notifications/tools/list_changed")
        tools = (await driver.ask("tools/list"))["result"]["tools"]
    assert tools[0]["description"] == "New."


async def test_messages_of_the_newer_protocol_pass_and_our_own_answers_say_that_they_are_complete(
    connect: Connect,
) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "n", "version": "1"},
    }
    async with connect(command_server(MIRROR), greet=False) as driver:
        discovered = await driver.ask("server/discover", {"_meta": meta})
        assert driver.lines[-1] == as_sent(discovered)
        call = {"name": "shaping_expand", "arguments": {"ref": "r_none"}, "_meta": meta}
        answer = await driver.ask("tools/call", call)
    assert (answer["result"]["resultType"], answer["result"]["isError"]) == ("complete", True)


async def test_rules_under_the_servers_name_hold_for_what_is_listed(connect: Connect, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    rules = {
        "mirror/mirror": {"drop": True},
        "mirror/app": {"description": "Of mirror."},
        "other/*": {"drop": True},
    }
    config.write_text(json.dumps({"tool_overrides": {"mirror/typed": {"channels": "both"}}, "tools": rules}))
    async with connect(command_server(MIRROR), config=config) as driver:
        app, typed, _ = (await driver.ask("tools/list"))["result"]["tools"]
        refused = await driver.failure("mirror", result=text("hidden"))
        rows = {"content": [{"type": "text", "text": '{"rows": []}'}], "structuredContent": {"rows": []}}
        answer = await driver.call("typed", result=rows)
    assert (app["name"], app["description"]) == ("app", "Of mirror.")
    assert typed["outputSchema"]["properties"].keys() == {"rows"}
    assert refused.startswith("OPERATION_NOT_FOUND: Unknown tool: 'mirror'")
    assert answer["result"]["structuredContent"] == {"rows": []}


async def test_rules_under_the_servers_name_hold_for_what_is_announced(connect: Connect, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"tools_changed": "announce"}))
    async with connect(command_server(MIRROR), config=config) as driver:
        await driver.ask("tools/list")
        rules = {"mirror/mirror": {"description": "New."}}
        config.write_text(json.dumps({"tools_changed": "announce", "tools": rules}))
        await driver.until(lambda message: message.get("method") == "notifications/tools/list_changed")
        tools = (await driver.ask("tools/list"))["result"]["tools"]
    assert tools[0]["description"] == "New."


async def test_the_structured_content_of_a_tool_that_was_not_listed_stays_whole(connect: Connect) -> None:
    rows = {"rows": [{"id": n, "note": None, "url": f"https://api.example.com/{n}"} for n in range(40)]}
    result = {"content": [{"type": "text", "text": json.dumps(rows, indent=2)}], "structuredContent": rows}
    async with connect(command_server(MIRROR)) as driver:
        before = (await driver.call("typed", result=result))["result"]
        await driver.ask("tools/list")
        after = (await driver.call("typed", result=result))["result"]
    assert before["structuredContent"] == rows
    assert len(before["content"][0]["text"]) < len(json.dumps(rows))
    assert after == {"content": before["content"]}


async def test_the_structured_content_of_a_tool_that_was_not_listed_holds_no_secret(
    connect: Connect, tmp_path: Path
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"global": {"private": ["ssn"]}}))
    structured = {"ssn": "123-45-6789", "token": "ghp_" + "a1B2" * 9, "id": 1}
    result = {"content": [{"type": "text", "text": "done"}], "structuredContent": structured}
    async with connect(command_server(MIRROR), config=config) as driver:
        answer = (await driver.call("app", result=result))["result"]
    assert answer["structuredContent"] == {"token": "[redacted:github-token]", "id": 1}
    assert answer["content"] == [{"type": "text", "text": "done"}]


@pytest.mark.parametrize("inner", [[], [{"name": "a", "entityType": "p"}], {"name": "a"}])
async def test_a_text_that_is_the_one_member_of_structured_content_is_sent_once(connect: Connect, inner: Any) -> None:
    written = json.dumps(inner, separators=(",", ":"))
    result = {"content": [{"type": "text", "text": written}], "structuredContent": {"entities": inner}}
    async with connect(command_server(MIRROR)) as driver:
        await driver.ask("tools/list")
        answer = (await driver.call("typed", result=result))["result"]
    assert answer == {"content": [{"type": "text", "text": written}]}


async def test_large_answers_wait_for_a_ledger_that_is_behind_and_small_ones_pass(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPING_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setattr(relay, "_MOST_UNCOUNTED", 0)
    monkeypatch.setattr(writer, "_CATCH_UP_SECONDS", 120.0)
    may_count = threading.Event()

    def count_later(written: str, tokenizer: str) -> Any:
        may_count.wait(120)
        return count_closely(written, tokenizer)

    monkeypatch.setattr(writer, "count_closely", count_later)
    server = [sys.executable, str(Path(__file__).parents[1] / "servers" / "records_server.py")]
    async with connect(command_server(server)) as driver:
        assert "result" in await driver.call("records", count=1000)
        second = asyncio.create_task(driver.call("records", count=1000))
        for _ in range(10):
            assert "result" in await driver.call("records", count=3)
        assert not second.done()
        may_count.set()
        assert "result" in await second
