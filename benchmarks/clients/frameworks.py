"""Agent frameworks in Python, each in its own virtualenv: frameworks.py NAME URL COMMAND... (started by run.py)."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path

PROMPT = "Call the lab tools."


async def openai_agents(url: str, command: str, args: list[str]) -> None:
    """openai_agents."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStdio
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel(model="lab", openai_client=AsyncOpenAI(base_url=url, api_key="test"))
    async with MCPServerStdio({"command": command, "args": args}, client_session_timeout_seconds=60) as server:
        await Runner.run(Agent(name="lab", model=model, mcp_servers=[server]), PROMPT, max_turns=40)


async def pydantic_ai(url: str, command: str, args: list[str]) -> None:
    """pydantic_ai."""
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=url, api_key="test"))
    toolset = MCPToolset({"mcpServers": {"lab": {"command": command, "args": args}}})
    async with Agent(model, toolsets=[toolset]) as agent:
        await agent.run(PROMPT)


async def langchain(url: str, command: str, args: list[str]) -> None:
    """Langchain."""
    from langchain.agents import create_agent
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools
    from langchain_openai import ChatOpenAI

    client = MultiServerMCPClient({"lab": {"command": command, "args": args, "transport": "stdio"}})
    async with client.session("lab") as session:
        model = ChatOpenAI(model="gpt-4o", base_url=url, api_key="test")
        agent = create_agent(model, await load_mcp_tools(session))
        await agent.ainvoke({"messages": [{"role": "user", "content": PROMPT}]}, {"recursion_limit": 100})


async def langchain_each(url: str, command: str, args: list[str]) -> None:
    """As its README has it: tools without a session, and so a server of its own for every call."""
    from langchain.agents import create_agent
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_openai import ChatOpenAI

    client = MultiServerMCPClient({"lab": {"command": command, "args": args, "transport": "stdio"}})
    agent = create_agent(ChatOpenAI(model="gpt-4o", base_url=url, api_key="test"), await client.get_tools())
    await agent.ainvoke({"messages": [{"role": "user", "content": PROMPT}]}, {"recursion_limit": 100})


async def strands(url: str, command: str, args: list[str]) -> None:
    """Strands."""
    from mcp import StdioServerParameters, stdio_client
    from strands import Agent
    from strands.models.openai import OpenAIModel
    from strands.tools.mcp import MCPClient

    model = OpenAIModel(client_args={"api_key": "test", "base_url": url}, model_id="gpt-4o")
    with MCPClient(lambda: stdio_client(StdioServerParameters(command=command, args=args))) as client:
        await Agent(model=model, tools=client.list_tools_sync()).invoke_async(PROMPT)


async def agent_framework(url: str, command: str, args: list[str]) -> None:
    """agent_framework."""
    from agent_framework import Agent, MCPStdioTool
    from agent_framework.openai import OpenAIChatCompletionClient

    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="test", base_url=url)
    async with (
        MCPStdioTool(name="lab", command=command, args=args) as tools,
        Agent(client=client, tools=tools) as agent,
    ):
        await agent.run(PROMPT)


async def agno(url: str, command: str, args: list[str]) -> None:
    """Agno."""
    from agno.agent import Agent
    from agno.models.openai.like import OpenAILike
    from agno.tools.mcp import MCPTools

    async with MCPTools(command=shlex.join([command, *args]), timeout_seconds=60) as tools:
        await Agent(model=OpenAILike(id="lab", base_url=url, api_key="test"), tools=[tools], telemetry=False).arun(
            PROMPT
        )


async def google_adk(url: str, command: str, args: list[str]) -> None:
    """google_adk."""
    from google.adk.agents import LlmAgent
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
    from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
    from google.genai import types
    from mcp import StdioServerParameters

    parameters = StdioConnectionParams(server_params=StdioServerParameters(command=command, args=args), timeout=60)
    tools = McpToolset(connection_params=parameters)
    runner = InMemoryRunner(agent=LlmAgent(name="lab", model="gemini-2.5-flash", tools=[tools]), app_name="lab")
    await runner.session_service.create_session(app_name="lab", user_id="u", session_id="s")
    message = types.Content(role="user", parts=[types.Part(text=PROMPT)])
    async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
        pass
    await tools.close()


async def crewai(url: str, command: str, args: list[str]) -> None:
    """Crewai."""
    from crewai import LLM, Agent, Crew, Task
    from crewai.mcp import MCPServerStdio

    short = Path("lab.sh")  # its tools are named after the command, and hashed where that is long
    short.write_text(f"#!/bin/sh\nexec {shlex.join([command, *args])}\n")
    short.chmod(0o755)
    model = LLM(model="openai/gpt-4o", base_url=url, api_key="test")
    agent = Agent(
        role="r", goal="g", backstory="b", llm=model, mcps=[MCPServerStdio(command="./lab.sh", args=[])], max_iter=40
    )
    task = Task(description=PROMPT, expected_output="a text", agent=agent)
    await Crew(agents=[agent], tasks=[task]).kickoff_async()


if __name__ == "__main__":
    name, url, command, *args = sys.argv[1:]
    asyncio.run(globals()[name.replace("-", "_")](url, command, args))
