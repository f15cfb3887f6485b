"""How a command ended: by the program's own envelope or its exit code, never by the words it printed."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping import envelope as envelopes, errors
from shaping.cleaning import may_be_envelope
from shaping.cleaning.call import clean_envelope
from shaping.commands.output import CommandResponse, Finished
from shaping.errors.texts import plain_without_secrets
from shaping.parsers import Parsed
from shaping.parsers.terminal import is_error_line
from shaping.paths.spelling import did_you_mean, nearest
from shaping.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from shaping.commands.process import ProcessExit
    from shaping.envelope import Envelope
    from shaping.errors import ErrorDetail
    from shaping.errors.codes import ExitTable
    from shaping.response import Warned
    from shaping.settings.loading import LoadedConfig
    from shaping.settings.plan import Plan

_TRACEBACK: Final = "Traceback (most recent call last)"  # also in the frame that rich draws around it
_LONGEST: Final = 300  # characters of a program's own words in a message
_OF_SHELL: Final = frozenset("|&;<>()$`*?~=\"'")  # what only a shell reads in a command line


# What the meta of a program's own envelope says about its data, and is passed on.
_PASSED_ON: Final = (
    "request_id", "session_id", "schema_version", "not_modified", "truncated", "shown", "cursor", "ref", "etag",
    "tool_version", "tier", "capabilities", "upgrade_hints", "omissions", "extensions",
)  # fmt: skip


class Ending:
    """How a command ended: its error, the envelope that it printed itself, and the data that it printed."""

    def __init__(
        self, finished: Finished, plan: Plan, parsed: Parsed | None, said: Sequence[str], loaded: LoadedConfig
    ) -> None:
        self._finished, self._plan = finished, plan
        self.own = _own_envelope(parsed, plan, finished.ended.child_exit_code)
        self.parsed = Parsed(self.own.data, "json") if self.own else parsed
        # A damaged envelope is data, and its program still speaks the contract.
        contract = self.own is not None or (
            parsed is not None and may_be_envelope(parsed.value) and envelopes.recognise(parsed.value) == "invariant"
        )
        self.error = error_of(finished, plan, said, self.own, loaded.config.exit_codes if contract else None)

    @property
    def failure(self) -> str:
        """How the command failed, in a few words; nothing where it did not."""
        ended, error = self._finished.ended, self.error
        if error is None:
            return ""
        if self.own is not None and self.own.error is not None:
            return " ".join(filter(None, (f"{error.code}: {error.message}", error.hint)))
        if ended.timed_out:
            return error.message
        return f"{ended}: {error.code}" if ended.child_exit_code in self._plan.exit_codes else str(ended)

    def own_facts(self) -> Iterator[str]:
        """List what the program's own envelope says about its data."""
        if self.own is None:
            return
        meta = self.own.meta
        if meta.truncated:
            yield f"there is more: --cursor {meta.cursor}" if meta.cursor else "there is more"
        if meta.request_id:
            yield f"request_id {meta.request_id}"
        yield from (str(hint) for hint in meta.upgrade_hints)

    def passed_on(self, ours: Envelope[Any]) -> dict[str, Any]:
        """Return what a program's own envelope says about its data; where we cut the data, our cursor comes first."""
        if self.own is None:
            return {}
        names = (one for one in _PASSED_ON if not (ours.meta.truncated and one in {"shown", "cursor", "ref"}))
        said = {name: value for name in names if (value := getattr(self.own.meta, name))}
        if "extensions" in said:
            said["extensions"] = {**said["extensions"], **ours.meta.extensions}
        return said

    def envelope(self, data: Any, stderr: str, meta: Mapping[str, Any], warnings: Iterable[Warned]) -> Envelope[Any]:
        """Return the envelope of a command; what one that failed printed, its data by name, goes into its error."""
        error, extensions = self.error, dict[str, Any](stderr=stderr or None)
        if error is not None:
            partial_result = error.code == "PARTIAL_FAILURE" and data
            update: dict[str, Any] = {"detail": stderr or error.detail}
            if data and not partial_result:
                update["details"] = {**(error.details or {}), **data}
            data = data.get("stdout") if partial_result else None
            data = {"stdout": data} if isinstance(data, str) else data
            error, extensions = error.model_copy(update=update), {}
        ended = self._finished.ended
        extensions = {"exit_code": ended.exit_code, "signal": ended.signal, **extensions}
        extensions = {name: value for name, value in extensions.items() if value is not None}
        extensions |= meta.get("extensions", {})
        # A program that reports an error in its envelope has failed, whatever number it exits with.
        failed = error is not None and ended.exit_code == 0
        return envelopes.command_envelope(
            data,
            exit_code=envelopes.exit_code_for(error) if failed else ended.exit_code,
            argv=[without_secrets(word) for word in self._finished.argv],
            signal=ended.signal,
            error=error,
            warnings=list(warnings),
            config_hash=self._plan.config_hash,
            **{"duration_ms": ended.duration_ms, "tool_id": self._plan.tool, **meta, "extensions": extensions},
        )


