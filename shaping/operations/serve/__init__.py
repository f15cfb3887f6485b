"""Serving a registry: choosing what, and over which protocol."""

from shaping.operations.serve.choose import MAX_TOKENS, Choice, TooManyError, choose, cost

__all__ = ["MAX_TOKENS", "Choice", "TooManyError", "choose", "cost"]
