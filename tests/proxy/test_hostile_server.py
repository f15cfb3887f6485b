"""What a server cannot do: keep the proxy waiting by an answer that cannot be read, or get a secret past it."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import runpy
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types
import pytest

from shaping.proxy import upstream
from shaping.proxy.messages import Message, UnusableConfigError, may_hold_secret
from shaping.proxy.relay import Relay
from shaping.proxy.serving import Options, ShaperLoader
from shaping.proxy.upstream import command_server

if TYPE_CHECKING:
    from tests.proxy.conftest import Connect

pytestmark = pytest.mark.anyio
TESTS = Path(__file__).parents[1]
MIRROR = [sys.executable, str(TESTS / "servers" / "mirror_server.py")]
TOKEN = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
EMPTY = '{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}'
TEXT = '"result":{"content":[{"type":"text","text":"' + TOKEN + '"}]}'

UNREADABLE = {
    "a Latin-1 byte": '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"caf\xe9"}]}}',
    "100,000 levels": '{"jsonrpc":"2.0","id":ID,"result":{"a":' + "[" * 100_000 + "]" * 100_000 + "}}",
    "5,000 digits": '{"jsonrpc":"2.0","id":ID,"result":{"a":' + "9" * 5_000 + "}}",
    "cut short": '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"x"',
    "a control character": '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"a\x00b"}]}}',
    "its id last": '{"jsonrpc":"2.0","result":{"a":' + "9" * 5_000 + '},"id":ID}',
}


@pytest.mark.parametrize("raw", UNREADABLE.values(), ids=UNREADABLE)
async def test_an_answer_that_cannot_be_read_is_a_coded_error_at_once(connect: Connect, raw: str) -> None:
    async with connect(command_server(MIRROR)) as driver:
        said = await driver.failure("mirror", raw=raw)
        assert said.startswith("BAD_RESPONSE: the server 'python' answered with ")
        assert (await driver.call("mirror", result={"content": []}))["result"]["content"] == []


ODD = {
    "text that is an object": '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":{"a":"TOKEN"}}]}}',
    "content that is a text": '{"jsonrpc":"2.0","id":ID,"result":{"content":"TOKEN"}}',
    "a block that is a text": '{"jsonrpc":"2.0","id":ID,"result":{"content":["TOKEN"]}}',
    "structured content that is a list": '{"jsonrpc":"2.0","id":ID,"result":{"structuredContent":["TOKEN"]}}',
    "`_meta` that is a text": '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"_meta":"TOKEN"}}',
    "a result that is a list": '{"jsonrpc":"2.0","id":ID,"result":["TOKEN"]}',
    "a result with an error that is null": '{"jsonrpc":"2.0","id":ID,"error":null,' + TEXT + "}",
    "a result and an error": '{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"no"},' + TEXT + "}",
    "a result and a method": '{"jsonrpc":"2.0","id":ID,"method":"ping",' + TEXT + "}",
    "a result and a method that is null": '{"jsonrpc":"2.0","id":ID,"method":null,' + TEXT + "}",
    "an error that is a text": '{"jsonrpc":"2.0","id":ID,"error":"TOKEN"}',
    "a member that nobody knows": '{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"more":"TOKEN"}',
    "an id as text": '{"jsonrpc":"2.0","id":"ID",' + TEXT + "}",
    "an id that is a list": '{"jsonrpc":"2.0","id":[1],' + TEXT + "}\n" + EMPTY,
    "an id that nobody asked with": '{"jsonrpc":"2.0","id":"x",' + TEXT + "}\n" + EMPTY,
    "two answers": EMPTY + '\n{"jsonrpc":"2.0","id":ID,' + TEXT + "}",
    "a batch": '[{"jsonrpc":"2.0","id":ID,' + TEXT + "}]",
    "a member twice": '{"jsonrpc":"2.0","id":ID,' + TEXT + ',"result":{"content":[]}}',
    "the name of a log": '{"jsonrpc":"2.0","method":"notifications/message","params":{"logger":"TOKEN","data":1}}\n'
    + EMPTY,
    "a notification that nobody knows": '{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"TOKEN"}}\n' + EMPTY,
    "a request that nobody knows": '{"jsonrpc":"2.0","id":9,"method":"x/y","params":["TOKEN"]}\n' + EMPTY,
}


@pytest.mark.parametrize("raw", ODD.values(), ids=ODD)
async def test_no_oddity_of_a_message_gets_a_secret_past(connect: Connect, raw: str) -> None:
    async with connect(command_server(MIRROR)) as driver:
        await driver.call("mirror", raw=raw.replace("TOKEN", TOKEN))
        await driver.call("mirror", result={"content": []})  # whatever came with the answer has come by now
        assert TOKEN not in b"\n".join(driver.lines).decode()


LISTED = {"name": "n", "title": TOKEN, "description": f"use {TOKEN}", "uri": f"https://x.example/?token={TOKEN}"}


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("initialize", {"instructions": f"log in with {TOKEN}"}),
        ("prompts/list", {"prompts": [LISTED]}),
        ("resources/list", {"resources": [LISTED]}),
        ("resources/templates/list", {"resourceTemplates": [LISTED]}),
        ("completion/complete", {"completion": {"values": [TOKEN]}}),
        ("prompts/get", {"messages": [{"role": "user", "content": [{"type": "text", "text": TOKEN}]}]}),
        ("tools/list", {"tools": [{"name": "t", "description": TOKEN, "inputSchema": {"description": TOKEN}}]}),
        ("method/nobody-knows", {"x": {TOKEN: 1}}),
    ],
)
async def test_no_answer_of_any_method_holds_a_secret(connect: Connect, method: str, result: dict[str, Any]) -> None:
    raw = '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps(result) + "}"
    async with connect(command_server(MIRROR)) as driver:
        answer = await driver.ask(method, {"arguments": {"raw": raw}})
        assert TOKEN not in json.dumps(answer)
        assert "[redacted:github-token]" in json.dumps(answer)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("sampling/createMessage", {"messages": [{"role": "user", "content": {"type": "text", "text": TOKEN}}]}),
        ("sampling/createMessage", {"messages": [], "systemPrompt": TOKEN}),
        ("elicitation/create", {"message": TOKEN, "requestedSchema": {"type": "object"}}),
        ("elicitation/create", {"mode": "url", "message": "x", "url": f"https://x.example/?token={TOKEN}"}),
        ("notifications/tasks/status", {"statusMessage": TOKEN}),
        ("notifications/progress", {"progressToken": 1, "progress": 1, "message": TOKEN}),
    ],
)
async def test_no_request_of_a_server_holds_a_secret(connect: Connect, method: str, params: dict[str, Any]) -> None:
    asked = {"jsonrpc": "2.0", "id": "s1", "method": method, "params": params}
    async with connect(command_server(MIRROR)) as driver:
        await driver.call("mirror", before=[asked], result={"content": []})
        assert TOKEN not in b"\n".join(driver.lines).decode()
        assert "[redacted:github-token]" in b"\n".join(driver.lines).decode()


LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
KEY = ["-----BEGIN PRIVATE KEY-----", *(f"{LINE}{number:012d}" for number in range(9)), "-----END PRIVATE KEY-----"]
IMAGE = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}


def texts(*parts: list[str]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": "\n".join(part)} for part in parts]


@pytest.mark.parametrize(
    "content",
    [
        texts(KEY[:1], KEY[1:]),
        texts(KEY[:3], KEY[3:]),
        texts(KEY[:2], KEY[2:6], KEY[6:]),
        texts(*([line] for line in KEY)),
        texts(KEY[1:]),
        texts(KEY[1:4], KEY[4:]),
        texts([json.dumps(list(enumerate(KEY)))]),
        [*texts(KEY[:4]), IMAGE, *texts(KEY[4:])],
        [*texts(KEY[:4]), {"type": "resource", "resource": {"uri": "x://y", "text": "\n".join(KEY[4:])}}],
    ],
)
async def test_a_private_key_leaves_in_no_block(connect: Connect, content: list[dict[str, Any]]) -> None:
    answers = {
        "prompts/get": {"messages": [{"role": "user", "content": block} for block in content]},
        "resources/read": {"contents": [{**block, "uri": "a://b"} for block in content]},
        "tools/call": {"content": content},
        "tools/call ": {"content": content, "isError": True},
    }
    async with connect(command_server(MIRROR)) as driver:
        for method, result in answers.items():
            raw = '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps(result) + "}"
            asked = {"name": "mirror", "uri": "a://b", "arguments": {"raw": raw}}
            said = json.dumps(await driver.ask(method.strip(), asked))
            assert LINE not in said, method
            assert "private-key" in said


async def test_a_private_key_that_a_server_logs_line_by_line_leaves_in_no_message(connect: Connect) -> None:
    logged = [
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": data}}
        for data in [*KEY, "done", *({"message": line} for line in KEY), "done"]
    ]
    async with connect(command_server(MIRROR)) as driver, connect(command_server(MIRROR)) as other:
        for message in logged:
            await driver.call("mirror", before=[message], result={"content": []})
            await other.call("mirror", before=[logged[KEY.index(KEY[-1]) + 1]], result={"content": []})
        said = b"\n".join(driver.lines).decode()
        assert LINE not in said
        assert said.count("done") == 2


PRIVATE = "PRIVATE-VALUE"
BOTH = {"ssn": PRIVATE, "said": TOKEN, "text": f"ssn={PRIVATE}", "id": 1}
BLOCK = {"type": "text", "text": "x"}


@pytest.fixture(params=[{"private": ["**.ssn"]}, {"redact": {"paths": ["**.ssn"]}}], ids=["private", "masked"])
def private(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Write a config that makes a field private in every tool, or masks it."""
    config = tmp_path / "response_config.json"
    config.write_text(json.dumps({"global": request.param}))
    return config


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("resources/read", {"contents": [], "_meta": BOTH}),
        ("resources/read", {"contents": [], **BOTH}),
        ("resources/read", {"contents": [{"uri": f"x://a?ssn={PRIVATE}&k={TOKEN}", "text": "x", **BOTH}]}),
        ("resources/read", {"contents": [BOTH, TOKEN]}),
        ("resources/read", {"contents": BOTH}),
        ("resources/read", BOTH),
        ("prompts/get", {"messages": [], "description": f"{TOKEN} ssn={PRIVATE}", "_meta": BOTH}),
        ("prompts/get", {"messages": [{"role": "user", "k": BOTH, "content": BLOCK}]}),
        ("prompts/get", {"messages": [{"role": "user", "content": {**BLOCK, **BOTH}}]}),
        ("prompts/get", {"messages": [{"role": "user", "content": [BOTH, TOKEN]}]}),
        ("prompts/get", {"messages": [{"role": "user", "content": TOKEN, **BOTH}]}),
        ("prompts/get", {"messages": [BOTH, [BOTH]]}),
        ("resources/read", [BOTH, TOKEN]),
        ("tools/call", [BOTH]),
        ("tools/call", f"ssn={PRIVATE} {TOKEN}"),
        (
            "tools/call",
            {"resultType": "input_required", "inputRequests": {"a": BOTH}, "requestState": json.dumps(BOTH)},
        ),
        ("tasks/result", {"content": [{"type": "text", "text": json.dumps(BOTH)}], **BOTH}),
        ("tasks/get", {"taskId": "a", "statusMessage": f"ssn={PRIVATE}"}),
        ("tasks/list", {"tasks": [BOTH]}),
        ("completion/complete", {"completion": {"values": [f"ssn={PRIVATE}", json.dumps(BOTH)]}}),
        ("ping", {"ssn": PRIVATE}),
        ("nobody/knows", {"ssn": PRIVATE}),
        ("initialize", {"capabilities": {}, "_meta": {"ssn": PRIVATE}}),
        ("resources/list", {"resources": [], "_meta": {"ssn": PRIVATE}}),
        ("tools/list", {"tools": [{"name": "t", "inputSchema": {"examples": [{"ssn": PRIVATE}]}, "_meta": BOTH}]}),
        ("tools/list", {"tools": [], "_meta": BOTH}),
    ],
    ids=str,
)
async def test_nothing_in_an_answer_holds_a_secret_or_what_is_private(
    connect: Connect, private: Path, method: str, result: Any
) -> None:
    raw = '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps(result) + "}"
    async with connect(command_server(MIRROR), config=private) as driver:
        await driver.ask(method, {"name": "mirror", "uri": "x://b", "arguments": {"raw": raw}})
        seen = b"\n".join(driver.lines).decode()
        assert PRIVATE not in seen
        assert TOKEN not in seen


