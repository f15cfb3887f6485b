from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from shaping.paths import PathError
from shaping.settings.check import check
from shaping.settings.generation import Generation
from shaping.settings.layers import Stanza
from shaping.settings.plan import Call
from shaping.settings.problems import ConfigError, Problem, json_path
from shaping.settings.sources import Given, read_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def load(
    config: Given = None,
    *,
    cwd: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Generation:
    """Find, read, check and compile a config; raise ConfigError with every problem where it cannot be used."""
    where = Path(cwd) if cwd is not None else Path.cwd()
    sources = read_sources(config, cwd=where, environ=os.environ if environ is None else environ)
    findings = check(sources)
    if findings.problems:
        raise ConfigError(findings.problems)
    generation = Generation.of(sources, findings.warnings)
    uncompiled = tuple(_uncompiled(generation))
    if uncompiled:
        raise ConfigError(uncompiled)
    return generation


def _uncompiled(generation: Generation) -> Iterator[Problem]:
    """Compile the plan of every tool that a config names; rules that are good one by one may not go together."""
    for document in generation.sources.configs:
        for name in Stanza("tool_overrides", document, ("tool_overrides",)).choices:
            try:
                generation.compile(Call(name))
            except PathError as error:
                keys = ("tool_overrides", name)
                expected = f"rules that go together: {error.reason}"
                yield Problem(document.file, json_path(keys), document.line(keys), error.text, expected)
