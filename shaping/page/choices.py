"""The choices that a config makes for tools, and the file, line or profile that made each."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.settings import load
from shaping.settings.files import bundled_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shaping.settings import LoadedConfig, ResolvedChoice
    from shaping.settings.files import BundledKind
    from shaping.settings.plan import Surface
    from shaping.settings.sources import Origin

_WORD: Final = re.compile(r"[^\s,\\^$|]+")  # a pattern is plainer as JSON
_SHIPPED: Final[tuple[BundledKind, ...]] = ("profiles", "config")


@dataclass(frozen=True, slots=True)
class ChosenRow:
    """One choice for a tool, or for every tool where none is named."""

    tool: str
    name: str
    value: str
    source: str


def choices_in_force(config: LoadedConfig, tools: Sequence[str]) -> Iterator[ChosenRow]:
    """List what a config chooses for every tool, and what is different for each of the tools."""
    general = {choice.name: choice for choice in config.explain("", surface="mcp")}
    for choice in own_choices(list(general.values()), config, "mcp"):
        yield _row("", choice)
    for tool in tools:
        for choice in reversed(config.explain(tool, surface="mcp")):
            if choice.value != general[choice.name].value:
                yield _row(tool, choice)


def own_choices(choices: Sequence[ResolvedChoice], config: LoadedConfig, surface: Surface) -> list[ResolvedChoice]:
    """Return the profile, choices that differ from the bundled default, and choices that a config file makes."""
    bundled = {choice.name: choice.value for choice in load({}).explain("", surface=surface)}
    return [
        choice
        for choice in reversed(choices)
        if choice.name == "profile"
        or choice.value != bundled[choice.name]
        or any(origin.file in config.files for origin in choice.origins)
    ]


def plain(value: Any) -> Any:
    """Return a choice's value as plain data."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def readable(value: Any) -> str:
    """Write a value for people: words as they are, lists of words and paths with commas, anything else as JSON."""
    if isinstance(value, str):
        return value
    if (
        isinstance(value, (list, tuple))
        and value
        and all(isinstance(word, str) and _WORD.fullmatch(word) for word in value)
    ):
        return ", ".join(value)
    return orjson.dumps(value).decode()


def sources(choice: ResolvedChoice) -> str:
    """Name the files and lines of a choice; files of the package are just called bundled."""
    return ", ".join(map(_place, choice.origins))


def _place(origin: Origin) -> str:
    if origin.file is None:
        return str(origin)
    file = Path(origin.file)
    if not any(file.is_relative_to(bundled_path(kind, "")) for kind in _SHIPPED):
        return str(origin)
    return f"preset {file.stem}" if "presets" in file.parts else f"{origin.by} (bundled)"


def _row(tool: str, choice: ResolvedChoice) -> ChosenRow:
    return ChosenRow(tool, choice.name, readable(plain(choice.value)), sources(choice))
