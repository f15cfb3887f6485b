"""Every block of the README runs: Python as doctests, commands with the output shown, config as files beside them."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
FENCE = re.compile(r"^```(\w+)(?: ([\w./-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What the README shows but a test of it cannot run: the Makefile's commands, which run this test, and client configs.
NOT_RUN = ("make demo", "make test", "pip install")


@dataclass(frozen=True)
class Block:
    language: str
    name: str | None
    body: str
    line: int


def blocks() -> list[Block]:
    return [
        Block(found[1], found[2], found[3], README.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(README)
    ]


def test_the_readme_reaches_code_by_line_12() -> None:
    assert blocks()[0].line <= 12


def test_every_block_is_of_a_kind_that_is_run() -> None:
    assert {block.language for block in blocks()} <= {"python", "pycon", "console", "json", "text"}


def test_every_block_of_the_readme_does_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    namespace: dict[str, Any] = {"__name__": "readme"}
    for block in blocks():
        if block.name is not None:
            (tmp_path / block.name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.name).write_text(block.body)
        if block.language == "python" and block.name is None:
            exec(compile(block.body, f"README.md:{block.line}", "exec"), namespace)  # noqa: S102 (it is our own README)
        elif block.language == "pycon":
            _doctest(block, namespace)
        elif block.language == "console":
            _console(block, tmp_path)


def _doctest(block: Block, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.body, namespace, "README.md", "README.md", block.line)
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
            f"README.md:{block.line}: {shlex.quote(command)}\n{shown}"
        )


def _fits(expected: str, shown: str) -> bool:
    """An ellipsis in the README stands for any text."""
    pattern = ".*".join(re.escape(piece) for piece in expected.split("…"))
    return re.fullmatch(pattern, shown, re.DOTALL) is not None
