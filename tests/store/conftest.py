from __future__ import annotations

import os
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def redis_url(
    tmp_path_factory: pytest.TempPathFactory, free_port: Callable[[], int], until_it_listens: Callable[..., None]
) -> Iterator[str]:
    """Start a real Redis on a free loopback port."""
    program = shutil.which("redis-server")
    if program is None:
        if os.environ.get("SHAPING_NO_SKIPS"):
            pytest.fail("redis-server is not installed, and SHAPING_NO_SKIPS is set")
        pytest.skip("redis-server is not installed (a package of that name)")
    port, folder = free_port(), tmp_path_factory.mktemp("redis")
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL) as server:
        try:
            until_it_listens(server, port)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.kill()


@pytest.fixture
def down_url() -> Iterator[str]:
    """Give the address of a Redis that is not there."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # nobody listens, and nobody else can
        yield f"redis://127.0.0.1:{held.getsockname()[1]}/0"
