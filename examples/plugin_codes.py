"""Error codes of your own, which programs branch on as on the built-in ones: `python examples/plugin_codes.py`."""

from typing import Any

from shaping import ToolError, interpret, shape
from shaping.errors import register

register({"ELEMENT_NOT_VISIBLE": {"http": 409, "retryable": True, "hint": "scroll to the element, then call again"}})


@shape
def click(selector: str) -> dict[str, Any]:
    """Click an element of the page."""
    raise ToolError("ELEMENT_NOT_VISIBLE", f"{selector} is below the fold")


if __name__ == "__main__":
    answer = click("#buy")
    print(answer)
    print("an agent should:", interpret(answer).action)
