"""Everything a config is made of, read but not yet judged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from shaping.settings.bundled import bundled_path
from shaping.settings.find import find
from shaping.settings.problems import ConfigError, Problem
from shaping.settings.profiles import Profiles, gather, is_profile, read_beside
from shaping.settings.read import Document, read_file, read_mapping

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Given: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | None

GIVEN_NAME = "the given config"


@dataclass(frozen=True, slots=True)
class Sources:
    """The config's layers, the weakest first, its profiles, files that are no profiles, and what could not be read."""

    configs: tuple[Document, ...]
    beside: tuple[Document, ...]
    strangers: tuple[Document, ...]
    profiles: Profiles
    unreadable: tuple[Problem, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """Name the files that were read besides the bundled ones."""
        return tuple(document.file for document in (*self.configs[1:], *self.beside) if document.file != GIVEN_NAME)


def read_sources(config: Given, *, cwd: Path, environ: Mapping[str, str]) -> Sources:
    """Find and read the config that applies, its bundled layer and its profiles."""
    unreadable: list[Problem] = []
    layers = [read_file(bundled_path("config", "response_config.json"))]
    found: tuple[Document, ...] = ()
    if isinstance(config, Mapping):
        layers += _readable(lambda: read_mapping(config, GIVEN_NAME), unreadable)
    else:
        path = find(config, cwd=cwd, environ=environ)
        if path is not None:
            layers += _readable(lambda: read_file(path), unreadable)
            found = tuple(read_beside(path, unreadable))
    beside = tuple(document for document in found if is_profile(document))
    strangers = tuple(document for document in found if not is_profile(document))
    return Sources(tuple(layers), beside, strangers, gather(layers, beside), tuple(unreadable))


def _readable(read: Callable[[], Document], unreadable: list[Problem]) -> list[Document]:
    try:
        return [read()]
    except ConfigError as error:
        unreadable.extend(error.problems)
        return []
