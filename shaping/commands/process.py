"""A child process: started without a shell, signals passed on, its process group ended in time, its failure coded.

A failure is coded by the program's own envelope or its exit code, never by the words it printed.
"""

from __future__ import annotations

import errno
import os
import selectors
import shutil
import signal
import stat
import subprocess
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from shlex import quote
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

from shaping.errors import ErrorDetail, ToolError, code_for_exit, make_error, nearest
from shaping.parsers.terminal import is_error_line
from shaping.proxy.spawn import signal_group
from shaping.response import did_you_mean, required

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shaping.commands.output import Finished, Invocation
    from shaping.envelope import Envelope
    from shaping.errors.codes import ExitTable
    from shaping.settings import Plan


# As timeout(1), env(1) and docker(1) exit: ours are told apart from anything that the command itself may exit with.
TIMED_OUT, OURS, NOT_RUN, NOT_FOUND = 124, 125, 126, 127
_TRACEBACK: Final = "Traceback (most recent call last)"  # also in the frame that rich draws around it
_LONGEST: Final = 300  # characters of a program's own words in a message
_OF_SHELL: Final = frozenset("|&;<>()$`*?~=\"'")  # what only a shell reads in a command line
_CHUNK: Final = 1 << 16  # what a pipe holds
_TICK: Final = 0.05  # seconds between looks at the clock while nothing comes
_GRACE: Final = 2.0  # seconds that a group gets to end by itself before it is killed
_LINGER: Final = 0.5  # seconds that the pipes may stay silent after the program itself has ended
_PASSED_ON: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT")


class NotStartedError(Exception):
    """A program could not be started; its cause says why."""


class Sink(Protocol):
    """Takes one of a program's outputs."""

    def take(self, chunk: bytes) -> None:
        """Take the next bytes."""


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a program ended."""

    exit_code: int  # 128 and the signal's number where one ended it, as a shell reports it
    signal: str | None = None
    timed_out: bool = False
    left_open: bool = False  # something it started still holds its outputs
    duration_ms: float = 0.0

    @property
    def reported(self) -> int:
        """The exit code that we report: one of our own where it did not end in time."""
        return TIMED_OUT if self.timed_out else self.exit_code


def run_process(start: Invocation, stdout: Sink, stderr: Sink, *, stop: threading.Event | None = None) -> ProcessExit:
    """Run a program to its end; `stop` ends it early."""
    if not hasattr(os, "killpg"):
        said = "commands run on Linux and macOS only: on Windows nothing can wait for two pipes and end a process group"
        raise ToolError("NOT_IMPLEMENTED", said)
    began = monotonic()
    with _signals() as passing:
        # A group of its own: a timeout can end all of it, and a terminal's interrupt comes once, through us.
        try:
            process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 (running what the caller names is the job; there is no shell)
                list(start.argv),
                stdin=None if start.stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=start.cwd,
                env=None if start.env is None else dict(start.env),
                start_new_session=True,
            )
        except (OSError, ValueError) as problem:
            raise NotStartedError from problem
        passing.to(process.pid)
        watch = _Watch(process, None if start.timeout is None else began + start.timeout, stop)
        feeder = _feeding(process.stdin, start.stdin)
        try:
            watch.read(stdout, stderr)
        except BaseException:
            signal_group(process.pid, signal.SIGKILL)
            raise
        finally:
            _closed(process, feeder)
    return _ended(process.returncode, watch, (monotonic() - began) * 1000)


class _Watch:
    """Reads a program's outputs until they end, and ends the program in time."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float | None, stop: threading.Event | None) -> None:
        self._process, self._deadline, self._stop = process, deadline, stop
        self._kill_at: float | None = None
        self._ended_at: float | None = None
        self._quiet_since = monotonic()
        self.timed_out = self.left_open = False

    def read(self, stdout: Sink, stderr: Sink) -> None:
        with selectors.DefaultSelector() as selector:
            for pipe, sink in ((self._process.stdout, stdout), (self._process.stderr, stderr)):
                selector.register(required(pipe), selectors.EVENT_READ, sink)
            while selector.get_map() and not self.left_open:
                for key, _ in selector.select(_TICK):
                    self._take(selector, key)
                self._look(monotonic())
        while self._process.poll() is None:
            self._look(monotonic())
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_TICK)

    def _take(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        chunk = os.read(key.fd, _CHUNK)
        self._quiet_since = monotonic()
        if chunk:
            key.data.take(chunk)
        else:
            selector.unregister(key.fileobj)

    def _look(self, now: float) -> None:
        if self._kill_at is None and self._is_over(now):
            self._kill_at = now + _GRACE
            signal_group(self._process.pid, signal.SIGTERM)
        elif self._kill_at is not None and now >= self._kill_at:
            signal_group(self._process.pid, signal.SIGKILL)
        if self._process.poll() is None:
            return
        if self._ended_at is None:
            self._ended_at = now
        # What the program started may outlive it with its outputs open; nobody waits for that. What it printed itself
        # may still lie in the pipes, so the silence counts from when its end was seen.
        self.left_open = now - max(self._quiet_since, self._ended_at) > _LINGER

    def _is_over(self, now: float) -> bool:
        if self._deadline is not None and now >= self._deadline:
            self.timed_out = True
            return True
        return self._stop is not None and self._stop.is_set()


class _SignalRelay:
    """Passes signals on to a program, once it has started."""

    def __init__(self) -> None:
        self._pid: int | None = None
        self._waiting: list[int] = []

    def to(self, pid: int) -> None:
        self._pid = pid
        for number in self._waiting:
            signal_group(pid, number)

    def take(self, number: int, _frame: Any) -> None:
        if self._pid is None:
            self._waiting.append(number)
        else:
            signal_group(self._pid, number)


@contextmanager
def _signals() -> Iterator[_SignalRelay]:
    passing = _SignalRelay()
    if threading.current_thread() is not threading.main_thread():
        yield passing
        return
    known = [getattr(signal, name) for name in _PASSED_ON if hasattr(signal, name)]
    # A signal that is ignored, as nohup has it, the program ignores too.
    heard = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, passing.take) for number in heard}
    try:
        yield passing
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started with a session of its own, and all that it started: asked first, then killed."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE / 2)
        signal_group(process.pid, number)
    process.wait()


