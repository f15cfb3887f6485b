"""Which plan a call is shaped by: what it, its block and the environment ask for, where there is such a thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaping.response import Warned
from shaping.settings import context
from shaping.settings.problems import ConfigError, Problem, nearest, one_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from shaping.settings import Generation, Overrides, Plan, Surface

_FILE = "the environment"


def choose_plan(
    generation: Generation,
    tool: str,
    surface: Surface,
    *,
    profile: str | None,
    request: Overrides | None,
    default: str | None = None,
    tier: str | None,
    environ: Mapping[str, str],
) -> tuple[Plan, tuple[Warned, ...]]:
    """Give the plan for a call and a warning for what is asked wrongly, without which the answer goes out.

    A `profile` is what the call itself asks for; a `default` stands where block and environment name none.
    """
    block = context.current_block()
    if block is not None:
        profile = profile or block.profile
        request = block.overrides(request)
    warnings: tuple[Warned, ...] = ()
    if profile is None:
        profile, warnings = _by_environment(generation, environ)
        profile = profile or default
    try:
        return generation.plan(tool, profile=profile, tier=tier, surface=surface, request=request), warnings
    except ConfigError as problem:
        from shaping.settings.request import rightly_asked  # noqa: PLC0415 (the model is loaded with the first config)

        profile = profile if profile in generation.profiles else None
        right = rightly_asked(request)
        plan = generation.plan(tool, profile=profile, tier=tier, surface=surface, request=right)
        return plan, (*warnings, Warned("BAD_REQUEST", str(problem)))


def checked_environment(environ: Mapping[str, str], profiles: Collection[str]) -> Mapping[str, str]:
    """Give the environment, or raise ConfigError where a variable of ours says something there is not."""
    told: list[str] = []
    problems: list[Problem] = []
    context.mode(environ, told.append)
    if told:
        problems.append(Problem(_FILE, "SHAPING", None, environ["SHAPING"], "on, off or observe"))
    profile = context.environment_profile(environ)
    if profile is not None and profile not in profiles:
        problems.append(_no_profile(profile, profiles))
    if problems:
        raise ConfigError(problems)
    return environ


def _by_environment(generation: Generation, environ: Mapping[str, str]) -> tuple[str | None, tuple[Warned, ...]]:
    profile = context.environment_profile(environ)
    if profile is None or profile in generation.profiles:
        return profile, ()
    return None, (Warned("BAD_REQUEST", f"{_no_profile(profile, generation.profiles)} It is ignored."),)


def _no_profile(profile: str, profiles: Collection[str]) -> Problem:
    return Problem(_FILE, "SHAPING_PROFILE", None, profile, one_of(profiles), nearest(profile, profiles))
