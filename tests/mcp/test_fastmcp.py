from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types
import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.exceptions import ToolError
from pydantic import BaseModel

from shaping import Envelope, ToolError as CodedError, shape
from shaping.mcp.fastmcp import ShapingMiddleware
from shaping.mcp.tool_entries import EXPAND_TOOL
from shaping.shaper import Shaper
from shaping.tokens import exact

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio
CONFIG: dict[str, Any] = {"tool_overrides": {"issues": {"include_only": ["number", "user.login"]}}}


class User(BaseModel):
    login: str
    id: int


class Issue(BaseModel):
    number: int
    title: str
    user: User
    body: str | None = None


def issues() -> list[Issue]:
    """List issues."""
    return [Issue(number=n, title="t", user=User(login="ada", id=n)) for n in (1, 2)]


def fail(how: str, n: int = 0) -> str:
    """Fail."""
    if how == "missing":
        raise FileNotFoundError(2, "no such file", "notes.txt")
    raise ToolError("the API said: rate limit exceeded")


def echo(text: str) -> str:
    """Echo."""
    return text


KEPT = [{"number": 1, "user": {"login": "ada"}}, {"number": 2, "user": {"login": "ada"}}]


def server(config: Any = None, **options: Any) -> FastMCP[Any]:
    made: FastMCP[Any] = FastMCP("s", tools=[issues, fail, echo])
    made.add_middleware(ShapingMiddleware(CONFIG if config is None else config, **options))
    return made


@pytest.mark.parametrize("profile", ["minimal", "standard"])
async def test_a_long_text_is_cut_at_line_ends_and_keeps_its_traceback(profile: str) -> None:
    lines = [f"{('step', 'compiled module', 'linked')[n % 3]} {n * 7919 % 1000} of part {n}" for n in range(6000)]
    trace = [
        "Traceback (most recent call last):",
        '  File "pay.py", line 88, in charge',
        "ValueError: card 42 declined",
    ]
    text = "\n".join([*lines[:3000], *trace, *lines[3000:]])
    async with Client(server({"global": {"profile": profile, "max_tokens": 2000}})) as client:
        result = await client.call_tool_mcp("echo", {"text": text})
    shown = result.content[0].text.split("\n")
    at = shown.index(trace[0])
    assert shown[at : at + 3] == trace
    marks = [line for line in shown if line.startswith("… ")]
    assert all(line in {*lines, *trace, *marks} for line in shown if "shaping_expand" not in line)
    assert len(marks) == 2


async def test_a_model_reads_that_a_list_of_fields_matches_nothing() -> None:
    async with Client(server({"tool_overrides": {"issues": {"include_only": ["nmber"]}}})) as client:
        text = (await client.call_tool_mcp("issues", {})).content[0].text
    assert "include_only names nothing that this answer has (nmber)" in text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_one_line_shapes_every_tool_and_its_schema(mode: str) -> None:
    async with Client(server(), mode=mode) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        result = await client.call_tool("issues", {})
    assert [*tools] == ["issues", "fail", "echo", "shaping_expand"]
    assert tools["issues"].output_schema["properties"]["result"]["items"]["properties"].keys() == {"number", "user"}
    assert result.structured_content == {"result": KEPT}
    assert [item.user.login for item in result.data] == ["ada", "ada"]
    assert json.loads(result.content[0].text) == KEPT
    assert result.meta["shaping"]["tag"]


async def test_a_call_can_choose_its_profile_and_its_fields() -> None:
    async with Client(server()) as client:
        debug = await client.call_tool("issues", {}, meta={"shaping/profile": "debug"})
        titles = await client.call_tool("issues", {}, meta={"shaping/fields": ["title"]})
        listed = await client.call_tool("issues", {}, meta={"shaping/fields": "title, number"})
        wrong = await client.call_tool("issues", {}, meta={"shaping/profile": "dbug"})
    assert debug.structured_content == {"result": [issue.model_dump() for issue in issues()]}
    assert titles.structured_content == {"result": [{"title": "t"}, {"title": "t"}]}
    assert listed.structured_content == {"result": [{"number": 1, "title": "t"}, {"number": 2, "title": "t"}]}
    assert wrong.structured_content == {"result": KEPT}
    assert wrong.meta["shaping"]["warnings"][0]["code"] == "BAD_REQUEST"


