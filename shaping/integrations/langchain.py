"""LangChain and LangGraph: a middleware for agents, a wrapper for ToolNode, an interceptor for MCP adapters."""

from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from shaping.integrations import EXPAND, EXPAND_HELP, ConfigSource, ShaperOptions, ToolResults


class LangChainShaping(AgentMiddleware):  # type: ignore[type-arg]
    """Shapes what an agent's tools return: `create_agent(model, tools, middleware=[LangChainShaping()])`."""

    def __init__(self, config: ConfigSource = None, *, expand: bool = True, **options: Unpack[ShaperOptions]) -> None:
        super().__init__()
        self._results = ToolResults("langchain", config, **options)
        self.tools = [self.expand_tool()] if expand else []

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Shape one result; interrupts and other exceptions of LangGraph pass."""
        return self._shaped(handler(request), request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Shape one result of an asynchronous call."""
        return self._shaped(await handler(request), request)

    async def intercept(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Shape one result of an MCP server: `MultiServerMCPClient(…, tool_interceptors=[shaping.intercept])`."""
        result = await handler(request)
        if isinstance(result, ToolMessage):
            return self._message(result, request.name)
        if not hasattr(result, "content"):
            return result  # a Command, which steers the graph
        wire = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return type(result).model_validate(self._results.result(wire, request.name))

    def expand_tool(self) -> BaseTool:
        """Return the tool by which a model asks for what was left out; for a ToolNode of your own."""
        return StructuredTool.from_function(self._results.shaping_expand, name=EXPAND, description=EXPAND_HELP)

    def _shaped(self, result: Any, request: Any) -> Any:
        name = request.tool_call["name"]
        return self._message(result, name) if isinstance(result, ToolMessage) and name != EXPAND else result

    def _message(self, message: ToolMessage, tool: str) -> ToolMessage:
        failed = message.status == "error"
        if isinstance(message.content, str):
            return message.model_copy(update={"content": self._results.text(message.content, tool, failed=failed)})
        blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in message.content]
        return message.model_copy(update={"content": self._results.blocks(blocks, tool, failed=failed)})
