from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from shaping.settings.check import missing_encoder
from shaping.settings.model import Request
from shaping.settings.problems import ConfigError, Problem, nearest, one_of
from shaping.settings.read import Document
from shaping.settings.validate import validate

if TYPE_CHECKING:
    from collections.abc import Collection

    from shaping.settings.plan import Call

_FILE = "the call"


def check_call(call: Call, profiles: Collection[str]) -> None:
    """Raise ConfigError where a call asks for a profile, a path or a choice that there is not."""
    problems = []
    if call.profile is not None and call.profile not in profiles:
        suggestion = nearest(call.profile, profiles)
        problems.append(Problem(_FILE, "$.profile", None, call.profile, one_of(profiles), suggestion))
    if call.request is not None:
        asked = {name: value for name, value in asdict(call.request).items() if value is not None}
        document = Document(_FILE, asked)
        problems += [*validate(document, Request), *missing_encoder(document, ())]
    if problems:
        raise ConfigError(problems)
