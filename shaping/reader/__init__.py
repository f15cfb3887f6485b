"""The agent's side: what to do next with a response, in whatever dialect it comes."""

from shaping.reader.caller import Caller, take
from shaping.reader.decisions import (
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
)
from shaping.reader.interpret import interpret
from shaping.reader.memory import Memory

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
