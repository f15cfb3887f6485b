"""Which commands have moved for good, kept in a small JSON file from session to session."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from shaping.settings.files import replace_file

if TYPE_CHECKING:
    from os import PathLike

MAX_HOPS = 32


class Memory:
    """A file of commands that have moved: the old form and the new one, without arguments.

    Several processes may share the file without locking it.

    A write replaces the file whole, so a reader never sees half of one. Where two writers cross, the entry that lost is
    still known to its own memory, which puts it back at its next look.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        self._learned: dict[str, str] = {}

    def recall(self, command: str) -> str:
        """Return the command to run in place of this one, with its arguments: itself, unless its form has moved."""
        moved = self._heal(self._read())
        seen, current = {command}, command
        while (following := _moved(current, moved)) is not None:
            if following in seen or len(seen) > MAX_HOPS:
                return command
            seen.add(following)
            current = following
        return current

    def remember(self, old: str, new: str) -> bool:
        """Record the form of a command that has moved; False where that leads back, or where arguments are in the way.

        The words that both commands end with are their arguments. Options that only the new one has are the arguments
        of the call that was redirected, and another call must not get them.
        """
        old, new = _forms(old, new)
        if old == new or self.recall(new) == old or _options(new) - _options(old):
            return False
        self._learned[old] = new
        self._heal(self._read())
        return True

    def known(self) -> dict[str, str]:
        """Return every move that is remembered."""
        return {**self._read(), **self._learned}

    def _heal(self, stored: dict[str, str]) -> dict[str, str]:
        """Write what this memory has learned and the file does not hold."""
        whole = {**stored, **self._learned}
        if whole != stored:
            # A memory that cannot be written is a shorter one, not a failed call.
            with suppress(OSError):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self._path, orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
        return whole

    def _read(self) -> dict[str, str]:
        """Read the file; what is missing or damaged counts as not remembered."""
        try:
            stored = orjson.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(stored, dict):
            return {}
        return {old: new for old, new in stored.items() if isinstance(new, str) and new}


def _forms(old: str, new: str) -> tuple[str, str]:
    """Take away the words that both commands end with."""
    before, after = old.split(), new.split()
    while len(before) > 1 and len(after) > 1 and before[-1] == after[-1]:
        before.pop()
        after.pop()
    return " ".join(before), " ".join(after)


def _options(command: str) -> set[str]:
    return {word for word in command.split() if word.startswith("-")}


def _moved(command: str, moved: dict[str, str]) -> str | None:
    """Replace the longest known form that a command begins with, and keep what follows it."""
    forms = [old for old in moved if command == old or command.startswith(f"{old} ")]
    if not forms:
        return None
    form = max(forms, key=len)
    return moved[form] + command[len(form) :]
