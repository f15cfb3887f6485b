"""A plan: everything that one tool's responses are shaped by, decided and compiled before the first of them.

What a choice takes, and the sentence about it, is in `model.py`; what is decided for a call, in `loading.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from shaping.parsers import FORMATS
from shaping.paths import FieldPlan, compile_error_fields, compile_fields
from shaping.paths.rules import renamed_path
from shaping.response import Dialect, Json, Lengths, MemberChoice
from shaping.values.opening import open_closed, open_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shaping.settings.loading import ResolvedChoice


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


Surface: TypeAlias = Literal["python", "mcp", "command"]
NoiseGroup: TypeAlias = Literal["links", "opaque", "bulk", "boilerplate", "repeats", "constants"]
Encoding: TypeAlias = Literal["auto", "json", "table", "markdown", "csv", "toon"]
Channels: TypeAlias = Literal["auto", "both", "text", "structured"]
OmissionsMode: TypeAlias = Literal["none", "line", "list", "full"]
ToolsChanged: TypeAlias = Literal["keep", "announce"]
Overflow: TypeAlias = Literal["ref", "file", "auto"]
OnUnreadable: TypeAlias = Literal["withhold", "pass"]
StoreKind: TypeAlias = Literal["memory", "sqlite", "redis"]
EnvelopeMember: TypeAlias = Literal[
    "error", "warnings", "upgrade_hints", "request_id", "session_id", "duration_ms", "tier", "tool_id", "tool_version",
    "capabilities", "schema_version", "estimated_tokens", "etag", "not_modified", "truncated", "cursor", "ref",
    "config_hash", "timings", "plan",
]  # fmt: skip
LIMITS = frozenset({"max_tokens", "max_items", "max_string"})
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
class StoreConfig:
    """The store's settings with all layers merged."""

    max_bytes: int
    ttl_seconds: float
    kind: StoreKind | None = None
    path: str | None = None
    url: str | None = None


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


@dataclass(frozen=True, slots=True)
class Redact:
    """Which redaction rules apply, with their defaults."""

    values: bool = True
    names: bool = False
    paths: tuple[str, ...] = ()
    off: bool = False

    @property
    def by_place(self) -> bool:
        """Whether fields are masked by their name or path."""
        return not self.off and (self.names or bool(self.paths))


def _union(paths: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*paths, *more)))


def _merged(mapping: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    return {**mapping, **more}


def _switch_rules(rules: tuple[str, ...], value: list[str] | dict[str, bool]) -> tuple[str, ...]:
    """Switch noise rules: a list names all that are on, a map changes some."""
    on = dict.fromkeys(value, True) if isinstance(value, list) else {**dict.fromkeys(rules, True), **value}
    return tuple(rule for rule in get_args(NoiseGroup) if on.get(rule))


def _change_members(members: tuple[str, ...], value: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Add and take away members; one that was taken away is marked by `!`, because some are sent unless they are."""
    include, exclude = value.get("include", ()), value.get("exclude", ())
    kept = {*members, *include, *(f"!{member}" for member in exclude)}
    kept -= {*exclude, *(f"!{member}" for member in include if member not in exclude)}
    known = get_args(EnvelopeMember)
    return tuple(member for member in (*known, *(f"!{member}" for member in known)) if member in kept)


def _change_redaction(redact: Redact, value: Any) -> Redact:
    if value in ("off", False):
        return replace(redact, off=True)
    if value is True:
        return replace(redact, off=False, values=True, names=True)
    return replace(redact, **{**value, "off": False, "paths": _union(redact.paths, value.get("paths", ()))})


def masking(redact: Any) -> Any:
    """Return the half of a `redact` that masks more than the default does; None where there is nothing."""
    if isinstance(redact, dict):
        return {name: rule for name, rule in redact.items() if rule} or None
    return True if redact is True else None


class Choice(NamedTuple):
    """One choice: its value where nobody makes it, how a stronger one adds to it, and whether it can only narrow."""

    built_in: Any
    narrows: bool = False  # whether a config of the working tree may make it before it is allowed
    combine: Callable[[Any, Any], Any] | None = None  # None where the stronger one takes the place of the weaker


# What cannot narrow: a new name takes a field out of reach of the user's own rules by name, a pattern for lines can
# take for ever, and an overflow file is written where others may look.
CHOICES: Mapping[str, Choice] = {
    "enabled": Choice(built_in=True),
    "include_only": Choice(None, narrows=True),
    "exclude_fields": Choice((), narrows=True),
    "include_on_error": Choice(()),
    "exclude_when_tier": Choice({}, narrows=True, combine=_merged),
    "rename": Choice({}, combine=_merged),
    "private": Choice((), narrows=True, combine=_union),
    "on_unreadable": Choice("withhold"),
    "overflow": Choice("ref"),
    "redact": Choice(Redact(), combine=_change_redaction),  # `masking` is what narrows of it
    "defaults": Choice({}, narrows=True, combine=_merged),
    "keep_lines": Choice(()),
    "drop_lines": Choice(()),
    "parse": Choice(FORMATS),
    "exit_codes": Choice({}, combine=_merged),
    "channels": Choice("auto", narrows=True),
    "typed": Choice(built_in=False, narrows=True),
    "max_items": Choice(None, narrows=True),
    "max_string": Choice(None, narrows=True),
    "envelope": Choice((), narrows=True, combine=_change_members),
    "dialect": Choice(None, narrows=True),  # each surface has its own default, in settings/loading.py
    # From here on every profile in `profiles/` makes the choice; the values are those of a tool that is not enabled.
    "exclude_null_values": Choice(built_in=False, narrows=True),
    "exclude_empty_arrays": Choice(built_in=False, narrows=True),
    "exclude_empty_objects": Choice(built_in=False, narrows=True),
    "exclude_default_values": Choice(built_in=False, narrows=True),
    "prune": Choice((), narrows=True, combine=_switch_rules),
    "encoding": Choice("json", narrows=True),
    "lossless": Choice(built_in=True, narrows=True),
    "max_tokens": Choice(None, narrows=True),
    "omissions": Choice("none", narrows=True),
    "debug": Choice(built_in=False),
    "profile": Choice(None, narrows=True),
}


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


def compile_plan(
    plan_request: PlanRequest, resolved: Mapping[str, ResolvedChoice], *, config_hash: str, tokenizer: str
) -> Plan:
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
        config_hash=config_hash,
        surface=plan_request.surface,
        tokenizer=tokenizer,
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
