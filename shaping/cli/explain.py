"""`shaping explain`: what a tool's responses are shaped by, and who decided it."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from enum import StrEnum
from pathlib import Path  # noqa: TC003 (typer reads the annotations when it runs)
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from shaping.cli.answer import answer, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.settings import Choice


class Surface(StrEnum):
    """Where a tool meets shaping."""

    python = "python"
    mcp = "mcp"
    command = "command"


TOOL = typer.Option(help="The tool to explain.")
PROFILE = typer.Option(help="The profile that a call would choose; without it, the one the environment chooses.")
CONFIG = typer.Option(help="The config to use instead of the one that is found.")
SURFACE = typer.Option(help="Where the tool is called from.")
TIER = typer.Option(help="The caller's tier.")
JSON = typer.Option("--json", help="Print an envelope for a program to read.")


def explain(
    *,
    tool: Annotated[str, TOOL],
    profile: Annotated[str | None, PROFILE] = None,
    config: Annotated[Path | None, CONFIG] = None,
    surface: Annotated[Surface, SURFACE] = Surface.python,
    tier: Annotated[str | None, TIER] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show the effective plan for a tool, and for each choice which file and line or which profile it came from."""
    from shaping.context import environment_profile  # noqa: PLC0415 (help must not wait for it)
    from shaping.settings import ConfigError, load  # noqa: PLC0415 (the same)

    chosen = profile or environment_profile()
    try:
        found = load(config)
        choices = found.explain(tool, profile=chosen, tier=tier, surface=surface.value)
    except ConfigError as error:
        raise refuse(error, as_json=as_json) from None
    if as_json:
        told = [{"choice": choice.name, "value": _plain(choice.value), "source": choice.source} for choice in choices]
        answer({"tool": tool, "config_hash": found.hash, "files": list(found.files), "choices": told})
        return
    for line in _table(choices):
        typer.echo(line)
    typer.echo(f"config {found.hash}: {', '.join(found.files) or 'the bundled default'}", err=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(explain)


def _table(choices: Sequence[Choice]) -> list[str]:
    rows = [(choice.name, orjson.dumps(_plain(choice.value)).decode(), choice.source) for choice in choices]
    first = max(len(name) for name, _, _ in rows)
    # A long value pushes its own source to the right, not everybody's.
    second = max(len(value) for _, value, _ in rows if len(value) <= 40)
    return [f"{name:<{first}}  {value:<{second}}  {source}" for name, value, source in rows]


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
