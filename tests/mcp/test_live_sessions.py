from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp import Client, FastMCP
from pydantic import BaseModel

from shaping import ShapingMiddleware

pytestmark = pytest.mark.anyio
ANSWER = {"number": 1, "title": "Broken", "state": "open"}


class Issue(BaseModel):
    number: int
    title: str
    state: str


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def server(config: Path) -> FastMCP:
    built = FastMCP("live")
    built.add_middleware(ShapingMiddleware(config))

    @built.tool(output_schema=None)
    def untyped() -> dict[str, Any]:
        return ANSWER

    @built.tool
    def any_object() -> dict[str, Any]:
        return ANSWER

    @built.tool
    def typed() -> Issue:
        return Issue.model_validate(ANSWER)

    return built


async def answer(client: Client[Any], tool: str) -> Any:
    result: Any = await client.call_tool(tool, {})
    return json.loads(result.content[0].text)


async def edited(client: Client[Any], config: Path, include: list[str]) -> None:
    """Edit the config, and wait until the tool without a schema shows it."""
    before = await answer(client, "untyped")
    text = json.dumps({"tool_overrides": {"*": {"include_only": include}}})
    await anyio.Path(config).write_text(text)
    deadline = time.monotonic() + 60
    while await answer(client, "untyped") == before and time.monotonic() < deadline:  # noqa: ASYNC110 (a file is no event)
        await anyio.sleep(0.05)


async def test_an_edit_reaches_a_running_session_where_it_fits_the_schema_that_was_advertised(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "response_config.json"
    config.write_text('{"tool_overrides": {"*": {"include_only": ["number", "state"]}}}')
    async with Client(server(config)) as client:
        await client.list_tools()
        assert await answer(client, "typed") == {"number": 1, "state": "open"}
        await edited(client, config, ["number"])
        assert await answer(client, "untyped") == {"number": 1}
        assert await answer(client, "any_object") == {"number": 1}
        assert await answer(client, "typed") == {"number": 1}
        await edited(client, config, ["title"])
        assert await answer(client, "untyped") == {"title": "Broken"}
        assert await answer(client, "typed") == {"number": 1, "state": "open"}
    held = [record.getMessage() for record in caplog.records if "next session" in record.getMessage()]
    assert [message.split(" wait ")[0] for message in held] == ["the edited fields of 'typed'"]
    async with Client(server(config)) as client:
        assert await answer(client, "typed") == {"title": "Broken"}


async def test_error_codes_by_exception_follow_an_edit_in_a_running_session(tmp_path: Path) -> None:
    config = tmp_path / "response_config.json"
    config.write_text('{"errors": {"ValueError": "TIMEOUT"}}')
    built = server(config)

    @built.tool
    def fails() -> str:
        raise ValueError("there is no issue 3")

    async def told() -> str:
        result: Any = await client.call_tool("fails", {}, raise_on_error=False)
        return str(result.content[0].text)

    async with Client(built) as client:
        assert (await told()).startswith("TIMEOUT")
        await anyio.Path(config).write_text('{"errors": {"ValueError": "CONFLICT"}}')
        deadline = time.monotonic() + 60
        while (await told()).startswith("TIMEOUT") and time.monotonic() < deadline:  # noqa: ASYNC110 (a file is no event)
            await anyio.sleep(0.05)
        assert (await told()).startswith("CONFLICT")
