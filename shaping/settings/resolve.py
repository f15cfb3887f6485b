"""Who decides what: every choice for one call, with where it was made.

Strongest first:

1. the request;
2. a profile that was chosen for the call itself, in every choice that it (or a profile it extends) makes;
3. the tool's override;
4. `global`;
5. the profile that the tool's override names, else the code that calls, else `global`.

Profiles say nothing about fields, so a tool's field filters stay, except under debug, which ignores them. Private paths
add up and redaction is no profile's to say, so neither yields to a chosen profile. For a tool that is not `enabled`
these two are all that applies.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from fnmatch import translate
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from shaping.parsers import FORMATS
from shaping.paths.spelling import plain_letters, visible_text
from shaping.settings.plan import LIMITS, EnvelopeMember, NoiseRule, Overrides, PlanRequest, Redact
from shaping.settings.sources import ConfigSection, Origin, Profiles, protecting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from shaping.settings.jsonc import ConfigDocument

_TOKEN = re.compile(r"\*+|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


def full_name(tool: str, server: str) -> str:
    """Return a tool's name with its server's before it, as `server/tool` rules have it."""
    return f"{server.replace('/', '_')}/{tool}" if server else tool


def is_pattern(text: str) -> bool:
    """Return whether a text is a glob pattern."""
    return any(char in text for char in "*?[")


def ranked(tool: str, patterns: Iterable[str]) -> list[str]:
    """List the patterns that match a tool, weakest first: longer beats shorter, later beats equal, exact beats all.

    A tool of a server is called `server/tool`: a pattern with a slash is for the whole name, one without for the tool.
    """
    matching = [pattern for pattern in patterns if fits(tool, pattern)]
    own = tool.rpartition("/")[2]
    return sorted(matching, key=lambda pattern: (pattern == tool, pattern == own, len(pattern)))


def fits(tool: str, pattern: str) -> bool:
    """Return whether a name or pattern matches a tool, with or without its server's name."""
    server, slash, own = tool.rpartition("/")
    if slash and "/" not in pattern and fits(own, pattern):
        return True
    # A proxy in front of several servers writes the server's name before a tool's name that two of them have.
    if slash and own.startswith(f"{server}_") and fits(f"{server}/{own.removeprefix(f'{server}_')}", pattern):
        return True
    # `kubectl get *` is for `kubectl get -n prod pods` too, whose name ends where its options begin.
    return tool == pattern or _fits_glob(tool, pattern) or _fits_glob(tool, pattern.removesuffix(" *"))


def _fits_glob(name: str, pattern: str) -> bool:
    return _compiled(pattern).match(name) is not None


@lru_cache(maxsize=16384)  # `fnmatch` remembers 256
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def overlap(one: str, other: str) -> bool:
    """Return whether some tool's name matches both patterns."""
    left, right = _TOKEN.findall(one), _TOKEN.findall(other)

    @cache
    def meet(i: int, j: int) -> bool:
        if i == len(left) or j == len(right):
            return all(token[0] == "*" for token in left[i:] + right[j:])
        if left[i][0] == "*":
            return meet(i + 1, j) or meet(i, j + 1)
        if right[j][0] == "*":
            return meet(i, j + 1) or meet(i + 1, j)
        return _share(left[i], right[j]) and meet(i + 1, j + 1)

    return meet(0, 0)


def _share(one: str, other: str) -> bool:
    if len(one) == 1 and one != "?":
        return _fits_glob(one, other)
    if len(other) == 1 and other != "?":
        return _fits_glob(other, one)
    return True  # two classes, or a class and '?': a warning too many beats one too few


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


Statement: TypeAlias = tuple[str, Any, Origin]


class _UpperLimit(int):
    """A limit that lowers the one before it, and never raises it."""


