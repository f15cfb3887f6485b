"""What an agent can do next with a response; `action` tells the decisions apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from shaping.errors import ErrorDetail


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionBase:
    """What the response said beside its outcome."""

    warnings: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()  # the warnings that announce an end: change the call in a later session


@dataclass(frozen=True, slots=True)
class UseData(DecisionBase):
    """The call succeeded: act on the data, or, where it is not complete, narrow the query first."""

    data: Any
    complete: bool = True
    cursor: str | None = None
    action: Literal["use_data"] = field(default="use_data", init=False)


@dataclass(frozen=True, slots=True)
class UseCache(DecisionBase):
    """Nothing has changed: act on what the last response held."""

    action: Literal["use_cache"] = field(default="use_cache", init=False)


@dataclass(frozen=True, slots=True)
class NextPage(DecisionBase):
    """The data is one page of several: draw no conclusion before the rest is fetched."""

    cursor: str
    data: Any
    action: Literal["next_page"] = field(default="next_page", init=False)


@dataclass(frozen=True, slots=True)
class Retry(DecisionBase):
    """The same call may succeed after so many seconds; this will be its attempt-th repetition."""

    after: float
    attempt: int
    error: ErrorDetail
    action: Literal["retry"] = field(default="retry", init=False)


@dataclass(frozen=True, slots=True)
class RefreshCredentials(DecisionBase):
    """The token is past its time: refresh it, then repeat the call once."""

    error: ErrorDetail
    action: Literal["refresh_credentials"] = field(default="refresh_credentials", init=False)


@dataclass(frozen=True, slots=True)
class AcquireCredentials(DecisionBase):
    """The credentials are missing or no good: get new ones; repeating the call is no use before."""

    error: ErrorDetail
    action: Literal["acquire_credentials"] = field(default="acquire_credentials", init=False)


@dataclass(frozen=True, slots=True)
class FollowRedirect(DecisionBase):
    """The call has moved: run the command as it is given, and remember it where it is permanent."""

    command: str
    permanent: bool
    error: ErrorDetail
    action: Literal["follow_redirect"] = field(default="follow_redirect", init=False)


@dataclass(frozen=True, slots=True)
class GiveUp(DecisionBase):
    """The call failed, and repeating it as it is will not help."""

    error: ErrorDetail
    action: Literal["give_up"] = field(default="give_up", init=False)


@dataclass(frozen=True, slots=True)
class Malformed(DecisionBase):
    """The response breaks its own contract: do not act on it, tell someone."""

    reason: str
    action: Literal["malformed"] = field(default="malformed", init=False)


Decision: TypeAlias = (
    UseData
    | UseCache
    | NextPage
    | Retry
    | RefreshCredentials
    | AcquireCredentials
    | FollowRedirect
    | GiveUp
    | Malformed
)
