from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAUSES = (5, 15)  # seconds between one try to fetch the packages and the next


@pytest.fixture(scope="session")
def node_project() -> Path:
    """The Node project of the matrix with its packages, installed once and kept."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("Node is not installed")
    pinned = (HERE / "node" / "package.json").read_bytes()
    project = ROOT / ".cache" / f"matrix-{hashlib.sha256(pinned).hexdigest()[:12]}"
    project.mkdir(parents=True, exist_ok=True)
    with (project / "lock").open("w") as lock:
        # Another worker may be installing; the lock of one that was killed is free.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (project / "installed").exists():
            _install(npm, project)
        for script in HERE.joinpath("node").glob("*.mjs"):
            _place(script, project / script.name)
    return project


def _place(script: Path, target: Path) -> None:
    # Nothing that another worker's client may be reading is written anew.
    if not target.exists() or target.read_bytes() != script.read_bytes():
        draft = target.with_suffix(".draft")
        shutil.copyfile(script, draft)
        draft.replace(target)


def _install(npm: str, project: Path) -> None:
    shutil.copyfile(HERE / "node" / "package.json", project / "package.json")
    reason = _fetched(npm, project)
    for pause in PAUSES:
        if reason is None:
            break
        # A registry that hiccups is asked again, and nothing half installed stays in the way.
        time.sleep(pause)
        shutil.rmtree(project / "node_modules", ignore_errors=True)
        reason = _fetched(npm, project)
    if reason is None:
        (project / "installed").touch()
    elif os.environ.get("SHAPING_NO_SKIPS"):
        pytest.fail(reason)
    else:
        pytest.skip(reason)


def _fetched(npm: str, project: Path) -> str | None:
    """Fetch the packages, or say why not."""
    options = ["--no-audit", "--no-fund", "--no-package-lock", "--prefer-offline", "--fetch-retries=5"]
    command = [npm, "install", *options, "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=110, check=False)
    except subprocess.TimeoutExpired:
        return "the packages could not be installed within 110 seconds"
    return None if done.returncode == 0 else f"the packages could not be installed: {done.stderr.strip()[-300:]}"
