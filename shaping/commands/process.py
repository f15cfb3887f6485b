"""A child process: started without a shell, signals passed on, its process group ended in time."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Final, Protocol, TypedDict

from shaping.child import signal_group, spawn
from shaping.response import required

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike


# As timeout(1), env(1) and docker(1) exit: ours are told apart from anything that the command itself may exit with.
TIMED_OUT, OURS, NOT_RUN, NOT_FOUND = 124, 125, 126, 127
_CHUNK: Final = 1 << 16  # what a pipe holds
_TICK: Final = 0.05  # seconds between looks at the clock while nothing comes
_GRACE: Final = 2.0  # seconds that a group gets to end by itself before it is killed
_LINGER: Final = 0.5  # seconds that the pipes may stay silent after the program itself has ended
_PASSED_ON: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT")


class CommandOptions(TypedDict, total=False):
    """The options of a call besides the words of the command."""

    tool: str | None
    profile: str | None
    fields: Sequence[str] | None
    max_tokens: int | None
    dialect: Any
    timeout: float | None
    etag: str | None
    cwd: str | PathLike[str] | None
    env: Mapping[str, str] | None
    stdin: bytes | None


class Sink(Protocol):
    """Takes one of a program's outputs."""

    def take(self, chunk: bytes) -> None:
        """Take the next bytes."""


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a program ended."""

    child_exit_code: int  # 128 and the signal's number where one ended it, as a shell reports it
    signal: str | None = None
    timed_out: bool = False
    left_open: bool = False  # something it started still holds its outputs
    duration_ms: float = 0.0
    not_started: OSError | ValueError | None = None  # why there was nothing to end

    @property
    def exit_code(self) -> int:
        """The exit code to exit with: the child's, or one of our own where it did not end in time."""
        return TIMED_OUT if self.timed_out else self.child_exit_code

    def __str__(self) -> str:
        return f"ended by {self.signal}" if self.signal else f"exit code {self.child_exit_code}"


def run_process(
    argv: Sequence[str], options: CommandOptions, stdout: Sink, stderr: Sink, *, stop: threading.Event | None = None
) -> ProcessExit:
    """Run a program to its end; `stop` ends it early."""
    if not hasattr(os, "killpg"):
        said = "commands run on Linux and macOS only: on Windows nothing can wait for two pipes and end a process group"
        raise NotImplementedError(said)
    began, given, timeout = monotonic(), options.get("stdin"), options.get("timeout")
    with _signals() as passing:
        # A group of its own: a timeout can end all of it, and a terminal's interrupt comes once, through us.
        try:
            stdin = None if given is None else subprocess.PIPE
            process = spawn(list(argv), options.get("env"), options.get("cwd"), stdin)
        except (OSError, ValueError) as problem:
            return ProcessExit(NOT_FOUND if isinstance(problem, FileNotFoundError) else NOT_RUN, not_started=problem)
        passing.to(process.pid)
        watch = _Watch(process, None if timeout is None else began + timeout, stop)
        feeder = _feeding(process.stdin, given)
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
