"""Cutting a value to a budget: in the tree, never in the text."""

from shaping.budget.fitting import fit_value
from shaping.budget.model import Budget, Fitted

__all__ = ["Budget", "Fitted", "fit_value"]
