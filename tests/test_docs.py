"""Every block of the README and of docs/ runs: Python as doctests, commands with their output, config as files."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks.make_reference import (
    EXAMPLES,
    FOLDER,
    IMPLIED,
    MODULES,
    TOP_EXAMPLES,
    VARIABLES,
    choices,
    pages,
    security_page,
)
from shaping import Shaper

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")))
FENCE = re.compile(r"^```(\w+)(?: ([\w./-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(((?!http|#)[^)#\s]+)\)")
NOT_RUN = ("pip install", "shaping demo")  # the demo's output is the README's picture; tests/cli runs it


@dataclass(frozen=True)
class Block:
    language: str
    name: str | None
    body: str
    line: int


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text()
    return [
        Block(found[1], found[2], found[3], text.count("\n", 0, found.start()) + 1) for found in FENCE.finditer(text)
    ]


def test_the_readme_is_short_and_reaches_code_by_line_12() -> None:
    assert blocks("README.md")[0].line <= 12
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_is_run(page: str) -> None:
    assert {block.language for block in blocks(page)} <= {"python", "pycon", "console", "json", "text"}


def test_every_link_of_the_pages_leads_to_a_file() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    linked = [(page, target) for page in pages for target in LINK.findall(page.read_text())]
    assert [f"{page.name}: {target}" for page, target in linked if not (page.parent / target).exists()] == []


def test_the_reference_is_what_the_code_says() -> None:
    written = {file.name: file.read_text() for file in FOLDER.iterdir()}
    assert written == pages(), "run python -m benchmarks.make_reference"


def test_every_variable_that_the_code_reads_is_in_the_reference() -> None:
    source = "\n".join(path.read_text() for path in (ROOT / "shaping").rglob("*.py"))
    ours = set(re.findall(r"\"(SHAPING(?:_[A-Z_]+)?)\"", source)) - {"SHAPING_FAULT"}  # a warning's code
    read = set(re.findall(r"(?:environ\.get\(|environ\[|getenv\()\"([A-Z_]+)\"", source))
    systems = {"APPDATA", "HOME", "PATH", "TERM", "USERPROFILE", "PYDANTIC_DISABLE_PLUGINS"}
    assert ours | read - systems <= VARIABLES.keys()


def test_every_config_key_has_an_example_that_is_a_valid_config() -> None:
    assert choices().keys() == EXAMPLES.keys()
    for key, places in choices().items():
        for place in places:
            holder = {"global": "global", "profile": "profiles", "tool": "tool_overrides"}[place]
            choice = {key: EXAMPLES[key]}
            assert Shaper({holder: choice if place == "global" else {"name": choice}}).warnings == ()
    assert Shaper(dict(TOP_EXAMPLES)).warnings == ()


def test_a_default_that_the_reference_gives_is_what_holds_without_it() -> None:
    def held(config: dict[str, Any]) -> dict[str, Any]:
        plan = Shaper(config).plan("name", surface="mcp")
        return {field.name: getattr(plan, field.name) for field in fields(plan) if field.name != "config_hash"}

    for key, default in IMPLIED.items():
        assert held({"tool_overrides": {"name": {key: default}}}) == held({}), key


def test_every_name_that_a_page_imports_is_public() -> None:
    pages = [*(ROOT / page for page in PAGES), *(ROOT / "examples").rglob("*.py")]
    found = {
        (module, name)
        for page in pages
        for module, names in re.findall(r"from (shaping[\w.]*) import ([\w, ]+)", page.read_text())
        for name in names.split(", ")
        if not module.startswith("shaping.integrations")
    }
    assert found
    assert [(module, name) for module, name in found if module not in MODULES] == []
    assert [(module, name) for module, name in found if name not in import_module(module).__all__] == []


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    zensical = Path(sys.executable).with_name("zensical")
    if not zensical.exists():
        pytest.skip("zensical is not installed")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "docs" / "security.md").write_text(security_page())
    done = subprocess.run([zensical, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True, check=False)
    if "TooManyOpenFiles" in done.stderr:
        pytest.xfail("no inotify instance is left on this machine, and without one nothing is built")
    assert (done.returncode, (tmp_path / "site/security/index.html").exists()) == (0, True), done.stdout + done.stderr


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "zensical.toml").read_text()
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if f'"{page}"' not in navigation] == []


def test_what_the_security_page_says_of_private_fields_is_so() -> None:
    shaper = Shaper({"global": {"private": ["**.salary"]}}, expandable=True)
    promised, _, limits = (ROOT / "SECURITY.md").read_text().partition("## What is not promised")
    for part, leaves in ((promised, False), (limits, True)):
        rows = [line.rpartition(" | ")[2] for line in part.splitlines() if line.startswith("| ")]
        examples = [example for row in rows for example in re.findall(r"`([^`]*7351[^`]*)`", row)]
        assert len(examples) > 10
        for example in examples:
            assert ("7351" in shaper.shape(example, tool="t").text) is leaves, example
            if example[0] in "[{":
                assert ("7351" in shaper.shape(json.loads(example), tool="t").text) is leaves, example


@pytest.mark.parametrize("page", PAGES)
def test_every_block_does_what_it_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))  # a client starts its server with little else of our environment
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    namespace: dict[str, Any] = {"__name__": "readme"}
    for block in blocks(page):
        if block.name is not None:
            (tmp_path / block.name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.name).write_text(block.body)
        if block.language == "python" and block.name is None:
            exec(compile(block.body, f"{page}:{block.line}", "exec"), namespace)  # noqa: S102 (it is our own page)
        elif block.language == "pycon":
            _doctest(block, namespace)
        elif block.language == "console":
            _console(block, tmp_path)


def _doctest(block: Block, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.body, namespace, "page", "page", block.line)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)
    namespace.update(test.globs)


def _console(block: Block, cwd: Path) -> None:
    for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        if command.startswith(NOT_RUN):
            continue
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, cwd=cwd, check=False, timeout=600
        )
        shown = (done.stdout + done.stderr).strip()
        assert shown == expected.strip() or _fits(expected.strip(), shown), (
            f"line {block.line}: {shlex.quote(command)}\n{shown}"
        )


def _fits(expected: str, shown: str) -> bool:
    """An ellipsis in the README stands for any text."""
    pattern = ".*".join(re.escape(piece) for piece in expected.split("…"))
    return re.fullmatch(pattern, shown, re.DOTALL) is not None
