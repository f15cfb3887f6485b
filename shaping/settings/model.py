"""The model of response_config.json: every key, what it takes, and the sentence an editor shows for it.

No default stands here: what a file leaves unsaid comes from the bundled config and the bundled profiles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    Tag,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from shaping.errors import registry
from shaping.errors.codes import ExitTable
from shaping.parsers import Format
from shaping.paths import PathError, compile_fields, parse
from shaping.paths.grammar import Name
from shaping.paths.rules import read_rule
from shaping.response import Dialect
from shaping.settings.choices import (
    Channels,
    Encoding,
    EnvelopeMember,
    NoiseGroup,
    OmissionsMode,
    OnUnreadable,
    Overflow,
    StoreKind,
    ToolsChanged,
)
from shaping.settings.jsonc import one_of, suggestion_for
from shaping.tokens.counters import is_known, tokenizers

T = TypeVar("T")

_QUOTED_OR_INDEX = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]')
_FOREIGN = re.compile(r"[?|{}]")
_QUALIFIED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def refuse_null(value: T) -> T:
    """Refuse a null that somebody wrote out where leaving the key out is meant."""
    if value is None:
        raise wrong("a value; leave the key out to say nothing")
    return value


def wrong(expected: str, valid: Iterable[str] = (), *, at: str | None = None) -> PydanticCustomError:
    """Make the error of a validator, in the words that a problem is reported in.

    `valid` are words of which one may have been meant; `at` is the key of an object that the error is about.
    """
    return PydanticCustomError("expected", "{expected}", {"expected": expected, "valid": [*valid], "at": at})


def _path(use: Callable[[str], object]) -> AfterValidator:
    """Make the validator of a path that is used in one way."""

    def tried(text: str) -> str:
        if text.startswith("/"):
            dotted = ".".join(filter(None, text.split("/"))) or "name"
            raise wrong(f"a path with dots: {dotted!r}, or '**.{dotted}' at any depth; quote a key with '/' in it")
        try:
            use(text)
        except PathError as error:
            raise wrong(f"a path ({error.reason}, at column {error.column})") from None
        return text

    return AfterValidator(tried)


def _protecting(text: str) -> str:
    """Refuse a path that would protect nothing: signs of other pattern languages, and names without a letter."""
    bare = _QUOTED_OR_INDEX.sub("", text)
    if found := _FOREIGN.search(bare):
        raise wrong(f"a path in which only '*' and '**' stand for other names; quote a key with {found[0]!r} in it")
    if any(word.strip("*") and not any(map(str.isalnum, word)) for word in bare.split(".")):
        raise wrong("a path whose names have letters or digits; quote a key that has none")
    return text


def _renaming(rename: dict[str, str]) -> dict[str, str]:
    """Refuse a second name for a field, and a name that another field of the same object gets."""
    fields: dict[Any, str] = {}
    names: dict[Any, str] = {}
    for path, name in rename.items():
        rest = read_rule(path)
        if (other := fields.setdefault(rest, path)) != path:
            raise wrong(f"one new name for the field, which {other!r} renames too", at=path)
        if isinstance(rest[-1], Name) and (other := names.setdefault((rest[:-1], name), path)) != path:
            raise wrong(f"another new name than {other!r} gets", at=path)
    return rename


def _line_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise wrong(f"a regular expression: {error}") from None
    return text


def _tool_pattern(text: str) -> str:
    if not text.strip():
        raise wrong("a tool's name, or a pattern such as github/*")
    if text != text.strip():
        raise wrong(f"{text.strip()!r}, without blanks around it")
    if found := re.search(r"[\^$,|]|(?<!:)//", text):
        raise wrong(f"a tool's name, or a pattern such as github/*, without {found[0]!r}")
    at = _open_bracket(text)
    if at is not None:
        raise wrong(f"']' for the '[' at column {at + 1}; write [[] for a '[' itself")
    return text


def _open_bracket(pattern: str) -> int | None:
    at = pattern.find("[")
    while at != -1:
        # A ']' that comes first in its class, even after '!', stands for itself.
        closing = pattern.find("]", at + 2 + pattern.startswith("[!", at))
        if closing == -1:
            return at
        at = pattern.find("[", closing)
    return None


def _matching(fits: Callable[[str], object], expected: str) -> AfterValidator:
    """Make the validator of a text that has to pass a test."""

    def tried(text: str) -> str:
        if not fits(text):
            raise wrong(expected)
        return text

    return AfterValidator(tried)


def _known_profile(name: str, info: ValidationInfo) -> str:
    profiles = (info.context or {}).get("profiles", (name,))
    if name not in profiles:
        raise wrong(one_of(profiles), profiles)
    return name


def _known_tokenizer(name: str) -> str:
    if not is_known(name):
        raise wrong(one_of(tokenizers()), tokenizers())
    return name


def _registered_code(code: str) -> str:
    # A plugin's code carries its namespace and may be registered after the config is read.
    if "." not in code and registry.find(code) is None:
        raise wrong("a registered error code", registry.codes())
    return code


def _listed_code(code: str) -> str:
    # An application registers its own codes in its own process: one that is like none of ours is no slip.
    if registry.find(code) is None and suggestion_for(code, registry.codes()):
        raise wrong("a registered error code", registry.codes())
    return code


def _installed(what: str, extra: str, module: str) -> AfterValidator:
    """Make the validator of a word that stands for something which an extra brings along."""

    def tried(word: str) -> str:
        if word == extra and find_spec(module) is None:
            raise wrong(f"one that is installed: {what} '{extra}' needs an extra: pip install \"shaping[{extra}]\"")
        return word

    return AfterValidator(tried)


def _expression(text: str, info: ValidationInfo) -> str:
    """Read a JMESPath expression where contracts are checked: the extra that does it is not needed to serve."""
    if not (info.context or {}).get("contracts"):
        return text
    if find_spec("jmespath") is None:
        raise wrong('a path instead, for JMESPath needs an extra: pip install "shaping[jmespath]"')
    import jmespath  # noqa: PLC0415 (an extra)

    try:
        jmespath.compile(text)
    except jmespath.exceptions.JMESPathError as error:
        why = str(error).splitlines()[0].rpartition("expression: ")[2].rstrip(":")
        raise wrong(f"a JMESPath expression ({why[:1].lower()}{why[1:]})") from None
    return text


FieldPath: TypeAlias = Annotated[str, _path(parse)]
KeptPath: TypeAlias = Annotated[str, _path(lambda path: compile_fields([path]))]
DroppedPath: TypeAlias = Annotated[str, _path(lambda path: compile_fields(None, [path]))]
ProtectedPath: TypeAlias = Annotated[DroppedPath, AfterValidator(_protecting)]
LinePattern: TypeAlias = Annotated[str, AfterValidator(_line_pattern)]
ToolPattern: TypeAlias = Annotated[str, AfterValidator(_tool_pattern)]
ExceptionName: TypeAlias = Annotated[
    str, _matching(_QUALIFIED.fullmatch, "an exception's qualified name, such as requests.exceptions.Timeout")
]
ExitStatus: TypeAlias = Annotated[
    str, _matching({str(code) for code in range(1, 256)}.__contains__, "an exit code of a failed command, 1 to 255")
]
ProfileName: TypeAlias = Annotated[str, AfterValidator(_known_profile)]
ErrorCode: TypeAlias = Annotated[str, AfterValidator(_registered_code)]

# A key that is left out is None; a null that is written out is a mistake, except as a limit.
NotNull: TypeAlias = Annotated[T | None, BeforeValidator(refuse_null)]
Flag: TypeAlias = Annotated[bool, Strict()]
Positive: TypeAlias = Annotated[int, Strict(), Field(gt=0)]
Limit: TypeAlias = Annotated[Positive | None, WithJsonSchema({"type": ["integer", "null"], "minimum": 1})]


def _is_map(value: Any) -> str:
    return "map" if isinstance(value, dict) else "plain"


class _Model(BaseModel):
    # defer_build: `import shaping` must not pay for validators that the first load builds.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, validate_by_alias=True)


class EnvelopeChoice(_Model):
    """Which optional members of the envelope are sent."""

    include: NotNull[tuple[EnvelopeMember, ...]] = None
    """Members to send in addition to the profile's own."""
    exclude: NotNull[tuple[EnvelopeMember, ...]] = None
    """Members to leave out although the profile sends them."""


