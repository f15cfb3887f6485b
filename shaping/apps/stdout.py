"""Standard output under `--output json`: the answer alone; prompts and messages go to standard error."""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager, redirect_stdout
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator


class Printed(io.TextIOWrapper):
    """A stream that keeps what is printed: as text, as bytes, or by a child process that writes to its descriptor."""

    def __init__(self, *, echo: bool = False) -> None:
        self._echo, self._seen = echo, list[str]()
        self._file = _file()
        # Unbuffered, as what another program writes comes between what is written here.
        super().__init__(self._file, encoding="utf-8", errors="backslashreplace", newline="", write_through=True)

    def write(self, text: str) -> int:
        """Keep a text, and show it at once to a person who may be asked by it."""
        if self._echo:
            self._seen.append(text)
            sys.stderr.write(text)
            sys.stderr.flush()
        return super().write(text)

    def unseen(self) -> str:
        """Return what has not been shown yet: all of it where some was not written as text."""
        value = self.getvalue()
        return "" if value == "".join(self._seen) else value

    def getvalue(self) -> str:
        """Return everything that was printed."""
        self._file.seek(0)
        return str(self._file.read(), errors="replace")

    def __del__(self) -> None:
        # Not before: a log that the command has begun may hold on to it.
        self._file.close()


class AnswerStream(Printed):
    """A stream that keeps what is printed; a person at a terminal sees it at once."""

    def __init__(self, answers: TextIO) -> None:
        super().__init__()
        self._answers = answers
        self._answered = False

    def write(self, text: str) -> int:
        """Keep a text until it is known whether there is an answer, or show it to the person at the terminal."""
        if not stdin_is_terminal():
            return super().write(text)
        sys.stderr.write(text)
        sys.stderr.flush()
        return len(text)

    def print_answer(self, text: str) -> None:
        """Write the answer to where it is read."""
        self._answered = True
        self._answers.write(text)
        self._answers.flush()

    def settle(self) -> None:
        """Print what was kept: to standard error beside an answer, else as the output, as of `--help`."""
        (sys.stderr if self._answered else self._answers).write(self.getvalue())


def stdin_is_terminal() -> bool:
    """Return whether standard input is a terminal."""
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


@contextmanager
def answers_only() -> Iterator[None]:
    """Keep standard output for answers."""
    stream = AnswerStream(sys.stdout)
    try:
        with redirect_stdout(stream):
            yield
    finally:
        stream.settle()


def print_answer(text: str) -> None:
    """Write an answer to the real standard output."""
    if isinstance(sys.stdout, AnswerStream):
        sys.stdout.print_answer(text)
        return
    sys.stdout.write(text)
    sys.stdout.flush()


def _file() -> Any:
    try:
        return TemporaryFile(buffering=0)
    except OSError:  # where nothing can be written, text and bytes can still be kept
        return io.BytesIO()
