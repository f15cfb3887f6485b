"""A Pydantic AI agent whose tools return shaped results; the model is the test model that comes with it."""

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.test import TestModel

from shaping.integrations.pydantic_ai import PydanticAIShaping

agent = Agent(TestModel(call_tools=["list_users"]), capabilities=[PydanticAIShaping()])


@agent.tool_plain
def list_users(team: str) -> list[dict[str, Any]]:
    """List the people of a team."""
    return [
        {"id": n, "name": f"user {n}", "avatar_url": f"https://img.example.com/{n}", "boss": None} for n in range(1, 31)
    ]


def main() -> None:
    """Run one turn and print what the model read."""
    for message in agent.run_sync("who is in core?").all_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                print(part.model_response_str())


if __name__ == "__main__":
    main()
