from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from shaping.settings.check import missing_encoder
from shaping.settings.model import Request
from shaping.settings.problems import ConfigError, Problem, nearest, one_of
from shaping.settings.read import Document
from shaping.settings.validate import validate

if TYPE_CHECKING:
    from collections.abc import Collection

    from shaping.settings.plan import Call, Overrides

_FILE = "the call"


def rightly_asked(request: Overrides | None) -> Overrides | None:
    """Give what is left of a request without the choices that there are not."""
    if request is None:
        return None
    wrong = {problem.path.removeprefix("$.").split("[")[0] for problem in _wrong_choices(request)}
    return replace(request, **dict.fromkeys(wrong))


def check_call(call: Call, profiles: Collection[str]) -> None:
    """Raise ConfigError where a call asks for a profile, a path or a choice that there is not."""
    problems = []
    if call.profile is not None and call.profile not in profiles:
        suggestion = nearest(call.profile, profiles)
        problems.append(Problem(_FILE, "$.profile", None, call.profile, one_of(profiles), suggestion))
    if call.request is not None:
        problems += _wrong_choices(call.request)
    if problems:
        raise ConfigError(problems)


def _wrong_choices(request: Overrides) -> list[Problem]:
    asked = {name: value for name, value in asdict(request).items() if value is not None}
    document = Document(_FILE, asked)
    return [*validate(document, Request), *missing_encoder(document, ())]
