"""A tool of the OpenAI Agents SDK whose results are shaped, called as the SDK calls it."""

import asyncio
from typing import Any

from agents import Agent, function_tool
from agents.tool_context import ToolContext

from shaping.integrations.openai_agents import shape_tools


@function_tool
def list_users(team: str) -> list[dict[str, Any]]:
    """List the people of a team."""
    return [
        {"id": n, "name": f"user {n}", "avatar_url": f"https://img.example.com/{n}", "boss": None} for n in range(1, 31)
    ]


agent = Agent(name="staff", tools=shape_tools([list_users]))


async def main() -> None:
    """Call the agent's tool as the SDK does and print what the model would read."""
    tool = next(tool for tool in agent.tools if tool.name == "list_users")
    context = ToolContext(context=None, tool_name=tool.name, tool_call_id="1", tool_arguments='{"team": "core"}')
    print(await tool.on_invoke_tool(context, '{"team": "core"}'))


if __name__ == "__main__":
    asyncio.run(main())