_BUILT_IN = Origin("built in")
_IGNORED = Origin("nobody: debug ignores field filters")
# The values of choices that no bundled profile makes: a profile chosen for the call does not override them.
_BUILT_IN_VALUES: Mapping[str, Any] = {
    "enabled": True,
    "include_only": None,
    "exclude_fields": (),
    "include_on_error": (),
    "exclude_when_tier": {},
    "rename": {},
    "private": (),
    "on_unreadable": "withhold",
    "overflow": "ref",
    "redact": Redact(),
    "defaults": {},
    "keep_lines": (),
    "drop_lines": (),
    "parse": FORMATS,
    "exit_codes": {},
    "channels": "auto",
    "typed": False,
    "max_items": None,
    "max_string": None,
    "envelope": (),
}
_DIALECTS = {"python": "lean", "mcp": "none", "command": "none"}
_FILTERS = frozenset({"include_only", "exclude_fields", "include_on_error", "exclude_when_tier"})
# What applies to the answers of a tool that is not enabled: nothing that changes them but what must not leave.
PROTECTIVE_CHOICES = frozenset({"enabled", "profile", "private", "on_unreadable", "redact", "exclude_when_tier"})
_WHEN_DISABLED: Mapping[str, Any] = {
    "exclude_null_values": False,
    "exclude_empty_arrays": False,
    "exclude_empty_objects": False,
    "exclude_default_values": False,
    "prune": [],
    "encoding": "json",
    "lossless": True,
    "max_tokens": None,
    "omissions": "none",
    "debug": False,
    "parse": (),
    "dialect": "none",
}
_NOT_CHOICES = frozenset({"$schema", "extends", "description", "answers"})


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
    profile_statements = [*_statements(profiles.layers(profile.value)), ("profile", profile.value, profile.origins[-1])]
    if plan_request.profile is None:
        statements = [*profile_statements, *(each for each in configured if each[0] != "profile")]
    else:
        stated = {name for name, *_ in profile_statements}
        statements = [*(each for each in configured if each[0] not in stated), *profile_statements]
    if _decide(profile_statements)["debug"].value:
        statements = [
            (name, _BUILT_IN_VALUES[name], _IGNORED) if name in _FILTERS else (name, *rest)
            for name, *rest in statements
        ]
    enabled = [(value, origin) for name, value, origin in statements if name == "enabled"]
    if enabled and not enabled[-1][0]:
        origin = replace(enabled[-1][1], by=f"not enabled by {enabled[-1][1].by}")
        disabled = [(name, value, origin) for name, value in _WHEN_DISABLED.items()]
        statements = [*(each for each in statements if each[0] in PROTECTIVE_CHOICES), *disabled]
    return _decide([*_defaults(plan_request), *statements, *_overrides_statements(plan_request.overrides)])


def _defaults(plan_request: PlanRequest) -> Iterable[Statement]:
    yield from ((name, value, _BUILT_IN) for name, value in _BUILT_IN_VALUES.items())
    yield "dialect", _DIALECTS[plan_request.surface], Origin(f"default of the {plan_request.surface} surface")


def _config_statements(plan_request: PlanRequest, configs: tuple[ConfigDocument, ...]) -> list[Statement]:
    """Collect the choices of `global` and of the tool's overrides, the weakest first."""
    everywhere = [ConfigSection("global", document, ("global",)) for document in configs]
    by_name = {
        name: ConfigSection(f"tool override {name}", document, ("tool_overrides", name))
        for document in configs
        for name in document.choices("tool_overrides")
    }
    named = ranked(plan_request.tool, by_name)
    guards = (name for name in by_name if name not in named and _guards(plan_request, name))
    statements = _statements(everywhere)
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
    if fits(tool, pattern):
        return True
    return plan_request.names_itself and "/" in tool and fits(tool.partition("/")[2], pattern.partition("/")[2])


@lru_cache(maxsize=8192)
def _seen(name: str) -> str:
    """Return a name as a reader tells it from another: without case, outer blanks and what shows nothing."""
    return "/".join(part.strip() for part in plain_letters(visible_text(name)).casefold().split("/"))


def _without_weakening(statements: Iterable[Statement], *, only_protections: bool = False) -> Iterable[Statement]:
    for name, value, origin in statements:
        if name == "redact":
            yield from ((name, kept, origin) for kept in protecting(value).values())
        elif name == "private" or not (only_protections or name == "on_unreadable"):
            yield name, value, origin


