from __future__ import annotations

import contextlib
import logging
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# What a busy machine makes slow is no failure, and a commit gets the same verdict everywhere: the examples follow from
# the tests themselves. `pytest --hypothesis-profile=explore` looks for new ones,
# and `brief` is for what makes every example slow.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("steady", _PATIENT, derandomize=True, database=None)
settings.register_profile("brief", _PATIENT, derandomize=True, database=None, max_examples=30)
settings.register_profile("explore", _PATIENT, derandomize=False)
settings.load_profile("steady")


pytest_plugins = ["shaping.pytest"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where SHAPING_NO_SKIPS is set, as in CI, everything is installed and a skipped test is a failed one."""
    report = yield
    # What lies beside a checkout, and not in it, is nothing that could have been installed.
    may_skip = hasattr(report, "wasxfail") or "beside this checkout" in str(report.longrepr)
    if report.skipped and not may_skip and os.environ.get("SHAPING_NO_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and SHAPING_NO_SKIPS is set: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def _a_log_that_a_command_silenced_is_loud_again() -> Generator[None]:
    """Undo what a command that runs in the tests' process does to the log for the rest of its life."""
    yield
    logging.getLogger("shaping").setLevel(logging.NOTSET)


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio, which the MCP SDK, FastMCP and every framework run on."""
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def _no_choices_from_outside() -> None:
    """Take what the shell around says to shaping, or about its terminal, out of the tests' environment."""
    ours = ("SHAPING_NO_SKIPS", "SHAPING_STORM", "SHAPING_WRITE_CASES")
    for name in [name for name in os.environ if name.startswith("SHAPING") and name not in ours]:
        del os.environ[name]
    for name in ("SCALPEL_MCP_INFO", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "LINES"):
        os.environ.pop(name, None)
    os.environ["COLUMNS"] = "80"
    os.environ["SHAPING_LEDGER"] = "off"  # a test that wants one names a file of its own


@pytest.fixture(autouse=True, scope="session")
def _patient_clients() -> None:
    """Let the SDK's clients wait for a server's end: on a busy machine it comes after the 2 s that they allow."""
    with contextlib.suppress(ImportError):  # a framework's environment may have no SDK, or another
        from mcp.client import stdio

        stdio.PROCESS_TERMINATION_TIMEOUT = 15.0


@pytest.fixture(autouse=True, scope="session")
def _own_configs_are_allowed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Allow the configs that tests write: what a config in the working tree may do unasked has tests of its own."""
    data = tmp_path_factory.mktemp("data")
    os.environ["XDG_DATA_HOME"] = str(data)
    (data / "shaping").mkdir()
    (data / "shaping" / "allowed.json").write_text('{"/": "/"}')


@pytest.fixture(autouse=True)
def _steady_secrets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the keys of stores from the test's name: a ref is a text like any other, and costs more tokens or fewer."""
    if settings.get_current_profile_name() != "explore":
        monkeypatch.setattr("secrets.token_bytes", random.Random(request.node.nodeid).randbytes)  # noqa: S311  not secret


@pytest.fixture(autouse=True, scope="session")
def _patient_keepers() -> Generator[None]:
    """Wait for a store's key as long as it takes: that a call goes on without it is tested where it is the subject."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shaping.store.keeper._SECRET_TIMEOUT", 60.0)
        yield


@pytest.fixture(scope="session")
def run_forking() -> Callable[..., str]:
    """Run code that forks in a new interpreter: a child of the tests' process may inherit a lock that nobody opens."""
    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")

    def run(script: str, *arguments: object) -> str:
        command = [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=120).stdout

    return run


@pytest.fixture(scope="session")
def free_port() -> Callable[[], int]:
    """Find ports for servers that are told theirs: not those that the system hands out to everybody else meanwhile."""
    dice = random.SystemRandom()

    def find() -> int:
        while True:
            port = dice.randrange(10_000, 32_000)
            if _can_bind(port):
                return port

    return find


@pytest.fixture(scope="session")
def until_it_listens() -> Callable[[subprocess.Popen[Any], int], None]:
    """Wait until a server that was started takes connections, as long as a slow machine may need."""

    def wait(server: subprocess.Popen[Any], port: int) -> None:
        deadline = time.monotonic() + 120
        while not _is_open(port):
            assert server.poll() is None, f"the server ended with {server.returncode} before it listened"
            assert time.monotonic() < deadline, "the server did not listen within 120 s"
            time.sleep(0.05)

    return wait


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _can_bind(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
