from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="session")
def node_project() -> Path:
    """The Node project of the matrix with its packages, installed once and kept."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("Node is not installed")
    pinned = (HERE / "node" / "package.json").read_bytes()
    project = ROOT / ".cache" / f"matrix-{hashlib.sha256(pinned).hexdigest()[:12]}"
    project.mkdir(parents=True, exist_ok=True)
    with_lock = project / "installing"
    while not (project / "installed").exists():
        try:
            with_lock.touch(exist_ok=False)
        except FileExistsError:
            # Another worker installs; one that was killed half way is not waited for.
            if time.time() - with_lock.stat().st_mtime > 240:
                with_lock.unlink(missing_ok=True)
            time.sleep(0.2)
            continue
        _install(npm, project)
        with_lock.unlink()
    for script in HERE.joinpath("node").glob("*.mjs"):
        shutil.copyfile(script, project / script.name)
    return project


def _install(npm: str, project: Path) -> None:
    shutil.copyfile(HERE / "node" / "package.json", project / "package.json")
    command = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=230, check=False)
    if done.returncode == 0:
        (project / "installed").touch()
        return
    (project / "installing").unlink()
    reason = f"the packages could not be installed: {done.stderr.strip()[-300:]}"
    if os.environ.get("SHAPING_NO_SKIPS"):
        pytest.fail(reason)
    pytest.skip(reason)
