"""Every framework's tests prove the same things, or say why there is nothing to prove."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.integrations.answers import BARS
from tests.integrations.conftest import FRAMEWORKS

HERE = Path(__file__).parent


def without(name: str) -> dict[str, str]:
    """Return what a framework has not, as its test file says."""
    for node in ast.parse((HERE / f"test_{name}.py").read_text()).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["WITHOUT"]:
            found: dict[str, str] = ast.literal_eval(node.value)
            return found
    return {}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_has_a_test_for_every_bar_or_a_reason(name: str) -> None:
    body = ast.parse((HERE / f"test_{name}.py").read_text()).body
    tests = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    missing = {bar for bar, test in BARS.items() if test not in tests}
    assert missing == without(name).keys()


def test_every_integration_is_among_them() -> None:
    files = {path.stem for path in (HERE.parents[1] / "shaping" / "integrations").glob("*.py")}
    assert files - {"__init__", "asgi"} == FRAMEWORKS.keys()
