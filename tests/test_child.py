"""A child process starts whatever the other threads of ours are doing."""

from __future__ import annotations

from collections.abc import Callable


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
