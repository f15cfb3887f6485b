"""A LangChain agent whose tools return shaped results; the model here is scripted, a real one goes in its place."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from shaping.integrations.langchain import LangChainShaping


@tool
def list_users(team: str) -> list[dict[str, Any]]:
    """List the people of a team."""
    return [
        {"id": n, "name": f"user {n}", "avatar_url": f"https://img.example.com/{n}", "boss": None} for n in range(1, 31)
    ]


class ScriptedModel(GenericFakeChatModel):
    """Stands in for a real model: it calls the tool once, then ends."""

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "ScriptedModel":
        """Know the tools; the script needs none."""
        return self


def main() -> None:
    """Run one turn and print what the model read."""
    call = {"name": "list_users", "args": {"team": "core"}, "id": "1", "type": "tool_call"}
    model = ScriptedModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))
    agent = create_agent(model, [list_users], middleware=[LangChainShaping()])
    answer = agent.invoke({"messages": [("user", "who is in core?")]})
    print(next(message.content for message in answer["messages"] if isinstance(message, ToolMessage)))


if __name__ == "__main__":
    main()
