"""Click and Typer applications whose every command answers with an envelope."""

from shaping.apps.app import manifest_of, shape_click, shape_typer

__all__ = ["manifest_of", "shape_click", "shape_typer"]