@pytest.mark.parametrize("name", ["profile", "max_tokens", "fields", "if_none_match"])
@pytest.mark.parametrize("odd", [["q"], {"a": 1}, [["q"], {}], 5.5, True])
async def test_a_choice_of_a_client_that_is_none_costs_it_no_answer(name: str, odd: Any) -> None:
    async with Client(server()) as client:
        result = await client.call_tool("issues", {}, meta={f"shaping/{name}": odd})
    assert not result.is_error
    assert "result" in result.structured_content


async def test_a_profile_of_the_environment_that_there_is_not_is_logged_once_and_costs_no_call_its_fields(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SHAPING_PROFILE", "minimla")
    async with Client(server()) as client:
        for _ in range(2):
            titles = await client.call_tool("issues", {}, meta={"shaping/fields": ["title"]})
    assert titles.structured_content == {"result": [{"title": "t"}, {"title": "t"}]}
    said = [record.getMessage() for record in caplog.records if record.name == "shaping"]
    assert [message.split(";")[0] for message in said] == ["SHAPING_PROFILE is 'minimla'"]


async def test_an_answer_that_the_client_holds_is_not_sent_again() -> None:
    async with Client(server()) as client:
        first = await client.call_tool("echo", {"text": "a"}, meta={"shaping/if_none_match": ""})
        tag = {"shaping/if_none_match": first.meta["shaping"]["etag"]}
        again = await client.call_tool_mcp("echo", {"text": "a"}, meta=tag)
        other = await client.call_tool_mcp("echo", {"text": "b"}, meta=tag)
    assert (again.meta or {})["shaping"]["not_modified"] is True
    assert other.content[0].text == "b"


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("fail", {"how": "missing"}, "FILE_NOT_FOUND"),
        ("fail", {"how": "limit"}, "RATE_LIMITED"),
        ("fail", {"how": "x", "n": "many"}, "BAD_ARGUMENT"),
        ("ecko", {}, "OPERATION_NOT_FOUND"),
    ],
)
async def test_every_failure_is_a_coded_error_without_structured_content(
    tool: str, arguments: dict[str, Any], code: str
) -> None:
    async with Client(server()) as client:
        result = await client.call_tool(tool, arguments, raise_on_error=False)
    assert (result.is_error, result.structured_content) == (True, None)
    assert result.content[0].text.startswith(f"{code}: ")
    assert result.meta["shaping/error"]["code"] == code


async def test_a_server_that_hides_its_errors_keeps_them_hidden() -> None:
    made: FastMCP[Any] = FastMCP("s", tools=[fail], mask_error_details=True)
    made.add_middleware(ShapingMiddleware(CONFIG))
    async with Client(made) as client:
        result = await client.call_tool("fail", {"how": "missing"}, raise_on_error=False)
    assert "notes.txt" not in str(result)


async def test_the_control_argument_is_offered_where_the_config_says_and_never_reaches_the_tool() -> None:
    async with Client(server(CONFIG | {"agent_controls": True})) as client:
        [tool] = [tool for tool in await client.list_tools() if tool.name == "issues"]
        result = await client.call_tool("issues", {"_shape": {"fields": ["title"], "profile": "standard"}})
    assert "_shape" in tool.input_schema["properties"]
    assert result.structured_content == {"result": [{"title": "t"}, {"title": "t"}]}


async def test_a_dropped_tool_is_neither_listed_nor_called() -> None:
    async with Client(server({"tools": {"echo": {"drop": True}, "fail": {"description": "Do."}}})) as client:
        tools = {tool.name: tool.description for tool in await client.list_tools()}
        result = await client.call_tool("echo", {"text": "x"}, raise_on_error=False)
    assert tools == {"issues": "List issues.", "fail": "Do.", "shaping_expand": EXPAND_TOOL["description"]}
    assert result.meta["shaping/error"]["code"] == "OPERATION_NOT_FOUND"


async def test_a_question_back_to_the_user_passes_untouched() -> None:
    def ask(ctx: Context) -> Any:
        if ctx.input_responses is None:
            form = mcp_types.ElicitRequestFormParams(
                message="Sure?", requested_schema={"type": "object", "properties": {"ok": {"type": "boolean"}}}
            )
            requests = {"a": mcp_types.ElicitRequest(params=form)}
            return mcp_types.InputRequiredResult(input_requests=requests, request_state="s")
        return "went on"

    made: FastMCP[Any] = FastMCP("s", tools=[ask])
    made.add_middleware(ShapingMiddleware(CONFIG))

    async def answer(*_: Any) -> Any:
        return {"ok": True}

    async with Client(made, elicitation_handler=answer) as client:
        result = await client.call_tool("ask", {})
    assert result.content[0].text == "went on"


