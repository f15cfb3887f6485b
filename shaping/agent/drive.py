"""Running a conversation: it yields what is to be done and is sent the result, so one text serves sync and async."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar, cast

T = TypeVar("T")
Step: TypeAlias = Callable[[], Any]
Conversation: TypeAlias = Generator[Step, Any, T]


def drive(conversation: Conversation[T]) -> T:
    """Take every step as it comes; a fault goes back into the conversation, which may know what to do."""
    try:
        step = next(conversation)
        while True:
            try:
                outcome = step()
            except Exception as fault:  # noqa: BLE001  it is thrown again where the step was asked for
                step = conversation.throw(fault)
            else:
                step = conversation.send(outcome)
    except StopIteration as end:
        return cast("T", end.value)


async def drive_async(conversation: Conversation[T]) -> T:
    """Take every step as it comes and await what can be awaited."""
    try:
        step = next(conversation)
        while True:
            try:
                outcome = step()
                outcome = await outcome if inspect.isawaitable(outcome) else outcome
            except Exception as fault:  # noqa: BLE001  it is thrown again where the step was asked for
                step = conversation.throw(fault)
            else:
                step = conversation.send(outcome)
    except StopIteration as end:
        return cast("T", end.value)


def is_async(call: Callable[..., Any]) -> bool:
    """Whether calling this gives something to await, as far as can be told before."""
    while isinstance(call, functools.partial):
        call = call.func
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)
