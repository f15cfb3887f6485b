"""The events of the call protocol."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator

from shaping.envelope import is_envelope
from shaping.errors import ErrorDetail
from shaping.operations.access import Identity


class _CallEvent(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    request_id: str


class CallerIdentity(BaseModel):
    """An identity as it travels."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    scopes: tuple[str, ...] = ()
    resources: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    def identity(self) -> Identity:
        """Give the identity back."""
        return Identity(self.id, frozenset(self.scopes), self.resources)


class Requested(_CallEvent):
    """Somebody asks for a call and says where the answer goes and how long there is."""

    type: Literal["call.requested"] = "call.requested"
    operation: str
    input: Any = None
    caller: CallerIdentity | None = None
    reply_to: str
    seconds: float | None = None


class Responded(_CallEvent):
    """The operation answered; an answer that is an error is an answer."""

    type: Literal["call.responded"] = "call.responded"
    output: dict[str, Any]

    @field_validator("output")
    @classmethod
    def _is_an_envelope(cls, output: dict[str, Any]) -> dict[str, Any]:
        if not is_envelope(output):
            raise ValueError("the output of a call is an envelope")
        return output


class Completed(_CallEvent):
    """Nothing more will be said about this call."""

    type: Literal["call.completed"] = "call.completed"


class Aborted(_CallEvent):
    """The call is to be stopped, or was."""

    type: Literal["call.aborted"] = "call.aborted"
    reason: str = ""
    reply_to: str = ""  # whose call, where the caller says it: a request id is only its caller's own


class Failed(_CallEvent):
    """The operation raised."""

    type: Literal["call.error"] = "call.error"
    error: ErrorDetail


Event: TypeAlias = Requested | Responded | Completed | Aborted | Failed
_EVENTS: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])


def read_event(message: bytes) -> Event:
    """Read an event from the wire."""
    return _EVENTS.validate_json(message)


def write_event(event: Event) -> bytes:
    """Write an event for the wire."""
    return _EVENTS.dump_json(event)
