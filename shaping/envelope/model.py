"""The envelope: one typed answer for every source and wire form, with the metadata of its call, and how it is made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from time import time_ns
from typing import Annotated, Any, Generic, Literal, Self, TypeAlias, TypeVar, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, model_validator

from shaping import envelope as envelopes
from shaping.errors import ErrorDetail, ToolError, registry
from shaping.errors.codes import EXIT_CODES, ExitTable, exit_number
from shaping.errors.texts import plain_without_secrets
from shaping.redaction import without_secrets
from shaping.response import Dialect, Listed, Omission, Warned

# What a content block of MCP has to have, by its type.
_BLOCKS: Mapping[str, Mapping[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource": {"resource": Mapping},
    "resource_link": {"uri": str, "name": str},
}


def read_block(block: Any) -> dict[str, Any]:
    """Take a block as it goes over the wire, or an SDK's; one that is not understood becomes its JSON as text."""
    dump = getattr(block, "model_dump", None)
    plain = dump(mode="json", by_alias=True, exclude_none=True) if callable(dump) else block
    if isinstance(plain, Mapping):
        needed = _BLOCKS.get(str(plain.get("type")))
        if needed and all(isinstance(plain.get(name), kind) for name, kind in needed.items()):
            return dict(plain)
    if not isinstance(plain, str):
        plain = orjson.dumps(plain, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    return {"type": "text", "text": plain}


Source: TypeAlias = Literal["local", "http", "mcp", "command"]
SOURCES: frozenset[str] = frozenset(get_args(Source))


@dataclass(frozen=True, slots=True)
class UpgradeHint:
    """A feature that this tier does not have, the tier that has it, and why it matters here."""

    feature: str
    tier: str
    reason: str


class CommonMeta(BaseModel):
    """The metadata that a response of any source may have."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    # In the order in which they are written.
    tier: str | None = None
    tool_version: str | None = None
    tool_id: str | None = None
    request_id: str | None = None
    session_id: str | None = None
    schema_version: str | None = None
    capabilities: tuple[str, ...] = ()
    duration_ms: int | float | None = Field(default=None, ge=0, allow_inf_nan=False)
    estimated_tokens: int | None = Field(default=None, ge=0)
    config_hash: str | None = None
    etag: str | None = None
    not_modified: bool = False
    truncated: bool = False
    shown: tuple[Listed, ...] = ()
    cursor: str | None = None
    ref: str | None = None
    upgrade_hints: tuple[UpgradeHint, ...] = ()
    omissions: str | tuple[Omission, ...] = ()  # a list, or one line in its place
    extensions: dict[str, Any] = Field(default_factory=dict)  # members that other frameworks add

    @property
    def failed(self) -> bool:
        """Whether the source reports that the call failed."""
        return False


class LocalMeta(CommonMeta):
    """A function in this process answered."""

    source: Literal["local"] = "local"
    operation_id: str = ""
    timestamp: int = 0  # epoch milliseconds, set when the value was wrapped


class HttpMeta(CommonMeta):
    """An HTTP server answered."""

    source: Literal["http"] = "http"
    status: int = Field(ge=100, le=599)
    headers: tuple[tuple[str, str], ...] = ()  # as received: order and repeats kept
    content_type: str = ""

    @property
    def failed(self) -> bool:
        """Whether the status is an error's."""
        return self.status >= 400


class McpMeta(CommonMeta):
    """An MCP tool answered."""

    source: Literal["mcp"] = "mcp"
    is_error: bool = False
    content: tuple[dict[str, Any], ...] = ()  # blocks as they go over the wire
    structured_content: Any = None
    meta: dict[str, Any] | None = None  # the protocol's own `_meta`

    @property
    def failed(self) -> bool:
        """Whether the tool marked its answer as an error."""
        return self.is_error


class CommandMeta(CommonMeta):
    """A program ran and exited."""

    source: Literal["command"] = "command"
    exit_code: int = 0
    argv: tuple[str, ...] = ()
    signal: int | str | None = None  # what ended it, where it did not end by itself

    @property
    def failed(self) -> bool:
        """Whether the program exited with anything but 0."""
        return self.exit_code != 0


Meta: TypeAlias = Annotated[LocalMeta | HttpMeta | McpMeta | CommandMeta, Field(discriminator="source")]
COMMON: frozenset[str] = frozenset(CommonMeta.model_fields)


T = TypeVar("T")


class EnvelopeError(ValueError):
    """A wire form that cannot be read, or an envelope that contradicts itself."""


class Envelope(BaseModel, Generic[T]):
    """Data, error, warnings and meta; `ok` follows from the outcome and cannot be set."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)

    data: T
    error: ErrorDetail | None = None
    warnings: tuple[Warned, ...] = ()
    meta: Meta

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.error is None and not self.meta.failed

    @classmethod
    def parse(cls, wire: Any, dialect: Dialect | None = None) -> Envelope[Any]:
        """Read an envelope from its wire form; without a dialect, the one it is written in is recognised."""
        return envelopes.parse(wire, dialect)

    def render(self, dialect: Dialect = "lean", *, include: Collection[str] = (), debug: bool = False) -> Any:
        """Write the envelope in a dialect, with the optional members in `include`, or under debug with all of them."""
        return envelopes.dialects.form_of(dialect).render(self, include, debug)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        contradiction = contradicts(self.error, self.meta)
        if contradiction:
            raise ValueError(contradiction)
        return self


def contradicts(error: ErrorDetail | None, meta: Meta) -> str | None:
    """Describe how an outcome contradicts itself, if it does."""
    if error is None:
        return "a failed outcome needs an error" if meta.failed else None
    # An HTTP API may answer 200 with an error inside, and a local call has no outcome of its own; these two decide it.
    if meta.source in {"mcp", "command"} and not meta.failed:
        return "an error needs a failed outcome: is_error, or an exit code other than 0"
    if error.redirect is not None and not may_redirect(error.code):
        return f"redirect is for REDIRECTED or a command's own code, not for {error.code}"
    return None


def may_redirect(code: str) -> bool:
    """Whether a code may carry a redirect: its exit code is 13, or it is a command's own."""
    known = registry.find(code)
    return known is None or known.exit_code == 13


# The members that each source always has, in both spellings; a look-alike names a source and has none of them.
_ALWAYS: Mapping[str, tuple[tuple[tuple[str, ...], type], ...]] = {
    "local": ((("operationId", "operation_id"), str), (("timestamp",), int)),
    "http": ((("statusCode", "status"), int), (("headers",), object)),
    "mcp": ((("isError", "is_error"), bool), (("content",), object)),
    "command": ((("exitCode", "exit_code"), int), (("argv",), object)),
}


def is_envelope(value: Any) -> bool:
    """Whether a value is an envelope, as the model or as JSON that names its source."""
    if isinstance(value, Envelope):
        return True
    if not isinstance(value, Mapping) or "data" not in value:
        return False
    meta = value.get("meta")
    if not isinstance(meta, Mapping):
        return False
    source = meta.get("source")
    return isinstance(source, str) and source in SOURCES and all(_says(meta, *need) for need in _ALWAYS[source])


def unwrap(envelope: Envelope[T]) -> T:
    """Return the data alone, or raise the error."""
    if envelope.error is not None:
        raise ToolError.of(envelope.error)
    return envelope.data


def _says(meta: Mapping[str, Any], names: tuple[str, ...], kind: type) -> bool:
    return any(name in meta and isinstance(meta[name], kind) for name in names)


_Meta = TypeVar("_Meta", LocalMeta, HttpMeta, McpMeta, CommandMeta)


def local_envelope(
    data: T, operation_id: str, *, error: ErrorDetail | None = None, warnings: Iterable[Warned | str] = (), **meta: Any
) -> Envelope[T]:
    """Wrap what a function in this process returned, or why it did not."""
    own = {"operation_id": operation_id, "timestamp": meta.pop("timestamp", time_ns() // 1_000_000)}
    return _envelope(data, error, warnings, _meta(LocalMeta, meta, own))


def http_envelope(
    data: T,
    *,
    status: int,
    headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    content_type: str | None = None,
    error: ErrorDetail | None = None,
    warnings: Iterable[Warned | str] = (),
    **meta: Any,
) -> Envelope[T]:
    """Wrap what an HTTP server answered; repeated headers are kept where they come as pairs."""
    pairs = tuple(
        (str(name), str(value)) for name, value in (headers.items() if isinstance(headers, Mapping) else headers)
    )
    if content_type is None:
        content_type = next((value for name, value in pairs if name.lower() == "content-type"), "")
    if status == 304:
        meta = {"not_modified": True, **meta}
    own = {"status": status, "headers": pairs, "content_type": content_type}
    return _envelope(data, error, warnings, _meta(HttpMeta, meta, own))


def mcp_envelope(
    data: T,
    *,
    is_error: bool | None = None,
    content: Iterable[Any] = (),
    structured_content: Any = None,
    protocol_meta: Mapping[str, Any] | None = None,
    error: ErrorDetail | None = None,
    warnings: Iterable[Warned | str] = (),
    **meta: Any,
) -> Envelope[T]:
    """Wrap what an MCP tool answered; `is_error` follows from the error where it is not given."""
    own = {
        "is_error": error is not None if is_error is None else is_error,
        "content": tuple(map(read_block, content)),
        "structured_content": structured_content,
        "meta": None if protocol_meta is None else dict(protocol_meta),
    }
    return _envelope(data, error, warnings, _meta(McpMeta, meta, own))


def command_envelope(
    data: T,
    *,
    exit_code: int | None = None,
    argv: Iterable[str] = (),
    signal: int | str | None = None,
    state_changing: bool = False,
    error: ErrorDetail | None = None,
    warnings: Iterable[Warned | str] = (),
    **meta: Any,
) -> Envelope[T]:
    """Wrap what a program printed; the exit code follows from the error where it is not given.

    By the contract `retryable` mirrors the table of exit codes, unless the operation is state-changing.
    """
    if error is not None and not state_changing:
        error = _retryable_by_table(error)
    if exit_code is None:
        exit_code = exit_code_for(error)
    own = {"exit_code": exit_code, "argv": tuple(argv), "signal": signal}
    return _envelope(data, error, warnings, _meta(CommandMeta, meta, own))


def _retryable_by_table(error: ErrorDetail) -> ErrorDetail:
    known = registry.find(error.code)
    entry = None if known is None else EXIT_CODES.get(known.exit_code)
    # What differs from the registry was decided for this call.
    if known is None or entry is None or not entry.retryable or error.retryable or known.retryable:
        return error
    return error.model_copy(update={"retryable": True})


def exit_code_for(error: ErrorDetail | None, table: ExitTable = "contract") -> int:
    """Return the number a command exits with for this outcome."""
    if error is None:
        return 0
    known = registry.find(error.code)
    if known is None:
        return 13 if error.redirect is not None else 1
    return exit_number(known.exit_code, table)


def _meta(kind: type[_Meta], given: dict[str, Any], own: dict[str, Any]) -> _Meta:
    """Make a source's meta from its own members and the common ones; all others are extensions."""
    if "ok" in given:
        raise EnvelopeError("ok is derived from the outcome and cannot be set; give an error instead")
    extra = {name: given.pop(name) for name in [*given] if name not in COMMON}
    if extra:
        given["extensions"] = {**given.get("extensions", {}), **extra}
    return kind(**given, **own)


def _envelope(data: T, error: ErrorDetail | None, warnings: Iterable[Warned | str], meta: Any) -> Envelope[T]:
    contradiction = contradicts(error, meta)
    if contradiction:
        raise EnvelopeError(contradiction)
    listed = tuple(w if isinstance(w, Warned) else Warned("", w) for w in warnings)
    return Envelope(data=data, error=error, warnings=listed, meta=meta)


M = TypeVar("M", bound=CommonMeta)
# Headers whose whole value is a credential, whatever it looks like.
_CREDENTIALS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token", "www-authenticate"}
)


def presentable(meta: M) -> M:
    """Return the meta for an envelope with shaped data."""
    if isinstance(meta, McpMeta):
        # The blocks hold the tool's answer before fields, budget and redaction were applied.
        return meta.model_copy(
            update={"content": (), "structured_content": None, "meta": plain_without_secrets(meta.meta)}
        )
    if isinstance(meta, HttpMeta):
        return meta.model_copy(
            update={"headers": tuple((name, _header_value(name, value)) for name, value in meta.headers)}
        )
    if isinstance(meta, CommandMeta):
        return meta.model_copy(update={"argv": tuple(without_secrets(word) for word in meta.argv)})
    return meta


def _header_value(name: str, value: str) -> str:
    return "[redacted:header]" if name.lower() in _CREDENTIALS else without_secrets(value)
