"""Who decides what: every choice for one call, with where it was made.

Strongest first: the request, the tool's override, `global`, the profile. A profile that was chosen for the call itself
outranks the tool's override and `global` in every choice that it (or a profile it extends) makes; profiles say nothing
about fields, so a tool's field filters stay, except under debug, which ignores them. Private paths add up and
redaction is no profile's to say, so neither yields to a chosen profile.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from shaping.settings.layers import Origin, Stanza
from shaping.settings.model import EnvelopeMember, NoiseRule
from shaping.settings.patterns import ranked
from shaping.settings.plan import Overrides, Redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shaping.settings.plan import Call
    from shaping.settings.profiles import Profiles
    from shaping.settings.read import Document


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice as it was decided: its name, its value, and who had a say in it."""

    name: str
    value: Any
    origins: tuple[Origin, ...]

    @property
    def source(self) -> str:
        """Say who decided, and on which line of which file."""
        return ", ".join(str(origin) for origin in self.origins)


Said: TypeAlias = tuple[str, Any, Origin]

_BUILT_IN = Origin("built in")
_IGNORED = Origin("nobody: debug ignores field filters")
# What no bundled file says: these are not for a profile to decide, so that a chosen profile leaves them alone.
_UNSAID: Mapping[str, Any] = {
    "include_only": None,
    "exclude_fields": (),
    "include_on_error": (),
    "exclude_when_tier": {},
    "rename": {},
    "private": (),
    "redact": Redact(),
    "defaults": {},
    "keep_lines": (),
    "drop_lines": (),
    "parse": ("json", "lines", "csv", "table"),
    "exit_codes": {},
    "channels": "auto",
    "typed": False,
    "max_items": None,
    "max_string": None,
    "envelope": (),
}
_DIALECTS = {"python": "lean", "mcp": "none", "command": "invariant"}
_FILTERS = frozenset({"include_only", "exclude_fields", "include_on_error", "exclude_when_tier"})
_NOT_CHOICES = frozenset({"$schema", "extends", "description"})


def resolve(
    call: Call, configs: Iterable[Document], profiles: Profiles, presets: Iterable[Document] = ()
) -> dict[str, Choice]:
    """Decide every choice for a call; what a preset says of a command or a tool is weaker than any config."""
    configured = [*_configured(call.tool, tuple(presets)), *_configured(call.tool, tuple(configs))]
    profile = _which_profile(call, configured)
    preset = [*_said(profiles.layers(profile.value)), ("profile", profile.value, profile.origins[-1])]
    if call.profile is None:
        said = [*preset, *(each for each in configured if each[0] != "profile")]
    else:
        stated = {name for name, *_ in preset}
        said = [*(each for each in configured if each[0] not in stated), *preset]
    if _fold(preset)["debug"].value:
        said = [(name, _UNSAID[name], _IGNORED) if name in _FILTERS else (name, *rest) for name, *rest in said]
    return _fold([*_unsaid(call), *said, *_requested(call.request)])


def _unsaid(call: Call) -> Iterable[Said]:
    yield from ((name, value, _BUILT_IN) for name, value in _UNSAID.items())
    yield "dialect", _DIALECTS[call.surface], Origin(f"default of the {call.surface} surface")


def _configured(tool: str, configs: tuple[Document, ...]) -> list[Said]:
    """Gather what `global` and the tool's overrides say, the weakest first."""
    everywhere = [Stanza("global", document, ("global",)) for document in configs]
    overrides = {
        name: Stanza(f"tool override {name}", document, ("tool_overrides", name))
        for document in configs
        for name in document.choices("tool_overrides")
    }
    return _said([*everywhere, *(overrides[name] for name in ranked(tool, overrides))])


def _which_profile(call: Call, configured: list[Said]) -> Choice:
    if call.profile is not None:
        return Choice("profile", call.profile, (Origin("chosen for the call"),))
    named = [(name, origin) for choice, name, origin in configured if choice == "profile"]
    return Choice("profile", named[-1][0], (named[-1][1],))


def _said(stanzas: Iterable[Stanza]) -> list[Said]:
    return [
        (name, value, stanza.origin(name))
        for stanza in stanzas
        for name, value in stanza.choices.items()
        if name not in _NOT_CHOICES
    ]


def _requested(request: Overrides | None) -> Iterable[Said]:
    for name, value in asdict(request or Overrides()).items():
        if value is not None:
            yield "include_only" if name == "fields" else name, value, Origin("the request")


def _fold(said: Iterable[Said]) -> dict[str, Choice]:
    decided: dict[str, Choice] = {}
    for name, value, origin in said:
        before = decided.get(name)
        combine = _COMBINE.get(name)
        if combine is None:
            decided[name] = Choice(name, _frozen(value), (origin,))
        elif before is None:
            decided[name] = Choice(name, combine(_START[name], value), (origin,))
        else:
            decided[name] = Choice(name, combine(before.value, value), _origins(before, origin, value))
    return decided


def _origins(before: Choice, origin: Origin, value: Any) -> tuple[Origin, ...]:
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
    if isinstance(value, tuple):
        return value
    kept = {*members, *value.get("include", ())}.difference(value.get("exclude", ()))
    return tuple(member for member in get_args(EnvelopeMember) if member in kept)


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
