from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool

from shaping import Shaper, shape
from shaping.integrations.crewai import CrewAIShaping
from tests.integrations.answers import ask_in_every_way, issues


@tool("list_issues")
def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


@tool("fails")
def fails(repo: str) -> str:
    """Fail."""
    raise ValueError("no repository")


@tool("raises")
@shape(shaper=Shaper({}))
def raises(repo: str) -> list[dict[str, Any]]:
    """Fail, under our decorator."""
    raise ValueError("no repository")


WITHOUT = {
    "pictures": "its tools return text",
    "control flow, objects": "its hook sees the text of what a tool returned, and no exception",
}


class ScriptedModel(BaseLLM):
    """Asks for one tool in CrewAI's own words, then answers; keeps what it was shown."""

    asked: str = ""
    calls: int = 0
    shown: str = ""

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        self.shown = messages if isinstance(messages, str) else "\n".join(str(one["content"]) for one in messages)
        self.calls += 1
        if self.calls > 1:
            return "Thought: I know.\nFinal Answer: done"
        return f"Thought: look.\nAction: {self.asked.partition(' ')[0]}\nAction Input: {self.asked.partition(' ')[2]}"

    def supports_function_calling(self) -> bool:
        return False


@pytest.fixture
def shaping(shaper: Shaper) -> Iterator[CrewAIShaping]:
    registered = CrewAIShaping(shaper=shaper).register()
    yield registered
    registered.unregister()


def run(shaping: CrewAIShaping, asked: str) -> str:
    model = ScriptedModel(model="scripted", asked=asked)
    tools = [list_issues, fails, raises, shaping.expand_tool()]
    agent = Agent(role="tester", goal="test", backstory="tests", llm=model, tools=tools, verbose=False)
    Crew(agents=[agent], tasks=[Task(description="go", expected_output="done", agent=agent)]).kickoff()
    return model.shown


def test_the_model_reads_what_it_would_read_over_mcp(shaping: CrewAIShaping, read_over_mcp: str) -> None:
    assert read_over_mcp.strip() in run(shaping, 'list_issues {"repo": "a"}')


def test_what_was_left_out_can_be_asked_for(shaping: CrewAIShaping, read_over_mcp: str) -> None:
    ask_in_every_way(lambda **asked: run(shaping, f"shaping_expand {json.dumps(asked)}"), read_over_mcp)


def test_an_asynchronous_call_reads_the_same(shaping: CrewAIShaping, read_over_mcp: str) -> None:
    model = ScriptedModel(model="scripted", asked='list_issues {"repo": "a"}')
    agent = Agent(role="tester", goal="test", backstory="tests", llm=model, tools=[list_issues], verbose=False)
    crew = Crew(agents=[agent], tasks=[Task(description="go", expected_output="done", agent=agent)])
    asyncio.run(crew.kickoff_async())
    assert read_over_mcp.strip() in model.shown


def test_a_failure_has_the_frameworks_own_status(shaping: CrewAIShaping) -> None:
    assert "no repository" in run(shaping, 'fails {"repo": "a"}')


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(shaping: CrewAIShaping) -> None:
    shown = run(shaping, 'raises {"repo": "a"}')
    assert "no repository" in shown
    assert "invalid_argument" in shown


def test_a_tools_parameters_are_unchanged(shaping: CrewAIShaping) -> None:
    before = list_issues.args_schema.model_json_schema()
    run(shaping, 'list_issues {"repo": "a"}')
    assert list_issues.args_schema.model_json_schema() == before


def test_a_call_is_entered_in_the_ledger(shaping: CrewAIShaping, entered: Callable[[], Any]) -> None:
    run(shaping, 'list_issues {"repo": "a"}')
    assert entered().client == "crewai"
