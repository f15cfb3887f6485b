"""Secrets out of what a model reads, what a store keeps and what a log says."""

from shaping.redaction.redact import redact, redact_json, redact_text
from shaping.redaction.rules import Hit

__all__ = ["Hit", "redact", "redact_json", "redact_text"]
