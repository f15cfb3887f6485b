from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import Field

from shaping import Shaper
from shaping.integrations.google_adk import GoogleADKShaping
from tests.integrations.answers import issues, ref_in


def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


def reports() -> dict[str, Any]:
    """Report a failure in the framework's own way."""
    return {"error": "no repository"}


class ScriptedModel(BaseLlm):
    """Calls one tool, then ends; keeps what it was shown."""

    name: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    shown: list[Any] = Field(default_factory=list)

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        found = [part.function_response for part in llm_request.contents[-1].parts if part.function_response]
        self.shown.extend(one.response for one in found)
        call = types.FunctionCall(name=self.name, args=self.arguments)
        part = types.Part(text="done") if found else types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def run(shaper: Shaper, name: str, arguments: dict[str, Any] | None = None, *, plugin: bool = True) -> Any:
    model = ScriptedModel(model="scripted", name=name, arguments=arguments or {}, shown=[])
    shaping = GoogleADKShaping(shaper=shaper)
    agent = LlmAgent(
        name="agent",
        model=model,
        tools=[list_issues, reports, shaping.expand_tool()],
        after_tool_callback=None if plugin else shaping.shape_response,
    )
    runner = InMemoryRunner(agent, plugins=[shaping] if plugin else [])

    async def go() -> None:
        session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
        message = types.Content(role="user", parts=[types.Part(text="go")])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            pass

    asyncio.run(go())
    return model.shown[0]


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    assert run(shaper, "list_issues", {"repo": "a"}) == {"result": read_over_mcp}
    assert run(shaper, "list_issues", {"repo": "a"}, plugin=False) == {"result": read_over_mcp}


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    shown = run(shaper, "shaping_expand", {"ref": ref_in(read_over_mcp), "path": "[0].url"})
    assert "issues/1" in shown["result"]


def test_a_failure_stays_the_frameworks_own(shaper: Shaper) -> None:
    assert run(shaper, "reports") == {"error": "no repository"}
