"""Find, read, check and merge a config, and compile each tool's plan."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from shaping.paths import PathError
from shaping.settings.files import is_present, user_directory
from shaping.settings.jsonc import ConfigError, ConfigProblem, one_of, suggestion_for
from shaping.settings.plan import Plan, PlanRequest, StoreConfig, Surface, compile_plan
from shaping.settings.resolve import ResolvedChoice, resolve
from shaping.settings.sources import THE_CALL, Given, Sources, presets_for, presets_for_server, read_sources
from shaping.settings.trust import narrow, protect, refuse_store_outside, warn_of_left_out

if TYPE_CHECKING:
    from types import ModuleType

    from shaping.settings.model import Config, Global


def _checks() -> ModuleType:
    from shaping.settings import check  # noqa: PLC0415 (the bundled config alone needs no check: costs 60 ms)

    return check


# A server has hundreds of tools at most; what requests ask for themselves must not grow the cache without end.
_MOST_PLANS = 2048
# Plans that are compiled to check a config: each looks through all of it.
_MOST_COMPILED = 200

_log = logging.getLogger("shaping")


@dataclass(frozen=True, eq=False)
class LoadedConfig:
    """A config that was checked and merged, and the plans compiled from it."""

    sources: Sources
    warnings: tuple[ConfigProblem, ...] = ()
    found: Sources | None = None  # the config of the working tree as it was read, where there is one
    _plans: dict[PlanRequest, Plan] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @cached_property
    def merged(self) -> Mapping[str, Any]:
        """All layers as one config."""
        merged: dict[str, Any] = {}
        for document in self.sources.configs:
            merged = _merge(merged, document.data)
        profiles: dict[str, Any] = {}
        for name in self.profiles:
            for section in self.sources.profiles.sections[name]:
                profiles[name] = _merge(profiles.get(name, {}), section.choices)
        return {**merged, "profiles": profiles}

    @cached_property
    def hash(self) -> str:
        """What tells this config from another that says something else."""
        return hashlib.sha256(json.dumps(self.merged, ensure_ascii=False).encode()).hexdigest()[:12]

    @cached_property
    def config(self) -> Config:
        """The merged config as a model, which costs a command 20 ms to build."""
        config: Config = _checks().model.Config.model_validate(self.merged)
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
        return StoreConfig(**self.merged["store"])

    @property
    def profiles(self) -> tuple[str, ...]:
        """Name the profiles that can be chosen."""
        return self.sources.profiles.names()

    def plan(self, tool: str, **members: Any) -> Plan:
        """Return the plan for a tool; `members` are the others of a `PlanRequest`."""
        return self.plan_of(PlanRequest(tool, **members))

    def plan_of(self, plan_request: PlanRequest) -> Plan:
        """Return the plan for such calls, compiled at the first asking; raise ConfigError for one that cannot be."""
        if (known := self._plans.get(plan_request)) is not None:
            return known
        try:
            plan = self.compile(plan_request)
        except PathError as error:
            # Patterns that meet only in this tool's name rename two fields alike: the answer matters more than names.
            _log.warning("the fields of %r are not renamed, because %s", plan_request.tool, error.reason)
            plan = self.compile(plan_request, renames=False)
        with self._lock:
            while len(self._plans) >= _MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            return self._plans.setdefault(plan_request, plan)

    def explain(self, tool: str, **members: Any) -> list[ResolvedChoice]:
        """List every choice for a tool with its value and where it was made; takes the arguments of `plan`."""
        return [*self._choices(PlanRequest(tool, **members)).values()]

    def valid_part(self, plan_request: PlanRequest) -> PlanRequest:
        """Return what a call asks for without the profiles and choices that there are not."""
        overrides, nobody = plan_request.overrides, dict.fromkeys(self._unknown_profiles(plan_request))
        if overrides is not None:
            problems = _checks().overrides_problems(overrides)
            wrong = {problem.path.removeprefix("$.").split("[")[0] for problem in problems}
            overrides = replace(overrides, **dict.fromkeys(wrong))
        return PlanRequest(**{**plan_request._asdict(), "overrides": overrides, **nobody})

    def store_for(self, surface: Surface) -> StoreConfig:
        """Return the store's settings; the next `shaping expand` is another process, so a command's store is a file."""
        kind = self.store.kind or ("sqlite" if surface == "command" else "memory")
        return replace(self.store, kind=kind)

    def warm(self, other: LoadedConfig) -> None:
        """Compile the plans that another config has in use, so that a swap costs the next call nothing."""
        with other._lock:
            plan_requests = list(other._plans)
        for plan_request in plan_requests:
            if plan_request.overrides is None and not self._unknown_profiles(plan_request):
                self.plan_of(plan_request)

    def compile(self, plan_request: PlanRequest, *, renames: bool = True) -> Plan:
        """Compile a plan afresh; raise PathError where rules that are good one by one do not go together."""
        choices = self._choices(plan_request)
        if not renames:
            choices["rename"] = ResolvedChoice("rename", {}, ())
        return compile_plan(plan_request, choices, config_hash=self.hash, tokenizer=self.merged["tokenizer"])

    def _choices(self, plan_request: PlanRequest) -> dict[str, ResolvedChoice]:
        self._check_request(plan_request)
        presets = presets_for(plan_request.tool, plan_request.surface)
        if self.merged["presets"] and plan_request.surface == "mcp":
            presets = (*presets, *presets_for_server(plan_request.tool))
        return resolve(plan_request, self.sources.configs, self.sources.profiles, presets)

    def _check_request(self, plan_request: PlanRequest) -> None:
        """Raise ConfigError where a call asks for a profile, a path or a choice that there is not."""
        problems = []
        for name in {*self._unknown_profiles(plan_request).values()}:
            suggestion = suggestion_for(name, self.profiles)
            problems.append(ConfigProblem(THE_CALL, "$.profile", None, name, one_of(self.profiles), suggestion))
        if plan_request.overrides is not None:
            problems += _checks().overrides_problems(plan_request.overrides)
        if problems:
            raise ConfigError(problems)

    def _unknown_profiles(self, plan_request: PlanRequest) -> dict[str, str]:
        """Return what a call names as its profiles and there is not, by the member of the request."""
        named = {"profile": plan_request.profile, "default_profile": plan_request.default_profile}
        known = self.sources.profiles.sections
        return {member: name for member, name in named.items() if name is not None and name not in known}


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one layer over another: objects are merged key by key, anything else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        mergeable = isinstance(under, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(merged[key], value) if mergeable else value
    return merged


def load(
    config: Given = None, *, cwd: str | os.PathLike[str] | None = None, environ: Mapping[str, str] | None = None
) -> LoadedConfig:
    """Find, read, check and compile a config; raise ConfigError with every problem where it cannot be used."""
    where = Path(cwd) if cwd is not None else Path.cwd()
    environ = os.environ if environ is None else environ
    found = read_sources(config, cwd=where, environ=environ)
    warnings = _check_or_raise(found)
    if found.in_tree is None:
        return _usable(LoadedConfig(found, warnings))
    own = user_directory(environ) / found.in_tree.name
    users = read_sources(own if is_present(own) else {}, cwd=where, environ=environ)
    _check_or_raise(users)
    if found.allowed:
        refuse_store_outside(found.in_tree, found.configs[-1], cwd=where, environ=environ)
    return with_users(found, users, warnings)


def with_users(found: Sources, users: Sources, warnings: tuple[ConfigProblem, ...] = ()) -> LoadedConfig:
    """Merge a config of the working tree with the user's own: with its protections, or as what narrows of it."""
    sources = protect(found, users) if found.allowed else narrow(found, users)
    if circles := tuple(_checks().cycles(sources.profiles)):  # of profiles that are good without the user's own
        raise ConfigError(circles)
    waiting = warn_of_left_out(found, (*sources.configs, *sources.profile_files))
    return _usable(LoadedConfig(sources, (*warnings, *waiting), found))


def _check_or_raise(sources: Sources) -> tuple[ConfigProblem, ...]:
    """Return the warnings about sources that have no problems; raise ConfigError for any others."""
    if not (sources.configs[1:] or sources.unreadable):
        return ()
    problems, warnings = _checks().check(sources)
    if problems:
        raise ConfigError(problems)
    return tuple(warnings)


def _usable(loaded_config: LoadedConfig) -> LoadedConfig:
    """Return a config whose renames go together; raise ConfigError for any others."""
    if problems := tuple(_conflicting_renames(loaded_config)):
        raise ConfigError(problems)
    return loaded_config


def _conflicting_renames(loaded_config: LoadedConfig) -> Iterator[ConfigProblem]:
    """Report renames that are valid one by one and conflict within one tool."""
    renaming = (
        (document, name)
        for document in loaded_config.sources.configs
        for name, rules in document.choices("tool_overrides").items()
        if "rename" in rules
    )
    for document, name in islice(renaming, _MOST_COMPILED):
        try:
            loaded_config.compile(PlanRequest(name))
        except PathError as error:
            expected = f"rules that go together: {error.reason}"
            yield document.problem(("tool_overrides", name), error.text, expected)
