"""Imports stand at the top of a file; one that does not says why at its place, and there are few."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "shaping"
MOST = 40
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
REASON = re.compile(r"# noqa: (?:F401, )?PLC0415 \([\w`]")


def _late_imports() -> list[tuple[Path, int, str]]:
    """Every import of our own modules inside a function, with its line."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        lines = path.read_text().splitlines()
        functions = (node for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, FUNCTIONS))
        inside = (node for function in functions for node in ast.walk(function))
        imports = {node.lineno for node in inside if isinstance(node, ast.ImportFrom) and _is_ours(node)}
        found += [(path.relative_to(PACKAGE), number, lines[number - 1]) for number in sorted(imports)]
    return found


def _is_ours(node: ast.ImportFrom) -> bool:
    return (node.module or "").partition(".")[0] == "shaping"


def test_few_of_our_modules_are_imported_late() -> None:
    assert len(_late_imports()) < MOST, _late_imports()


def test_each_late_import_says_why_at_its_place() -> None:
    assert [found for found in _late_imports() if not REASON.search(found[2])] == []


def test_importing_settings_loads_neither_the_model_nor_the_watcher() -> None:
    heavy = "shaping.settings.model", "pydantic", "watchfiles", "regex"
    program = f"import sys, shaping.settings.chooser; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