async def test_what_a_decorated_tool_has_shaped_is_coded_once() -> None:
    @shape(config={})
    def broken() -> dict[str, Any]:
        raise TimeoutError

    made: FastMCP[Any] = FastMCP("s", tools=[broken])
    made.add_middleware(ShapingMiddleware(CONFIG))
    async with Client(made) as client:
        result = await client.call_tool("broken", {}, raise_on_error=False)
    assert result.meta["shaping/error"]["code"] == "TIMEOUT"


async def test_a_call_without_a_client_is_left_alone() -> None:
    made = server()
    result = await made.call_tool("issues", {})
    assert result.structured_content == {"result": [issue.model_dump() for issue in issues()]}
    assert [tool.name for tool in await made.list_tools()] == ["issues", "fail", "echo"]


async def test_without_expand_there_is_no_tool_of_ours() -> None:
    async with Client(server(expand=False)) as client:
        assert [tool.name for tool in await client.list_tools()] == ["issues", "fail", "echo"]


def write(path: Path, **override: Any) -> None:
    path.write_text(json.dumps({"tool_overrides": {"issues": override}} if override else {}))


async def test_a_session_keeps_its_schema_while_everything_else_of_a_new_config_takes_effect(tmp_path: Path) -> None:
    file = tmp_path / "response_config.json"
    write(file, include_only=["number"])
    shaper = Shaper(file)
    made: FastMCP[Any] = FastMCP("s", tools=[issues])
    made.add_middleware(ShapingMiddleware(shaper=shaper))
    async with Client(made) as client:
        before = await client.list_tools()
        write(file, include_only=["title"], envelope={"include": ["etag"]})
        shaper._live.reload()
        assert await client.list_tools() == before
        kept = await client.call_tool("issues", {})
    async with Client(made) as client:
        fresh = await client.call_tool("issues", {})
    assert kept.structured_content == {"result": [{"number": 1}, {"number": 2}]}
    assert kept.meta["shaping"]["etag"]
    assert fresh.structured_content == {"result": [{"title": "t"}, {"title": "t"}]}


async def test_a_path_made_private_is_gone_at_once_even_from_a_live_session(tmp_path: Path) -> None:
    file = tmp_path / "response_config.json"
    write(file, include_only=["number", "title"])
    shaper = Shaper(file)
    made: FastMCP[Any] = FastMCP("s", tools=[issues])
    made.add_middleware(ShapingMiddleware(shaper=shaper))
    async with Client(made) as client:
        await client.list_tools()
        write(file, include_only=["number", "title"], private=["title"])
        shaper._live.reload()
        result = await client.call_tool("issues", {})
    assert result.structured_content == {"result": [{"number": 1}, {"number": 2}]}


async def test_a_config_can_have_its_changes_announced_instead(tmp_path: Path) -> None:
    file = tmp_path / "response_config.json"
    announcing = {"tools_changed": "announce"}
    file.write_text(json.dumps(announcing))
    shaper = Shaper(file)
    made: FastMCP[Any] = FastMCP("s", tools=[issues])
    made.add_middleware(ShapingMiddleware(shaper=shaper))
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(type(message).__name__)

    async with Client(made, message_handler=hear, mode="legacy") as client:
        await client.list_tools()
        file.write_text(json.dumps(announcing | {"tool_overrides": {"issues": {"include_only": ["title"]}}}))
        shaper._live.reload()
        result = await client.call_tool("issues", {})
        [tool] = [tool for tool in await client.list_tools() if tool.name == "issues"]
    assert result.structured_content == {"result": [{"title": "t"}, {"title": "t"}]}
    assert tool.output_schema["properties"]["result"]["items"]["properties"].keys() == {"title"}
    assert heard == ["ToolListChangedNotification"]


def noisy() -> dict[str, Any]:
    """Give a payload with noise in it."""
    avatar = "https://avatars.githubusercontent.com/u/583231?v=4"
    return {
        "items": [
            {
                "id": n,
                "node_id": f"MDU6SXNzdWUx{n:08d}==",
                "avatar_url": avatar,
                "title": f"Issue {n}",
                "url": f"{avatar}{n}",
            }
            for n in range(40)
        ]
    }


