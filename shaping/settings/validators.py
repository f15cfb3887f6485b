"""The kinds of text in a config: paths, tool patterns, regular expressions, names and exit codes."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from shaping.paths import PathError, compile_fields, parse

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_QUALIFIED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def refuse_null(value: T) -> T:
    """Refuse a null that somebody wrote out where leaving the key out is meant."""
    if value is None:
        raise wrong("a value; leave the key out to say nothing")
    return value


def wrong(expected: str) -> PydanticCustomError:
    """Make the error of a validator, in the words that a problem is reported in."""
    return PydanticCustomError("expected", "{expected}", {"expected": expected})


def _field_path(text: str) -> str:
    return _tried(text, parse)


def _kept_path(text: str) -> str:
    return _tried(text, lambda path: compile_fields([path]))


def _dropped_path(text: str) -> str:
    return _tried(text, lambda path: compile_fields(None, [path]))


def _tried(text: str, use: Callable[[str], object]) -> str:
    try:
        use(text)
    except PathError as error:
        raise wrong(f"a path ({error.reason}, at column {error.column})") from None
    return text


def _jmes_path(text: str) -> str:
    if find_spec("jmespath") is None:
        raise wrong('a path: JMESPath needs an extra: pip install "shaping[jmespath]"')
    import jmespath  # noqa: PLC0415 (an extra)

    try:
        jmespath.compile(text)
    except jmespath.exceptions.JMESPathError as error:
        raise wrong(f"a JMESPath expression ({str(error).splitlines()[0].rstrip(':')})") from None
    return text


def _line_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise wrong(f"a regular expression: {error}") from None
    return text


def _tool_pattern(text: str) -> str:
    if not text.strip():
        raise wrong("a tool's name, or a pattern such as github/*")
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


def _exception_name(text: str) -> str:
    if not _QUALIFIED.fullmatch(text):
        raise wrong("an exception's qualified name, such as requests.exceptions.Timeout")
    return text


def _exit_status(text: str) -> str:
    if not (text.isdecimal() and text.isascii() and 1 <= int(text) <= 255):
        raise wrong("an exit code of a failed command, 1 to 255")
    return text


FieldPath: TypeAlias = Annotated[str, AfterValidator(_field_path)]
JmesPath: TypeAlias = Annotated[str, AfterValidator(_jmes_path)]
KeptPath: TypeAlias = Annotated[str, AfterValidator(_kept_path)]
DroppedPath: TypeAlias = Annotated[str, AfterValidator(_dropped_path)]
LinePattern: TypeAlias = Annotated[str, AfterValidator(_line_pattern)]
ToolPattern: TypeAlias = Annotated[str, AfterValidator(_tool_pattern)]
ExceptionName: TypeAlias = Annotated[str, AfterValidator(_exception_name)]
ExitStatus: TypeAlias = Annotated[str, AfterValidator(_exit_status)]
