"""A config as it was loaded: found, read, checked and merged; with the user's own where one is of a working tree."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shaping.settings.files import is_present, user_directory
from shaping.settings.jsonc import ConfigError, ConfigProblem
from shaping.settings.plan import Plan, PlanRequest, Plans, ResolvedChoice, checks
from shaping.settings.sources import Given, Sources, read_sources
from shaping.settings.trust import narrow, protect, refuse_store_outside, warn_of_left_out

if TYPE_CHECKING:
    from shaping.settings.choices import StoreKind, Surface
    from shaping.settings.model import Config, Global


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """The store's settings with all layers merged."""

    max_bytes: int
    ttl_seconds: float
    kind: StoreKind | None = None
    path: str | None = None
    url: str | None = None


@dataclass(frozen=True, eq=False)
class LoadedConfig:
    """A config that was checked and merged, and the plans compiled from it."""

    sources: Sources
    warnings: tuple[ConfigProblem, ...] = ()
    found: Sources | None = None  # the config of the working tree as it was read, where there is one
    plans: Plans = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "plans", Plans(self.sources))

    @property
    def hash(self) -> str:
        """What tells this config from another that says something else."""
        return self.sources.hash

    @cached_property
    def config(self) -> Config:
        """The merged config as a model, which costs a command 20 ms to build."""
        config: Config = checks().model.Config.model_validate(self.sources.merged)
        return config

    @cached_property
    def private_paths(self) -> tuple[str, ...]:
        """The paths that are private in the answers of any tool."""
        return tuple(sorted({path for layer in self._layers for path in layer.private or ()}))

    @cached_property
    def masked_paths(self) -> tuple[str, ...]:
        """The paths that are masked in the answers of any tool."""
        return tuple(sorted({path for layer in self._layers for path in getattr(layer.redact, "paths", None) or ()}))

    @property
    def _layers(self) -> list[Global]:
        layers = (self.config.global_, *(self.config.tool_overrides or {}).values())
        return [layer for layer in layers if layer is not None]

    @property
    def files(self) -> tuple[str, ...]:
        """Name the files that were read besides the bundled ones."""
        return self.sources.files

    @property
    def store(self) -> StoreConfig:
        """The store's settings as they were merged."""
        return StoreConfig(**self.sources.merged["store"])

    @property
    def profiles(self) -> tuple[str, ...]:
        """Name the profiles that can be chosen."""
        return self.sources.profiles.names()

    def plan(self, tool: str, **members: Any) -> Plan:
        """Return the plan for a tool; `members` are the others of a `PlanRequest`."""
        return self.plans.of(PlanRequest(tool, **members))

    def explain(self, tool: str, **members: Any) -> list[ResolvedChoice]:
        """List every choice for a tool with its value and where it was made; takes the arguments of `plan`."""
        return [*self.plans.choices(PlanRequest(tool, **members)).values()]

    def store_for(self, surface: Surface) -> StoreConfig:
        """Return the store's settings; the next `shaping expand` is another process, so a command's store is a file."""
        kind = self.store.kind or ("sqlite" if surface == "command" else "memory")
        return replace(self.store, kind=kind)


def load(
    config: Given = None, *, cwd: str | os.PathLike[str] | None = None, environ: Mapping[str, str] | None = None
) -> LoadedConfig:
    """Find, read, check and compile a config; raise ConfigError with every problem where it cannot be used."""
    where = Path(cwd) if cwd is not None else Path.cwd()
    environ = os.environ if environ is None else environ
    found = read_sources(config, cwd=where, environ=environ)
    warnings = _check_or_raise(found)
    if found.in_tree is None:
        return LoadedConfig(found, warnings)
    own = user_directory(environ) / found.in_tree.name
    users = read_sources(own if is_present(own) else {}, cwd=where, environ=environ)
    _check_or_raise(users)
    if found.allowed:
        refuse_store_outside(found.in_tree, found.configs[-1], cwd=where, environ=environ)
    return with_users(found, users, warnings)


def with_users(found: Sources, users: Sources, warnings: tuple[ConfigProblem, ...] = ()) -> LoadedConfig:
    """Merge a config of the working tree with the user's own: with its protections, or as what narrows of it."""
    sources = protect(found, users) if found.allowed else narrow(found, users)
    if circles := tuple(checks().cycles(sources.profiles)):  # of profiles that are good without the user's own
        raise ConfigError(circles)
    waiting = warn_of_left_out(found, (*sources.configs, *sources.profile_files))
    return LoadedConfig(sources, (*warnings, *waiting), found)


def _check_or_raise(sources: Sources) -> tuple[ConfigProblem, ...]:
    """Return the warnings about sources that have no problems; raise ConfigError for any others."""
    if not (sources.configs[1:] or sources.unreadable):
        return ()
    problems, warnings = checks().check(sources)
    if problems:
        raise ConfigError(problems)
    return tuple(warnings)
