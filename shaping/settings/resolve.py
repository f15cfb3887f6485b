"""Who decides what: every choice for one call, with where it was made.

Strongest first:

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

import re
from dataclasses import asdict, dataclass, replace
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from shaping.paths.spelling import plain_letters, visible_text
from shaping.settings.plan import CHOICES, LIMITS, Overrides, PlanRequest, Surface, masking
from shaping.settings.sources import ConfigSection, Origin, Profiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shaping.settings.jsonc import ConfigDocument

_WILDCARDS = re.compile(r"\*|\?|\[!?\]?[^\]]*\]")


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
