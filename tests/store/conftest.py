from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a real Redis on a free loopback port."""
    program = shutil.which("redis-server")
    if program is None:
        if os.environ.get("SHAPING_NO_SKIPS"):
            pytest.fail("redis-server is not installed, and SHAPING_NO_SKIPS is set")
        pytest.skip("redis-server is not installed (a package of that name)")
    port = _free_port()
    server = _start(program, port, tmp_path_factory.mktemp("redis"))
    yield f"redis://127.0.0.1:{port}/0"
    server.terminate()
    server.wait(10)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _start(program: str, port: int, folder: Path) -> subprocess.Popen[bytes]:
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    server = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return server
    server.kill()
    pytest.fail("redis-server did not answer within 20 s")


@pytest.fixture
def down_url() -> str:
    """Give the address of a Redis that is not there."""
    return f"redis://127.0.0.1:{_free_port()}/0"
