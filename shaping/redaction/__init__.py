"""Secrets out of what a model reads, what a store keeps and what a log says.

`redact`, `redact_json` and `redact_text` return what a tool said without its secrets; `scrub` does so for whatever else
leaves (names, descriptions, instructions, prompts, requests, log lines); `redact_stream` for a text in parts.
"""

from shaping.redaction.redact import Hit, redact, redact_json, redact_text, scrub
from shaping.redaction.stream import StreamRedactor, redact_stream

__all__ = ["Hit", "StreamRedactor", "redact", "redact_json", "redact_stream", "redact_text", "scrub"]
