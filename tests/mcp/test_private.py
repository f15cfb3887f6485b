"""A private field stays private wherever in a result it stands, and in whatever form."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from hypothesis import given, settings, strategies as st
from mcp import Client as SdkClient
from mcp.server.mcpserver import MCPServer

from benchmarks.placements import CONTENT as SECRET, leaks
from benchmarks.placements_ways import Ways
from shaping import Shaper, ShapingMiddleware, ToolError, shape, shape_server
from shaping.errors import make_error
from shaping.mcp.protection import protect_result
from shaping.mcp.server_messages import MessageProtection

if TYPE_CHECKING:
    from random import Random

CONFIG = {"tool_overrides": {"users": {"private": ["**.email", "account.pin"]}}}
SHAPER = Shaper(CONFIG)

WAYS = Ways()


@settings(max_examples=1200, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(WAYS.names()))
def test_a_private_field_leaves_by_no_way_in_no_form(dice: Random, way: str) -> None:
    assert not leaks(WAYS.leave(way, dice)[1])


def test_a_private_path_from_the_root_holds_in_a_text_that_a_framework_wrapped() -> None:
    text = '{"account": {"pin": "LeAkEd.42", "owner": "Bo"'
    result = {"content": [{"type": "text", "text": text}], "structuredContent": {"output": text}}
    assert SECRET not in str(SHAPER.shape_result(result, tool="users"))


@pytest.mark.parametrize(
    "text",
    [
        'account: {"pin": "%s", "owner": "Bo"}',
        'INFO account={"pin": "%s", "owner": "Bo"}',
        '## account\n\n[{"pin": "%s", "owner": "Bo"}]',
        'account:\n```json\n{"pin": "%s", "owner": "Bo"}\n```',
        '{"x": 1}\naccount: {"data": {"Pin": "%s", "owner": "Bo"}}',
        "the account is {'pin': '%s', 'owner': 'Bo'}",
    ],
)
def test_a_private_path_from_the_root_holds_in_data_behind_a_label(text: str) -> None:
    text = text.replace("%s", SECRET)
    block = {"type": "text", "text": text}
    left = [
        SHAPER.shape(text, tool="users").text,
        SHAPER.shape({"log": [text]}, tool="users").text,
        SHAPER.shape_result({"content": [block]}, tool="users"),
        SHAPER.shape_result({"content": [block], "isError": True}, tool="users"),
    ]
    assert not [one for one in left if SECRET in str(one)]
    assert "Bo" in str(left[0])


def test_a_key_with_dots_is_private_where_its_names_are() -> None:
    record = {"id": 1, "user.email": SECRET, "email.work": SECRET, "account.pin": SECRET, "account.owner": "Bo"}
    assert SHAPER.shape(record, tool="users").data == {"id": 1, "account.owner": "Bo"}


def test_a_bare_name_that_stands_only_deeper_is_taken_out_there_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    shaper = Shaper({"tool_overrides": {"orders": {"private": ["ssn", "id"]}}})
    order = {"id": 7, "customer": {"id": 1, "name": "Bo", "SSN": SECRET}}
    for _ in range(2):
        shaped = shaper.shape({"id": 1, "orders": [order]}, tool="orders")
        assert shaped.data == {"orders": [{"id": 7, "customer": {"id": 1, "name": "Bo"}}]}
        assert SECRET not in str((shaped.omissions, shaper.expand(shaped.ref).text if shaped.ref else ""))
        result = {"content": [], "structuredContent": {"orders": [order]}}
        assert SECRET not in str(shaper.shape_result(result, tool="orders"))
    told = [record.message for record in caplog.records if "'ssn'" in record.message]
    assert told == [
        "'orders': private 'ssn' matches nothing but deeper in this answer, where it was taken out; write '**.ssn'"
    ]


def test_what_an_error_says_in_any_member_is_free_of_private_fields() -> None:
    @shape(tool="users", config=CONFIG)
    def users() -> Any:
        raise ToolError(
            "UNAVAILABLE",
            "no",
            hint=f"email: {SECRET}",
            next_actions=[f"call with email={SECRET}"],
            details={"email": SECRET, "id": 1},
        )

    said = json.dumps(users())
    assert SECRET not in said
    assert '"id": 1' in said


TOKEN = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
HELD = json.dumps({"id": 1, "email": SECRET, "said": TOKEN})


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize(
    "block",
    [
        {"text": HELD},
        {"text": TOKEN},
        {"type": None, "text": HELD},
        {"type": ["text"], "text": HELD},
        {"type": "Text", "text": HELD},
        {"type": "text", "text": [HELD]},
        {"type": "text", "text": {"email": SECRET, "said": TOKEN}},
        {"type": "resource", "resource": HELD},
        {"type": "resource", "resource": [HELD, {"email": SECRET, "said": TOKEN}]},
        {"type": "resource", "resource": {"uri": "a:b", "text": HELD}, "text": HELD},
        {"type": "text", "text": "x", "resource": HELD},
    ],
    ids=str,
)
def test_a_block_of_no_known_form_is_cleaned_like_one_of_an_unknown_type(block: dict[str, Any], failed: bool) -> None:
    for content in ([block], [{"type": "text", "text": "{}"}, block]):
        shaped = json.dumps(SHAPER.shape_result({"content": content, "isError": failed}, tool="users"))
        assert SECRET not in shaped
        assert TOKEN not in shaped


def test_a_result_that_is_withheld_is_logged_as_such_without_its_values(caplog: pytest.LogCaptureFixture) -> None:
    shaped = Shaper(CONFIG).shape_result({"content": [f"email={SECRET}"]}, tool="users")
    assert SECRET not in json.dumps(shaped) + caplog.text
    assert "withheld" in caplog.text
    assert "goes out unshaped" not in caplog.text


def test_what_is_private_for_every_tool_is_private_in_resources_and_logs() -> None:
    shaper = Shaper({"global": {"private": ["**.email"]}})
    read = {"contents": [{"uri": "file:///a", "text": json.dumps({"email": SECRET})}]}
    assert SECRET not in json.dumps(MessageProtection(shaper).resource_or_prompt("file:///a", read))
    assert SECRET not in json.dumps(
        MessageProtection(shaper).params("notifications/message", {"data": {"email": SECRET}})
    )


def test_a_result_that_is_not_shaped_is_cleaned_in_members_named_as_pictures_have_them() -> None:
    held = {"data": [{"email": SECRET, "id": 1}], "blob": {"email": SECRET}, "bytes": f"token {TOKEN}"}
    result = {"content": [], "structuredContent": held}
    clean = protect_result(result, SHAPER.plan("users", surface="mcp"))
    assert clean["structuredContent"] == {"data": [{"id": 1}], "blob": {}, "bytes": "token [redacted:github-token]"}


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


GITHUB = [
    {
        "id": number,
        "name": f"issue {number}",
        "labels_url": "https://api.example.com/repos/a/b/issues/1/labels{/name}",
        "archive_url": "https://api.example.com/repos/a/b/{archive_format}{/ref}?id={id}&name='x'",
        "title": "The name, and the id: both are wrong",
        "body": (
            "The `name` is 'x'. Steps:\n\n- name: build\n  id: 7\n\n| id | name |\n|----|----|\n| 1 | a |\n\n"
            '```json\n{"id": 1, ...}\n```\n[see](https://x.example/{id}) the "name": it is {"id"...'
        ),
        "html": "<!-- name: x --> {name} [id]",
    }
    for number in range(10)
]


@pytest.mark.parametrize("profile", ["standard", "minimal"])
def test_urls_and_prose_that_name_an_excluded_field_are_not_warned_of(profile: str) -> None:
    plain = {"tool_overrides": {"t": {"profile": profile}}}
    config = {"tool_overrides": {"t": {"profile": profile, "exclude_fields": ["**.id", "**.name"]}}}
    for value in (GITHUB, 'Give the name, please.\nThen the id of it, as "id": that is all.'):
        shaped = Shaper(config).shape(value, tool="t")
        assert shaped.warnings == ()
        sent = json.dumps(value) if value is GITHUB else value
        result = {"content": [{"type": "text", "text": sent}]}
        assert "UNREADABLE" not in json.dumps(Shaper(config).shape_result(result, tool="t"))
    kept = [{key: item for key, item in row.items() if key not in {"id", "name"}} for row in GITHUB]
    assert Shaper(config).shape(GITHUB, tool="t").data == Shaper(plain).shape(kept, tool="t").data


@pytest.mark.parametrize(
    "text",
    ['[{"id": 1, "email": "ann@', "id: 1\nemail: a@example.com\n  x: [\n }", "id | email\n1 | a@example.com\n??? | |"],
)
def test_data_that_cannot_be_read_is_warned_of_once_and_never_dearer(text: str) -> None:
    shaper = Shaper({"tool_overrides": {"users": {"exclude_fields": ["email"], "parse": []}}})
    shaped = shaper.shape(text, tool="users")
    message = "1 text kept that may hold 'email' and cannot be read as data"
    assert [(warned.code, warned.message) for warned in shaped.warnings] == [("UNREADABLE_TEXT", message)]
    assert shaped.text == text
    deep = Shaper({"tool_overrides": {"users": {"exclude_fields": ["**.email"]}}})
    inside = deep.shape([{"raw": '{"email": "ann@', "n": one} for one in range(30)], tool="users")
    assert [warned.message for warned in inside.warnings] == [message.replace("1 text", "30 texts")]


@pytest.mark.parametrize("key", ["content", "Content"])
@pytest.mark.parametrize(
    "text",
    [
        "name,city\n" + "".join(f"{SECRET},Berlin\n" for _ in range(40)),
        json.dumps([{"name": SECRET}]),
        f"name: {SECRET}\nsize: 1",
    ],
)
def test_data_in_the_one_string_of_an_object_goes_with_the_string_s_own_private_name(key: str, text: str) -> None:
    result = {"content": [{"type": "text", "text": text}], "structuredContent": {"content": text}}
    for more in ({}, {"include_only": ["size", "name"]}, {"exclude_fields": ["size"]}):
        shaper = Shaper({"tool_overrides": {"t": {"private": [key], **more}}})
        assert SECRET not in json.dumps(shaper.shape_result(result, tool="t"))


def test_a_record_that_names_a_private_field_is_withheld_whatever_else_is_asked_for() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"private": ["**.salary"], "include_only": ["bob", "id"]}}})
    assert SECRET not in shaper.shape(f"id: the salary of\nbob: {SECRET}", tool="t").text


def test_a_text_that_is_no_data_goes_out_whole_with_a_warning_and_no_dearer() -> None:
    shaper = Shaper({"tool_overrides": {"t": {"include_only": ["size"]}}})
    text = "Nothing was found here.\nTry another folder."
    shaped = shaper.shape(text, tool="t")
    assert shaped.text == text
    assert [warned.code for warned in shaped.warnings] == ["UNREADABLE_TEXT"]
    for key in ("content", "result"):
        result = {"content": [{"type": "text", "text": text}], "structuredContent": {key: text}}
        out = shaper.shape_result(result, tool="t")
        assert {name: out[name] for name in result} == result
        assert [warned["code"] for warned in out["_meta"]["shaping"]["warnings"]] == ["UNREADABLE_TEXT"]


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


def test_the_error_of_a_tool_that_is_not_enabled_holds_nothing_private() -> None:
    shaper = Shaper({"global": {"private": ["**.ssn"], "enabled": False}})
    error = make_error("BAD_RESPONSE", 'no: {"ssn": "078-05-1120"}')
    shaped = shaper.shape({"a": 1}, tool="t", error=error)
    assert "078-05-1120" not in str(shaped.envelope)
    assert "078-05-1120" not in shaped.text


TWO_BLOCKS = {
    "JSON cut in two": ('{"user": "Bo", "email": "LeA', 'kEd.42"}'),
    "a name and its value": ("email:", "LeAkEd.42"),
    "a picture between them": ("his email is", None, "LeAkEd.42"),
    "a name cut in two": ('{"em', 'ail": "LeAkEd.42"}'),
    "three": ("the email follows", "in a moment:", "LeAkEd.42"),
}


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize("case", TWO_BLOCKS)
def test_a_private_value_does_not_leave_in_the_blocks_behind_its_name(case: str, *, failed: bool) -> None:
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    content = [picture if text is None else {"type": "text", "text": text} for text in TWO_BLOCKS[case]]
    for config in (CONFIG, {"tool_overrides": {"users": {"private": ["**.email"], "enabled": False}}}):
        out = json.dumps(Shaper(config).shape_result({"content": content, "isError": failed}, tool="users"))
        assert "kEd.42" not in out


def test_a_private_value_does_not_leave_in_a_resource_behind_its_name() -> None:
    resource = {"type": "resource", "resource": {"uri": "x://a", "text": "LeAkEd.42"}}
    for first in ("his email is", "email"):
        content = [{"type": "text", "text": first}, resource]
        assert "kEd.42" not in json.dumps(SHAPER.shape_result({"content": content}, tool="users"))


@pytest.mark.parametrize("first", ["his email is", "email"])
def test_a_private_value_does_not_leave_behind_its_name_in_prompts_and_resources(first: str) -> None:
    texts = [{"type": "text", "text": first}, {"type": "text", "text": "LeAkEd.42"}]
    for wire in (
        {"messages": [{"role": "user", "content": text} for text in texts]},
        {"messages": [{"role": "user", "content": texts}]},
        {"contents": [{"uri": "x://a", "text": text["text"]} for text in texts]},
    ):
        assert "kEd.42" not in json.dumps(MessageProtection(SHAPER).resource_or_prompt("users", wire))
    plain = {
        "messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}, {"role": "user", "content": "x"}]
    }
    assert MessageProtection(SHAPER).resource_or_prompt("users", plain) is plain


def test_blocks_behind_data_with_a_private_field_stay() -> None:
    texts = ('{"email": "x", "id": 1}', "2 rows")
    result = Shaper(CONFIG).shape_result({"content": [{"type": "text", "text": text} for text in texts]}, tool="users")
    out = json.dumps(result)
    assert "2 rows" in out


@pytest.mark.parametrize("name", ["em\ufe0fail", "em\U000e0020ail", "e\u0301mail", "em\u3164ail", "em\u200bail"])
def test_what_has_no_width_hides_a_name_neither_in_an_error_nor_in_its_meta(name: str) -> None:
    for text in (json.dumps({name: SECRET}), f"{name}: {SECRET}", json.dumps({"a": f"{name}: {SECRET}"})):
        result = {"content": [{"type": "text", "text": text}], "isError": True}
        assert SECRET not in json.dumps(SHAPER.shape_result(result, tool="users"))


@pytest.mark.parametrize("member", ["data", "blob"])
def test_base64_of_a_text_with_a_private_name_does_not_leave_however_long_it_is(member: str) -> None:
    code = b64encode(("a line of words\n" * 40 + "email: LeAkEd.42\n").encode()).decode()
    image = b64encode(bytes(range(256)) * 4).decode()
    blocks = [
        {"type": "resource", "resource": {"uri": "file:///a", member: code}},
        {"type": "resource", "resource": {"uri": "file:///b", member: image}},
    ]
    out = json.dumps(Shaper(CONFIG).shape_result({"content": blocks}, tool="users"))
    assert code not in out
    assert image in out


@pytest.mark.parametrize("path", ["**.data", "**.data.salary", "data.salary", "salary", "**.salary"])
def test_private_holds_for_an_answer_as_it_came_and_for_the_data_of_an_envelope(path: str) -> None:
    shaper = Shaper({"tool_overrides": {"*": {"private": [path]}}})
    for data in ({"salary": 98765431, "x": 1}, {"salary": 98765431}, [{"salary": 98765431}]):
        wire = shaper.shape_result({"content": [], "structuredContent": {"data": data}}, tool="t")
        if path != "salary" or isinstance(data, dict):
            assert "98765431" not in json.dumps(wire)
            block = {"type": "text", "text": json.dumps({"data": data})}
            assert "98765431" not in json.dumps(shaper.shape_result({"content": [block]}, tool="t"))
            assert "98765431" not in shaper.shape({"data": data}, tool="t").text


HELD_PROPERTY = {
    "properties": {"email": {"$ref": "#/$defs/S"}},
    "$defs": {"S": {"default": SECRET, "$ref": "#/$defs/T"}},
}
SCHEMAS: list[dict[str, Any]] = [
    {**HELD_PROPERTY, "$defs": {**HELD_PROPERTY["$defs"], "T": {"examples": [SECRET]}}},
    {"properties": {"b": {"anyOf": [{"title": "Email"}], "default": SECRET}}},
    {"properties": {"b": {"enum": [f"email={SECRET}"]}}},
    {"properties": {"b": {"pattern": f"^email={SECRET}$"}}},
    {"properties": {"b": {"$comment": f"email {SECRET}"}}},
    {"properties": {"b": {"enumNames": ["email"], "enum": [SECRET]}}},
]
SAID: list[tuple[str, dict[str, Any]]] = [
    *(("tools/list", {"tools": [{"name": "t", "inputSchema": schema}]}) for schema in SCHEMAS),
    ("prompts/list", {"prompts": [{"name": "p", "arguments": [{"name": "email", "default": SECRET, "x": SECRET}]}]}),
    ("prompts/list", {"prompts": [{"name": "p", "arguments": [{"name": "q", "title": "Email", "enum": [SECRET]}]}]}),
    ("resources/list", {"resources": [{"uri": "x://a", "name": "email", "value": SECRET}]}),
    *(
        ("resources/list", {"resources": [{"uri": uri, "name": "a"}]})
        for uri in (
            f"data:,email={SECRET}",
            f"data:text/plain;base64,{b64encode(f'email={SECRET}'.encode()).decode()}",
            f"x://a?p=%7B%22email%22%3A%22{SECRET}%22%7D",
            f"x://a?filter=email%3D{SECRET}",
            f"x://a?key=email&value={SECRET}",
        )
    ),
]


@pytest.mark.parametrize(("method", "said"), SAID)
def test_a_definition_tells_no_value_of_a_private_field(method: str, said: dict[str, Any]) -> None:
    out = json.dumps(MessageProtection(SHAPER).protect(said, method))
    assert SECRET not in out
    assert b64encode(SECRET.encode()).decode()[4:8] not in out


def test_a_definition_without_a_private_field_stays_as_it_is() -> None:
    schema = {
        "properties": {"sort": {"enum": ["email", "name"]}, "b": {"$ref": "#/$defs/S"}},
        "$defs": {"S": {"default": 1}},
    }
    said = {
        "tools": [{"name": "t", "inputSchema": schema}],
        "resources": [{"uri": "x://a?b=1&c=2", "name": "a", "size": 3}],
    }
    assert MessageProtection(SHAPER).protect(said, "tools/list") is said
