"""Commands as tools: run without a shell, recognised, cleaned, cut to a budget, and kept to be asked for."""

from shaping.commands.command import command

__all__ = ["command"]
