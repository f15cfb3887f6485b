"""Standard output while a program reads it: the answer stands there alone, and prompts and other talk stand apart."""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator


class Apart(io.StringIO):
    """Takes what is printed; whoever sits at a terminal sees it at once."""

    def __init__(self, answers: TextIO) -> None:
        super().__init__()
        self._answers = answers
        self._answered = False

    def write(self, text: str) -> int:
        """Keep a text until it is known whether it is talk, or show it to the person who is asked."""
        if not sys.stdin.isatty():
            return super().write(text)
        sys.stderr.write(text)
        sys.stderr.flush()
        return len(text)

    def answer(self, text: str) -> None:
        """Write the answer to where it is read."""
        self._answered = True
        self._answers.write(text)
        self._answers.flush()

    def settle(self) -> None:
        """Let go of what was kept: as talk beside an answer, or as the output where there is none, as of `--help`."""
        (sys.stderr if self._answered else self._answers).write(self.getvalue())


@contextmanager
def apart() -> Iterator[None]:
    """Keep standard output for answers."""
    stream = Apart(sys.stdout)
    try:
        with redirect_stdout(stream):
            yield
    finally:
        stream.settle()


def answer(text: str) -> None:
    """Write an answer, past what only talk is kept from."""
    if isinstance(sys.stdout, Apart):
        sys.stdout.answer(text)
        return
    sys.stdout.write(text)
    sys.stdout.flush()
