"""What a benchmark asked to be written in C, beside the Python it must agree with; without a compiler, that runs."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType


def _load(name: str) -> Any:
    """Give the compiled module, or nothing where none was built for this Python or SHAPING_NATIVE is off."""
    if os.environ.get("SHAPING_NATIVE", "").lower() in {"off", "0", "false", "no"}:
        return None
    try:
        return import_module(f"shaping.native._{name}")
    except Exception:  # noqa: BLE001  a module that does not load, for whatever reason, is one that was not built
        return None


table: ModuleType | None = _load("table")
rules: ModuleType | None = _load("rules")
density: ModuleType | None = _load("density")
