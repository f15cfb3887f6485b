from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool

from shaping import Shaper
from shaping.integrations.crewai import CrewAIShaping
from tests.integrations.answers import issues, ref_in


@tool("list_issues")
def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


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
    tools = [list_issues, shaping.expand_tool()]
    agent = Agent(role="tester", goal="test", backstory="tests", llm=model, tools=tools, verbose=False)
    Crew(agents=[agent], tasks=[Task(description="go", expected_output="done", agent=agent)]).kickoff()
    return model.shown


def test_the_model_reads_what_it_would_read_over_mcp(shaping: CrewAIShaping, read_over_mcp: str) -> None:
    assert read_over_mcp.strip() in run(shaping, 'list_issues {"repo": "a"}')


def test_what_was_left_out_can_be_asked_for(shaping: CrewAIShaping, read_over_mcp: str) -> None:
    asked = f'shaping_expand {{"ref": "{ref_in(read_over_mcp)}", "path": "[0].url"}}'
    assert "https://api.example.com/repos/acme/widgets/issues/1" in run(shaping, asked)
