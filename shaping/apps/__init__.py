"""Click and Typer applications whose every command answers with an envelope."""

from shaping.apps.manifest import manifest_of
from shaping.apps.shape import shape_click, shape_typer

__all__ = ["manifest_of", "shape_click", "shape_typer"]
