"""A plan: everything that one tool's responses are shaped by, decided and compiled before the first of them.

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

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from shaping.parsers import FORMATS
from shaping.paths import FieldPlan, compile_error_fields, compile_fields
from shaping.paths.rules import renamed_path
from shaping.paths.spelling import plain_letters, visible_text
from shaping.response import Dialect, Json, Lengths, MemberChoice
from shaping.settings.choices import (
    CHOICES,
    LIMITS,
    Channels,
    Encoding,
    OmissionsMode,
    Overflow,
    Redact,
    Surface,
    masking,
)
from shaping.settings.jsonc import ConfigDocument, ConfigError, ConfigProblem, one_of, suggestion_for
from shaping.settings.patterns import is_for, ranked
from shaping.settings.sources import THE_CALL, ConfigSection, Origin, Sources, presets_for, presets_for_server
from shaping.values.opening import open_closed, open_value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType


# A server has hundreds of tools at most; what requests ask for themselves must not grow the cache without end.
_MOST_PLANS = 2048
_MOST_VARIANTS = 64  # of one plan: a budget may be any number


@dataclass(frozen=True, slots=True)
class Overrides:
    """What one request asks for itself; None where it asks for nothing."""

    fields: tuple[str, ...] | None = None
    max_tokens: int | None = None
    max_items: int | None = None
    max_string: int | None = None
    encoding: Encoding | None = None
    dialect: Dialect | None = None
    channels: Channels | None = None

    def __post_init__(self) -> None:
        if self.fields is not None and type(self.fields) is not tuple:
            object.__setattr__(self, "fields", as_paths(self.fields))


def as_paths(fields: str | Iterable[str]) -> tuple[str, ...]:
    """Return the paths to keep as a tuple; a string is one path, and not one for each letter."""
    return (fields,) if isinstance(fields, str) else tuple(fields)


@dataclass(frozen=True, slots=True)
class Empties:
    """Which empty or default values are dropped."""

    nulls: bool
    empty_arrays: bool
    empty_objects: bool
    defaults: bool
    default_values: tuple[tuple[str, Json], ...] = ()
    asked: bool = False  # whether a config, and not only its profile, drops them


KEEP_EMPTIES = Empties(nulls=False, empty_arrays=False, empty_objects=False, defaults=False)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A profile plus a tool's overrides, compiled."""

    tool: str
    profile: str
    config_hash: str
    surface: Surface
    fields: FieldPlan | None  # include, exclude, rename, private and tier; None where there is nothing to filter
    error_fields: FieldPlan | None  # the same, with include_on_error added back
    private: FieldPlan | None  # only what a reader may never have, private or by tier: for debug and all that is stored
    private_paths: tuple[str, ...]
    empties: Empties
    noise: tuple[str, ...]
    redact: Redact
    max_tokens: int | None
    max_items: int | None
    max_string: int | None
    encoding: Encoding
    lossless: bool
    dialect: Dialect
    channels: Channels
    typed: bool
    envelope: frozenset[str]
    debug: bool
    omissions: OmissionsMode
    keep_lines: tuple[str, ...]
    drop_lines: tuple[str, ...]
    tokenizer: str
    parse: tuple[str, ...] = FORMATS
    exit_codes: Mapping[int, str] = field(default_factory=dict)
    overflow: Overflow = "ref"
    enabled: bool = True  # whether answers are shaped, or only secrets and private fields taken out of them
    limited_by_call: bool = False  # whether the call itself asks for so many elements or characters
    max_lengths: Lengths = ()  # what the client shows of a text, in units of `LENGTHS`
    _variants: dict[tuple[Any, ...], Plan] = field(default_factory=dict, init=False, repr=False)

    def replace(self, **choices: Any) -> Plan:
        """Return the plan with other choices; most are asked for again, and a copy takes long beside a small answer."""
        asked = tuple(choices.items())
        found = self._variants.get(asked)
        if found is None:
            found = replace(self, **choices)
            if len(self._variants) < _MOST_VARIANTS:
                self._variants[asked] = found
        return found

    @property
    def closed(self) -> bool:
        """Whether a text that paths cannot reach into must be withheld: it may hold private fields or secrets."""
        return self.private is not None or self.redact.by_place

    @property
    def anywhere(self) -> Plan:
        """The plan with its private paths at any depth: what stands around data has a shape of its own."""
        return self if self.private is None else self.replace(private=self.private.at_any_depth())

    def for_error(self) -> Plan:
        """Return the plan for a tool's error: its words and its data are never noise, and JSON in it stays JSON."""
        return self.replace(fields=self.error_fields, noise=(), encoding="json", dialect="none")

    @property
    def verbatim(self) -> bool:
        """Whether a tool's text is sent unchanged; rules for paths in it make it data."""
        return not self.parse and self.fields is None and not self.redact.paths


