"""Presets: what is known of a program's output, in files that ship with shaping, one a program."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from shaping.settings.bundled import bundled_path
from shaping.settings.read import read_file

if TYPE_CHECKING:
    from shaping.settings.read import Document


def presets_for(tool: str) -> tuple[Document, ...]:
    """Give the preset of the program that a command's name starts with, if there is one."""
    program = tool.split(" ", 1)[0]
    return _read(program) if program.replace("-", "").replace("_", "").isalnum() else ()


def preset_names() -> tuple[str, ...]:
    """List the programs that have a preset."""
    return tuple(sorted(path.stem for path in bundled_path("config", "presets").glob("*.json")))


@cache
def _read(program: str) -> tuple[Document, ...]:
    path = bundled_path("config", f"presets/{program}.json")
    return (read_file(path),) if path.is_file() else ()