def _feeding(pipe: IO[bytes] | None, given: bytes | None) -> threading.Thread | None:
    if pipe is None or given is None:
        return None

    def feed() -> None:
        with suppress(BrokenPipeError), pipe:
            pipe.write(given)

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    return feeder


def _closed(process: subprocess.Popen[bytes], feeder: threading.Thread | None) -> None:
    process.wait()
    for pipe in (process.stdout, process.stderr):
        required(pipe).close()
    if feeder is not None:
        feeder.join(_GRACE)


def _ended(returncode: int, watch: _Watch, duration_ms: float) -> ProcessExit:
    if returncode >= 0:
        return ProcessExit(returncode, None, watch.timed_out, watch.left_open, duration_ms)
    try:
        name = signal.Signals(-returncode).name
    except ValueError:  # a real-time signal has no name
        name = str(-returncode)
    return ProcessExit(128 - returncode, name, watch.timed_out, watch.left_open, duration_ms)


def error_of(
    finished: Finished, plan: Plan, said: Sequence[str], own: Envelope[Any] | None, exit_table: ExitTable | None
) -> ErrorDetail | None:
    """Describe how a program failed, or None where it did not.

    `own` is the envelope that it printed itself; `exit_table` says what the exit codes of a program mean that speaks
    the contract, and is None for any other program.
    """
    ended, tool = finished.ended, finished.tool
    if ended.timed_out:
        return make_error(
            "TIMEOUT",
            f"{tool} was ended after {ended.duration_ms / 1000:.1f} s",
            hint="Allow more with --timeout, or ask for less.",
            state_changing=True,
        )
    if own is not None and own.error is not None:
        return own.error
    if ended.exit_code == 0:
        return None
    mapped = dict(plan.exit_codes).get(ended.exit_code)
    if mapped is not None:
        return make_error(mapped, _message(ended, tool, said), foreign=True)
    if exit_table is not None:
        return make_error(code_for_exit(ended.exit_code, table=exit_table), _message(ended, tool, said))
    detail = make_error(
        code_for_exit(ended.exit_code, ended.signal, foreign=True),
        _message(ended, tool, said),
        hint="See what it printed; its exit codes are its own.",
    )
    # The contract's name for a failed call of somebody else's program; ours for a fault is the other spelling.
    foreign = detail.code in ("INTERNAL_ERROR", "DEPENDENCY_UNAVAILABLE", "PERMISSION_DENIED")
    return detail.model_copy(update={"code": "EXECUTION_ERROR", "http": 500}) if foreign else detail


def not_started(
    problem: BaseException | None, argv: Sequence[str], environ: Mapping[str, str]
) -> tuple[ErrorDetail, int]:
    """Describe why a program could not be started, and return the exit code for it."""
    program = argv[0]
    found = shutil.which(program, path=environ.get("PATH"))
    if isinstance(problem, FileNotFoundError) and found is None:
        similar = () if len(program.split()) > 1 else nearest_programs(program, environ)
        hint = f"Check the name, or install it.{did_you_mean(similar)}"
        if len(program.split()) > 1:
            line = " ".join((program, *map(quote, argv[1:])))
            hint = f"There is no shell that would read it: shaping run -- {_for_shell(line)}"
        return make_error(
            "NOT_FOUND", f"there is no program {program!r} on PATH", similar=similar, hint=hint
        ), NOT_FOUND
    if isinstance(problem, FileNotFoundError):
        return make_error("NOT_FOUND", f"{program!r} names an interpreter or a directory that is not there"), NOT_FOUND
    if isinstance(problem, PermissionError):
        return make_error("PERMISSION_DENIED", f"{program!r} may not be run", hint="Check its rights."), NOT_RUN
    if getattr(problem, "errno", None) == errno.E2BIG:
        return make_error("TOO_LARGE", "the arguments are longer than the system takes"), NOT_RUN
    why = os.strerror(problem.errno) if isinstance(problem, OSError) and problem.errno else str(problem)
    return make_error("BAD_ARGUMENT", f"{program!r} cannot be run: {why}"), NOT_RUN


def _for_shell(line: str) -> str:
    """Return the words to run a command line that was given as one word."""
    return f"sh -c {quote(line)}" if any(character in _OF_SHELL for character in line) else line


def _message(ended: ProcessExit, tool: str, said: Sequence[str]) -> str:
    how = f"was ended by {ended.signal}" if ended.signal else f"exited with {ended.exit_code}"
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
