from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from claude_agent_sdk import create_sdk_mcp_server, tool
from mcp import Client

from shaping import Shaper, shape
from shaping.integrations.claude_agent_sdk import shape_tools, shaping_hooks
from tests.integrations.answers import ask_in_every_way, issues


@tool("list_issues", "List issues", {"repo": str})
async def list_issues(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(issues())}]}


@tool("draws", "Draw", {})
async def draws(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}


@tool("fails", "Fail", {})
async def fails(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "no repository"}], "is_error": True}


@tool("under_shape", "List issues", {"repo": str})
@shape
async def under_shape(arguments: dict[str, Any]) -> Any:
    return issues()


WITHOUT = {"sync and async": "its tools are asynchronous"}


def call(one: Any, **arguments: Any) -> Any:
    return asyncio.run(one.handler(arguments))


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    listed, _ = shape_tools([list_issues], shaper=shaper)
    assert call(listed, repo="a")["content"][0]["text"] == read_over_mcp


@pytest.mark.parametrize("form", ["envelope", "text"])
def test_a_tool_under_the_decorator_alone_is_read(shaper: Shaper, form: Any) -> None:
    under = shape(shaper=shaper, tool="list_issues", form=form)
    listed = tool("list_issues", "List issues", {"repo": str})(under(under_shape.handler.__wrapped__))  # type: ignore[attr-defined]
    answer = served([listed], "list_issues")
    assert answer.content[0].text == shaper.shape(issues(), tool="list_issues").text
    assert not answer.is_error
    assert served([tool("draws", "Draw", {})(under(draws.handler))], "draws").content[0].type == "image"
    assert served([tool("fails", "Fail", {})(under(fails.handler))], "fails").is_error


def test_a_tool_under_the_decorator_is_read_where_shaping_is_off(
    shaper: Shaper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHAPING", "off")
    assert json.loads(served([under_shape], "under_shape").content[0].text) == issues()


def test_a_decorated_helper_of_a_tool_gives_its_data(shaper: Shaper) -> None:
    @shape(shaper=shaper)
    async def helper(arguments: dict[str, Any]) -> Any:
        return issues()

    @tool("counts", "Count issues", {"repo": str})
    async def counts(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(len((await helper(arguments))["data"]))}]}

    assert served([counts], "counts").content[0].text == "30"


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(shaper: Shaper) -> None:
    failing = shape(shaper=shaper)(raising(ValueError("no repository")).handler)
    answer = served([tool("list_issues", "List issues", {"repo": str})(failing)], "list_issues")
    assert (answer.is_error, answer.content[0].text) == (True, "BAD_ARGUMENT: no repository")


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    (expand,) = shape_tools([], shaper=shaper)
    ask_in_every_way(lambda **asked: call(expand, **asked)["content"][0]["text"], read_over_mcp)


def served(tools: list[Any], name: str) -> Any:
    """Call a tool of the SDK's own in-process server by an MCP client, as Claude Code does."""

    async def called() -> Any:
        async with Client(create_sdk_mcp_server("tracker", tools=tools)["instance"]) as client:
            return await client.call_tool(name, {"repo": "a"})

    return asyncio.run(called())


def raising(problem: BaseException) -> Any:
    @tool("list_issues", "List issues", {"repo": str})
    async def raises(arguments: dict[str, Any]) -> dict[str, Any]:
        raise problem

    return raises


def test_control_flow_and_result_objects_pass(shaper: Shaper, read_over_mcp: str) -> None:
    content = call(shape_tools([under_shape], shaper=shaper)[0], repo="a")["content"]
    assert "9030,30," in content[0]["text"]
    result = served(shape_tools([list_issues], shaper=shaper), "list_issues")
    assert (result.content[0].text, bool(result.is_error)) == (read_over_mcp, False)


@pytest.mark.parametrize("problem", [asyncio.CancelledError(), KeyboardInterrupt(), ValueError("no repository")])
def test_what_a_tool_raises_is_raised(shaper: Shaper, problem: BaseException) -> None:
    (shaped,) = shape_tools([raising(problem)], shaper=shaper, expand=False)

    async def caught() -> BaseException | None:
        try:
            await shaped.handler({})
        except BaseException as raised:  # noqa: BLE001 (an interrupt too is what must come through)
            return raised
        return None

    assert asyncio.run(caught()) is problem


def test_a_raised_error_is_the_sdks_own_error_result(shaper: Shaper) -> None:
    plain = raising(ValueError("no repository"))
    shaped, expected = (served(tools, "list_issues") for tools in (shape_tools([plain], shaper=shaper), [plain]))
    assert (shaped.content, shaped.is_error) == (expected.content, True)


@pytest.mark.parametrize("response", [None, 7, {"answer": 1}, ["a", "b"], {"content": "text"}])
def test_a_hook_leaves_what_it_does_not_know(shaper: Shaper, response: Any) -> None:
    (matcher,) = shaping_hooks(shaper=shaper)["PostToolUse"]
    said: Any = {"tool_name": "mcp__tracker__list_issues", "tool_response": response}
    answer: Any = asyncio.run(matcher.hooks[0](said, None, {"signal": None}))  # type: ignore[arg-type]
    assert answer == {}


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    drawn, _ = shape_tools([draws], shaper=shaper)
    assert call(drawn)["content"][0]["type"] == "image"


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    failed, _ = shape_tools([fails], shaper=shaper)
    answer = call(failed)
    assert answer["is_error"] is True
    assert "no repository" in answer["content"][0]["text"]


def test_a_hook_shapes_the_tools_of_mcp_servers(shaper: Shaper, read_over_mcp: str) -> None:
    (matcher,) = shaping_hooks(shaper=shaper)["PostToolUse"]
    response = [{"type": "text", "text": json.dumps(issues())}]
    said: Any = {"tool_name": "mcp__tracker__list_issues", "tool_response": response}
    answer: Any = asyncio.run(matcher.hooks[0](said, None, {"signal": None}))  # type: ignore[arg-type]
    assert answer["hookSpecificOutput"]["updatedToolOutput"][0]["text"] == read_over_mcp
    assert matcher.matcher == "mcp__.*"


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    shaped = shape_tools([list_issues], shaper=shaper)[0]
    assert (shaped.input_schema, shaped.description) == (list_issues.input_schema, list_issues.description)


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    call(shape_tools([list_issues], shaper=shaper)[0], repo="a")
    assert entered().client == "claude-agent-sdk"
