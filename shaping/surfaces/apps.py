# ruff: noqa: INP001 (a path of before, which goes with 0.3, needs no package of its own)
"""The former place of `shape_click` and `shape_typer`, which are in `shaping.apps`; gone with 0.3."""

from __future__ import annotations

import warnings

from shaping.apps import shape_click, shape_typer

__all__ = ["shape_click", "shape_typer"]

warnings.warn("shaping.surfaces.apps is shaping.apps now, and goes with 0.3", DeprecationWarning, stacklevel=2)