def full_name(tool: str, server: str) -> str:
    """Return a tool's name with its server's before it, as `server/tool` rules have it."""
    return f"{server.replace('/', '_')}/{tool}" if server else tool


class PlanRequest(NamedTuple):
    """What a plan is made for: a tool, who calls it how, and what the call asks for itself."""

    tool: str
    profile: str | None = None
    tier: str | None = None
    surface: Surface = "python"
    overrides: Overrides | None = None
    default_profile: str | None = None  # what the program's own code names: weaker than a tool's override
    names_itself: bool = False  # whether the name before the tool's is one that its server chose


def checks() -> ModuleType:
    """Return the module that checks configs and requests."""
    from shaping.settings import check  # noqa: PLC0415 (the bundled config alone needs no check: costs 60 ms)

    return check


class Plans:
    """The plans by one config, each compiled when it is first asked for."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._known: dict[PlanRequest, Plan] = {}
        self._lock = Lock()

    def of(self, plan_request: PlanRequest) -> Plan:
        """Return the plan for such calls, compiled at the first asking; raise ConfigError for one that cannot be."""
        if (known := self._known.get(plan_request)) is not None:
            return known
        plan = compile_plan(plan_request, self.choices(plan_request), self._sources)
        with self._lock:
            while len(self._known) >= _MOST_PLANS:
                del self._known[next(iter(self._known))]
            return self._known.setdefault(plan_request, plan)

    def valid_part(self, plan_request: PlanRequest) -> PlanRequest:
        """Return what a call asks for without the profiles and choices that there are not."""
        overrides = plan_request.overrides
        nobody: dict[str, Any] = dict.fromkeys(self._unknown_profiles(plan_request))
        if overrides is not None:
            problems = checks().overrides_problems(overrides)
            wrong = {problem.path.removeprefix("$.").split("[")[0] for problem in problems}
            overrides = replace(overrides, **dict.fromkeys(wrong))
        return plan_request._replace(overrides=overrides, **nobody)

    def warm(self, other: Plans) -> None:
        """Compile the plans that another config has in use, so that a swap costs the next call nothing."""
        with other._lock:
            plan_requests = list(other._known)
        for plan_request in plan_requests:
            if plan_request.overrides is None and not self._unknown_profiles(plan_request):
                self.of(plan_request)

    def choices(self, plan_request: PlanRequest) -> dict[str, ResolvedChoice]:
        """Decide every choice for such calls, each with where it was made."""
        self._check_request(plan_request)
        presets = presets_for(plan_request.tool, plan_request.surface)
        if self._sources.merged["presets"] and plan_request.surface == "mcp":
            presets = (*presets, *presets_for_server(plan_request.tool))
        return resolve(plan_request, self._sources, presets)

    def _check_request(self, plan_request: PlanRequest) -> None:
        """Raise ConfigError where a call asks for a profile, a path or a choice that there is not."""
        problems = []
        for name in {*self._unknown_profiles(plan_request).values()}:
            known = self._sources.profiles.names()
            problems.append(
                ConfigProblem(THE_CALL, "$.profile", None, name, one_of(known), suggestion_for(name, known))
            )
        if plan_request.overrides is not None:
            problems += checks().overrides_problems(plan_request.overrides)
        if problems:
            raise ConfigError(problems)

    def _unknown_profiles(self, plan_request: PlanRequest) -> dict[str, str]:
        """Return what a call names as its profiles and there is not, by the member of the request."""
        named = {"profile": plan_request.profile, "default_profile": plan_request.default_profile}
        known = self._sources.profiles.sections
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
    plan_request: PlanRequest, sources: Sources, presets: Iterable[ConfigDocument] = ()
) -> dict[str, ResolvedChoice]:
    """Decide every choice for a call; the presets of a command or a tool are weaker than any config."""
    # A config of the working tree is weaker than the user's own, however exactly it names a tool.
    layers = (presets, *((document,) for document in sources.configs))
    configured = [each for layer in layers for each in _config_statements(plan_request, tuple(layer))]
    profile = _which_profile(plan_request, configured)
    of_profile = [*_statements(sources.profiles.layers(profile.value)), profile]
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


def field_plans(choices: Mapping[str, Any], tier: str | None) -> dict[str, Any]:
    """Compile the field rules that were decided, each None where there is nothing to do."""
    include, exclude, back = choices["include_only"], choices["exclude_fields"], choices["include_on_error"]
    rename, held = choices["rename"], (*choices["exclude_when_tier"].get(tier, ()), *choices["private"])
    opener = open_closed if held else open_value
    fields = failing = private = None
    if include is not None or exclude or held or rename:
        fields = failing = compile_fields(include, (*exclude, *held), rename or None, opener=opener)
    if back and fields is not None:
        # What comes back on error outranks exclude_fields, never a tier or a private path.
        failing = compile_error_fields(include, exclude, back, held, rename=rename, opener=opener)
    if held:
        withhold = choices["on_unreadable"] == "withhold"
        private = compile_fields(None, held, opener=opener, private=True, withhold=withhold)
    return {"fields": fields, "error_fields": failing, "private": private}


def compile_plan(plan_request: PlanRequest, resolved: Mapping[str, ResolvedChoice], sources: Sources) -> Plan:
    """Compile resolved choices into a plan."""
    choices: dict[str, Any] = {name: choice.value for name, choice in resolved.items()}
    filters = field_plans(choices, plan_request.tier)
    # By the names at the time when empties are dropped: fields are renamed before.
    defaults = tuple((renamed_path(path, filters["fields"]), value) for path, value in choices["defaults"].items())
    asked = any(resolved[name].origins[-1].is_of_config for name in _EMPTIES)
    overrides = plan_request.overrides or Overrides()
    compiled = {
        "overflow": _overflow(choices["overflow"], plan_request.surface),
        "envelope": _envelope_members(choices),
        "omissions": "list" if choices["omissions"] == "full" else choices["omissions"],
        "exit_codes": {int(number): code for number, code in choices["exit_codes"].items()},
        **filters,
    }
    as_they_are = {name: value for name, value in choices.items() if name in Plan.__dataclass_fields__}
    return Plan(
        tool=plan_request.tool,
        config_hash=sources.hash,
        surface=plan_request.surface,
        tokenizer=sources.merged["tokenizer"],
        private_paths=choices["private"],
        empties=Empties(
            asked=asked,
            nulls=choices["exclude_null_values"],
            empty_arrays=choices["exclude_empty_arrays"],
            empty_objects=choices["exclude_empty_objects"],
            defaults=choices["exclude_default_values"],
            default_values=defaults if choices["exclude_default_values"] else (),
        ),
        noise=choices["prune"],  # the config's name for the noise rules
        limited_by_call=overrides.max_items is not None or overrides.max_string is not None,
        **(as_they_are | compiled),
    )


def _overflow(asked: Overflow, surface: Surface) -> Overflow:
    """Resolve `auto`: commands run where files are; of an MCP session only its client says so, which is asked later."""
    by_surface: dict[Surface, Overflow] = {"command": "file", "mcp": "auto", "python": "ref"}
    return by_surface[surface] if asked == "auto" else asked


_EMPTIES = ("exclude_null_values", "exclude_empty_arrays", "exclude_empty_objects")


def _envelope_members(choices: Mapping[str, Any]) -> MemberChoice:
    included = [member for member in choices["envelope"] if not member.startswith("!")]
    listed = ["omissions"] if choices["omissions"] in ("list", "full") else []
    return MemberChoice([*included, *listed], [member[1:] for member in choices["envelope"] if member.startswith("!")])