class RedactRules(_Model):
    """Which redaction rules apply."""

    values: NotNull[Flag] = None
    """Mask values that look like well-known credentials (on by default)."""
    names: NotNull[Flag] = None
    """Mask fields with a secret's name, such as api_key or password (off by default)."""
    paths: NotNull[tuple[Annotated[FieldPath, AfterValidator(_protecting)], ...]] = None
    """Mask the values at these paths."""


PruneChoice: TypeAlias = Annotated[
    Annotated[tuple[NoiseGroup, ...], Tag("plain")] | Annotated[dict[NoiseGroup, Flag], Tag("map")],
    Discriminator(_is_map),
]
RedactChoice: TypeAlias = Annotated[
    Annotated[Literal["off", True, False], Tag("plain")] | Annotated[RedactRules, Tag("map")], Discriminator(_is_map)
]


class _Writing(_Model):
    encoding: NotNull[Annotated[Encoding, _installed("encoding", "toon", "toon_format")]] = None
    """How data is written as text; `auto` takes the cheapest that is plain to read."""
    max_tokens: Limit = None
    """The most tokens a response may cost; null for no limit."""
    max_items: Limit = None
    """The most elements that are shown of any list, unless saying so costs more than all of it; null for no limit."""
    max_string: Limit = None
    """The most characters that are shown of any string; null for no limit."""
    dialect: NotNull[Dialect] = None
    """The wire form of the envelope; by default, lean in Python and none on MCP and for commands."""


