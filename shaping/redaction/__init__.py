"""Secrets out of what a model reads, what a store keeps and what a log says.

`redact` and `redact_json` return what a tool said without its secrets; `without_secrets` does so for whatever else
leaves (names, descriptions, instructions, prompts, requests, log lines), `names_without_secrets` for what comes again
with each answer, and `paths_without_secrets` for many paths at once; `redact_stream` for a text in parts, and
`SplitKeyRedactor` for values that come one after another; `log_fault` logs a fault without what its message may quote.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from traceback import format_tb
from typing import Final

from shaping.redaction.credentials import unfinished_key_start
from shaping.redaction.redact import (
    Hit,
    SplitKeyRedactor,
    names_without_secrets,
    paths_without_secrets,
    redact,
    redact_json,
    without_secrets,
)
from shaping.redaction.text import assigned, secrets

__all__ = [
    "Hit",
    "SplitKeyRedactor",
    "StreamRedactor",
    "log_fault",
    "names_without_secrets",
    "paths_without_secrets",
    "redact",
    "redact_json",
    "redact_stream",
    "without_secrets",
]

_LONGEST_SECRET: Final = 65_536  # characters: more than any credential has, a private key included


class StreamRedactor:
    """Takes parts of a text and returns what is safe to show of them; `finish` returns the rest."""

    def __init__(self, *, names: bool = False, paths: Sequence[str] = ()) -> None:
        self._names = names
        self._paths = paths
        self._text = ""
        self._enough = 2 * _LONGEST_SECRET

    @property
    def held(self) -> str:
        """The text that was taken and not returned yet."""
        return self._text

    def feed(self, part: str) -> str:
        """Take a part; return what is decided, which may be nothing."""
        self._text += part
        if len(self._text) < self._enough:
            return ""
        shown = self._upto(len(self._text) - _LONGEST_SECRET)
        # Looked at again only when twice as much has come, so that a character is looked at twice on average.
        self._enough = 2 * max(_LONGEST_SECRET, len(self._text))
        return shown

    def finish(self) -> str:
        """Return what was held back."""
        shown, self._text = self._clean(self._text), ""
        return shown

    def _upto(self, limit: int) -> str:
        spans = [*secrets(self._text), *(assigned(self._text) if self._names else ())]
        begin = unfinished_key_start(self._text)
        cut = limit if begin is None else min(limit, begin)
        cut = _after_line(self._text, cut)
        for span in sorted(spans, reverse=True):
            cut = span.start if span.start < cut < span.end else cut
        head, self._text = self._text[:cut], self._text[cut:]
        return self._clean(head)

    def _clean(self, text: str) -> str:
        return str(redact(text, names=self._names, paths=self._paths)[0])


def redact_stream(parts: Iterable[str], *, names: bool = False) -> Iterator[str]:
    """Yield the parts of a text without secrets, those that stand across the border of two parts included."""
    redactor = StreamRedactor(names=names)
    for part in parts:
        if shown := redactor.feed(part):
            yield shown
    if shown := redactor.finish():
        yield shown


def _after_line(text: str, limit: int) -> int:
    """Return the end of a line, else of a word, before the limit: a name and its value stay together."""
    line = text.rfind("\n", 0, limit) + 1
    return line or text.rfind(" ", 0, limit) + 1 or limit


def log_fault(message: str, tool: str, fault: Exception) -> None:
    """Log where a fault happened and of what kind it is; its message may hold a part of the answer."""
    try:
        places = without_secrets("".join(format_tb(fault.__traceback__)))
    except Exception:  # noqa: BLE001 (where redaction itself is at fault, only what needs none can be logged)
        places = ""
    logging.getLogger("shaping").error(message, tool, type(fault).__name__, places)