def render_wire(envelope: Envelope[Any], plan: Plan) -> Any:
    """Render an envelope in the plan's dialect."""
    # There is an etag only where one was asked for.
    return envelope.render(plan.dialect, include=plan.envelope | {"etag"}, debug=plan.debug)


def in_dialect(envelope: Envelope[Any], plan: Plan, code: int) -> CommandResponse:
    """Return the response that is an envelope in the plan's dialect."""
    wire = orjson.dumps(render_wire(envelope, plan)).decode()
    return CommandResponse(lambda: envelope, code, f"{wire}\n")


def _own_envelope(parsed: Parsed | None, plan: Plan, exit_code: int) -> Envelope[Any] | None:
    """Return the envelope that a program printed itself, in any of our wire forms, without secrets outside its data."""
    if parsed is None or parsed.format != "json" or not may_be_envelope(parsed.value):
        return None
    paths = () if plan.fields is None else plan.fields.paths
    # Data goes the way of all data, redaction included.
    wire = {name: value if name == "data" else plain_without_secrets(value) for name, value in parsed.value.items()}
    if exit_code and envelopes.recognise(wire) == "invariant" and wire.get("error") is None:
        wire["ok"] = True  # it gives no error: its exit code alone says how it failed
    if _tells_outcome(wire) and not any(path.partition(".")[0].removesuffix("[]") in wire for path in paths):
        wire["meta"] = {}
    envelope = envelopes.read_wire(wire, paths=paths)
    return None if envelope is None else clean_envelope(envelope, plan)


def _tells_outcome(wire: Mapping[str, Any]) -> bool:
    """Return whether a program prints an envelope without `meta`: `ok`, and the data or coded error that fits it."""
    error = wire.get("error")
    fits_ok = "data" in wire if error is None else isinstance(error, dict) and "code" in error
    return wire.keys() <= {"ok", "data", "error", "warnings"} and wire.get("ok") is (error is None) and fits_ok


def error_of(
    finished: Finished, plan: Plan, said: Sequence[str], own: Envelope[Any] | None, exit_table: ExitTable | None
) -> ErrorDetail | None:
    """Describe how a program failed, or None where it did not.

    `own` is the envelope that it printed itself; `exit_table` says what the exit codes of a program mean that speaks
    the contract, and is None for any other program.
    """
    ended, tool = finished.ended, plan.tool
    if ended.timed_out:
        return errors.make_error(
            "TIMEOUT",
            f"{tool} was ended after {ended.duration_ms / 1000:.1f} s",
            hint="Allow more with --timeout, or ask for less.",
            state_changing=True,
        )
    if own is not None and own.error is not None:
        return own.error
    if ended.child_exit_code == 0:
        return None
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


def not_started_response(finished: Finished, plan: Plan) -> CommandResponse:
    """Return the response for a command that could not be started."""
    code, environ = finished.ended.exit_code, finished.options.get("env")
    error = not_started(finished.ended.not_started, finished.argv, os.environ if environ is None else environ)
    envelope = envelopes.command_envelope(
        None, exit_code=code, argv=finished.argv[:1], error=error, duration_ms=0, extensions={"exit_code": code}
    )
    if plan.dialect == "none":
        words = f"{error.message}. {error.hint or ''}".strip() + "\n"
        return CommandResponse(lambda: envelope, code, "", words, started=False)
    return replace(in_dialect(envelope, plan, code), started=False)


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