async def test_an_answer_of_any_depth_comes_without_what_is_private(connect: Connect, private: Path) -> None:
    deep = '{"k":' * 700 + json.dumps({"ssn": PRIVATE}) + "}" * 700
    raw = '{"jsonrpc":"2.0","id":ID,"result":{"completion":{"values":["shown"]},"_meta":' + deep + "}}"
    async with connect(command_server(MIRROR), config=private) as driver:
        answer = await driver.ask("completion/complete", {"arguments": {"raw": raw}})
        assert answer["result"]["completion"] == {"values": ["shown"]}
        assert PRIVATE not in b"\n".join(driver.lines).decode()


@pytest.mark.parametrize(
    "raw",
    [
        '{"jsonrpc":"2.0","id":ID,"error":"ssn=VALUE"}',
        '{"jsonrpc":"2.0","id":ID,"error":[{"ssn":"VALUE"}]}',
        '{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"no","ssn":"VALUE","more":{"ssn":"VALUE"}}}',
        '{"jsonrpc":"2.0","id":ID,"ssn":"VALUE","x":{"ssn":"VALUE"},"result":{"content":[]}}',
        '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"ssn=VALUE"}}\n' + EMPTY,
        '{"jsonrpc":"2.0","ssn":"VALUE","method":"notifications/x"}\n' + EMPTY,
    ],
)
async def test_no_part_of_a_message_holds_what_is_private(connect: Connect, private: Path, raw: str) -> None:
    async with connect(command_server(MIRROR), config=private) as driver:
        await driver.call("mirror", raw=raw.replace("VALUE", PRIVATE))
        await driver.call("mirror", result={"content": []})
        assert PRIVATE not in b"\n".join(driver.lines).decode()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("notifications/cancelled", {"requestId": 9, "reason": f"ssn={PRIVATE}"}),
        ("notifications/nobody-knows", {"ssn": PRIVATE}),
        ("notifications/message", [{"ssn": PRIVATE}]),
        ("sampling/createMessage", {"messages": [], "metadata": {"ssn": PRIVATE}}),
        ("sampling/createMessage", {"messages": [], "tools": [{"name": "t", "description": f"ssn={PRIVATE}"}]}),
        ("elicitation/create", {"mode": "url", "message": "x", "url": f"https://x.example/?ssn={PRIVATE}"}),
        ("roots/list", {"_meta": {"ssn": PRIVATE}}),
        ("nobody/knows", {"ssn": PRIVATE}),
    ],
)
async def test_no_message_of_a_server_holds_what_is_private(
    connect: Connect, private: Path, method: str, params: Any
) -> None:
    said = {"jsonrpc": "2.0", "id": "s1", "method": method, "params": params}
    async with connect(command_server(MIRROR), config=private) as driver:
        await driver.call("mirror", before=[said], result={"content": []})
        seen = b"\n".join(driver.lines).decode()
        assert PRIVATE not in seen
        assert method in seen


