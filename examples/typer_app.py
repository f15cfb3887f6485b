"""A command that answers people in plain text and programs with an envelope.

`python examples/typer_app.py list`, and with `--output json --fields name` for a program; `manifest` lists what it can.
"""

from typing import Any

import typer

from shaping import ToolError
from shaping.apps import shape_typer

app = typer.Typer()
USERS = {1: "ada", 2: "bob"}


@app.command("list")
def list_users() -> list[dict[str, Any]]:
    """List everybody."""
    return [{"id": number, "name": name} for number, name in USERS.items()]


@app.command()
def show(number: int) -> dict[str, Any]:
    """Show one person."""
    if number not in USERS:
        raise ToolError("NOT_FOUND", f"there is no user {number}")
    return {"id": number, "name": USERS[number]}


if __name__ == "__main__":
    shape_typer(app)()
