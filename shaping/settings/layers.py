"""The places where choices are made, and what each of them says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shaping.settings.problems import Keys, short_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shaping.settings.read import Document


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a choice was made: by what, and on which line of which file."""

    by: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.file is None:
            return self.by
        place = short_name(self.file) + (f":{self.line}" if self.line else "")
        return f"{self.by} ({place})"


@dataclass(frozen=True, slots=True)
class Stanza:
    """The choices that stand together at one place of a document."""

    by: str
    document: Document
    keys: Keys

    @property
    def choices(self) -> Mapping[str, Any]:
        """Give what is said here, by name."""
        return self.document.choices(*self.keys)

    def origin(self, choice: str) -> Origin:
        """Say where one of the choices made here stands."""
        return Origin(self.by, self.document.file, self.document.line((*self.keys, choice)))
