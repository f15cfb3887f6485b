from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, ToolContext
from google.genai import types
from pydantic import Field

from shaping import Shaper, shape
from shaping.integrations.google_adk import GoogleADKShaping
from tests.integrations.answers import ask_in_every_way, issues


def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


def reports() -> dict[str, Any]:
    """Report a failure in the framework's own way."""
    return {"error": "no repository"}


async def list_later(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


def draws() -> Any:
    """Draw."""
    return types.Part.from_bytes(data=b"png", mime_type="image/png")


@shape(shaper=Shaper({}))
def raises() -> list[dict[str, Any]]:
    """Fail, under our decorator."""
    raise ValueError("no repository")


def leaves(tool_context: ToolContext) -> dict[str, Any]:
    """Hand the conversation over."""
    tool_context.actions.escalate = True
    return {"result": "handed over"}


class ScriptedModel(BaseLlm):
    """Calls one tool, then ends; keeps what it was shown."""

    name: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    shown: list[Any] = Field(default_factory=list)

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        found = [part.function_response for part in llm_request.contents[-1].parts if part.function_response]
        # A picture comes beside the response.
        self.shown.extend(one.response or {"parts": one.parts} for one in found)
        call = types.FunctionCall(name=self.name, args=self.arguments)
        part = types.Part(text="done") if found else types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def run(shaper: Shaper, name: str, arguments: dict[str, Any] | None = None, *, plugin: bool = True) -> Any:
    model = ScriptedModel(model="scripted", name=name, arguments=arguments or {}, shown=[])
    shaping = GoogleADKShaping(shaper=shaper)
    agent = LlmAgent(
        name="agent",
        model=model,
        tools=[list_issues, list_later, draws, leaves, reports, raises, shaping.expand_tool()],
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
    ask_in_every_way(lambda **asked: run(shaper, "shaping_expand", asked)["result"], read_over_mcp)


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    assert run(shaper, "reports") == {"error": "no repository"}


def test_an_asynchronous_call_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    assert len(run(shaper, "list_later", {"repo": "a"})["result"]) == len(read_over_mcp)


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    (part,) = run(shaper, "draws")["parts"]
    assert part.inline_data.mime_type == "image/png"


def test_control_flow_and_result_objects_pass(shaper: Shaper) -> None:
    assert GoogleADKShaping(shaper=shaper).shape_response(FunctionTool(leaves), {}, None, types.Part(text="x")) is None


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(shaper: Shaper) -> None:
    assert run(shaper, "raises") == {"error": {"error": "no repository", "error_code": "invalid_argument"}}


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    before = FunctionTool(list_issues)._get_declaration()
    run(shaper, "list_issues", {"repo": "a"})
    assert FunctionTool(list_issues)._get_declaration() == before


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    run(shaper, "list_issues", {"repo": "a"})
    assert entered().client == "google-adk"