@pytest.mark.parametrize("data", ["pin: 4711", {"pin": "4711"}])
async def test_a_log_of_a_server_holds_no_redacted_path(connect: Connect, tmp_path: Path, data: Any) -> None:
    config = tmp_path / "redact.json"
    config.write_text('{"global": {"redact": {"paths": ["**.pin"]}}}')
    said = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": data}}
    async with connect(command_server(MIRROR), config=config) as driver:
        await driver.call("mirror", before=[said], result={"content": []})
        seen = b"\n".join(driver.lines).decode()
        assert "[redacted:path]" in seen
        assert "4711" not in seen


@pytest.mark.parametrize(
    ("method", "params", "kept"),
    [
        ("progress", {"progressToken": 1, "progress": 2.5, "total": 9, "message": "ssn"}, True),
        ("message", {"level": "warning", "data": "ssn"}, True),
        ("message", {"level": PRIVATE, "data": "ssn"}, False),
        ("progress", {"progressToken": 1, "progress": 2, "total": PRIVATE, "message": "ssn"}, False),
        ("progress", {"progressToken": 1, "progress": 2, "more": PRIVATE, "message": "ssn"}, False),
        ("progress", {"progressToken": 1, "progress": 2, "message": f"ssn={PRIVATE}"}, False),
    ],
)
async def test_a_notification_that_names_what_is_private_is_still_one(
    connect: Connect, private: Path, method: str, params: dict[str, Any], kept: bool
) -> None:
    said = {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}
    async with connect(command_server(MIRROR), config=private) as driver:
        await driver.call("mirror", before=[said], result={"content": []})
        (seen,) = [one for one in map(json.loads, driver.lines) if one.get("method") == said["method"]]
        assert (seen["params"] == params) is kept
        assert PRIVATE not in json.dumps(seen)
        numbers = {name: value for name, value in params.items() if type(value) is not str}
        assert numbers.items() <= seen["params"].items()


