from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from smolagents import ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, Model

from shaping import Shaper, ToolError, shape
from shaping.integrations.smolagents import shape_tools
from tests.integrations.answers import ask_in_every_way, issues


@tool
def list_issues(repo: str) -> list:  # type: ignore[type-arg]
    """List the issues of a repository.

    Args:
        repo: the repository.
    """
    return issues()


@tool
def fails(repo: str) -> str:
    """Fail.

    Args:
        repo: the repository.
    """
    raise ValueError("no repository")


@tool
def draws() -> object:
    """Draw."""
    return b"png"


draws.output_type = "image"
WITHOUT = {
    "sync and async": "its tools are synchronous",
    "control flow, objects": "it has none: a tool's result is printed into the conversation",
}


class ScriptedModel(Model):
    """Calls one tool, then gives its final answer; keeps the messages it was shown."""

    def __init__(self) -> None:
        super().__init__(model_id="scripted")
        self.shown: list[Any] = []

    def generate(self, messages: list[Any], **_: Any) -> ChatMessage:
        self.shown = messages
        name, arguments = ("final_answer", {"answer": "done"}) if len(messages) > 2 else ("list_issues", {"repo": "a"})
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id="1", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    model = ScriptedModel()
    agent = ToolCallingAgent(tools=shape_tools([list_issues], shaper=shaper), model=model, verbosity_level=0)
    agent.run("go")
    told = "".join(part["text"] for message in model.shown for part in message.content if part["type"] == "text")
    assert read_over_mcp in told


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    expand = shape_tools([], shaper=shaper)[0]
    ask_in_every_way(expand, read_over_mcp)


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    shaped = shape_tools([list_issues], shaper=shaper, expand=False)
    assert (shaped[0].inputs, shaped[0].description) == (list_issues.inputs, list_issues.description)


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    with pytest.raises(ValueError, match="no repository"):
        shape_tools([fails], shaper=shaper)[0](repo="a")


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(
    shaper: Shaper, recwarn: pytest.WarningsRecorder
) -> None:
    def fails(repo: str) -> list:  # type: ignore[type-arg]
        """Fail.

        Args:
            repo: the repository.
        """
        raise ValueError("no repository")

    told = tool(shape(shaper=shaper)(fails))(repo="a")
    assert told == {"error": {"error": "no repository", "error_code": "invalid_argument"}}
    with pytest.raises(ToolError, match="BAD_ARGUMENT: no repository"):
        tool(shape(shaper=shaper, form="text")(fails))(repo="a")
    assert not recwarn.list  # it warns of decorators other than its own in a function's source


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    assert shape_tools([draws], shaper=shaper)[0] is draws


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    shape_tools([list_issues], shaper=shaper)[0](repo="a")
    assert entered().client == "smolagents"
