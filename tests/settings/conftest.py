from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository's root, so that nothing above it is looked at."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    return root


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment in which the user has no config."""
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "home" / "config")}


@pytest.fixture
def write(project: Path) -> Callable[[str, Any], Path]:
    """Write a file of the project: text as it is, anything else as JSON."""

    def write(name: str, content: Any) -> Path:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write
