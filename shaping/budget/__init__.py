"""Cutting a value to a budget: in the tree, never in the text."""

from shaping.budget.fitting import Budget, Fitted, fit_value

__all__ = ["Budget", "Fitted", "fit_value"]
