"""Why a command failed: by the program's own envelope or its exit code, never by the words it printed."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from shaping import errors
from shaping.nearest import did_you_mean, nearest
from shaping.parsers.terminal import is_error_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shaping.commands.capture import Finished
    from shaping.commands.process import ProcessExit
    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.errors.codes import ExitTable

_TRACEBACK: Final = "Traceback (most recent call last)"  # also in the frame that rich draws around it
_LONGEST: Final = 300  # characters of a program's own words in a message
_OF_SHELL: Final = frozenset("|&;<>()$`*?~=\"'")  # what only a shell reads in a command line


def error_of(finished: Finished, own: Envelope[Any] | None, exit_table: ExitTable | None) -> ErrorDetail:
    """Describe how a program failed.

    `own` is the envelope that it printed itself; `exit_table` says what the exit codes of a program mean that speaks
    the contract, and is None for any other program.
    """
    ended, plan, tool, said = finished.ended, finished.plan, finished.plan.tool, finished.err.lines.lines
    if ended.timed_out:
        return errors.make_error(
            "TIMEOUT",
            f"{tool} was ended after {ended.duration_ms / 1000:.1f} s",
            hint="Allow more with --timeout, or ask for less.",
            state_changing=True,
        )
    if own is not None and own.error is not None:
        return own.error
    mapped = plan.exit_codes.get(ended.child_exit_code)
    if mapped is not None:
        return errors.make_error(mapped, _message(ended, tool, said), foreign=True)
    if exit_table is not None:
        return errors.make_error(
            errors.code_for_exit(ended.child_exit_code, table=exit_table), _message(ended, tool, said)
        )
    detail = errors.make_error(
        errors.code_for_exit(ended.child_exit_code, ended.signal, foreign=True),
        _message(ended, tool, said),
        hint="See what it printed; its exit codes are its own.",
    )
    # The contract's name for a failed call of somebody else's program; ours for a fault is the other spelling.
    foreign = detail.code in ("INTERNAL_ERROR", "DEPENDENCY_UNAVAILABLE", "PERMISSION_DENIED")
    return detail.model_copy(update={"code": "EXECUTION_ERROR", "http": 500}) if foreign else detail


def not_started(problem: Exception | None, argv: Sequence[str], environ: Mapping[str, str]) -> ErrorDetail:
    """Describe why a program could not be started."""
    program = argv[0]
    found = shutil.which(program, path=environ.get("PATH"))
    if isinstance(problem, FileNotFoundError) and found is None:
        similar = () if len(program.split()) > 1 else nearest_programs(program, environ)
        hint = f"Check the name, or install it.{did_you_mean(similar)}"
        if len(program.split()) > 1:
            line = " ".join((program, *map(quote, argv[1:])))
            hint = f"There is no shell that would read it: shaping run -- {_for_shell(line)}"
        return errors.make_error("NOT_FOUND", f"there is no program {program!r} on PATH", similar=similar, hint=hint)
    if isinstance(problem, FileNotFoundError):
        return errors.make_error("NOT_FOUND", f"{program!r} names an interpreter or a directory that is not there")
    if isinstance(problem, PermissionError):
        return errors.make_error("PERMISSION_DENIED", f"{program!r} may not be run", hint="Check its rights.")
    if getattr(problem, "errno", None) == errno.E2BIG:
        return errors.make_error("TOO_LARGE", "the arguments are longer than the system takes")
    why = os.strerror(problem.errno) if isinstance(problem, OSError) and problem.errno else str(problem)
    return errors.make_error("BAD_ARGUMENT", f"{program!r} cannot be run: {why}")


def _for_shell(line: str) -> str:
    """Return the words to run a command line that was given as one word."""
    return f"sh -c {quote(line)}" if any(character in _OF_SHELL for character in line) else line


def _message(ended: ProcessExit, tool: str, said: Sequence[str]) -> str:
    how = f"was ended by {ended.signal}" if ended.signal else f"exited with {ended.child_exit_code}"
    told = (
        _exception_line(said)
        or next((line for line in said if is_error_line(line)), None)
        or next((line for line in reversed(said) if line.strip()), None)
    )
    return f"{tool} {how}: {told.strip()[:_LONGEST]}" if told else f"{tool} {how}"


def _exception_line(said: Sequence[str]) -> str | None:
    """Return the exception line of the last Python traceback."""
    starts = [at for at, line in enumerate(said) if _TRACEBACK in line]
    after = said[starts[-1] + 1 :] if starts else ()
    return next((line for line in after if line.strip() and not line.startswith((" ", "│", "╰"))), None)


def nearest_programs(name: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the programs on PATH with the most similar names."""
    near = nearest(name, sorted(_programs(environ.get("PATH", os.defpath))), n=12)
    # Letters in the wrong order are the commonest slip.
    return tuple(sorted(near, key=lambda program: sorted(program) != sorted(name)))[:3]


def _programs(path: str) -> Iterator[str]:
    for directory in dict.fromkeys(path.split(os.pathsep)):
        try:
            with os.scandir(directory or ".") as entries:
                yield from (entry.name for entry in entries if _is_program(entry))
        except OSError:
            continue


def _is_program(entry: os.DirEntry[str]) -> bool:
    try:
        mode = entry.stat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & 0o111)