async def test_what_was_left_out_can_be_asked_back_by_the_same_client_only() -> None:
    made: FastMCP[Any] = FastMCP("s", tools=[noisy])
    made.add_middleware(ShapingMiddleware({}))
    async with Client(made, mode="legacy") as client, Client(made, mode="legacy") as stranger:
        answer = await client.call_tool("noisy", {})
        ref = answer.meta["shaping"]["ref"]
        back = await client.call_tool("shaping_expand", {"ref": ref, "path": "items[0].node_id"})
        refused = await stranger.call_tool("shaping_expand", {"ref": ref}, raise_on_error=False)
    assert f"shaping_expand ref={ref}" in answer.content[0].text
    assert back.content[0].text.strip('"') == noisy()["items"][0]["node_id"]
    assert refused.meta["shaping/error"]["code"] == "REF_NOT_FOUND"


async def test_no_ref_is_shown_to_a_client_that_has_no_way_to_expand_it() -> None:
    made: FastMCP[Any] = FastMCP("s", tools=[noisy])
    made.add_middleware(ShapingMiddleware({}, expand=False))
    async with Client(made) as client:
        answer = await client.call_tool("noisy", {})
    assert "ref" not in answer.meta["shaping"]
    assert "shaping_expand" not in answer.content[0].text


async def test_a_change_is_announced_even_while_nobody_calls(tmp_path: Path) -> None:
    file = tmp_path / "response_config.json"
    file.write_text('{"tools_changed": "announce"}')
    shaper = Shaper(file)
    made: FastMCP[Any] = FastMCP("s", tools=[issues])
    made.add_middleware(ShapingMiddleware(shaper=shaper))
    heard = anyio.Event()

    async def hear(message: Any) -> None:
        heard.set()

    async with Client(made, message_handler=hear, mode="legacy") as client:
        await client.list_tools()
        file.write_text('{"tools_changed": "announce", "tool_overrides": {"issues": {"include_only": ["title"]}}}')
        shaper._live.reload()
        with anyio.fail_after(60):
            await heard.wait()


@pytest.mark.parametrize("mode", ["off", "observe"])
async def test_shaping_that_is_switched_off_leaves_tools_and_results_untouched(mode: str) -> None:
    shaper = Shaper(CONFIG, environ={"SHAPING": mode})
    plain: FastMCP[Any] = FastMCP("s", tools=[issues])
    made: FastMCP[Any] = FastMCP("s", tools=[issues])
    made.add_middleware(ShapingMiddleware(shaper=shaper, expand=False))
    async with Client(made) as client, Client(plain) as direct:
        assert await client.list_tools() == await direct.list_tools()
        shaped, raw = await client.call_tool_mcp("issues", {}), await direct.call_tool_mcp("issues", {})
    assert (shaped.content, shaped.structured_content) == (raw.content, raw.structured_content)


ROWS = "".join(f"{n},user {n},open,{1000 + n}\n" for n in range(40))
TEXTS = {
    "csv": f"id,name,state,salary\n{ROWS}",
    "small csv": "id,name,salary\n1,ada,1001\n2,bob,1002\n",
    "columns": "NAME       READY   STATUS\n" + "".join(f"pod-{n:05d}  1/1     Running\n" for n in range(60)),
    "yaml": "users:\n- id: 1\n  name: ada\n  salary: 1001\n- id: 2\n  name: bob\n  salary: 1002\n",
}


@pytest.mark.parametrize("private", [[], ["**.salary"]])
@pytest.mark.parametrize("kind", TEXTS)
async def test_a_text_that_is_read_as_data_stays_a_string_in_both_channels(kind: str, private: list[str]) -> None:
    server, raw = FastMCP("texts"), TEXTS[kind]

    @server.tool
    def text() -> str:
        return raw

    server.add_middleware(ShapingMiddleware({"global": {"private": private}}))
    async with Client(server) as client:
        result = await client.call_tool_mcp("text", {})
    told, structured = result.content[0].text, result.structured_content["result"]
    assert isinstance(structured, str)
    assert ("1001" in told + structured) is (not private and "1001" in raw)
    if not private:
        assert exact(structured) <= exact(raw)


