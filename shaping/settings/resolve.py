"""Who decides what: every choice for one call, with where it was made.

Strongest first: the request, the tool's override, `global`, the profile. A profile that was chosen for the call itself
outranks the tool's override and `global` in every choice that it (or a profile it extends) makes; profiles say nothing
about fields, so a tool's field filters stay, except under debug, which ignores them. Private paths add up and
redaction is no profile's to say, so neither yields to a chosen profile. For a tool that is not `enabled` these two are
all that applies.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from shaping.parsers import FORMATS
from shaping.settings.files import LIMITS
from shaping.settings.model import EnvelopeMember, NoiseRule
from shaping.settings.plan import Overrides, Redact
from shaping.settings.sources import Origin, Stanza

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from shaping.settings.jsonc import ConfigDocument
    from shaping.settings.plan import PlanRequest
    from shaping.settings.sources import Profiles

_TOKEN = re.compile(r"\*+|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


def is_pattern(text: str) -> bool:
    """Return whether a text can stand for more than one tool."""
    return any(char in text for char in "*?[")


def ranked(tool: str, patterns: Iterable[str]) -> list[str]:
    """List the patterns that match a tool, weakest first: longer beats shorter, later beats equal, exact beats all.

    A tool of a server is called `server/tool`: a pattern with a slash is for the whole name, one without for the tool.
    """
    matching = [pattern for pattern in patterns if fits(tool, pattern)]
    own = tool.rpartition("/")[2]
    return sorted(matching, key=lambda pattern: (pattern == tool, pattern == own, len(pattern)))


def fits(tool: str, pattern: str) -> bool:
    """Return whether a name or pattern stands for a tool, or for a tool of any server."""
    server, slash, own = tool.rpartition("/")
    if slash and "/" not in pattern and fits(own, pattern):
        return True
    # A proxy in front of several servers writes the server's name before a tool's name that two of them have.
    if slash and own.startswith(f"{server}_") and fits(f"{server}/{own.removeprefix(f'{server}_')}", pattern):
        return True
    # `kubectl get *` is for `kubectl get -n prod pods` too, whose name ends where its options begin.
    return tool == pattern or fnmatchcase(tool, pattern) or fnmatchcase(tool, pattern.removesuffix(" *"))


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
        return fnmatchcase(one, other)
    if len(other) == 1 and other != "?":
        return fnmatchcase(other, one)
    return True  # two classes, or a class and '?': a warning too many beats one too few


@dataclass(frozen=True, slots=True)
class ResolvedChoice:
    """One choice as it was decided: its name, its value, and who had a say in it."""

    name: str
    value: Any
    origins: tuple[Origin, ...]

    @property
    def source(self) -> str:
        """Who decided, and on which line of which file."""
        return ", ".join(str(origin) for origin in self.origins)


Statement: TypeAlias = tuple[str, Any, Origin]


class _AtMost(int):
    """A limit that lowers the one before it, and never raises it."""


_BUILT_IN = Origin("built in")
_IGNORED = Origin("nobody: debug ignores field filters")
# What no bundled file says: these are not for a profile to decide, so that a chosen profile leaves them alone.
_UNSAID: Mapping[str, Any] = {
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
PROTECTING = frozenset({"enabled", "profile", "private", "on_unreadable", "redact", "exclude_when_tier"})
_LEFT_ALONE: Mapping[str, Any] = {
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
    call: PlanRequest, configs: Sequence[ConfigDocument], profiles: Profiles, presets: Iterable[ConfigDocument] = ()
) -> dict[str, ResolvedChoice]:
    """Decide every choice for a call; what a preset says of a command or a tool is weaker than any config."""
    # What the working tree says is weaker than what the user says, however exactly it names a tool.
    layers = (presets, *((document,) for document in configs))
    configured = [each for layer in layers for each in _configured(call.tool, tuple(layer))]
    profile = _which_profile(call, configured)
    preset = [*_statements(profiles.layers(profile.value)), ("profile", profile.value, profile.origins[-1])]
    if call.profile is None:
        statements = [*preset, *(each for each in configured if each[0] != "profile")]
    else:
        stated = {name for name, *_ in preset}
        statements = [*(each for each in configured if each[0] not in stated), *preset]
    if _fold(preset)["debug"].value:
        statements = [
            (name, _UNSAID[name], _IGNORED) if name in _FILTERS else (name, *rest) for name, *rest in statements
        ]
    enabled = [(value, origin) for name, value, origin in statements if name == "enabled"]
    if enabled and not enabled[-1][0]:
        left_alone = [(name, value, enabled[-1][1]) for name, value in _LEFT_ALONE.items()]
        statements = [*(each for each in statements if each[0] in PROTECTING), *left_alone]
    return _fold([*_defaults(call), *statements, *_requested(call.request)])


def _defaults(call: PlanRequest) -> Iterable[Statement]:
    yield from ((name, value, _BUILT_IN) for name, value in _UNSAID.items())
    yield "dialect", _DIALECTS[call.surface], Origin(f"default of the {call.surface} surface")


def _configured(tool: str, configs: tuple[ConfigDocument, ...]) -> list[Statement]:
    """Gather what `global` and the tool's overrides say, the weakest first."""
    everywhere = [Stanza("global", document, ("global",)) for document in configs]
    overrides = {
        name: Stanza(f"tool override {name}", document, ("tool_overrides", name))
        for document in configs
        for name in document.choices("tool_overrides")
    }
    return _statements([*everywhere, *(overrides[name] for name in ranked(tool, overrides))])


