"""A config as it was loaded: found, read, checked and merged; and each tool's plan by it.

Every choice for a call is decided with where it was made. Strongest first:

1. the request;
2. a profile that was chosen for the call itself, in every choice that it (or a profile it extends) makes;
3. the tool's override;
4. `global`;
5. the profile that the tool's override names, else the code that calls, else `global`.

3 and 4 are so within one config. Where several apply, all that one says outranks all that the next says: the user's
own, then one of the working tree that is not allowed, then the presets; so the `global` of the user's config outranks a
preset's override.

Profiles say nothing about fields, so a tool's field filters stay, except under debug, which ignores them. Private paths
add up and redaction is no profile's to say, so neither yields to a chosen profile. For a tool that is not `enabled`
these two are all that applies.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import translate
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from shaping.paths import PathError
from shaping.paths.spelling import plain_letters, visible_text
from shaping.settings.files import is_present, user_directory
from shaping.settings.jsonc import ConfigDocument, ConfigError, ConfigProblem, one_of, suggestion_for
from shaping.settings.plan import (
    CHOICES,
    LIMITS,
    Overrides,
    Plan,
    PlanRequest,
    StoreConfig,
    Surface,
    compile_plan,
    masking,
)
from shaping.settings.sources import (
    THE_CALL,
    ConfigSection,
    Given,
    Origin,
    Profiles,
    Sources,
    presets_for,
    presets_for_server,
    read_sources,
)
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

_WILDCARDS = re.compile(r"\*|\?|\[!?\]?[^\]]*\]")

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


@dataclass(frozen=True, slots=True)
class ResolvedChoice:
    """One choice as it was decided: its name, its value, and where it was made."""

    name: str
    value: Any
    origins: tuple[Origin, ...]

    @property
    def source(self) -> str:
        """Who decided, and on which line of which file."""
        return ", ".join(str(origin) for origin in self.origins)


class _Statement(NamedTuple):
    """What one place says of one choice."""

    name: str
    value: Any
    origin: Origin
    lowers: bool = False  # whether it is a limit that cannot raise what others say


_BUILT_IN = Origin("built in")
_IGNORED = Origin("nobody: debug ignores field filters")
_DIALECTS = {"python": "lean", "mcp": "none", "command": "none"}
_FILTERS = frozenset({"include_only", "exclude_fields", "include_on_error", "exclude_when_tier"})
# What applies to the answers of a tool that is not enabled: nothing that changes them but what must not leave.
PROTECTIVE_CHOICES = frozenset({"enabled", "profile", "private", "on_unreadable", "redact", "exclude_when_tier"})


def resolve(
    plan_request: PlanRequest,
    configs: Sequence[ConfigDocument],
    profiles: Profiles,
    presets: Iterable[ConfigDocument] = (),
) -> dict[str, ResolvedChoice]:
    """Decide every choice for a call; the presets of a command or a tool are weaker than any config."""
    # A config of the working tree is weaker than the user's own, however exactly it names a tool.
    layers = (presets, *((document,) for document in configs))
    configured = [each for layer in layers for each in _config_statements(plan_request, tuple(layer))]
    profile = _which_profile(plan_request, configured)
    of_profile = [*_statements(profiles.layers(profile.value)), profile]
    if plan_request.profile is None:
        statements = [*of_profile, *(each for each in configured if each.name != "profile")]
    else:
        stated = {each.name for each in of_profile}
        statements = [*(each for each in configured if each.name not in stated), *of_profile]
    if next(each.value for each in reversed(of_profile) if each.name == "debug"):
        statements = [
            each._replace(value=CHOICES[each.name].built_in, origin=_IGNORED) if each.name in _FILTERS else each
            for each in statements
        ]
    enabled = next((each for each in reversed(statements) if each.name == "enabled"), None)
    defaults = [*_defaults(plan_request.surface)]
    if enabled is not None and not enabled.value:
        statements = [each for each in statements if each.name in PROTECTIVE_CHOICES]
        defaults = [*_when_disabled(replace(enabled.origin, by=f"not enabled by {enabled.origin.by}"))]
    return _decide([*defaults, *statements, *_overrides_statements(plan_request.overrides)])


def _defaults(surface: Surface) -> Iterator[_Statement]:
    yield from (_Statement(name, choice.built_in, _BUILT_IN) for name, choice in CHOICES.items())
    yield _Statement("dialect", _DIALECTS[surface], Origin(f"default of the {surface} surface"))


def _when_disabled(disabled: Origin) -> Iterator[_Statement]:
    for name, choice in CHOICES.items():
        yield _Statement(name, choice.built_in, _BUILT_IN if name in PROTECTIVE_CHOICES else disabled)
    yield from (_Statement("parse", (), disabled), _Statement("dialect", "none", disabled))


def _config_statements(plan_request: PlanRequest, configs: tuple[ConfigDocument, ...]) -> list[_Statement]:
    """Collect the choices of `global` and of the tool's overrides, the weakest first."""
    by_name = {
        name: ConfigSection(f"tool override {name}", document, ("tool_overrides", name))
        for document in configs
        for name in document.choices("tool_overrides")
    }
    named = ranked(plan_request.tool, by_name)
    guards = (name for name in by_name if name not in named and _guards(plan_request, name))
    statements = _statements(ConfigSection("global", document, ("global",)) for document in configs)
    for name in guards:
        statements += _without_weakening(_statements([by_name[name]]), only_protections=True)
    for name in named:
        own = _statements([by_name[name]])
        statements += _without_weakening(own) if plan_request.names_itself and "/" in name else own
    return statements


