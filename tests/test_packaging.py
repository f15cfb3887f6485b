"""What other programs read of this repository: the Dockerfile, workflows, and manifests of plugins and extensions.

There is no Docker here: the file's words are checked, and its command and its health check are run as they stand.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from shaping.clients.hooks import claude_entries

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PLUGIN = ROOT / "examples" / "plugins" / "claude-code"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = PROJECT["version"]
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "workflows").glob("*.yml")}


def words_of(instruction: str, number: int = -1) -> list[str]:
    """Return the words of one instruction of this kind, the last one unless told; the health check's is the first."""
    found = re.findall(rf"^\s*{instruction} (\[.*\])$", DOCKERFILE, re.MULTILINE)
    words: list[str] = json.loads(found[number])
    return words


def test_the_image_is_slim_and_does_not_run_as_root() -> None:
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["python:3.13-slim"] * 2
    assert re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE) == ["10001"]
    assert DOCKERFILE.index("USER") < DOCKERFILE.index("ENTRYPOINT")


def test_the_image_is_built_from_files_that_are_there_and_not_ignored() -> None:
    copied = [word for line in re.findall(r"^COPY ([^-].*) \S+$", DOCKERFILE, re.MULTILINE) for word in line.split()]
    ignored = (ROOT / ".dockerignore").read_text()
    assert copied == ["pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "shaping", "profiles", "config"]
    assert [name for name in copied if not (ROOT / name).exists() or f"!{name}\n" not in ignored] == []


def test_its_command_serves_and_its_health_check_tells(free_port: Callable[[], int], tmp_path: Path) -> None:
    port, upstream = free_port(), free_port()
    command = [word.replace("8080", str(port)).replace("0.0.0.0", "127.0.0.1") for word in words_of("CMD")]  # noqa: S104 (the image's own words)
    check = [sys.executable, *(word.replace("8080", str(port)) for word in words_of("CMD", 0)[1:])]
    env = {**os.environ, "SHAPING_PROXY_URL": f"http://127.0.0.1:{upstream}/mcp", "HOME": str(tmp_path)}

    def is_healthy() -> bool:
        return subprocess.run(check, capture_output=True, check=False).returncode == 0

    assert not is_healthy()
    with subprocess.Popen([sys.executable, "-m", "shaping", *command], env=env, cwd=tmp_path) as process:
        deadline = time.monotonic() + 60
        while not is_healthy() and time.monotonic() < deadline:
            assert process.poll() is None
        healthy = is_healthy()
        process.terminate()
    assert healthy


def test_a_workflow_runs_targets_that_make_has_and_waits_for_jobs_that_are_there() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    jobs = [(name, job) for workflow in WORKFLOWS.values() for name, job in workflow["jobs"].items()]
    commands = [step["run"] for _, job in jobs for step in job["steps"] if "run" in step]
    made = [target for command in commands for target in re.findall(r"^make ([\w-]+)$", command, re.MULTILINE)]
    assert made == ["audit", "dist"]
    assert set(made) <= targets
    assert {job["needs"] for _, job in jobs if "needs" in job} <= {name for name, _ in jobs}


def test_a_release_is_what_was_built_and_only_its_last_job_may_publish() -> None:
    build, publish = WORKFLOWS["release"]["jobs"].values()
    (given,) = [step["with"] for step in build["steps"] if step.get("uses", "").startswith("actions/upload-artifact@")]
    taken, _, last = publish["steps"]
    assert (taken["with"], last["uses"]) == (given, "pypa/gh-action-pypi-publish@release/v1")
    assert (WORKFLOWS["release"]["permissions"], publish["permissions"]) == (
        {"contents": "read"},
        {"id-token": "write"},
    )
    assert "permissions" not in build


def test_the_workflow_tests_the_versions_that_the_package_names() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert WORKFLOWS["test"]["jobs"]["test"]["strategy"]["matrix"]["python"] == named


def test_the_plugins_program_is_ours() -> None:
    assert (PLUGIN / "relay.py").read_bytes() == (ROOT / "shaping/clients/hooks/relay.py").read_bytes()


def test_the_plugin_has_the_hooks_that_are_installed_otherwise() -> None:
    given: dict[str, list[Any]] = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    assert given == claude_entries('python3 -I -S "${CLAUDE_PLUGIN_ROOT}/relay.py" claude-code - shaping')


@pytest.mark.parametrize("manifest", ["claude-code/.claude-plugin/plugin.json", "gemini-cli/gemini-extension.json"])
def test_a_manifest_has_our_version(manifest: str) -> None:
    found = json.loads((ROOT / "examples" / "plugins" / manifest).read_text())
    assert (found["name"], found["version"]) == ("shaping", VERSION)


def test_the_marketplace_leads_to_the_plugin() -> None:
    (listed,) = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert (ROOT / listed["source"]).resolve() == PLUGIN


@pytest.mark.parametrize("address", ["", "https://example.com/acme/shaping"])
def test_a_release_names_its_address_where_it_has_one_and_its_readme_links_there(address: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"],
        env={**os.environ, "PROJECT_URL": address}, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    metadata = json.loads(done.stdout)
    readme = metadata["readme"]["text"]
    relative = re.findall(r"\]\((?!https?:|#)([^)]+)\)", readme)
    if address:
        assert metadata["urls"]["Source"] == address
        assert relative == []
        assert f"]({address}/raw/v{VERSION}/docs/demo.svg)" in readme
    else:
        assert "urls" not in metadata
        assert readme == (ROOT / "README.md").read_text()
        assert [path for path in relative if not (ROOT / path.partition("#")[0]).exists()] == []
