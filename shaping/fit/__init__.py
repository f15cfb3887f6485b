"""Cutting a value to a budget: in the tree, never in the text."""

from shaping.fit.model import Budget, Fitted, Listed

__all__ = ["Budget", "Fitted", "Listed"]