def _guards(plan_request: PlanRequest, pattern: str) -> bool:
    """Return whether the protections of a rule for another name apply: for one that only looks alike, or was made up.

    A server could else evade a rule by `Get` for `get`, or by the name that it gives itself.
    """
    tool, pattern = _seen(plan_request.tool), _seen(pattern)
    if is_for(tool, pattern):
        return True
    return plan_request.names_itself and "/" in tool and is_for(tool.partition("/")[2], pattern.partition("/")[2])


@lru_cache(maxsize=8192)
def _seen(name: str) -> str:
    """Return a name as a reader tells it from another: without case, outer blanks and what shows nothing."""
    return "/".join(part.strip() for part in plain_letters(visible_text(name)).casefold().split("/"))


def _without_weakening(statements: Iterable[_Statement], *, only_protections: bool = False) -> Iterator[_Statement]:
    for each in statements:
        if each.name == "redact":
            masked = masking(each.value)
            yield from [each._replace(value=masked)] if masked else []
        elif each.name == "private" or not (only_protections or each.name == "on_unreadable"):
            yield each


def _which_profile(plan_request: PlanRequest, configured: list[_Statement]) -> _Statement:
    if plan_request.profile is not None:
        return _Statement("profile", plan_request.profile, Origin("chosen for the call"))
    named = [each for each in configured if each.name == "profile"]
    if plan_request.default_profile is not None:
        coded = _Statement("profile", plan_request.default_profile, Origin("the code that calls"))
        named = [coded, *(each for each in named if each.origin.section != "global")]
    return named[-1]


def _statements(sections: Iterable[ConfigSection]) -> list[_Statement]:
    return [
        _Statement(name, value, section.origin(name), section.document.narrows and name in LIMITS)
        for section in sections
        for name, value in section.choices.items()
        if name in CHOICES
    ]


def _overrides_statements(overrides: Overrides | None) -> Iterator[_Statement]:
    for name, value in asdict(overrides or Overrides()).items():
        if value is not None:
            yield _Statement("include_only" if name == "fields" else name, value, Origin("the request"))


def _decide(statements: Iterable[_Statement]) -> dict[str, ResolvedChoice]:
    """Go from the weakest statement to the strongest; each adds to what was decided before, or takes its place."""
    decided: dict[str, ResolvedChoice] = {}
    firm: dict[str, ResolvedChoice] = {}  # without limits that only lower: a tool's may exceed its own file's `global`
    for name, value, origin, lowers in statements:
        before, combine = decided.get(name), CHOICES[name].combine
        if before is not None and combine is not None:
            choice = ResolvedChoice(name, combine(before.value, value), _origins(before, origin, value))
        else:
            choice = ResolvedChoice(name, tuple(value) if isinstance(value, list) else value, (origin,))
        if not lowers:
            firm[name] = choice
        elif (limit := firm[name].value) is not None and limit <= value:
            choice = firm[name]
        decided[name] = choice
    return decided


def _origins(before: ResolvedChoice, origin: Origin, value: Any) -> tuple[Origin, ...]:
    if before.origins == (_BUILT_IN,) or (before.name == "prune" and isinstance(value, list)):
        return (origin,)
    return (*before.origins, origin)


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


def is_pattern(text: str) -> bool:
    """Return whether a text is a glob pattern."""
    return any(char in text for char in "*?[")


def ranked(tool: str, patterns: Iterable[str]) -> list[str]:
    """List the patterns that match a tool, weakest first: longer beats shorter, later beats equal, exact beats all.

    A tool of a server is called `server/tool`: a pattern with a slash is for the whole name, one without for the tool.
    """
    matching = [pattern for pattern in patterns if is_for(tool, pattern)]
    own = tool.rpartition("/")[2]
    return sorted(matching, key=lambda pattern: (pattern == tool, pattern == own, len(pattern)))


def is_for(tool: str, pattern: str) -> bool:
    """Return whether a name or pattern is for a tool, with or without its server's name."""
    server, slash, own = tool.rpartition("/")
    if slash and "/" not in pattern and is_for(own, pattern):
        return True
    # A proxy in front of several servers writes the server's name before a tool's name that two of them have.
    if slash and own.startswith(f"{server}_") and is_for(f"{server}/{own.removeprefix(f'{server}_')}", pattern):
        return True
    # `kubectl get *` is for `kubectl get -n prod pods` too, whose name ends where its options begin.
    return tool == pattern or _matches_glob(tool, pattern) or _matches_glob(tool, pattern.removesuffix(" *"))


def _matches_glob(name: str, pattern: str) -> bool:
    return _compiled(pattern).match(name) is not None


@lru_cache(maxsize=16384)  # `fnmatch` remembers 256
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def may_overlap(one: str, other: str) -> bool:
    """Return whether a name may match both patterns, as far as what is before and behind their wildcards tells."""
    (head, tail), (other_head, other_tail) = _ends(one), _ends(other)
    heads = head.startswith(other_head) or other_head.startswith(head)
    return heads and (tail.endswith(other_tail) or other_tail.endswith(tail))


@lru_cache(maxsize=1024)
def _ends(pattern: str) -> tuple[str, str]:
    head, *_, tail = _WILDCARDS.split(pattern)
    return head, tail
