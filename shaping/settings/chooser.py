"""Which plan a call gets: by the config, the `using` blocks around the call and the environment."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal

from shaping.redaction import without_secrets
from shaping.response import Warned
from shaping.settings.files import FALSE, TRUE
from shaping.settings.jsonc import ConfigError, ConfigProblem, one_of, short_name, suggestion_for
from shaping.settings.live import live_config
from shaping.settings.plan import Overrides, Plan, PlanRequest

if TYPE_CHECKING:
    from os import PathLike

    from shaping.settings.choices import Surface
    from shaping.settings.loading import LoadedConfig

logger = logging.getLogger("shaping")

Mode = Literal["on", "off", "observe"]

# SCALPEL_MCP_INFO=DEBUG is Code Scalpel's name for SHAPING_DEBUG=1.
_VARIABLES = ("SHAPING", "SHAPING_DEBUG", "SCALPEL_MCP_INFO", "SHAPING_PROFILE")
# As os.environ keeps them: bytes on POSIX, text on Windows.
_ON, _DEBUG, _SCALPEL, _PROFILE = (os.environ.encodekey(name) for name in _VARIABLES)

_FLAGS = TRUE | FALSE | {""}
_MODES = _FLAGS | {"observe"}

_CHOICES = tuple(choice.name for choice in fields(Overrides))
_NONE = Overrides()
# The profile and the choices of the innermost `using` block, merged with those of the blocks around it.
_block: ContextVar[tuple[str | None, Overrides]] = ContextVar("shaping_block", default=(None, _NONE))


@contextmanager
def using(profile: str | None = None, **choices: Any) -> Iterator[None]:
    """Override choices of the config for every call in a `with` block.

    `choices` are `fields` (a path to keep, or several), `max_tokens`, `max_items`, `max_string`, `encoding`, `dialect`
    and `channels`. An inner block overrides an outer one choice by choice; a block holds for its thread or task alone.
    """
    unknown = sorted(set(choices) - set(_CHOICES))
    if unknown:
        raise TypeError(f"using() knows profile, {', '.join(_CHOICES)}; not {', '.join(unknown)}")
    outer_profile, outer = _block.get()
    token = _block.set((profile or outer_profile, replace(outer, **choices)))
    try:
        yield
    finally:
        _block.reset(token)


def any_variable_set(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether any of our variables is set at all; for nearly every call this is the whole story."""
    # Misses by the public way cost as much as all stages of a small response: each raises and catches twice.
    found: Mapping[Any, Any] | None = getattr(environ, "_data", None) if environ is os.environ else None
    if found is None:
        return any(name in environ for name in _VARIABLES)
    return _ON in found or _DEBUG in found or _SCALPEL in found or _PROFILE in found


def mode(environ: Mapping[str, str] = os.environ, tell: Callable[[str], None] | None = None) -> Mode:
    """Read SHAPING: on, off (results untouched) or observe (untouched, but measured); `tell` gets any other value."""
    value = environ.get("SHAPING") if any_variable_set(environ) else None
    if value is None:
        return "on"
    word = value.strip().lower()
    if word not in _MODES and tell is not None:
        tell(f"SHAPING is {value!r}; expected on, off or observe. It is ignored, and shaping is on.")
    return "observe" if word == "observe" else "off" if word in FALSE else "on"


def environment_profile(environ: Mapping[str, str] = os.environ) -> str | None:
    """Read the profile that the environment asks for; debugging outranks a name."""
    if not any_variable_set(environ):
        return None
    debug = environ.get("SHAPING_DEBUG")
    if debug is not None and debug.strip().lower() in TRUE:
        return "debug"
    scalpel = environ.get("SCALPEL_MCP_INFO")
    if scalpel is not None and scalpel.strip().upper() == "DEBUG":
        return "debug"
    return environ.get("SHAPING_PROFILE") or None


_ENVIRONMENT = "the environment"


def with_block(profile: str | None, overrides: Overrides | None) -> tuple[str | None, Overrides | None]:
    """Add to what a call asks for what its `using` blocks ask for; the call itself is the stronger."""
    block_profile, block = _block.get()
    if block is not _NONE:
        own = {name: value for name in _CHOICES if (value := getattr(overrides, name, None)) is not None}
        overrides = replace(block, **own)
    return profile or block_profile, overrides