async def test_a_number_of_the_protocol_with_a_private_name_goes(connect: Connect, tmp_path: Path) -> None:
    config = tmp_path / "own.json"
    config.write_text('{"global": {"private": ["**.total"]}}')
    params = {"progressToken": 1, "progress": 2, "message": "x"}
    said = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {**params, "total": 7351}}
    async with connect(command_server(MIRROR), config=config) as driver:
        await driver.call("mirror", before=[said], result={"content": []})
        (seen,) = [one for one in map(json.loads, driver.lines) if one.get("method") == said["method"]]
        assert seen["params"] == params


async def test_a_tool_keeps_the_arguments_that_are_named_like_what_is_private(connect: Connect, private: Path) -> None:
    schema = {"type": "object", "properties": {"ssn": {"type": "string"}, "examples": {"type": "array"}}}
    tools = [{"name": "t", "description": "Find by ssn: a number.", "inputSchema": {**schema, "required": ["ssn"]}}]
    raw = '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps({"tools": tools}) + "}"
    async with connect(command_server(MIRROR), config=private) as driver:
        answer = await driver.ask("tools/list", {"arguments": {"raw": raw}})
        assert answer["result"]["tools"][0] == tools[0]


@pytest.mark.parametrize(
    "keyword", ["default", "examples", "const", "enum", "minimum", "pattern", "x-last", "anyOf", "items"]
)
async def test_a_private_property_of_a_schema_says_no_value(connect: Connect, private: Path, keyword: str) -> None:
    said = {"items": {"enum": [PRIVATE]}, "anyOf": [{"const": PRIVATE}], "enum": [PRIVATE], "examples": [PRIVATE]}
    held = {"type": "string", "description": "A number.", keyword: said.get(keyword, PRIVATE)}
    properties = {"SSN": held, "who": {"$ref": "#/$defs/who"}, "other": {"title": "Employee SSN", **held}}
    schema = {"type": "object", "properties": properties, "$defs": {"who": {"properties": {"ssn": held}}}}
    tools = [{"name": "t", "inputSchema": schema, "outputSchema": schema}]
    raw = '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps({"tools": tools}) + "}"
    async with connect(command_server(MIRROR), config=private) as driver:
        answer = await driver.ask("tools/list", {"arguments": {"raw": raw}})
        assert PRIVATE not in json.dumps(answer)
        assert answer["result"]["tools"][0]["inputSchema"]["properties"]["SSN"]["description"] == "A number."


