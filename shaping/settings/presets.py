"""Presets: what is known of a program's output, or of a tool's, in files that ship with shaping."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from shaping.settings.bundled import bundled_path
from shaping.settings.read import read_file

if TYPE_CHECKING:
    from shaping.settings.plan import Surface
    from shaping.settings.read import Document


def presets_for(tool: str, surface: Surface = "command") -> tuple[Document, ...]:
    """Give what is known of MCP tools, or the preset of the program that a command's name starts with."""
    if surface != "command":
        return _read("tools.json") if surface == "mcp" else ()
    program = tool.split(" ", 1)[0]
    return _read(f"presets/{program}.json") if program.replace("-", "").replace("_", "").isalnum() else ()


@cache
def _read(name: str) -> tuple[Document, ...]:
    path = bundled_path("config", name)
    return (read_file(path),) if path.is_file() else ()
