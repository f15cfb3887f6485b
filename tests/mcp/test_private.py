"""A private field stays private wherever in a result it stands, and in whatever form."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from hypothesis import given, settings, strategies as st
from mcp import Client as SdkClient
from mcp.server.mcpserver import MCPServer

from shaping import Shaper, ShapingMiddleware, shape, shape_server
from shaping.mcp.redaction import redact_answer, redact_members

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "LeAkEd.42"
CONFIG = {"tool_overrides": {"users": {"private": ["**.email", "account.pin"]}}}
SHAPER = Shaper(CONFIG)

FORMS: dict[str, Callable[[Any], Any]] = {
    "value": lambda value: value,
    "json": json.dumps,
    "indented json": lambda value: json.dumps(value, indent=2),
    "json in a json string": lambda value: json.dumps(json.dumps(value)),
    "json lines": lambda value: f"{json.dumps(value)}\n{json.dumps(value)}",
    "repr": repr,
    "after prose": lambda value: f"Found these users:\n{json.dumps(value)}",
    "in a sentence": lambda value: f"The answer is {json.dumps(value)}, as asked.",
    "before prose": lambda value: f"{json.dumps(value)}\nThat is all.",
    "in a fence": lambda value: f"Here:\n```json\n{json.dumps(value, indent=1)}\n```\n",
    "after a byte order mark": lambda value: f"\ufeff{json.dumps(value)}",
    "cut short": lambda value: json.dumps(value)[:-2],
    "escaped": lambda value: json.dumps(value).replace('"email"', '"\\u0065mail"'),
    "yaml": lambda value: "".join(f"{key}: {item}\n" for key, item in _flat(value)),
    "csv": lambda value: "\n".join(",".join(map(str, row)) for row in zip(*_flat(value), strict=True)),
    "columns": lambda value: "\n".join("   ".join(map(str, row)) for row in zip(*_flat(value), strict=True)),
    "xml": lambda value: "".join(f"<{key}>{item}</{key}>" for key, item in _flat(value)),
}
FLAT = [FORMS[name] for name in ("yaml", "csv", "columns", "xml")]
FIELDS = [
    {"id": 1, "email": SECRET},
    {"name": "Ann", "profile": {"email": SECRET, "city": "Ulm"}},
    {"account": {"pin": SECRET, "owner": "Bo"}},
    {"users": [{"id": 1, "email": SECRET}, {"id": 2, "email": SECRET}]},
]


def _flat(value: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [pair for key, item in value.items() for pair in _flat(item, key)]
    if isinstance(value, list):
        return [pair for item in value for pair in _flat(item, name)]
    return [(name, value)]


@st.composite
def placed(draw: st.DrawFn) -> Any:
    value: Any = draw(st.sampled_from(FIELDS))
    for _ in range(draw(st.integers(0, 2))):
        form = FORMS[draw(st.sampled_from(sorted(FORMS)))]
        # A flat form of `account.pin` has no `account`, so that the path does not name it any more.
        form = json.dumps if form in FLAT and "pin" in str(value) else form
        try:
            value = form(value)
        except (TypeError, ValueError):
            value = json.dumps(value)
        # A path that names the root holds only there: from here on the deep one must.
        if draw(st.booleans()) and "pin" not in str(value):
            value = {"more": value} if draw(st.booleans()) else [value, "x"]
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"result": value}


CHANNELS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "text": lambda value: {"content": [{"type": "text", "text": _text(value)}]},
    "structured": lambda value: {"content": [], "structuredContent": _object(value)},
    "both": lambda value: {
        "content": [{"type": "text", "text": _text(value)}],
        "structuredContent": _object(value),
    },
    "string under result": lambda value: {
        "content": [{"type": "text", "text": _text(value)}],
        "structuredContent": {"result": _text(value)},
    },
    "error text": lambda value: {"content": [{"type": "text", "text": _text(value)}], "isError": True},
    "error structure": lambda value: {"content": [], "structuredContent": _object(value), "isError": True},
    "resource": lambda value: {
        "content": [{"type": "resource", "resource": {"uri": "file:///a", "text": _text(value)}}]
    },
    "_meta": lambda value: {"content": [], "_meta": {"more": _object(value)}},
    "a member of its own": lambda value: {"content": [], "users": value},
}


@settings(max_examples=600, deadline=None)
@given(placed(), st.sampled_from(sorted(CHANNELS)), st.sampled_from(["minimal", "standard", "debug"]))
def test_a_private_field_is_in_no_mcp_result(value: Any, channel: str, profile: str) -> None:
    shaped = SHAPER.shape_result(CHANNELS[channel](value), tool="users", profile=profile)
    assert SECRET not in orjson.dumps(shaped).decode()


@settings(max_examples=300, deadline=None)
@given(placed(), st.sampled_from(["minimal", "standard", "debug"]))
def test_a_private_field_is_in_nothing_that_python_is_given(value: Any, profile: str) -> None:
    shaped = SHAPER.shape(value, tool="users", profile=profile)
    assert SECRET not in f"{shaped.text}{shaped.value}{shaped.omissions}{shaped.warnings}"
    if shaped.ref is not None:
        page = SHAPER.expand(shaped.ref)
        assert SECRET not in f"{page.text}{page.value}"


@settings(max_examples=100, deadline=None)
@given(placed())
def test_a_private_field_is_not_in_what_a_decorated_function_raises(value: Any) -> None:
    @shape(tool="users", config=CONFIG)
    def users() -> Any:
        raise ValueError(_text(value))

    assert SECRET not in json.dumps(users())


def test_json_in_a_string_is_shaped_as_data_and_stays_a_string() -> None:
    records = [{"id": number, "email": SECRET, "state": "open", "none": None} for number in range(30)]
    text = json.dumps(records)
    result = {"content": [{"type": "text", "text": text}], "structuredContent": {"result": text}}
    shaped = SHAPER.shape_result(result, tool="users")
    assert len(shaped["content"][0]["text"]) < len(text) / 2
    assert json.loads(shaped["structuredContent"]["result"])[0] == {"id": 0, "state": "open"}


def test_fields_can_be_selected_inside_a_string() -> None:
    shaper = Shaper({"tool_overrides": {"users": {"include_only": ["id", "raw.name", "list.id"]}}})
    value = {"id": 1, "raw": '{"name": "Ann", "age": 4}', "list": ['{"id": 1, "x": 2}', "prose"], "more": "x"}
    assert shaper.shape(value, tool="users").data == {"id": 1, "raw": '{"name":"Ann"}', "list": ['{"id":1}']}


def test_prose_passes_and_a_text_that_may_hold_a_private_field_is_withheld_with_a_warning() -> None:
    assert SHAPER.shape("Nothing was found.", tool="users").data == "Nothing was found."
    held = SHAPER.shape('{"id": 1, "email": "ann@', tool="users")
    assert held.data == "[withheld: this text may hold the private field 'email' and cannot be read as data]"
    assert [warned.code for warned in held.warnings] == ["UNREADABLE_TEXT"]


def test_a_text_in_which_an_excluded_field_may_stand_goes_out_with_a_warning() -> None:
    shaper = Shaper({"tool_overrides": {"users": {"exclude_fields": ["email"]}}})
    shaped = shaper.shape('{"id": 1, "email": "ann@', tool="users")
    assert shaped.data == '{"id": 1, "email": "ann@'
    assert [warned.code for warned in shaped.warnings] == ["UNREADABLE_TEXT"]


def test_what_is_left_out_of_a_string_is_told() -> None:
    shaper = Shaper({"tool_overrides": {"users": {"exclude_fields": ["raw.email"]}}})
    shaped = shaper.shape({"id": 1, "raw": '{"email": "x", "name": "Ann"}'}, tool="users")
    assert shaped.data == {"id": 1, "raw": '{"name":"Ann"}'}
    assert [(each.path, each.reason) for each in shaped.omissions] == [("raw.email", "fields")]


def _users() -> str:
    """List users as JSON."""
    return json.dumps([{"id": number, "email": SECRET, "url": None} for number in range(20)])


@pytest.mark.anyio
async def test_a_fastmcp_tool_that_returns_a_string_of_json_is_filtered_in_both_channels() -> None:
    server: FastMCP[Any] = FastMCP("s")
    server.tool(_users, name="users")
    server.add_middleware(ShapingMiddleware(CONFIG))
    async with Client(server) as client:
        result = await client.call_tool_mcp("users", {})
    assert SECRET not in result.model_dump_json()
    assert result.structured_content is not None
    assert json.loads(result.structured_content["result"])[0] == {"id": 0}


@pytest.mark.anyio
async def test_an_sdk_tool_that_returns_a_string_of_json_is_filtered_in_both_channels() -> None:
    server = MCPServer("s")
    server.tool(name="users")(_users)
    shape_server(server, CONFIG)
    async with SdkClient(server) as client:
        result = await client.call_tool("users", {})
    assert SECRET not in result.model_dump_json()
    assert json.loads(result.structured_content["result"])[0] == {"id": 0}


def test_a_decorated_function_that_returns_a_string_of_json_answers_with_data() -> None:
    assert shape(tool="users", config=CONFIG)(_users)()["data"][0] == {"id": 0}


@settings(max_examples=200, deadline=None)
@given(placed(), st.sampled_from(["contents", "messages", "error", "log"]))
def test_a_private_field_is_in_no_other_message_that_a_model_reads(value: Any, message: str) -> None:
    said = _text(value)
    if message == "contents":
        wire: Any = redact_answer(
            SHAPER, "file:///users.json", {"contents": [{"uri": "file:///users.json", "text": said}]}
        )
    elif message == "messages":
        wire = redact_answer(SHAPER, "p", {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]})
    elif message == "error":
        wire = redact_members(SHAPER, {"code": -32000, "message": said, "data": value}, ("message", "data"))
    else:
        wire = redact_members(SHAPER, {"level": "info", "data": value}, ("data",))
    assert SECRET not in json.dumps(wire)


def test_a_rule_for_a_server_by_name_holds_for_its_tools(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "from fastmcp import FastMCP\n"
        "mcp = FastMCP('tracker')\n"
        "@mcp.tool\n"
        "def list_issues() -> list[dict]:\n"
        "    return [{'id': n, 'title': f'hidden {n}'} for n in range(5)]\n"
        "mcp.run(show_banner=False)\n"
    )
    config = tmp_path / "config.json"
    config.write_text('{"tool_overrides": {"tracker/*": {"private": ["**.title"]}}}')
    command = [str(Path(sys.executable).with_name("shaping")), "proxy", "--config", str(config), "--"]

    async def read() -> str:
        arguments = [*command[1:], sys.executable, str(script)]
        async with Client(StdioTransport(command[0], arguments, env=dict(os.environ))) as client:
            return str((await client.call_tool("list_issues", {})).content)

    answer = asyncio.run(read())
    assert "id" in answer
    assert "hidden" not in answer