async def test_the_address_of_a_resource_holds_no_private_parameter(connect: Connect, private: Path) -> None:
    listed = [f"x://b?a=1&ssn={PRIVATE}&b=2", f"x://b#ssn={PRIVATE}", f"x://b;SSN={PRIVATE}/c", "x://b/ssn?a=1"]
    raw = {"resources": [{"uri": uri, "name": "b"} for uri in listed]}
    async with connect(command_server(MIRROR), config=private) as driver:
        line = '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps(raw) + "}"
        answer = await driver.ask("resources/list", {"arguments": {"raw": line}})
        found = [one["uri"] for one in answer["result"]["resources"]]
        assert found == ["x://b?a=1&ssn=&b=2", "x://b#ssn=", "x://b;SSN=/c", "x://b/ssn?a=1"]


async def test_what_a_line_of_a_log_began_is_withheld_in_the_next_ones(
    private: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loader = ShaperLoader(Options(config=str(private)))
    loader.start()
    await loader.get()
    body = [f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC{number:02}xYzAbCdEf12" for number in range(80)]
    key = ["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"]
    block = ("ssn:", "  kind: x", "", f"  value: {PRIVATE}", "'ssn': {", "  'x': 1,", f"  'y': {PRIVATE}", "}")
    for line in ("starting", "no such ssn:", f"   {PRIVATE}", f"   {PRIVATE}", *block, "ready", *key, "  done"):
        loader.server_log.add("server", line.encode())
    loader.server_log.add("other", b"   fine")
    loader.close()
    said = capsys.readouterr().err
    assert PRIVATE not in said
    assert "MIIEv" not in said
    assert all(f"] {word}\n" in said for word in ("starting", "ready", "  done", "   fine"))


async def test_a_line_that_cannot_be_read_is_logged_without_what_is_private(
    private: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loader = ShaperLoader(Options(config=str(private)))
    loader.start()
    log = partial(loader.server_log.add, "server")
    log(f'{{"jsonrpc":"2.0","result":{{"ssn":"{PRIVATE}"'.encode())  # before the config is read
    await loader.get()
    log(f'{{"jsonrpc":"2.0","result":{{"ssn":"{PRIVATE}","said":"{TOKEN}"'.encode())
    log(b"listening on port 80")
    loader.close()
    told = capsys.readouterr().err
    assert PRIVATE not in told
    assert TOKEN not in told
    assert told.count("may hold a private field") + told.count('"ssn":"[redacted:path]"') == 2
    assert "[server] listening on port 80" in told


async def test_lines_of_a_log_are_withheld_while_nobody_knows_what_is_private(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"global": {"private": ["**.ssn"')
    loader = ShaperLoader(Options(config=str(config)))
    loader.start()
    loader.server_log.add("server", f"ssn={PRIVATE}".encode())
    loader.server_log.warn("a line cannot be read", f"ssn={PRIVATE}")
    with pytest.raises(UnusableConfigError):
        await loader.get()
    loader.close()
    told = capsys.readouterr().err + caplog.text
    assert PRIVATE not in told
    assert "lines of the log of server withheld, because the config was not read: 1" in told


async def test_the_last_words_of_a_server_are_told_without_what_is_private(connect: Connect, private: Path) -> None:
    ended = [sys.executable, "-c", f"import sys; sys.exit('ssn={PRIVATE}')"]
    async with connect(command_server(ended), config=private, greet=False) as driver:
        answer = await driver.greet()
        assert "error" in answer
        assert PRIVATE not in b"\n".join(driver.lines).decode()


async def test_an_address_that_the_client_asked_for_and_base64_come_back_as_they_were(
    connect: Connect, private: Path
) -> None:
    uri = f"x://a?key={TOKEN}"
    contents = [{"uri": uri, "blob": TOKEN * 9}]
    raw = '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps({"contents": contents}) + "}"
    async with connect(command_server(MIRROR), config=private) as driver:
        answer = await driver.ask("resources/read", {"uri": uri, "arguments": {"raw": raw}})
        assert answer["result"]["contents"] == contents


def test_every_kind_of_secret_is_worth_a_look() -> None:
    planted = runpy.run_path(str(TESTS / "redaction" / "conftest.py"))["plant"](1)
    assert [one.kind for one in planted if not may_hold_secret(json.dumps({"a": one.text}).encode())] == []
    assert not may_hold_secret(b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{}}}')


LARGE = {"rows": [{"id": number, "note": "some words " * 20} for number in range(3000)]}


@pytest.mark.parametrize(
    "method", ["tools/call", "tools/list", "resources/read", "resources/list", "nobody/knows", "log"]
)
async def test_a_large_message_is_read_and_looked_at_beside_the_event_loop(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    threads: dict[str, set[int]] = {}

    def watch(place: Any, name: str) -> None:
        work = getattr(place, name)

        def watched(*given: Any, **more: Any) -> Any:
            lines = [one.line if isinstance(one, Message) else one for one in given if isinstance(one, bytes | Message)]
            if max(map(len, lines)) > 70_000:
                threads.setdefault(name, set()).add(threading.get_ident())
            return work(*given, **more)

        monkeypatch.setattr(place, name, watched)

    text = {"content": [{"type": "text", "text": json.dumps(LARGE)}], "contents": [], **LARGE}
    async with connect(command_server(MIRROR)) as driver:
        await driver.call("mirror", result={"content": []})
        watch(Relay, "_clean")
        watch(upstream, "from_server")
        if method == "log":
            said = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": LARGE}}
            await driver.call("mirror", before=[said], raw=EMPTY)
        else:
            raw = '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps(text) + "}"
            await driver.ask(method, {"name": "mirror", "uri": "file:///a", "arguments": {"raw": raw}})
            assert threading.get_ident() not in threads["from_server"]
        assert threading.get_ident() not in threads["_clean"]


async def test_a_config_that_cannot_be_used_lets_no_secret_of_a_handshake_or_list_out(
    connect: Connect, tmp_path: Path
) -> None:
    config = tmp_path / "response_config.json"
    config.write_text('{"global": {"private": 1}}')
    async with connect(command_server(MIRROR), config=config, greet=False) as driver:
        for method, result in (
            ("initialize", {"instructions": f"log in with {TOKEN}", "capabilities": {}}),
            ("tools/list", {"tools": [{"name": "t", "description": TOKEN, "inputSchema": {}}]}),
        ):
            raw = '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps(result) + "}"
            answer = await driver.ask(method, {"arguments": {"raw": raw}, "clientInfo": {"name": "x"}})
            assert TOKEN not in json.dumps(answer)
            assert "result" in answer
        config.write_text("{}")  # or the end of the program would tell of it too
        await driver.call("mirror", result={"content": []})


async def test_the_log_of_a_fault_of_ours_says_where_and_not_what(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with connect(command_server(MIRROR)) as driver:
        await driver.call("mirror", result={"content": []})

        def fail(*_: Any, **__: Any) -> Any:
            raise ValueError("hunter" + "2" * 3)

        monkeypatch.setattr("shaping.mcp.mcp_shaper.MCPShaper.shape_result", fail)
        answer = await driver.call("mirror", result={"content": []})
    assert "the answer is withheld" in str(answer)
    assert "ValueError" in caplog.text
    assert "hunter222" not in caplog.text + str(answer)


BIG = "123456789012345678901234567890"


@pytest.mark.parametrize(
    "raw",
    [
        '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"n":BIG}}}',
        '{"jsonrpc":"2.0","id":"ID","result":{"content":[],"structuredContent":{"n":BIG}}}',
        '{"jsonrpc":"2.0","id":ID,"error":null,"result":{"content":[],"structuredContent":{"n":BIG}}}',
        '[{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"n":BIG}}}]',
        f'{{"jsonrpc":"2.0","id":ID,"note":"{TOKEN}","result":{{"content":[],"structuredContent":{{"n":BIG}}}}}}',
    ],
)
async def test_a_long_number_keeps_its_digits_however_its_message_is_written_anew(connect: Connect, raw: str) -> None:
    async with connect(command_server(MIRROR)) as driver:
        answer = await driver.call("mirror", raw=raw.replace("BIG", BIG))
    assert BIG in json.dumps(answer)


@pytest.mark.parametrize(
    "line", [{"jsonrpc": "2.0", "id": [1], "method": "ping"}, {"jsonrpc": "2.0", "id": {}, "method": "tools/call"}]
)
async def test_a_request_with_an_id_that_is_none_does_not_stop_the_next(connect: Connect, line: dict[str, Any]) -> None:
    async with connect(command_server(MIRROR)) as driver:
        await driver.send(line)
        await driver.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}})
        await driver.send({"jsonrpc": "2.0", "id": 90, "method": "tasks/result", "params": {"taskId": [1]}})
        assert "result" in await driver.call("mirror", result={"content": []})


async def test_a_cancelled_call_is_not_waited_for(connect: Connect, tmp_path: Path) -> None:
    silent = tmp_path / "silent.py"
    silent.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if asked.get('method') == 'initialize':\n"
        "        known = {'name': 's', 'version': '1'}\n"
        "        result = {'protocolVersion': '2025-06-18', 'capabilities': {}, 'serverInfo': known}\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)\n"
    )
    async with connect(command_server([sys.executable, str(silent)])) as driver:
        await driver.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "x"}})
        assert driver.relay.is_busy
        await driver.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        assert not driver.relay.is_busy