def checked_environment(environ: Mapping[str, str], profiles: Collection[str]) -> Mapping[str, str]:
    """Return the environment, or raise ConfigError where a variable of ours has an unknown value."""
    words = (("SHAPING", _MODES, "on, off or observe"), ("SHAPING_DEBUG", _FLAGS, "1 or 0"))
    problems = [
        ConfigProblem(_ENVIRONMENT, name, None, environ[name], expected)
        for name, known, expected in words
        if environ.get(name, "").strip().lower() not in known
    ]
    profile = environment_profile(environ)
    if profile is not None and profile not in profiles:
        problems.append(_no_profile(profile, profiles))
    if problems:
        raise ConfigError(problems)
    return environ


def _no_profile(profile: str, profiles: Collection[str]) -> ConfigProblem:
    return ConfigProblem(
        _ENVIRONMENT, "SHAPING_PROFILE", None, profile, one_of(profiles), suggestion_for(profile, profiles)
    )


class PlanChooser:
    """The config in force, and the plans of calls by it; a `Shaper` also shapes."""

    def __init__(
        self,
        config: str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        tier: str | None = None,
        watch: bool = True,
        environ: Mapping[str, str] | None = None,
        names_itself: bool = False,
    ) -> None:
        """Find the config; `tier` is the caller's, and `watch` follows edits of the file.

        `names_itself` says that the server whose answers are shaped may have chosen the name that it is known by.
        """
        self._names_itself = names_itself
        self._environ = os.environ if environ is None else environ
        self._live = live_config(config, self._environ)
        if watch:  # a command that shapes once has no use for the next config
            self._live.start()
        self._tier = tier
        self._told: set[str] = set()

    @property
    def mode(self) -> Mode:
        """Whether the environment has shaping on, off or observing."""
        return mode(self._environ, self._tell)

    @property
    def loaded_config(self) -> LoadedConfig:
        """The config as it is now; hold on to it to see one config throughout."""
        return self._live.current

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """What is wrong with the config now, for every answer that is shaped without it."""
        problem = self._live.problem  # read once: the thread that watches the file may set it meanwhile
        return () if problem is None else (_problem(problem),)

    def plan(self, tool: str, **arguments: Any) -> Plan:
        """Return the compiled choices for a call of this tool made now; `arguments` are the others of `choose`."""
        return self.choose(tool, **arguments)[0]

    def choose(
        self,
        tool: str,
        *,
        surface: Surface = "python",
        profile: str | None = None,
        overrides: Overrides | None = None,
        default_profile: str | None = None,
        loaded_config: LoadedConfig | None = None,
        strict: bool = False,
    ) -> tuple[Plan, tuple[Warned, ...]]:
        """Return the compiled choices for a call made now, and a warning for each that is wrong and so ignored.

        `settings/plan.py` decides each choice, compiles them, and keeps the plan for the next call.
        `strict` raises ConfigError for what the call asks for wrongly.
        """
        config = loaded_config or self._live.current
        warnings: tuple[Warned, ...] = ()
        profile, overrides = with_block(profile, overrides)
        if profile is None and (wanted := environment_profile(self._environ)) is not None:
            if wanted in config.profiles:
                profile = wanted
            else:
                warnings = (Warned("BAD_REQUEST", f"{_no_profile(wanted, config.profiles)} It is ignored."),)
        plan_request = PlanRequest(tool, profile, self._tier, surface, overrides, default_profile, self._names_itself)
        try:
            plan = config.plans.of(plan_request)
        except ConfigError as problem:
            if strict:
                raise
            warnings = (*warnings, Warned("BAD_REQUEST", str(problem)))
            plan = config.plans.of(config.plans.valid_part(plan_request))
        for warned in warnings:
            self._tell(warned.message)
        return plan, (*self.warnings, *warnings)

    def _tell(self, message: str) -> None:
        """Log what is asked for wrongly once, for whoever set a variable and wonders why nothing happens."""
        if message not in self._told and len(self._told) < 100:
            self._told.add(message)
            logger.warning("%s", without_secrets(message))


def _problem(problem: ConfigError) -> Warned:
    """Warn in the response too: what runs is not what the file says, private paths included."""
    first = problem.problems[0]
    where = f"{short_name(first.file)} is wrong at {first.path}"
    return Warned("BAD_CONFIG", f"{where} and is not in use as written; `shaping check` says why")