class _Reducing(_Writing):
    exclude_null_values: NotNull[Flag] = None
    """Drop members that are null."""
    exclude_empty_arrays: NotNull[Flag] = None
    """Drop members that are empty lists."""
    exclude_empty_objects: NotNull[Flag] = None
    """Drop members that are empty objects."""
    exclude_default_values: NotNull[Flag] = None
    """Drop members that equal their declared default, or the value listed for them under `defaults`."""
    prune: NotNull[PruneChoice] = None
    """Which noise rules are on: a list of exactly those, or a map that switches some on or off."""
    envelope: NotNull[EnvelopeChoice] = None
    """Which optional members of the envelope are sent."""


class Profile(_Reducing):
    """A named set of choices; what it leaves unsaid comes from the profile it extends, or else from minimal."""

    schema_: NotNull[str] = Field(default=None, alias="$schema")
    """Where an editor finds the schema of this file."""
    description: NotNull[str] = None
    """What the profile is for, in a sentence; shown by `shaping profiles`."""
    extends: NotNull[ProfileName] = None
    """The profile whose choices this one starts from."""
    lossless: NotNull[Flag] = None
    """Use only encodings from which every value can be read back."""
    omissions: NotNull[OmissionsMode] = None
    """How what was left out is reported: not at all, in one line, or as a priced list, which `full` is too."""
    debug: NotNull[Flag] = None
    """Send every envelope member, even where null, and ignore field filters."""


class Global(_Reducing):
    """Choices for every tool; a tool's own override outranks them."""

    enabled: NotNull[Flag] = None
    """Whether answers are shaped (by default, they are); false passes them as the tool sent them, without secrets and
    private fields."""
    profile: NotNull[ProfileName] = Field(
        default=None, json_schema_extra={"examples": ["minimal", "standard", "debug"]}
    )
    """The profile whose choices apply where neither a tool's override nor `global` makes its own."""
    rename: NotNull[Annotated[dict[DroppedPath, Annotated[str, Field(min_length=1)]], AfterValidator(_renaming)]] = None
    """New names for fields: a path, and the name that its last step gets."""
    redact: NotNull[RedactChoice] = None
    """Redaction: "off" or false, true for every rule, or an object that switches rules one by one."""
    channels: NotNull[Channels] = None
    """Which MCP channels carry a result; `auto` goes by what the client shows its model."""
    typed: NotNull[Flag] = None
    """Keep advertising an output schema even to clients that then show their model only the structured result."""
    defaults: NotNull[dict[FieldPath, Any]] = None
    """Values that count as default, by path; dropped where `exclude_default_values` is on."""
    private: NotNull[tuple[ProtectedPath, ...]] = None
    """Paths that never leave: in no profile, by no request, by no expand."""
    overflow: NotNull[Overflow] = None
    """Where the whole of a cut answer is stored: behind a ref (default), in a file that the answer names, or auto: a
    file for clients that work on the files of this machine."""
    on_unreadable: NotNull[OnUnreadable] = None
    """What to do with a text that cannot be read as data and names a private field: withhold (the default) or pass."""
    keep_lines: NotNull[tuple[LinePattern, ...]] = None
    """Regular expressions: lines of a command's output that are always kept."""
    drop_lines: NotNull[tuple[LinePattern, ...]] = None
    """Regular expressions: lines of a command's output that are dropped."""
    parse: NotNull[tuple[Format, ...]] = None
    """Which forms of a command's output become data; an empty list leaves it text, and the text of an MCP tool too."""


class AnswerContract(_Model):
    """A question that a tool's shaped answers must still answer, and where the answer is."""

    question: str
    """The question, in words."""
    path: NotNull[FieldPath] = None
    """Where the answer is in the data."""
    jmespath: NotNull[Annotated[str, AfterValidator(_expression)]] = None
    """A JMESPath expression that gives the answer, in place of a path."""
    pattern: NotNull[LinePattern] = None
    """A regular expression that finds the answer in a text, in place of a path: its group, or all that it matches."""
    expected: Any = None
    """The answer, where it is always the same; without it, the answer is taken from the tool's own data."""


def _has_one_place(answer: AnswerContract) -> AnswerContract:
    if [answer.path, answer.jmespath, answer.pattern].count(None) != 2:
        raise wrong("a question with one of path, jmespath and pattern")
    return answer


