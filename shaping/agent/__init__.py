"""The agent's side: what to do next with a response in any dialect."""

from shaping.agent.caller import Caller, Memory, take
from shaping.agent.interpret import (
    AcquireCredentials,
    Decision,
    FollowRedirect,
    GiveUp,
    Malformed,
    NextPage,
    RefreshCredentials,
    Retry,
    UseCache,
    UseData,
    interpret,
)

__all__ = [
    "AcquireCredentials",
    "Caller",
    "Decision",
    "FollowRedirect",
    "GiveUp",
    "Malformed",
    "Memory",
    "NextPage",
    "RefreshCredentials",
    "Retry",
    "UseCache",
    "UseData",
    "interpret",
    "take",
]
