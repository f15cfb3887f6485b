"""Profiles: those that ship with shaping, those in a directory beside the config, those inside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shaping.settings.bundled import bundled_path
from shaping.settings.layers import Stanza
from shaping.settings.model import Profile
from shaping.settings.problems import ConfigError, Problem, nearest
from shaping.settings.read import Document, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_ALMOST: Final = 0.85  # of a key's letters


@dataclass(frozen=True, slots=True)
class Profiles:
    """Every profile's stanzas by name, the weakest first, and the profile that all others start from."""

    stanzas: Mapping[str, tuple[Stanza, ...]]
    root: str

    def names(self) -> tuple[str, ...]:
        """List the profiles there are, in a stable order."""
        return tuple(sorted(self.stanzas))

    def lineage(self, name: str) -> tuple[str, ...]:
        """List a profile and those it starts from, nearest first; a cycle ends with the name that came twice."""
        line = [name]
        parent = self._parent(name)
        while parent is not None and parent not in line:
            line.append(parent)
            parent = self._parent(parent)
        return (*line, parent) if parent is not None else tuple(line)

    def layers(self, name: str) -> tuple[Stanza, ...]:
        """Give the stanzas that make up a profile, the weakest first."""
        return tuple(stanza for each in reversed(self.lineage(name)) for stanza in self._own(each))

    def source(self, name: str) -> Stanza:
        """Give the strongest stanza of a profile: where it was last spoken of."""
        return self.stanzas[name][-1]

    def _parent(self, name: str) -> str | None:
        own = self._own(name)
        extends = own[0].choices.get("extends") if own else None
        if isinstance(extends, str):
            return extends
        return None if not own or is_bundled(own[0]) or name == self.root else self.root

    def _own(self, name: str) -> tuple[Stanza, ...]:
        own = self.stanzas.get(name, ())
        # A stanza that extends something starts afresh: what weaker layers said under its name no longer counts.
        fresh = max((at for at, stanza in enumerate(own) if "extends" in stanza.choices), default=0)
        return own[fresh:]


def is_bundled(stanza: Stanza) -> bool:
    """Say whether a profile's stanza ships with shaping."""
    return Path(stanza.document.file).parent == bundled_path("profiles", "")


def gather(configs: Sequence[Document], beside: Iterable[Document]) -> Profiles:
    """Collect all profiles: bundled ones, then those of the directory beside the config, then those inside it."""
    files = [*(read_file(path) for path in sorted(bundled_path("profiles", "").glob("*.json"))), *beside]
    found: dict[str, list[Stanza]] = {}
    for document in files:
        name = Path(document.file).stem
        found.setdefault(name, []).append(Stanza(f"profile {name}", document, ()))
    for config in configs:
        for name in config.choices("profiles"):
            found.setdefault(name, []).append(Stanza(f"profile {name}", config, ("profiles", name)))
    root = str(configs[0].choices("global")["profile"])
    return Profiles({name: tuple(stanzas) for name, stanzas in found.items()}, root)


def read_beside(config: Path, problems: list[Problem]) -> Iterator[Document]:
    """Read the JSON files in the directory beside a config file; what cannot be read is added to the problems."""
    directory = config.parent / "profiles"
    for path in sorted(directory.glob("*.json")):
        try:
            yield read_file(path)
        except ConfigError as error:
            problems.extend(error.problems)


def is_profile(document: Document) -> bool:
    """Tell a profile from a stranger: other programs keep JSON files in directories called profiles, too."""
    known = {field.alias or name for name, field in Profile.model_fields.items()}
    # One that is nearly a profile's key was meant to be one.
    return not document.data or any(nearest(key, known, least=_ALMOST) for key in document.data)
