"""`shaping explain`: what a tool's responses are shaped by, and who decided it."""

from __future__ import annotations

import os
from dataclasses import replace
from enum import StrEnum
from pathlib import Path  # noqa: TC003 (Typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Final

import typer

from shaping.cli.support.output import config_failure, print_result
from shaping.page.data import own_choices, plain, readable, sources
from shaping.settings import ConfigError, load
from shaping.settings.context import checked_environment, environment_profile
from shaping.settings.sources import Origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shaping.settings import ResolvedChoice

_VARIABLES: Final = ("SHAPING_DEBUG", "SCALPEL_MCP_INFO", "SHAPING_PROFILE")  # the strongest first
_WIDE: Final = 40  # characters of a value beside which its source still stands


class Surface(StrEnum):
    """Where a tool meets shaping."""

    python = "python"
    mcp = "mcp"
    command = "command"


TOOL = typer.Option(metavar="NAME", help="The tool to explain.")
PROFILE = typer.Option(
    metavar="NAME", help="The profile that a call would choose; without it, the one the environment chooses."
)
CONFIG = typer.Option(metavar="FILE", help="The config to use instead of the one that is found.")
SURFACE = typer.Option(metavar="python|mcp|command", help="Where the tool is called from.")
TIER = typer.Option(help="The caller's tier, for rules under exclude_when_tier.")
ALL = typer.Option("--all", help="Show every choice, also those that are as the bundled default has them.")
JSON = typer.Option("--json", help="Print an envelope for a program to read.")


def explain(
    *,
    tool: Annotated[str, TOOL],
    profile: Annotated[str | None, PROFILE] = None,
    config: Annotated[Path | None, CONFIG] = None,
    surface: Annotated[Surface, SURFACE] = Surface.python,
    tier: Annotated[str | None, TIER] = None,
    everything: Annotated[bool, ALL] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show what differs from the bundled default for a tool, and which file, line or profile decided it."""
    try:
        found = load(config)
        chosen = profile or environment_profile(checked_environment(os.environ, found.profiles))
        choices = found.explain(tool, profile=chosen, tier=tier, surface=surface.value)
        if profile is None and chosen is not None:
            choices = [_by_environment(choice) if choice.name == "profile" else choice for choice in choices]
    except ConfigError as error:
        raise config_failure(error, as_json=as_json) from None
    if as_json:
        told = [{"choice": choice.name, "value": plain(choice.value), "source": choice.source} for choice in choices]
        print_result({"tool": tool, "config_hash": found.hash, "files": list(found.files), "choices": told})
        return
    shown = choices if everything else own_choices(choices, found, surface.value)
    for line in _table(shown):
        typer.echo(line)
    if len(shown) < len(choices):
        typer.echo(f"{len(choices) - len(shown)} other choices are as bundled; --all shows them", err=True)
    typer.echo(f"config {found.hash}: {', '.join(found.files) or 'the bundled default'}", err=True)


def _by_environment(choice: ResolvedChoice) -> ResolvedChoice:

    decided = next(name for name in _VARIABLES if environment_profile({name: os.environ.get(name, "")}))
    return replace(choice, origins=(Origin(decided),))


def _table(choices: Sequence[ResolvedChoice]) -> list[str]:
    rows = [(choice.name, readable(plain(choice.value)), sources(choice)) for choice in choices]
    first = max(len(name) for name, _, _ in rows)
    second = max((len(value) for _, value, _ in rows if len(value) <= _WIDE), default=0)
    # What is too long for its column has its source below, so that the other sources stay in theirs.
    return [
        f"{name:<{first}}  {value:<{second}}  {source}"
        if len(value) <= _WIDE
        else f"{name:<{first}}  {value}\n{'':<{first}}  {'':<{second}}  {source}"
        for name, value, source in rows
    ]