class ToolOverride(Global):
    """Choices for one tool, or for every tool that a pattern matches."""

    include_only: NotNull[tuple[KeptPath, ...]] = None
    """The only fields to keep, as paths; an empty list keeps none."""
    exclude_fields: NotNull[tuple[DroppedPath, ...]] = None
    """Fields to drop, as paths."""
    include_on_error: NotNull[tuple[KeptPath, ...]] = None
    """Fields that come back where the call failed."""
    exclude_when_tier: NotNull[dict[str, tuple[DroppedPath, ...]]] = None
    """Fields to drop where the caller's tier is the one named."""
    exit_codes: NotNull[dict[ExitStatus, ErrorCode]] = None
    """Error codes by a command's exit code, as in {"1": "NOT_FOUND"}; any other failure is an EXECUTION_ERROR."""
    answers: NotNull[tuple[Annotated[AnswerContract, AfterValidator(_has_one_place)], ...]] = None
    """Questions that what a model reads must answer as the tool's data does; `shaping check --traffic` asks them."""


class StoreSettings(_Model):
    """Where omitted data is stored until it is expanded."""

    kind: NotNull[Annotated[StoreKind, _installed("store", "redis", "redis")]] = None
    """memory, sqlite (several processes) or redis (several machines); by default, sqlite for commands, else memory."""
    path: NotNull[str] = None
    """The file of a sqlite store."""
    url: NotNull[str] = None
    """The address of a redis store."""
    max_bytes: NotNull[Positive] = None
    """The most bytes that are stored; the oldest are deleted first."""
    ttl_seconds: NotNull[Annotated[float, Strict(), Field(gt=0)]] = None
    """How long omitted data can be expanded."""


def _has_url(store: StoreSettings) -> StoreSettings:
    if store.kind == "redis" and store.url is None:
        raise wrong("a url beside it, such as redis://localhost:6379/0", at="kind")
    return store


class ToolListing(_Model):
    """How a tool is shown in the list of tools."""

    drop: NotNull[Flag] = None
    """Do not list the tool at all."""
    description: NotNull[str] = None
    """A description in place of the tool's own."""
    max_description: NotNull[Positive] = None
    """The most characters of its description that are shown."""
    codes: NotNull[tuple[Annotated[str, AfterValidator(_listed_code)], ...]] = None
    """The error codes that it may fail with: its description lists them, as with `@shape(codes=…)`."""


class ConfigFile(_Model):
    """The content of a response_config.json."""

    schema_: NotNull[str] = Field(default=None, alias="$schema")
    """Where an editor finds the schema of this file."""
    global_: NotNull[Global] = Field(default=None, alias="global")
    """Choices for every tool."""
    profiles: NotNull[dict[str, Profile]] = None
    """Profiles by name; one of a bundled profile's name changes that profile."""
    tool_overrides: NotNull[dict[ToolPattern, ToolOverride]] = None
    """Choices by tool. Where several match, each key is taken from the one that fits best: an exact name, then the
    longer pattern, then the later one; `private` holds in all of them."""
    tokenizer: NotNull[Annotated[str, AfterValidator(_known_tokenizer)]] = Field(
        default=None, json_schema_extra={"examples": ["o200k_base", "cl100k_base", "chars"]}
    )
    """What counts tokens: o200k_base, cl100k_base, chars, or a model or an encoding that tiktoken knows."""
    store: NotNull[Annotated[StoreSettings, AfterValidator(_has_url)]] = None
    """Where omitted data is stored until it is expanded."""
    agent_controls: NotNull[Flag] = None
    """Give every tool an optional `_shape` argument by which the agent chooses profile, fields and budget."""
    tools: NotNull[dict[ToolPattern, ToolListing]] = None
    """How tools are listed, by name or pattern: dropped, described anew, cut short, or with their error codes."""
    tools_changed: NotNull[ToolsChanged] = None
    """What a live MCP session sees of a change to its list of tools: nothing until it ends, or a notification."""
    allow_eval: NotNull[Flag] = None
    """List and call tools that run code they are given."""
    errors: NotNull[dict[ExceptionName, ErrorCode]] = None
    """Error codes by exception, as in {"requests.exceptions.Timeout": "TIMEOUT"}."""
    presets: NotNull[Flag] = None
    """Whether the bundled rules for well-known servers apply; `shaping profiles` lists them."""
    exit_codes: NotNull[ExitTable] = None
    """Exit codes of programs made by `shape_typer`: contract (3 for a wrong argument) or posix (2 for one)."""


class Config(ConfigFile):
    """All layers merged: the sections that the bundled config fills are always there."""

    tokenizer: str
    agent_controls: bool
    tools: dict[str, ToolListing]
    tools_changed: ToolsChanged
    allow_eval: bool
    errors: dict[str, str]
    presets: bool
    exit_codes: ExitTable


class Request(_Writing):
    """What one call may ask for itself."""

    fields: NotNull[tuple[KeptPath, ...]] = None
    """The only fields to keep, as paths."""
    channels: NotNull[Channels] = None
    """Which MCP channels carry the result."""
