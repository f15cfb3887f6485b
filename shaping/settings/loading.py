from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shaping.paths import PathError
from shaping.settings.check import check
from shaping.settings.generation import Generation
from shaping.settings.layers import Stanza
from shaping.settings.plan import Call
from shaping.settings.problems import ConfigError, Problem
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
    generation = Generation.of(sources)
    uncompiled = tuple(_uncompiled(generation))
    if uncompiled:
        raise ConfigError(uncompiled)
    return replace(generation, warnings=(*findings.warnings, *_idle(generation)))


def _uncompiled(generation: Generation) -> Iterator[Problem]:
    """Compile the plan of every tool that a config names; rules that are good one by one may not go together."""
    for name, stanza in _overrides(generation):
        try:
            generation.compile(Call(name))
        except PathError as error:
            expected = f"rules that go together: {error.reason}"
            yield stanza.document.problem(stanza.keys, error.text, expected)


def _idle(generation: Generation) -> Iterator[Problem]:
    """Find lists of default values for tools from whose answers no defaults are dropped."""
    for name, stanza in _overrides(generation):
        if "defaults" in stanza.choices and not generation.plan(name).prune.defaults:
            keys = (*stanza.keys, "defaults")
            yield stanza.document.problem(keys, None, "exclude_default_values: true", says="has no effect")


def _overrides(generation: Generation) -> Iterator[tuple[str, Stanza]]:
    for document in generation.sources.configs:
        for name in document.choices("tool_overrides"):
            yield name, Stanza(f"tool override {name}", document, ("tool_overrides", name))
