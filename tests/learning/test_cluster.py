"""Much traffic: read by several processes and by a Dask cluster of separate workers, one of which is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from shaping.learning.record import recordings
from shaping.learning.statistics import read_traffic
from shaping.learning.traffic import TrafficError
from tests.learning.test_suggest import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    record(tmp_path / "traffic", sessions=12)
    for file in recordings(tmp_path / "traffic"):
        tool, lines = file.name.split(".")[0], file.read_bytes().splitlines(keepends=True)
        file.unlink()
        for day in range(1, 9):
            file.with_name(f"{tool}.2026-09-{day:02d}.jsonl").write_bytes(b"".join(lines[day - 1 :: 8]))
    return tmp_path / "traffic"


def test_several_processes_find_what_one_finds(traffic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = read_traffic(traffic, workers=1)
    monkeypatch.setattr("shaping.learning.statistics._IN_PROCESS", 0)
    done: list[tuple[str, int, int]] = []
    assert read_traffic(traffic, workers=2, progress=lambda *step: done.append(step)) == alone
    assert [step[0] for step in done] == ["arguments"] * (len(done) // 2) + ["answers"] * (len(done) // 2)
    assert done[-1][1] == done[-1][2] > 5


@pytest.fixture
def cluster() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    pytest.importorskip("distributed")
    from distributed.utils import open_port

    address = f"tcp://127.0.0.1:{open_port()}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    module = [sys.executable, "-m", "distributed.cli"]
    start = [*module[:2], "distributed.cli.dask_scheduler", "--host", address, "--no-dashboard"]
    processes = [subprocess.Popen(start, **quiet)]  # type: ignore[call-overload]  # as Popen takes them
    worker = [*module[:2], "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    processes += [subprocess.Popen(worker, **quiet) for _ in range(3)]  # type: ignore[call-overload]  # the same
    try:
        yield address, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait(60)


def test_a_cluster_finds_the_same_although_a_worker_is_killed_in_the_middle(
    traffic: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, workers = cluster
    from distributed import Client

    with Client(address, timeout=60) as client:  # type: ignore[no-untyped-call]  # as distributed has it
        client.wait_for_workers(3, timeout=60)
    killed: list[int] = []

    def kill_one(label: str, done: int, _total: int) -> None:
        if label == "answers" and done == 2 and not killed:
            os.kill(workers[0].pid, signal.SIGKILL)
            killed.append(workers[0].pid)

    found = read_traffic(traffic, scheduler=address, progress=kill_one)
    assert killed
    assert workers[0].wait(30) == -signal.SIGKILL
    assert found == read_traffic(traffic, workers=1)


def test_a_scheduler_that_is_not_there_is_an_error_and_no_hang(traffic: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(TrafficError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        read_traffic(traffic, scheduler="tcp://127.0.0.1:1")
