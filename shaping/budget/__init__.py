"""Cutting data and text to what they may cost."""
