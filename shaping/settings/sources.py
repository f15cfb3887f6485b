"""Everything a config is made of, read but not yet checked: config files, profiles and presets."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

from shaping.settings.files import BundledKind, bundled_path, find, is_in_tree, profile_files
from shaping.settings.jsonc import (
    ConfigDocument,
    ConfigError,
    ConfigProblem,
    Keys,
    read_file,
    read_mapping,
    short_name,
    suggestion_for,
)
from shaping.settings.trust import is_allowed, refuse_large_files, refuse_many_values

if TYPE_CHECKING:
    from shaping.settings.choices import Surface

Given: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | None

GIVEN_NAME: Final = "the given config"
THE_CALL: Final = "the call"
_ALMOST: Final = 0.85  # of a key's letters


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a choice was made: by what, and on which line of which file."""

    by: str
    file: str | None = None
    line: int | None = None
    section: str | None = field(default=None, compare=False)  # the first key of the place in the file

    @property
    def is_of_config(self) -> bool:
        """Whether a config of the user's own makes the choice, and neither a profile nor what ships with shaping."""
        return self.section in ("global", "tool_overrides") and not self.is_bundled

    @property
    def is_bundled(self) -> bool:
        """Whether the file ships with shaping."""
        file = self.file
        return file is not None and any(
            Path(file).is_relative_to(bundled_path(kind, "")) for kind in get_args(BundledKind)
        )

    def __str__(self) -> str:
        if self.file is None:
            return self.by
        if self.is_bundled:
            path = Path(self.file)
            return f"preset {path.stem}" if "presets" in path.parts else f"{self.by} (bundled)"
        return f"{self.by} ({short_name(self.file)}{f':{self.line}' if self.line else ''})"


@dataclass(frozen=True, slots=True)
class ConfigSection:
    """One section of a document that makes choices: `global`, a profile or a tool's override."""

    by: str
    document: ConfigDocument
    keys: Keys

    @property
    def choices(self) -> Mapping[str, Any]:
        """The choices of this section, by name."""
        return self.document.choices(*self.keys)

    @property
    def is_bundled(self) -> bool:
        """Whether it is a profile that ships with shaping."""
        return Path(self.document.file).parent == bundled_path("profiles", "")

    def origin(self, choice: str) -> Origin:
        """Return the file and line of one of its choices."""
        section = str(self.keys[0]) if self.keys else None
        return Origin(self.by, self.document.file, self.document.line((*self.keys, choice)), section)


@dataclass(frozen=True, slots=True)
class Profiles:
    """Every profile's sections by name, the weakest first, and the profile that all others extend."""

    sections: Mapping[str, tuple[ConfigSection, ...]]
    root: str

    def names(self) -> tuple[str, ...]:
        """List the profiles there are, in a stable order."""
        return tuple(sorted(self.sections))

    def parent(self, name: str) -> str | None:
        """Return the profile that another one extends, known or not."""
        if name not in self.sections:
            return None
        first = self.sections[name][0]
        extends = first.choices.get("extends")
        if isinstance(extends, str):
            return extends
        return None if first.is_bundled or name == self.root else self.root

    def lineage(self, name: str) -> tuple[str, ...]:
        """List a profile and the profiles it extends, itself first."""
        line = [name]
        while (parent := self.parent(line[-1])) is not None:
            line.append(parent)
        return tuple(line)

    def layers(self, name: str) -> tuple[ConfigSection, ...]:
        """Return the sections that make up a profile, the weakest first."""
        return tuple(section for each in reversed(self.lineage(name)) for section in self.sections[each])


@dataclass(frozen=True)
class Sources:
    """The config's layers, the weakest first, its profiles, files that are no profiles, and what could not be read."""

    configs: tuple[ConfigDocument, ...]
    profile_files: tuple[ConfigDocument, ...]
    unrelated_files: tuple[ConfigDocument, ...]
    unreadable: tuple[ConfigProblem, ...]
    in_tree: Path | None = None  # the config, where it was found in the working tree
    allowed: bool = True  # whether the user has allowed it, if so

    @cached_property
    def profiles(self) -> Profiles:
        """All profiles: bundled ones, then those of the `profiles` directory, then the sections of the configs."""
        files = (*_bundled_profiles(), *self.profile_files)
        named: list[tuple[str, ConfigDocument, Keys]] = [(Path(document.file).stem, document, ()) for document in files]
        for document in self.configs:
            named += [(name, document, ("profiles", name)) for name in document.choices("profiles")]
        found: dict[str, tuple[ConfigSection, ...]] = {}
        for name, document, keys in named:
            section = ConfigSection(f"profile {name}", document, keys)
            # A section with `extends` starts afresh: weaker sections of the same name no longer count.
            found[name] = (section,) if "extends" in section.choices else (*found.get(name, ()), section)
        return Profiles(found, str(self.configs[0].choices("global")["profile"]))

    @cached_property
    def merged(self) -> Mapping[str, Any]:
        """All layers as one config."""
        merged: dict[str, Any] = {}
        for document in self.configs:
            merged = _merge(merged, document.data)
        profiles: dict[str, Any] = {}
        for name in self.profiles.names():
            for section in self.profiles.sections[name]:
                profiles[name] = _merge(profiles.get(name, {}), section.choices)
        return {**merged, "profiles": profiles}

    @cached_property
    def hash(self) -> str:
        """What tells this config from another that says something else."""
        return hashlib.sha256(json.dumps(self.merged, ensure_ascii=False).encode()).hexdigest()[:12]

    @property
    def files(self) -> tuple[str, ...]:
        """Name the files that were read besides the bundled ones."""
        return tuple(
            document.file for document in (*self.configs[1:], *self.profile_files) if document.file != GIVEN_NAME
        )