@pytest.mark.parametrize("inner", ["lean", "flat", "invariant", "sourced", "none"])
@pytest.mark.parametrize("outer", ["lean", "flat", "invariant", "sourced"])
async def test_what_a_decorated_tool_answers_is_wrapped_once_in_any_two_dialects(inner: str, outer: Any) -> None:
    made: FastMCP[Any] = FastMCP("s", middleware=[ShapingMiddleware({"global": {"dialect": outer}})])
    decorate = shape(config={"global": {"dialect": inner}})

    def rows() -> dict[str, Any]:
        return {"rows": [{"name": "f"}]}

    def lost() -> dict[str, Any]:
        raise CodedError("NOT_FOUND", "no such file")

    for tool in (rows, lost):
        made.tool(decorate(tool))
    async with Client(made) as client:
        good, bad = await client.call_tool_mcp("rows", {}), await client.call_tool_mcp("lost", {})
    told: Any = good.structured_content
    envelope = Envelope.parse(told, outer)
    assert envelope.data == {"rows": [{"name": "f"}]}
    if outer == "sourced" and inner != "invariant":
        assert told["meta"]["operationId"] in {"rows", "s/rows"}
        assert told["meta"]["timestamp"] > 0
    said: Any = bad.content[0]
    error = Envelope.parse(json.loads(said.text), outer).error
    assert error is not None
    assert (error.code, error.message, error.details, error.extensions) == ("NOT_FOUND", "no such file", None, None)
    assert error.http in {404, None}


@pytest.mark.parametrize("dialect", ["none", "lean", "flat", "invariant", "sourced"])
@pytest.mark.parametrize("text", ['{"a": 1}', '[{"a": 1}]', '{"a": 1}\n{"a": 2}', "words"])
async def test_a_text_that_a_tool_returns_fits_its_schema_in_every_dialect(dialect: Any, text: str) -> None:
    made: FastMCP[Any] = FastMCP("s", middleware=[ShapingMiddleware({"global": {"dialect": dialect}})])

    @made.tool
    def told() -> str:
        return text

    async with Client(made) as client:
        await client.list_tools()
        answer = await client.call_tool("told", {})  # raises where the answer does not fit
    value = (answer.structured_content or {})["result"]
    assert isinstance(value, str) == (dialect == "none")
    if dialect in {"lean", "invariant", "sourced"} and text.startswith("[") and isinstance(value, dict):
        assert value["data"] == [{"a": 1}]


@pytest.mark.parametrize("typed", [True, False])
async def test_a_log_in_json_lines_that_is_cut_keeps_its_errors(typed: bool) -> None:
    made: FastMCP[Any] = FastMCP("s", middleware=[ShapingMiddleware({"global": {"max_tokens": 3_000}})])
    wrong = {700, 1_400}
    rows = [
        {"level": "error", "msg": f"disk {n} is full"} if n in wrong else {"level": "info", "msg": f"step {n} is done"}
        for n in range(2_000)
    ]

    def log() -> str:
        return "\n".join(map(json.dumps, rows))

    made.tool(log) if typed else made.tool(log, output_schema=None)
    async with Client(made) as client:
        answer = await client.call_tool("log", {})
    said: Any = answer.content[0]
    assert exact(said.text) < 3_100
    assert all(f"disk {n} is full" in said.text for n in wrong)


async def test_what_only_an_app_reads_keeps_its_bytes_and_nulls() -> None:
    server: Any = FastMCP("files", middleware=[ShapingMiddleware({})])
    data: dict[str, Any] = {"bytes": "QUJD" * 20_000, "next": None, "rows": []}

    @server.tool(meta={"ui": {"visibility": ["app"]}})  # type: ignore[untyped-decorator]  # of Any
    def read_bytes() -> dict[str, Any]:
        """Read a part of a file for the app."""
        return data

    async with Client(server) as client:
        result = await client.call_tool_mcp("read_bytes", {})
    assert (result.structured_content, json.loads(result.content[0].text)) == (data, data)


async def test_a_client_reads_in_a_tools_description_which_codes_it_fails_with() -> None:
    server: Any = FastMCP("issues", middleware=[ShapingMiddleware({})])

    @server.tool()  # type: ignore[untyped-decorator]  # of Any
    @shape(codes=["NOT_FOUND", "RATE_LIMITED"])
    def issue(number: int) -> dict[str, Any]:
        """Read one issue."""
        raise CodedError("NOT_FOUND", f"there is no issue {number}")

    async with Client(server) as client:
        listed = next(tool for tool in await client.list_tools() if tool.name == "issue")
        failed = await client.call_tool_mcp("issue", {"number": 7})
    assert listed.description == "Read one issue.\nErrors: NOT_FOUND, RATE_LIMITED"
    assert (failed.is_error, failed.content[0].text) == (True, "NOT_FOUND: there is no issue 7")