def _which_profile(plan_request: PlanRequest, configured: list[Statement]) -> ResolvedChoice:
    if plan_request.profile is not None:
        return ResolvedChoice("profile", plan_request.profile, (Origin("chosen for the call"),))
    named = [(name, origin) for choice, name, origin in configured if choice == "profile"]
    if plan_request.default_profile is not None:
        coded = (plan_request.default_profile, Origin("the code that calls"))
        named = [coded, *(each for each in named if each[1].by != "global")]
    return ResolvedChoice("profile", named[-1][0], (named[-1][1],))


def _statements(sections: Iterable[ConfigSection]) -> list[Statement]:
    return [
        (name, _UpperLimit(value) if section.document.narrows and name in LIMITS else value, section.origin(name))
        for section in sections
        for name, value in section.choices.items()
        if name not in _NOT_CHOICES
    ]


def _overrides_statements(overrides: Overrides | None) -> Iterable[Statement]:
    for name, value in asdict(overrides or Overrides()).items():
        if value is not None:
            yield "include_only" if name == "fields" else name, value, Origin("the request")


def _decide(statements: Iterable[Statement]) -> dict[str, ResolvedChoice]:
    decided: dict[str, ResolvedChoice] = {}
    bounds: dict[str, ResolvedChoice | None] = {}  # what upper limits may not exceed: a tool's may exceed `global`'s
    for name, value, origin in statements:
        before = decided.get(name)
        combine = _COMBINE.get(name)
        if isinstance(value, _UpperLimit):
            bound = bounds.setdefault(name, before)
            lower = bound is None or bound.value is None or value < bound.value
            decided[name] = ResolvedChoice(name, int(value), (origin,)) if bound is None or lower else bound
            continue
        bounds.pop(name, None)
        if combine is None:
            decided[name] = ResolvedChoice(name, _as_tuple(value), (origin,))
        elif before is None:
            decided[name] = ResolvedChoice(name, combine(_START_VALUES[name], value), (origin,))
        else:
            decided[name] = ResolvedChoice(name, combine(before.value, value), _origins(before, origin, value))
    return decided


def _origins(before: ResolvedChoice, origin: Origin, value: Any) -> tuple[Origin, ...]:
    if before.origins == (_BUILT_IN,) or (before.name == "prune" and isinstance(value, list)):
        return (origin,)
    return (*before.origins, origin)


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _switch_rules(rules: tuple[str, ...], value: list[str] | dict[str, bool]) -> tuple[str, ...]:
    """Switch noise rules: a list names all that are on, a map changes some."""
    on = dict.fromkeys(value, True) if isinstance(value, list) else {**dict.fromkeys(rules, True), **value}
    return tuple(rule for rule in get_args(NoiseRule) if on.get(rule))


def _change_members(members: tuple[str, ...], value: Any) -> tuple[str, ...]:
    """Add and take away members; one that was taken away is marked by `!`, because some are sent unless they are."""
    if isinstance(value, tuple):
        return value
    include, exclude = value.get("include", ()), value.get("exclude", ())
    kept = {*members, *include, *(f"!{member}" for member in exclude)}
    kept -= {*exclude, *(f"!{member}" for member in include if member not in exclude)}
    known = get_args(EnvelopeMember)
    return tuple(member for member in (*known, *(f"!{member}" for member in known)) if member in kept)


def _change_redaction(redact: Redact, value: Any) -> Redact:
    if isinstance(value, Redact):
        return value
    if value in ("off", False):
        return replace(redact, off=True)
    if value is True:
        return replace(redact, off=False, values=True, names=True)
    return replace(redact, **{**value, "off": False, "paths": _union(redact.paths, value.get("paths", ()))})


def _union(paths: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*paths, *more)))


def _merged(mapping: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    return {**mapping, **more}


_COMBINE: Mapping[str, Callable[[Any, Any], Any]] = {
    "prune": _switch_rules,
    "envelope": _change_members,
    "redact": _change_redaction,
    "private": _union,
    "rename": _merged,
    "defaults": _merged,
    "exclude_when_tier": _merged,
    "exit_codes": _merged,
}
_START_VALUES: Mapping[str, Any] = {**_BUILT_IN_VALUES, "prune": ()}