NAMES = (
    "type",
    "role",
    "mimeType",
    "name",
    "uri",
    "text",
    "message",
    "data",
    "level",
    "mode",
    "id",
    "method",
    "resource",
)
DATA = dict.fromkeys((*NAMES, "content", "contents", "messages", "status", "params", "result", "error"), PRIVATE)
SAID = json.dumps([DATA, DATA])
CONTENT: list[dict[str, Any]] = [
    {"type": "text", "text": SAID},
    {"type": "text", "text": "hello", "annotations": {"audience": ["user"]}},
    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    {"type": "resource_link", "uri": "file:///x", "name": "x", "mimeType": "text/plain"},
    {"type": "resource", "resource": {"uri": "file:///y", "mimeType": "text/plain", "text": SAID}},
]


@pytest.mark.parametrize("rule", ["private", "masked"])
@pytest.mark.parametrize("word", DATA)
async def test_a_path_with_the_name_of_a_member_of_the_protocol_leaves_the_protocol_alone(
    connect: Connect, tmp_path: Path, word: str, rule: str
) -> None:
    config = tmp_path / "words.json"
    config.write_text(
        json.dumps({"global": {"private": [word]} if rule == "private" else {"redact": {"paths": [word]}}})
    )
    messages = [{"role": "user", "content": block} for block in CONTENT]
    answers: list[tuple[str, Any, Any]] = [
        ("tools/call", {"content": CONTENT}, mcp_types.CallToolResult),
        ("tools/call", {"content": CONTENT, "isError": True}, mcp_types.CallToolResult),
        ("prompts/get", {"messages": messages}, mcp_types.GetPromptResult),
        ("resources/read", {"contents": [CONTENT[4]["resource"]]}, mcp_types.ReadResourceResult),
        ("completion/complete", {"completion": {"values": ["a"]}}, mcp_types.CompleteResult),
    ]
    said: list[tuple[str, Any, Any]] = [
        ("notifications/message", {"level": "info", "data": DATA}, mcp_types.LoggingMessageNotification),
        (
            "notifications/progress",
            {"progressToken": "a", "progress": 1, "message": "x"},
            mcp_types.ProgressNotification,
        ),
        ("sampling/createMessage", {"messages": messages[:3], "maxTokens": 9}, mcp_types.CreateMessageRequest),
        (
            "elicitation/create",
            {
                "mode": "form",
                "message": "Who?",
                "requestedSchema": {"type": "object", "properties": {word: {"type": "string"}}},
            },
            mcp_types.ElicitRequest,
        ),
        ("roots/list", {}, mcp_types.ListRootsRequest),
    ]
    async with connect(command_server(MIRROR), config=config) as driver:
        for method, result, kind in answers:
            raw = '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps(result) + "}"
            answer = await driver.ask(method, {"name": "mirror", "uri": "file:///y", "arguments": {"raw": raw}})
            kind.model_validate(answer["result"])
        error = {"code": -32000, "message": "no", "data": DATA}
        raw = '{"jsonrpc":"2.0","id":ID,"error":' + json.dumps(error) + "}"
        answer = await driver.call("mirror", raw=raw)
        mcp_types.JSONRPCError.model_validate(answer)
        assert answer["error"]["message"] == "no"
        before = [
            {"jsonrpc": "2.0", "method": method, "params": params} | ({} if "notif" in method else {"id": "s1"})
            for method, params, _ in said
        ]
        await driver.call("mirror", before=before, result={"content": []})
        seen = {one["method"]: one for one in map(json.loads, driver.lines) if "method" in one}
        for method, _, kind in said:
            kind.model_validate(seen[method])
        lines = b"\n".join(driver.lines).decode()
        assert not re.search(rf'"{word}\\\\*": ?\\\\*"{PRIVATE}', lines)
        assert f"{word}={PRIVATE}" not in lines


