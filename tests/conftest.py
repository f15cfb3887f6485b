from __future__ import annotations

import os
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where SHAPING_NO_SKIPS is set, as in CI, everything is installed and a skipped test is a failed one."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("SHAPING_NO_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and SHAPING_NO_SKIPS is set: {report.longrepr}"
    return report
