"""Secrets out of what a model reads, what a store keeps and what a log says."""

from shaping.redaction.redact import Hit, redact, redact_json, redact_text, scrub

__all__ = ["Hit", "redact", "redact_json", "redact_text", "scrub"]