async def test_secrets_by_name_leave_in_nothing_that_a_server_says(
    connect: Connect, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "names.json"
    config.write_text('{"global": {"redact": {"names": true}}}')
    said, token = f"password: {PRIVATE}", {"progressToken": "a"}
    schema = {"type": "object", "properties": {"password": {"type": "string"}}}
    messages: list[dict[str, Any]] = [
        {"method": "notifications/progress", "params": {**token, "progress": 1, "message": said}},
        {"method": "notifications/cancelled", "params": {"requestId": 9, "reason": said}},
        {"id": "s", "method": "sampling/createMessage", "params": {"messages": [], "systemPrompt": said}},
        {"id": "e", "method": "elicitation/create", "params": {"message": said, "requestedSchema": schema}},
    ]
    async with connect(command_server(MIRROR), config=config) as driver:
        before = [{"jsonrpc": "2.0", **message} for message in messages]
        meta = {**token, "password": PRIVATE}
        answer = await driver.call("mirror", before=before, result={"content": [], "_meta": meta})
        asked = {"method": "elicitation/create", "params": {"message": said, "requestedSchema": schema}}
        question = {"resultType": "input_required", "inputRequests": {"a": asked}}
        later = (await driver.call("mirror", result=question))["result"]["inputRequests"]["a"]
        assert later["params"]["requestedSchema"] == schema
        for method, result in {
            "tasks/get": {"taskId": "a", "status": "working", "statusMessage": said},
            "completion/complete": {"completion": {"values": [said]}},
        }.items():
            raw = '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps(result) + "}"
            await driver.ask(method, {"name": "mirror", "arguments": {"raw": raw}})
        await driver.call("mirror", raw=f"{said}\n{EMPTY}")
        seen = {one["method"]: one["params"] for one in map(json.loads, driver.lines) if "method" in one}
        assert answer["result"]["_meta"].items() >= token.items()
        assert seen["notifications/progress"].items() >= token.items()
        assert seen["elicitation/create"]["requestedSchema"] == schema
        assert PRIVATE not in b"\n".join(driver.lines).decode()
        assert PRIVATE not in capsys.readouterr().err


async def test_a_warning_of_ours_is_redacted_in_what_it_quotes_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"global": {"private": ["**.server"]}}')
    loader = ShaperLoader(Options(config=str(config)))
    loader.server_log.warn("the server 'a: b' is left out", f"server={PRIVATE}")
    loader.start()
    await loader.get()
    loader.close()
    assert "the server 'a: b' is left out: " in caplog.text
    assert PRIVATE not in caplog.text


async def test_a_proxy_whose_config_is_corrected_is_as_ready_as_one_whose_config_was_right(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"global": {"profil": "minimal"}}')
    loader = ShaperLoader(Options(config=str(config)))
    loader.start()
    with pytest.raises(UnusableConfigError):
        await loader.get()
    collects_while_wrong = gc.isenabled()
    config.write_text('{"global": {"profile": "minimal"}}')
    before = gc.get_freeze_count()
    try:
        await loader.get()
        async with asyncio.timeout(20):
            while gc.get_freeze_count() <= before or not gc.isenabled():  # noqa: ASYNC110 (a thread says nothing when it is done)
                await asyncio.sleep(0.01)
    finally:
        gc.enable()
        loader.close()
    assert collects_while_wrong