def _which_profile(call: PlanRequest, configured: list[Statement]) -> ResolvedChoice:
    if call.profile is not None:
        return ResolvedChoice("profile", call.profile, (Origin("chosen for the call"),))
    named = [(name, origin) for choice, name, origin in configured if choice == "profile"]
    return ResolvedChoice("profile", named[-1][0], (named[-1][1],))


def _statements(stanzas: Iterable[Stanza]) -> list[Statement]:
    return [
        (name, _AtMost(value) if stanza.document.narrows and name in LIMITS else value, stanza.origin(name))
        for stanza in stanzas
        for name, value in stanza.choices.items()
        if name not in _NOT_CHOICES
    ]


def _requested(request: Overrides | None) -> Iterable[Statement]:
    for name, value in asdict(request or Overrides()).items():
        if value is not None:
            yield "include_only" if name == "fields" else name, value, Origin("the request")


def _fold(statements: Iterable[Statement]) -> dict[str, ResolvedChoice]:
    decided: dict[str, ResolvedChoice] = {}
    for name, value, origin in statements:
        before = decided.get(name)
        combine = _COMBINE.get(name)
        if isinstance(value, _AtMost):
            lower = before is None or before.value is None or value < before.value
            decided[name] = ResolvedChoice(name, int(value), (origin,)) if before is None or lower else before
        elif combine is None:
            decided[name] = ResolvedChoice(name, _frozen(value), (origin,))
        elif before is None:
            decided[name] = ResolvedChoice(name, combine(_START[name], value), (origin,))
        else:
            decided[name] = ResolvedChoice(name, combine(before.value, value), _origins(before, origin, value))
    return decided


def _origins(before: ResolvedChoice, origin: Origin, value: Any) -> tuple[Origin, ...]:
    if before.origins == (_BUILT_IN,) or (before.name == "prune" and isinstance(value, list)):
        return (origin,)
    return (*before.origins, origin)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _switched(rules: tuple[str, ...], value: list[str] | dict[str, bool]) -> tuple[str, ...]:
    """Take a list as exactly those rules, a map as changes to what was on."""
    on = dict.fromkeys(value, True) if isinstance(value, list) else {**dict.fromkeys(rules, True), **value}
    return tuple(rule for rule in get_args(NoiseRule) if on.get(rule))


def _members(members: tuple[str, ...], value: Any) -> tuple[str, ...]:
    """Add and take away members; one that was taken away is marked by `!`, because some are sent unless they are."""
    if isinstance(value, tuple):
        return value
    include, exclude = value.get("include", ()), value.get("exclude", ())
    kept = {*members, *include, *(f"!{member}" for member in exclude)}
    kept -= {*exclude, *(f"!{member}" for member in include if member not in exclude)}
    known = get_args(EnvelopeMember)
    return tuple(member for member in (*known, *(f"!{member}" for member in known)) if member in kept)


def _redacting(redact: Redact, value: Any) -> Redact:
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
    "prune": _switched,
    "envelope": _members,
    "redact": _redacting,
    "private": _union,
    "rename": _merged,
    "defaults": _merged,
    "exclude_when_tier": _merged,
    "exit_codes": _merged,
}
_START: Mapping[str, Any] = {**_UNSAID, "prune": ()}
