"""A child process starts whatever the other threads of ours are doing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest


def test_a_child_starts_while_another_thread_holds_a_lock_that_tracing_needs(run_forking: Callable[..., str]) -> None:
    # As coverage and debuggers do: what they run for each call of Python's takes a lock.
    script = """
import os, sys, threading
from shaping.child import spawn
from shaping.settings.live import LiveConfig
live = LiveConfig(environ=dict(os.environ))
live.start()
lock, parent = threading.Lock(), os.getpid()

def trace(frame, event, argument):
    if os.getpid() != parent and "shaping" in frame.f_code.co_filename:
        lock.acquire()

lock.acquire()  # by a thread that the child does not have
sys.settrace(trace)
process = spawn([sys.executable, "-c", "print(1)"])
sys.settrace(None)
print(process.stdout.read().decode().strip(), process.wait())
live.close()
"""
    assert run_forking(script) == "1 0\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_child_that_reads_nothing_ends_when_its_parent_is_killed() -> None:
    script = "from shaping.child import spawn; print(spawn(['sleep', '100']).pid, flush=True); input()"
    command = [sys.executable, "-c", script]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    status = Path("/proc", parent.stdout.readline().strip(), "stat")
    parent.kill()
    parent.communicate()
    # One that ended may stay until the system's first process asks for it.
    deadline = time.monotonic() + 60
    while (alive := status.exists() and status.read_text().split()[2] != "Z") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive
