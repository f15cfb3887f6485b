from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from shaping.settings.check import check
from shaping.settings.generation import Generation
from shaping.settings.problems import ConfigError
from shaping.settings.sources import Given, read_sources

if TYPE_CHECKING:
    from collections.abc import Mapping


def load(
    config: Given = None,
    *,
    cwd: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Generation:
    """Find, read and check a config; raise ConfigError with every problem where it cannot be used."""
    where = Path(cwd) if cwd is not None else Path.cwd()
    sources = read_sources(config, cwd=where, environ=os.environ if environ is None else environ)
    findings = check(sources)
    if findings.problems:
        raise ConfigError(findings.problems)
    return Generation.of(sources, findings.warnings)