def read_sources(config: Given, *, cwd: Path, environ: Mapping[str, str]) -> Sources:
    """Find and read the config that applies, its bundled layer and its profiles."""
    bundled = read_file(bundled_path("config", "response_config.json"))
    if isinstance(config, Mapping):
        configs, unreadable = _read_all([config])
        return Sources((bundled, *configs), (), (), unreadable)
    path = find(config, cwd=cwd, environ=environ)
    if path is None:
        return Sources((bundled,), (), (), ())
    in_tree = path if is_in_tree(path, config, environ=environ) else None
    allowed = in_tree is None or is_allowed(path, environ)
    if not allowed:
        refuse_large_files(path)
    configs, unreadable = _read_all([path])
    beside, more = _read_all(profile_files(path))
    if not allowed:
        refuse_many_values(path, (*configs, *beside))
    profiles = tuple(document for document in beside if _is_profile(document))
    others = tuple(document for document in beside if document not in profiles)
    return Sources((bundled, *configs), profiles, others, (*unreadable, *more), in_tree, allowed)


def _read_all(
    given: Iterable[Path | Mapping[str, Any]],
) -> tuple[tuple[ConfigDocument, ...], tuple[ConfigProblem, ...]]:
    """Read documents; where one cannot be read, its problems are returned beside the others."""
    documents: list[ConfigDocument] = []
    problems: list[ConfigProblem] = []
    for one in given:
        try:
            documents.append(read_file(one) if isinstance(one, Path) else read_mapping(one, GIVEN_NAME))
        except ConfigError as error:
            problems += error.problems
    return tuple(documents), tuple(problems)


def _is_profile(document: ConfigDocument) -> bool:
    """Return whether a document is a profile: other programs keep JSON files in directories called profiles, too."""
    from shaping.settings.model import Profile  # noqa: PLC0415 (a command without such files does without the model)

    known = {field.alias or name for name, field in Profile.model_fields.items()}
    # One that is nearly a profile's key was meant to be one.
    return not document.data or any(suggestion_for(key, known, least=_ALMOST) for key in document.data)


@cache
def _bundled_profiles() -> tuple[ConfigDocument, ...]:
    return tuple(read_file(path) for path in sorted(bundled_path("profiles", "").glob("*.json")))


def presets_for(tool: str, surface: Surface = "command") -> tuple[ConfigDocument, ...]:
    """Return what is known of MCP tools, or the preset of the program that a command's name starts with."""
    if surface != "command":
        return _read_preset("tools.json") if surface == "mcp" else ()
    program = tool.split(" ", 1)[0]
    return _read_preset(f"presets/{program}.json") if program.replace("-", "").replace("_", "").isalnum() else ()


@cache
def server_presets() -> tuple[ConfigDocument, ...]:
    """Return the bundled rules for well-known servers, which apply where a config has `"presets": true`."""
    return tuple(read_file(path) for path in sorted(bundled_path("config", "presets/servers").glob("*.json")))


def presets_for_server(tool: str) -> tuple[ConfigDocument, ...]:
    """Return the presets for the server of a tool, by the server's own name."""
    server, slash, _ = tool.rpartition("/")
    named: Any = ((document, document.data["servers"]) for document in (server_presets() if slash else ()))
    return tuple(document for document, names in named if any(fnmatchcase(server.casefold(), name) for name in names))


@cache
def _read_preset(name: str) -> tuple[ConfigDocument, ...]:
    path = bundled_path("config", name)
    return (read_file(path),) if path.is_file() else ()


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one layer over another: objects are merged key by key, anything else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        mergeable = isinstance(under, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(merged[key], value) if mergeable else value
    return merged
