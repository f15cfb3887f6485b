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

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".cache" / "integrations"
PASSED = re.compile(r"(\d+) passed")


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
    wanted = [*requirements, "pytest", "hypothesis", "--editable", str(ROOT)]
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", *wanted], check=True)
    return python


def run(name: str, requirements: list[str]) -> tuple[str, str, str]:
    """Run the tests of one framework; return its name, version and result."""
    python = environment(name, requirements)
    package = re.split(r"[<>=\[]", requirements[0])[0]
    asked = f"from importlib.metadata import version; print(version({package!r}))"
    version = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore",
        f"tests/integrations/test_{name}.py",
    ]
    # Some frameworks report home at import; there is nobody to report to.
    quiet = {"OTEL_SDK_DISABLED": "true", "CREWAI_DISABLE_TELEMETRY": "true", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=os.environ | quiet, capture_output=True, text=True, check=False)
    passed = PASSED.search(done.stdout)
    if done.returncode:
        print(done.stdout[-3000:], file=sys.stderr)
    return f"{package} {version}", passed.group(1) if passed else "0", "" if done.returncode == 0 else "failed"


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
    table = markdown_table(("framework", "tests passed", "failed"), rows)
    if len(chosen) == len(known):
        write_section("Agent frameworks", table, recipe={"what": "tests/integrations, each with the real package"})
    print(table)
    sys.exit(any(row[2] for row in rows))


if __name__ == "__main__":
    main()
