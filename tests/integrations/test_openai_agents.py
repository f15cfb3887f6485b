from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from agents import (
    Agent,
    RunConfig,
    Runner,
    RunState,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    UserError,
    function_tool,
)
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.tool_context import ToolContext

from shaping import Shaper, shape
from shaping.integrations.openai_agents import shape_tools
from tests.integrations.answers import ask_in_every_way, issues


@function_tool
def list_issues(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


@function_tool
async def list_later(repo: str) -> list[dict[str, Any]]:
    """List the issues of a repository."""
    return issues()


@function_tool
def draws() -> ToolOutputImage:
    """Draw."""
    return ToolOutputImage(image_url="https://example.com/a.png")


@function_tool
def fails() -> str:
    """Fail."""
    raise ValueError("no repository")


def call(tool: Any, arguments: str = "{}") -> Any:
    context: ToolContext[None] = ToolContext(
        context=None, tool_name=tool.name, tool_call_id="1", tool_arguments=arguments
    )
    return asyncio.run(tool.on_invoke_tool(context, arguments))


def test_the_model_reads_what_it_would_read_over_mcp(shaper: Shaper, read_over_mcp: str) -> None:
    listed, _ = shape_tools([list_issues], shaper=shaper)
    assert call(listed, '{"repo": "a"}') == read_over_mcp


def test_an_asynchronous_call_reads_the_same(shaper: Shaper, read_over_mcp: str) -> None:
    later, _ = shape_tools([list_later], shaper=shaper)
    assert len(call(later, '{"repo": "a"}')) == len(read_over_mcp)


def test_what_was_left_out_can_be_asked_for(shaper: Shaper, read_over_mcp: str) -> None:
    (expand,) = shape_tools([], shaper=shaper)
    ask_in_every_way(lambda **asked: call(expand, json.dumps(asked)), read_over_mcp)


def test_a_tools_parameters_are_unchanged(shaper: Shaper) -> None:
    shaped = shape_tools([list_issues], shaper=shaper, expand=False)[0]
    assert (shaped.params_json_schema, shaped.description) == (list_issues.params_json_schema, list_issues.description)
    assert call(list_issues, '{"repo": "a"}') == issues()


def test_pictures_stay_pictures(shaper: Shaper) -> None:
    assert isinstance(call(shape_tools([draws], shaper=shaper)[0]), ToolOutputImage)


def test_a_failure_has_the_frameworks_own_status(shaper: Shaper) -> None:
    assert call(shape_tools([fails], shaper=shaper)[0]) == call(fails)


def test_a_failure_under_the_decorator_is_told_in_the_frameworks_way(shaper: Shaper) -> None:
    def fails() -> list[dict[str, Any]]:
        raise ValueError("no repository")

    told = call(function_tool(shape(shaper=shaper)(fails)))
    assert told == {"error": {"error": "no repository", "error_code": "invalid_argument"}}
    assert "no repository" not in str(call(function_tool(fails)))  # the framework's own way hides it from the model


def run(tool: Any, *, state: RunState[Any] | None = None, model: ScriptedModel | None = None) -> tuple[Any, Any]:
    """Let the framework run an agent whose scripted model calls a tool once and then ends."""
    model = model or ScriptedModel(
        [[function_call(tool.name, {"repo": "a"}, call_id="c1")], [assistant_message("done")]]
    )
    agent = Agent(name="a", model=model, tools=[tool])
    return Runner.run_sync(agent, state or "go", run_config=RunConfig(tracing_disabled=True)), model


def read_by(model: ScriptedModel) -> Any:
    """Return what the scripted model was shown of the tool's output."""
    (output,) = (item["output"] for item in model.calls[-1].input if item.get("type") == "function_call_output")  # type: ignore[union-attr]  # of dicts
    return output


def test_control_flow_and_result_objects_pass(shaper: Shaper, read_over_mcp: str) -> None:
    called: list[str] = []

    @function_tool(needs_approval=True)
    def list_issues(repo: str) -> list[dict[str, Any]]:
        """List the issues of a repository."""
        called.append(repo)
        return issues()

    (shaped,) = shape_tools([list_issues], shaper=shaper, expand=False)
    stopped, model = run(shaped)
    assert (called, [item.name for item in stopped.interruptions]) == ([], ["list_issues"])
    state = stopped.to_state()
    state.approve(stopped.interruptions[0])
    ended, _ = run(shaped, state=state, model=model)
    assert (called, ended.final_output, read_by(model)) == (["a"], "done", read_over_mcp)
    hosted = object()
    assert shape_tools([hosted], shaper=shaper, expand=False) == [hosted]


def test_a_rejected_call_is_told_in_the_frameworks_words(shaper: Shaper) -> None:
    @function_tool(needs_approval=True)
    def list_issues(repo: str) -> str:
        """List the issues of a repository."""
        raise AssertionError(repo)

    (shaped,) = shape_tools([list_issues], shaper=shaper, expand=False)
    stopped, model = run(shaped)
    state = stopped.to_state()
    state.reject(stopped.interruptions[0])
    run(shaped, state=state, model=model)
    assert "not approved" in read_by(model)


def test_an_exception_that_ends_the_run_ends_it(shaper: Shaper) -> None:
    @function_tool(failure_error_function=None)
    def list_issues(repo: str) -> str:
        """List the issues of a repository."""
        raise LookupError(f"no repository {repo}")

    (shaped,) = shape_tools([list_issues], shaper=shaper, expand=False)
    with pytest.raises((LookupError, UserError), match="no repository a"):
        run(shaped)


@pytest.mark.parametrize(
    "output",
    [ToolOutputText(text="a word"), ToolOutputFileContent(file_id="f1"), [{"type": "image", "image_url": "u"}]],
)
def test_the_frameworks_own_outputs_reach_the_model_as_they_are(shaper: Shaper, output: Any) -> None:
    def made() -> Any:
        @function_tool
        async def list_issues(repo: str) -> Any:
            """List the issues of a repository."""
            return output

        return list_issues

    _, plain = run(made())
    _, shaped = run(shape_tools([made()], shaper=shaper, expand=False)[0])
    assert read_by(shaped) == read_by(plain)


def test_a_tool_that_takes_too_long_times_out_as_without_shaping(shaper: Shaper) -> None:
    @function_tool(timeout=0.05)
    async def list_issues(repo: str) -> str:
        """List the issues of a repository."""
        await asyncio.Event().wait()
        return repo

    _, plain = run(list_issues)
    _, shaped = run(shape_tools([list_issues], shaper=shaper, expand=False)[0])
    assert read_by(shaped) == read_by(plain)


def test_the_example_prints_what_the_model_reads() -> None:
    done = subprocess.run(
        [sys.executable, "examples/frameworks/openai_agents_tool.py"], capture_output=True, text=True, check=True
    )
    assert "30,user 30" in done.stdout
    assert "img.example.com" not in done.stdout


def test_under_the_decorator_a_list_of_pictures_stays_one_and_a_failure_is_told() -> None:
    under = shape(shaper=Shaper({}))
    picture = ToolOutputImage(image_url="https://example.com/a.png")

    def album() -> list[Any]:
        return [picture]

    def refuses() -> list[Any]:
        raise ValueError("no repository")

    assert call(function_tool(under(album))) == [picture]
    assert "no repository" in str(call(function_tool(under(refuses))))


def test_a_call_is_entered_in_the_ledger(shaper: Shaper, entered: Callable[[], Any]) -> None:
    call(shape_tools([list_issues], shaper=shaper)[0], '{"repo": "a"}')
    assert entered().client == "openai-agents"
