from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shaping.commands.capture import Capture
from shaping.commands.process import ProcessExit, run_process

if TYPE_CHECKING:
    from collections.abc import Callable


def started(*argv: str, stop: threading.Event | None = None, **more: object) -> tuple[ProcessExit, bytes, bytes]:
    stdout, stderr = Capture(), Capture()
    ended = run_process(argv, more, stdout, stderr, stop=stop)  # type: ignore[arg-type]  # keywords of the test
    return ended, stdout.held, stderr.held


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def test_both_outputs_and_the_exit_code_come_back() -> None:
    ended, stdout, stderr = started("sh", "-c", "echo out; echo err >&2; exit 3")
    assert (ended.exit_code, ended.signal, stdout, stderr) == (3, None, b"out\n", b"err\n")
    assert ended.duration_ms > 0


def test_no_shell_reads_the_words() -> None:
    assert started("printf", "%s", "$HOME; *")[1] == b"$HOME; *"


def test_much_on_both_outputs_at_once_blocks_nothing() -> None:
    code = (
        "import sys\nfor n in range(3000):\n    sys.stderr.write('e' * 99 + '\\n'); sys.stdout.write('o' * 99 + '\\n')"
    )
    _, stdout, stderr = started(*python(code))
    assert (len(stdout), len(stderr)) == (300_000, 300_000)


def test_input_is_passed_on_and_one_that_nobody_reads_is_no_fault() -> None:
    assert started("cat", stdin=b"given")[1] == b"given"
    assert started("true", stdin=b"x" * 1_000_000)[0].exit_code == 0


def test_the_directory_and_the_environment_are_the_callers(tmp_path: Path) -> None:
    ended = started("sh", "-c", "pwd; echo $MINE", cwd=str(tmp_path), env={"MINE": "yes", "PATH": os.environ["PATH"]})
    assert ended[1].decode().split() == [str(tmp_path.resolve()), "yes"]


def test_a_program_ended_by_a_signal_is_told_as_a_shell_tells_it() -> None:
    ended = started("sh", "-c", "kill -9 $$")[0]
    assert (ended.exit_code, ended.signal) == (137, "SIGKILL")
    assert started("sh", "-c", "kill -40 $$")[0].signal == "40"


def timed_out(script: str) -> tuple[ProcessExit, bytes]:
    """Run a script that says when it is ready, with ever more time, until it was ready before its time was over."""
    for seconds in (0.3, 2, 10, 60):
        ended, stdout, _ = started("sh", "-c", script, timeout=seconds)
        if stdout:
            break
    return ended, stdout


def test_a_timeout_ends_the_whole_group() -> None:
    ended, stdout = timed_out("sleep 600 & echo $!; wait")
    assert (ended.timed_out, ended.child_exit_code, ended.exit_code) == (True, 143, 124)
    assert not _lives(int(stdout))


def test_a_group_that_does_not_listen_is_killed() -> None:
    ended, _ = timed_out("trap '' TERM; echo ready; while :; do sleep 0.1; done")
    assert (ended.timed_out, ended.signal) == (True, "SIGKILL")


def test_a_program_that_closes_its_outputs_is_still_ended_in_time() -> None:
    ended = started("sh", "-c", "exec >&- 2>&-; sleep 600", timeout=0.3)[0]
    assert ended.timed_out


def test_nobody_waits_for_what_a_program_left_behind() -> None:
    ended, stdout, _ = started("sh", "-c", "sleep 600 & echo $!")
    os.kill(int(stdout), signal.SIGKILL)  # it is there to be ended: nobody has waited for it
    assert (ended.exit_code, ended.left_open) == (0, True)


def test_what_a_program_printed_just_before_its_end_is_read_however_late_we_look() -> None:
    from shaping.commands.process import _Watch

    process = subprocess.Popen(["echo", "last words"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    watch, stdout = _Watch(process, None, None), Capture()
    process.wait(60)
    watch._look(time.monotonic() + 60)
    assert not watch.left_open
    watch.read(stdout, Capture())
    assert stdout.held == b"last words\n"
    process.communicate(timeout=60)


class Heard(Capture):
    """A capture that does something at the first bytes."""

    def __init__(self, then: Callable[[], object]) -> None:
        super().__init__()
        self._then: Callable[[], object] | None = then

    def take(self, chunk: bytes) -> None:
        super().take(chunk)
        then, self._then = self._then, None
        if then is not None:
            then()


def test_a_caller_can_stop_it() -> None:
    stop = threading.Event()
    ended = run_process(("sh", "-c", "echo ready; exec sleep 600"), {}, Heard(stop.set), Capture(), stop=stop)
    assert ended.signal == "SIGTERM"


def test_a_caller_that_has_changed_its_mind_already_starts_nothing_that_lasts() -> None:
    stop = threading.Event()
    stop.set()
    assert started("sleep", "600", stop=stop)[0].signal == "SIGTERM"


def test_signals_are_passed_on_and_our_own_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    code = (
        "import signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})\n"
        "print('ready', flush=True)\n"
        "print(signal.sigwait({signal.SIGUSR1}).name)\n"
        "exit(9)"
    )
    heard = Heard(lambda: os.kill(os.getpid(), signal.SIGUSR1))
    ended = run_process(python(code), {}, heard, Capture())
    assert (ended.exit_code, heard.held) == (9, b"ready\nSIGUSR1\n")
    assert signal.getsignal(signal.SIGUSR1) == before


def test_a_signal_that_comes_before_the_start_is_not_lost() -> None:
    from shaping.commands.process import _SignalRelay

    passing = _SignalRelay()
    passing.take(signal.SIGTERM, None)
    process = os.posix_spawn("/bin/sleep", ["sleep", "60"], {}, setpgroup=0)
    passing.to(process)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGTERM


def test_a_sink_that_fails_leaves_nothing_running(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    class Broken:
        def take(self, chunk: bytes) -> None:
            raise RuntimeError("full")

    start = ("sh", "-c", f"echo $$ > {note}; echo x; sleep 60")
    with pytest.raises(RuntimeError, match="full"):
        run_process(start, {}, Broken(), Capture())
    assert not _lives(int(note.read_text()))


def _lives(pid: int) -> bool:
    """Tell whether a process is still there after a time that would be enough on the slowest machine."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.05)
    return True
