"""How a command exits: the numbers 0 to 13, the range left to commands, and the range that is the shell's."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

OWN_RANGE = range(79, 126)
SHELL_RANGE = range(126, 256)


@dataclass(frozen=True, slots=True)
class ExitCode:
    """One number a command may exit with: its name, our code for it, and whether a caller may try again."""

    number: int
    name: str
    code: str | None
    retryable: bool = False


# ARG_ERROR is retryable here and BAD_ARGUMENT is not: the table means the corrected call, a code the same one.
_TABLE = (
    ExitCode(0, "SUCCESS", None),
    ExitCode(1, "GENERAL_ERROR", "INTERNAL_ERROR"),
    ExitCode(2, "ARG_ERROR", "BAD_ARGUMENT", retryable=True),
    ExitCode(3, "PARTIAL_FAILURE", "PARTIAL_FAILURE"),
    ExitCode(4, "PRECONDITION", "PRECONDITION"),
    ExitCode(5, "NOT_FOUND", "NOT_FOUND"),
    ExitCode(6, "CONFLICT", "CONFLICT"),
    ExitCode(7, "PERMISSION_DENIED", "PERMISSION_DENIED"),
    ExitCode(8, "AUTH_REQUIRED", "AUTH_REQUIRED"),
    ExitCode(9, "PAYMENT_REQUIRED", "PAYMENT_REQUIRED"),
    ExitCode(10, "TIMEOUT", "TIMEOUT", retryable=True),
    ExitCode(11, "RATE_LIMITED", "RATE_LIMITED", retryable=True),
    ExitCode(12, "UNAVAILABLE", "UNAVAILABLE", retryable=True),
    ExitCode(13, "REDIRECTED", "REDIRECTED", retryable=True),
)
EXIT_CODES: Mapping[int, ExitCode] = MappingProxyType({entry.number: entry for entry in _TABLE})


def check_exit_code(number: int) -> None:
    """Refuse a number that a failing command of ours may not exit with."""
    if number in OWN_RANGE or (number in EXIT_CODES and number != 0):
        return
    why = "126 to 255 belong to the shell and to signals" if number in SHELL_RANGE else "14 to 78 are reserved"
    raise ValueError(f"exit code is {number}; expected 1 to 13, or 79 to 125 for a command's own ({why})")
