"""Cutting a value to a budget: in the tree, never in the text."""

from shaping.fit.fitting import fit_value
from shaping.fit.model import Budget, Fitted

__all__ = ["Budget", "Fitted", "fit_value"]
