"""`shaping profiles`: which profiles there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shaping.cli.support.output import config_failure, print_result
from shaping.settings import ConfigError, load
from shaping.settings.jsonc import short_name
from shaping.settings.sources import is_bundled, server_presets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.settings import LoadedConfig

CONFIG = typer.Option(metavar="FILE", help="The config to use instead of the one that is found.")
JSON = typer.Option("--json", help="Print an envelope for a program to read.")


def profiles(*, config: Annotated[Path | None, CONFIG] = None, as_json: Annotated[bool, JSON] = False) -> None:
    """List the profiles: what each is for, what it extends, and where it stands."""
    try:
        found = load(config)
        listed = list(_listed(found))
    except ConfigError as error:
        raise config_failure(error, as_json=as_json) from None
    if as_json:
        print_result(listed)
        return
    width = max(len(profile["name"]) for profile in listed)
    for profile in listed:
        typer.echo(f"{profile['name']:<{width}}  {profile['description'] or _lineage(profile)}  ({profile['source']})")
    state = "on" if found.config.presets else 'off; "presets": true in a config switches them on'
    typer.echo(f"\nRules for well-known servers ({state}):")
    for document in server_presets():
        names: Any = document.data["servers"]
        tools = document.choices("tool_overrides")
        typer.echo(f"preset {Path(document.file).stem}  for servers named {', '.join(names)}: {', '.join(tools)}")


def _listed(found: LoadedConfig) -> Iterator[dict[str, Any]]:

    known = found.sources.profiles
    for name in found.profiles:
        stanza = known.source(name)
        line = stanza.document.line(stanza.keys) if stanza.keys else None
        place = short_name(stanza.document.file) + (f":{line}" if line else "")
        yield {
            "name": name,
            "description": stanza.choices.get("description"),
            "extends": list(known.lineage(name)[1:]),
            "source": "bundled" if is_bundled(stanza) else place,
        }


def _lineage(profile: dict[str, Any]) -> str:
    return f"extends {', '.join(profile['extends'])}"
