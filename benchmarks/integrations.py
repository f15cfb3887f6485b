"""Test each agent framework's integration in an environment of its own, and write the table of versions.

`python -m benchmarks.integrations [FRAMEWORK...]`; environments are kept under .cache/integrations for the next run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

from benchmarks.results import markdown_table, write_section
from tests.integrations.answers import BARS
from tests.integrations.test_bars import without

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".cache" / "integrations"
# What the tests need besides: the ways of two frameworks to MCP servers, which are packages of their own.
BESIDE = {"langchain": ["langchain-mcp-adapters"], "pydantic_ai": ["fastmcp>=4.1,<5"]}
PASSED = re.compile(r"^PASSED \S+::(test_\w+)", re.MULTILINE)


def frameworks() -> dict[str, list[str]]:
    """Return the requirements of each framework that has an integration, from the extras of the same name."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    files = sorted(path.stem for path in (ROOT / "shaping" / "integrations").glob("*.py"))
    return {name: extras[name.replace("_", "-")] for name in files if name.replace("_", "-") in extras}


def environment(name: str, requirements: list[str]) -> Path:
    """Make the framework's environment, or bring one from an earlier run up to date; return its Python."""
    place = PLACE / name
    if not (place / "bin" / "python").exists():
        venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    tested = ["pytest>=9", "pytest-timeout", "hypothesis", "--editable", str(ROOT)]
    wanted = [*requirements, *BESIDE.get(name, []), *tested]
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", *wanted], check=True)
    return python


def run(name: str, requirements: list[str]) -> tuple[str, ...]:
    """Run the tests of one framework; return its name and version, each bar and what failed."""
    python = environment(name, requirements)
    package = re.split(r"[<>=\[]", requirements[0])[0]
    asked = f"from importlib.metadata import version; print(version({package!r}))"
    version = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    options = ["-q", "-rpfE", "-p", "no:cacheprovider", "-W", "ignore", f"tests/integrations/test_{name}.py"]
    # Some frameworks report home at import; there is nobody to report to.
    quiet = {"OTEL_SDK_DISABLED": "true", "CREWAI_DISABLE_TELEMETRY": "true", "PYTHONPATH": str(ROOT)}
    command = [str(python), "-m", "pytest", *options]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | quiet, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-3000:], file=sys.stderr)
    passed, absent = PASSED.findall(done.stdout), without(name)
    bars = ["—" if bar in absent else "yes" if test in passed else "no" for bar, test in BARS.items()]
    return f"{package} {version}", *bars, str(len(passed)), "" if done.returncode == 0 else "failed"


def main() -> None:
    known = frameworks()
    chosen = sys.argv[1:] or list(known)
    if unknown := sorted(set(chosen) - set(known)):
        sys.exit(f"no integration for {', '.join(unknown)}; there are {', '.join(known)}")
    rows: list[tuple[str, ...]] = []
    for name in chosen:
        print(f"{name} …", flush=True)
        rows.append(run(name, known[name]))
        print("   ", *rows[-1], flush=True)
    table = markdown_table(("framework", *BARS, "tests passed", "failed"), rows)
    reasons = [f"- {name}, {bar}: {why}." for name in chosen for bar, why in without(name).items()]
    if len(chosen) == len(known):
        text = "\n".join([table, "", "Without, and why:", "", *reasons])
        write_section("Agent frameworks", text, recipe={"what": "tests/integrations, each with the real package"})
    print(table)
    sys.exit(any(row[-1] for row in rows))


if __name__ == "__main__":
    main()
