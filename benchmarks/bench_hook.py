"""How long a call of a hooked client waits: `python benchmarks/bench_hook.py [ROUNDS]`.

The hook's own command line is run as Claude Code runs it, with results of 0.2 to 30 KB one after another; every round
also starts an interpreter that does nothing, and asks the resident process over its socket, as the plugins of other
clients do. Clients with a shell in between (`sh -c`) are not measured.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import shlex
import socket
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING

from benchmarks.results import markdown_table, write_section
from shaping.clients.hooks import hook_command, socket_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAYLOADS = Path(__file__).parent / "payloads"
TARGET = 30.0  # milliseconds


def outputs() -> dict[str, tuple[str, str]]:
    """Return command lines and what they printed, by name."""

    def recorded(name: str) -> str:
        raw = (PAYLOADS / name).read_bytes()
        found = json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)
        return "".join(block.get("text", "") for block in found["content"])

    log = "".join(f"{n:07x} Change the {n}th thing\n" for n in range(4096, 4196))
    tests = "".join(f"tests/test_{n}.py::test_case PASSED [{n}%]\n" for n in range(100)) + "100 passed in 2.31s\n"
    return {
        "a few lines": ("git status", "On branch main\nnothing to commit, working tree clean\n"),
        "a log": ("git log --oneline", log),
        "passed tests": ("pytest -v", tests),
        "JSON, 6 KB": ("pip list --format json", recorded("p19_pip_list.json")),
        "records, 21 KB": ("sqlite3 shop.db .dump", recorded("p13_sqlite_read_query.json.gz")),
        "JSON, 28 KB": ("tree -J", recorded("p08_fs_directory_tree.json.gz")),
    }


def payload(line: str, printed: str) -> bytes:
    """Return what Claude Code tells a hook."""
    response = {"stdout": printed, "stderr": "", "interrupted": False, "isImage": False}
    told = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": line}, "cwd": "/tmp"}  # noqa: S108 (no file is written there)
    return json.dumps({**told, "tool_response": response, "tool_use_id": "t", "session_id": "s"}).encode()


def asked(directory: Path, given: bytes) -> bytes:
    """Ask the resident process directly."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(directory / "socket"))
        connection.sendall(f"claude-code {len(given)}\n\n".encode() + given)
        return connection.makefile("rb").read()


def measured(action: Callable[[], object], resident: int) -> tuple[float, float]:
    """Return milliseconds by the clock and by the processor: that of the started process and of the resident one.

    Of the resident process the thread that answers is counted, not those that count tokens for the ledger meanwhile.
    """
    began, spent = perf_counter(), _processor(resident)
    action()
    clock = (perf_counter() - began) * 1000
    return clock, _processor(resident) - spent


def _processor(resident: int) -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    thread = int(Path(f"/proc/{resident}/schedstat").read_text().split()[0]) / 1e6
    return (children.ru_utime + children.ru_stime) * 1000 + thread


def at(times: Sequence[float], part: float) -> str:
    """Write a percentile."""
    return f"{sorted(times)[min(len(times) - 1, int(len(times) * part))]:.1f}"


Times = dict[str, list[tuple[float, float]]]


def measure(rounds: int, env: dict[str, str], resident: int) -> Times:
    """Measure every case in every round, so that a busy moment of the machine meets all of them."""
    directory = socket_directory(env)
    hook = shlex.split(hook_command("claude-code", env))
    nothing = [sys.executable, "-I", "-S", "-c", "pass"]
    start = partial(subprocess.run, check=True, env=env, capture_output=True)
    times: Times = {}
    for number in range(rounds + 1):
        idle = measured(partial(start, nothing), resident)
        times.setdefault("an interpreter that does nothing", []).append(idle)
        for name, (line, printed) in outputs().items():
            given = payload(line, printed)
            hooked = measured(partial(start, hook, input=given), resident)
            times.setdefault(f"hook: {name}", []).append(hooked)
            times.setdefault(f"socket: {name}", []).append(measured(partial(asked, directory, given), resident))
        if number == 0:
            times.clear()  # the first round reads configs and presets
    return times


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{home}/cache", "XDG_DATA_HOME": home}
        resident = [sys.executable, "-m", "shaping.clients.hooks.resident", str(socket_directory(env))]
        with subprocess.Popen(resident, env=env) as process:
            while not (socket_directory(env) / "socket").exists():
                sleep(0.05)
            times = measure(rounds, env, process.pid)
            process.terminate()
    every = {
        f"all calls by the {kind}": [one for name, found in times.items() if name.startswith(kind) for one in found]
        for kind in ("hook", "socket")
    }
    rows = [
        (name, str(len(found)), *(at([one[by] for one in found], part) for by in (1, 0) for part in (0.5, 0.95)))
        for name, found in {**every, **times}.items()
    ]
    head = ("what waits", "calls", "p50 processor", "p95 processor", "p50 clock", "p95 clock")
    table = markdown_table(head, rows)
    print(table)
    recipe = {
        "what": "milliseconds from the start of the hook's process to its end, the resident process running; "
        "by the processor time of both, which is what a call waits on an idle machine, and by the clock",
        "target": f"p95 of all calls at most {TARGET:.0f} ms",
        "load of the machine meanwhile": f"{os.getloadavg()[0]:.1f}",
    }
    write_section("Hook latency", table, recipe=recipe)


if __name__ == "__main__":
    main()
