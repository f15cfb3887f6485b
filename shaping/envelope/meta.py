"""Where a response came from, and what is known about the call."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field

from shaping.envelope.content import ContentBlock
from shaping.response import Listed, Omission

Source: TypeAlias = Literal["local", "http", "mcp", "command"]
SOURCES: frozenset[str] = frozenset(get_args(Source))


@dataclass(frozen=True, slots=True)
class UpgradeHint:
    """A feature that this tier does not have, the tier that has it, and why it matters here."""

    feature: str
    tier: str
    reason: str


class CommonMeta(BaseModel):
    """What any response may say about its call, whatever its source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    duration_ms: int | float | None = Field(default=None, ge=0, allow_inf_nan=False)
    request_id: str | None = None
    session_id: str | None = None
    schema_version: str | None = None
    not_modified: bool = False
    truncated: bool = False
    shown: tuple[Listed, ...] = ()
    cursor: str | None = None
    ref: str | None = None
    etag: str | None = None
    estimated_tokens: int | None = Field(default=None, ge=0)
    tool_id: str | None = None
    tool_version: str | None = None
    tier: str | None = None
    capabilities: tuple[str, ...] = ()
    config_hash: str | None = None
    upgrade_hints: tuple[UpgradeHint, ...] = ()
    omissions: str | tuple[Omission, ...] = ()  # a list, or the one line that stands for it
    extensions: dict[str, Any] = Field(default_factory=dict)  # members that other frameworks add

    @property
    def failed(self) -> bool:
        """Whether the source itself says that the call failed."""
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
    content: tuple[ContentBlock, ...] = ()
    structured_content: Any = None
    meta: dict[str, Any] | None = None  # the protocol's own `_meta`

    @property
    def failed(self) -> bool:
        """Whether the tool said that its answer is an error."""
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
