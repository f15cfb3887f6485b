from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from shaping import Shaper, ToolError, shape
from shaping.integrations.langchain import LangChainShaping
from tests.integrations.answers import ask_in_every_way, issues


@tool
def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


@tool
def fails(repo: str) -> str:
    """Fail."""
    raise ValueError(f"no repository {repo}")


@tool
@shape(shaper=Shaper({}))
def raises(repo: str) -> list[dict[str, Any]]:
    """Fail, under our decorator."""
    raise ValueError(f"no repository {repo}")


@tool
@shape(shaper=Shaper({}))
async def raises_later(repo: str) -> list[dict[str, Any]]:
    """Fail, under our decorator."""
    raise ValueError(f"no repository {repo}")


@tool
def asks(repo: str) -> str:
    """Ask the user."""
    return str(interrupt("delete it?"))


@tool
def steers(repo: str) -> Command[Any]:
    """Steer the graph."""
    return Command(update={"messages": [ToolMessage("steered", tool_call_id="1")]})


@tool(response_format="content_and_artifact")
def with_artifact(repo: str) -> tuple[str, dict[str, Any]]:
    """Return an artifact beside the content."""
    return "12 rows", {"rows": 12}


@tool(response_format="content_and_artifact")
@shape(form="content_and_artifact", shaper=Shaper({}))
def decorated(repo: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return an artifact beside the content, under our decorator."""
    return issues(), {"rows": 30}


@tool
def picture(repo: str) -> list[dict[str, Any]]:
    """Return a picture."""
    return [{"type": "image", "url": "https://example.com/a.png"}]


class ScriptedModel(GenericFakeChatModel):
    """Calls one tool, then ends."""

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> ScriptedModel:  # type: ignore[override]
        return self


def agent(called: str, shaper: Shaper, args: dict[str, Any] | None = None, *more: AgentMiddleware) -> Any:  # type: ignore[type-arg]
    call = {"name": called, "args": args or {"repo": "acme/widgets"}, "id": "1"}
    model = ScriptedModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))
    tools = [list_issues, fails, raises, raises_later, asks, steers, with_artifact, decorated, picture]
    return create_agent(model, tools, middleware=[LangChainShaping(shaper=shaper), *more], checkpointer=InMemorySaver())


def answer(called: str, shaper: Shaper, args: dict[str, Any] | None = None) -> ToolMessage:
    config = {"configurable": {"thread_id": "1"}}
    out = agent(called, shaper, args).invoke({"messages": [HumanMessage("go")]}, config)
    return next(message for message in out["messages"] if isinstance(message, ToolMessage))


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    message = answer("list_issues", shaper)
    assert (message.content, message.status) == (read_over_mcp, "success")


def test_an_asynchronous_call_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    config = {"configurable": {"thread_id": "1"}}
    out = asyncio.run(agent("list_issues", shaper).ainvoke({"messages": [HumanMessage("go")]}, config))
    assert next(m for m in out["messages"] if isinstance(m, ToolMessage)).content == read_over_mcp


def test_what_was_left_out_can_be_asked_for(shaper: Shaper) -> None:
    text = str(answer("list_issues", shaper).content)
    ask_in_every_way(lambda **asked: answer("shaping_expand", shaper, asked).content, text)


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    with pytest.raises(ValueError, match="no repository"):
        answer("fails", shaper)


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(shaper: Shaper) -> None:
    with pytest.raises(ToolError, match="BAD_ARGUMENT: no repository"):
        answer("raises", shaper)
    config = {"configurable": {"thread_id": "1"}}
    asked = {"messages": [HumanMessage("go")]}

    def retried(name: str) -> Any:
        return agent(name, shaper, None, ToolRetryMiddleware(max_retries=1, initial_delay=0, jitter=False))

    for out in (retried("raises").invoke(asked, config), asyncio.run(retried("raises_later").ainvoke(asked, config))):
        message = next(message for message in out["messages"] if isinstance(message, ToolMessage))
        assert message.status == "error"
        assert "2 attempts" in message.content
    assert raises.func("a")["error"]["error_code"] == "invalid_argument"  # called by hand, outside of any run


def test_control_flow_and_result_objects_pass(shaper: Shaper) -> None:
    config = {"configurable": {"thread_id": "1"}}
    out = agent("asks", shaper).invoke({"messages": [HumanMessage("go")]}, config)
    assert [one.value for one in out["__interrupt__"]] == ["delete it?"]
    assert answer("steers", shaper).content == "steered"
    assert answer("with_artifact", shaper).artifact == {"rows": 12}
    assert answer("decorated", shaper).artifact == {"rows": 30}
    assert "9030,30," in answer("decorated", shaper).content


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    assert answer("picture", shaper).content == [{"type": "image", "url": "https://example.com/a.png"}]


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    assert set(list_issues.args) == {"repo"}
    assert set(LangChainShaping(shaper=shaper).tools[0].args) == {"ref", "path", "cursor", "sql", "search"}


def test_the_example_prints_what_the_model_reads() -> None:
    done = subprocess.run(
        [sys.executable, "examples/frameworks/langchain_agent.py"], capture_output=True, text=True, check=True
    )
    assert "30,user 30" in done.stdout
    assert "img.example.com" not in done.stdout


def test_a_tool_node_of_ones_own_is_shaped(shaper: Shaper, read_over_mcp: str) -> None:
    shaping = LangChainShaping(shaper=shaper)
    node = ToolNode([list_issues], wrap_tool_call=shaping.wrap_tool_call, awrap_tool_call=shaping.awrap_tool_call)
    graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()
    call = AIMessage("", tool_calls=[{"name": "list_issues", "args": {"repo": "a"}, "id": "1"}])
    assert graph.invoke({"messages": [call]})["messages"][-1].content == read_over_mcp
    assert asyncio.run(graph.ainvoke({"messages": [call]}))["messages"][-1].content == read_over_mcp


SERVER = """
import json
from mcp.server.fastmcp import FastMCP
from tests.integrations.answers import issues
server = FastMCP("tracker", log_level="CRITICAL")
@server.tool()
def list_issues(repo: str) -> str:
    return json.dumps(issues())
@server.tool()
def fails(repo: str) -> str:
    raise ValueError("no repository")
server.run()
"""


def test_results_of_mcp_servers_are_shaped(shaper: Shaper, read_over_mcp: str) -> None:
    started = {"transport": "stdio", "command": sys.executable, "args": ["-c", SERVER], "env": {"PYTHONPATH": "."}}

    async def called(name: str) -> ToolMessage:
        interceptors = [LangChainShaping(shaper=shaper).intercept]
        client = MultiServerMCPClient({"tracker": started}, tool_interceptors=interceptors)
        (found,) = [tool for tool in await client.get_tools() if tool.name == name]
        message: ToolMessage = await found.ainvoke(
            {"type": "tool_call", "name": name, "args": {"repo": "a"}, "id": "1"}
        )
        return message

    listed, failed = asyncio.run(called("list_issues")), asyncio.run(called("fails"))
    assert (listed.status, listed.content[0]["text"]) == ("success", read_over_mcp)  # type: ignore[index]
    assert (failed.status, "no repository" in str(failed.content)) == ("error", True)


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    answer("list_issues", shaper)
    assert entered().client == "langchain"
