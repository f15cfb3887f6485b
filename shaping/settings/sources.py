"""Everything a config is made of, read but not yet checked: config files, profiles and presets."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

from shaping.settings.files import BundledKind, bundled_path, find, is_allowed, is_in_tree, profile_files
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
from shaping.settings.plan import LIMITS, Surface


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a choice was made: by what, and on which line of which file."""

    by: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.file is None:
            return self.by
        if any(Path(self.file).is_relative_to(bundled_path(kind, "")) for kind in get_args(BundledKind)):
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

    def origin(self, choice: str) -> Origin:
        """Return the file and line of one of its choices."""
        return Origin(self.by, self.document.file, self.document.line((*self.keys, choice)))


_ALMOST: Final = 0.85  # of a key's letters


@dataclass(frozen=True, slots=True)
class Profiles:
    """Every profile's sections by name, the weakest first, and the profile that all others extend."""

    sections: Mapping[str, tuple[ConfigSection, ...]]
    root: str

    def names(self) -> tuple[str, ...]:
        """List the profiles there are, in a stable order."""
        return tuple(sorted(self.sections))

    def lineage(self, name: str) -> tuple[str, ...]:
        """List a profile and the profiles it extends, itself first; a cycle ends with the name that came twice."""
        line = {name: None}
        parent = self._parent(name)
        while parent is not None and parent not in line:
            line[parent] = None
            parent = self._parent(parent)
        return (*line, parent) if parent is not None else tuple(line)

    def cycles(self) -> Iterator[tuple[str, ...]]:
        """Find the chains of profiles that lead back to themselves, each once."""
        done: set[str] = set()  # so that a long chain is followed once, not once for each of its profiles
        for name in self.names():
            line: dict[str, None] = {}
            here: str | None = name
            while here is not None and here not in done and here not in line:
                line[here] = None
                here = self._parent(here)
            if here in line:
                chain = tuple(line)
                yield chain[chain.index(str(here)) :]
            done.update(line)

    def layers(self, name: str) -> tuple[ConfigSection, ...]:
        """Return the sections that make up a profile, the weakest first."""
        return tuple(section for each in reversed(self.lineage(name)) for section in self._own(each))

    def source(self, name: str) -> ConfigSection:
        """Return the strongest section of a profile."""
        return self.sections[name][-1]

    def _parent(self, name: str) -> str | None:
        own = self._own(name)
        extends = own[0].choices.get("extends") if own else None
        if isinstance(extends, str):
            return extends
        return None if not own or is_bundled(own[0]) or name == self.root else self.root

    def _own(self, name: str) -> tuple[ConfigSection, ...]:
        own = self.sections.get(name, ())
        # A section with `extends` starts afresh: weaker sections of the same name no longer count.
        fresh = max((at for at, section in enumerate(own) if "extends" in section.choices), default=0)
        return own[fresh:]


def is_bundled(section: ConfigSection) -> bool:
    """Return whether a profile's section ships with shaping."""
    return Path(section.document.file).parent == bundled_path("profiles", "")


def collect_profiles(configs: Sequence[ConfigDocument], profile_files: Iterable[ConfigDocument]) -> Profiles:
    """Collect all profiles: bundled ones, then the `profiles` directory, then the sections of the config."""
    files = [*(read_file(path) for path in sorted(bundled_path("profiles", "").glob("*.json"))), *profile_files]
    found: dict[str, list[ConfigSection]] = {}
    for document in files:
        name = Path(document.file).stem
        found.setdefault(name, []).append(ConfigSection(f"profile {name}", document, ()))
    for config in configs:
        for name in config.choices("profiles"):
            found.setdefault(name, []).append(ConfigSection(f"profile {name}", config, ("profiles", name)))
    root = str(configs[0].choices("global")["profile"])
    return Profiles({name: tuple(sections) for name, sections in found.items()}, root)


def is_profile(document: ConfigDocument) -> bool:
    """Return whether a document is a profile: other programs keep JSON files in directories called profiles, too."""
    from shaping.settings.model import Profile  # noqa: PLC0415 (a command without such files does without the model)

    known = {field.alias or name for name, field in Profile.model_fields.items()}
    # One that is nearly a profile's key was meant to be one.
    return not document.data or any(suggestion_for(key, known, least=_ALMOST) for key in document.data)


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


Given: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | None

GIVEN_NAME = "the given config"
THE_CALL = "the call"
# Of a config in the working tree that is not allowed, with its profiles: each path in it costs time in every command.
_MOST_BYTES: Final = 256_000
_MOST_VALUES: Final = 4_000
_MOST_PRIVATE: Final = 200  # paths that are looked for in every member of every answer


@dataclass(frozen=True, slots=True)
class Sources:
    """The config's layers, the weakest first, its profiles, files that are no profiles, and what could not be read."""

    configs: tuple[ConfigDocument, ...]
    profile_files: tuple[ConfigDocument, ...]
    unrelated_files: tuple[ConfigDocument, ...]
    profiles: Profiles
    unreadable: tuple[ConfigProblem, ...]
    in_tree: Path | None = None  # the config, where it was found in the working tree

    @property
    def files(self) -> tuple[str, ...]:
        """Name the files that were read besides the bundled ones."""
        return tuple(
            document.file for document in (*self.configs[1:], *self.profile_files) if document.file != GIVEN_NAME
        )


def read_sources(config: Given, *, cwd: Path, environ: Mapping[str, str]) -> Sources:
    """Find and read the config that applies, its bundled layer and its profiles."""
    unreadable: list[ConfigProblem] = []
    layers = [read_file(bundled_path("config", "response_config.json"))]
    profile_documents: list[ConfigDocument] = []
    in_tree = None
    if isinstance(config, Mapping):
        layers += _readable(config, unreadable)
    else:
        path = find(config, cwd=cwd, environ=environ)
        if path is not None:
            in_tree = path if is_in_tree(path, config, environ=environ) else None
            if in_tree is not None and (size := _bytes_of(path)) > _MOST_BYTES and not is_allowed(path, environ):
                raise _too_large(path, f"{size:,} bytes, at most {_MOST_BYTES:,}")
            layers += _readable(path, unreadable)
            profile_documents = [document for file in profile_files(path) for document in _readable(file, unreadable)]
            read = [document.data for document in (*layers[1:], *profile_documents)]
            counts = (
                (sum(map(_values_in, read)), _MOST_VALUES, "values"),
                (sum(map(_private_in, read)), _MOST_PRIVATE, "private or redacted paths"),
            )
            for count, most, what in counts:
                if in_tree is not None and count > most and not is_allowed(path, environ):
                    raise _too_large(path, f"{count:,} {what}, at most {most:,}")
    profiles = tuple(document for document in profile_documents if is_profile(document))
    others = tuple(document for document in profile_documents if document not in profiles)
    return Sources(tuple(layers), profiles, others, collect_profiles(layers, profiles), tuple(unreadable), in_tree)


def _too_large(path: Path, sizes: str) -> ConfigError:
    says = f"is in the working tree, not allowed, and too large to be applied so ({sizes})"
    advice = "read it, then run `shaping allow` to make it apply"
    return ConfigError([ConfigProblem(str(path), "it", None, None, advice, says=says, is_instruction=True)])


def _bytes_of(config: Path) -> int:
    total = 0
    for file in (config, *profile_files(config)):
        with suppress(OSError):  # reading the file reports what is wrong with it
            total += file.stat().st_size
    return total


def _values_in(value: Any) -> int:
    if not isinstance(value, (Mapping, list)):
        return 1
    return 1 + sum(map(_values_in, value.values() if isinstance(value, Mapping) else value))


def _private_in(value: Any, *, named: bool = False) -> int:
    """Count the paths in a config that must not leave: private ones, those of a tier, and redacted ones."""
    if isinstance(value, Mapping):
        return sum(_private_in(one, named=named or name in _PRIVATE) for name, one in value.items())
    return len(value) if named and isinstance(value, list) else 0


_PRIVATE: Final = frozenset({"private", "exclude_when_tier", "paths"})
_NARROWING_SECTIONS = frozenset({"$schema", "global", "profiles", "tool_overrides"})
# All other choices can widen: a new name takes a field out of reach of the user's own rules by name, a pattern for
# lines can take for ever, and an overflow file is written where others may look.
_NARROWING = frozenset(
    {"$schema", "description", "profile", "extends", "include_only", "exclude_fields", "exclude_when_tier", "private"}
    | {"exclude_null_values", "exclude_empty_arrays", "exclude_empty_objects", "exclude_default_values", "defaults"}
    | {"encoding", "dialect", "channels", "typed", "prune", "lossless", "omissions", "envelope", "answers", *LIMITS}
)


def narrowed(
    document: ConfigDocument, users: Collection[str], most: int, *, is_profile: bool = False
) -> ConfigDocument:
    """Return what applies of a document that is not allowed, with the places of what does not.

    `users` are the profiles that the user has made: they are not to be changed or chosen by others, nor is debug. A
    budget above `most` only lowers others, so it is named too.
    """
    left_out: list[Keys] = []

    def kept(keys: Keys, choices: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in choices.items():
            applies = protecting(value) if name == "redact" else _narrowing(name, value, users)
            found |= applies
            raises = name == "max_tokens" and isinstance(value, int) and value > most
            if raises or applies.get(name, left_out) != value:
                left_out.append((*keys, name))
        return found

    if is_profile:
        data = kept((), document.data)
        return replace(document, data=data, narrows=True, left_out=tuple(left_out))
    data = {}
    for section, value in document.data.items():
        if section not in _NARROWING_SECTIONS:
            left_out.append((section,))
        elif section == "global":
            data[section] = kept((section,), value)
        elif isinstance(value, dict):
            taken = users if section == "profiles" else ()
            left_out += [(section, name) for name in value if name in taken]
            data[section] = {name: kept((section, name), one) for name, one in value.items() if name not in taken}
        else:
            data[section] = value
    return replace(document, data=data, narrows=True, left_out=tuple(left_out))


def protections(document: ConfigDocument) -> ConfigDocument:
    """Return the `private` and `redact` of a user's own config, without its other choices."""
    everywhere = document.choices("global")

    def kept(choices: Any) -> dict[str, Any]:
        held = protecting(choices.get("redact"))
        if choices.get("private"):
            unreadable = choices.get("on_unreadable", everywhere.get("on_unreadable", "withhold"))
            held |= {"private": choices["private"], "on_unreadable": unreadable}
        return held

    overrides = {name: held for name, choices in document.choices("tool_overrides").items() if (held := kept(choices))}
    sections = {"global": kept(everywhere), "tool_overrides": overrides}
    return replace(document, data={name: section for name, section in sections.items() if section})


def _narrowing(name: str, value: Any, users: Collection[str]) -> dict[str, Any]:
    widens = name not in _NARROWING or (name in LIMITS and value is None)
    debugs = name in {"profile", "extends"} and (value == "debug" or value in users)
    return {} if widens or debugs else {name: value}


def protecting(value: Any) -> dict[str, Any]:
    """Return the half of `redact` that masks more than the default does."""
    if value is True:
        return {"redact": True}
    rules = {name: rule for name, rule in value.items() if rule} if isinstance(value, dict) else {}
    return {"redact": rules} if rules else {}


def narrow(sources: Sources, users: Sources) -> tuple[Sources, tuple[str, ...]]:
    """Lay what narrows of a config that is not allowed over the user's own, and name what does not apply."""
    left_out: list[str] = []
    own = {name for name, sections in users.profiles.sections.items() if not is_bundled(sections[-1])}
    budgets = [document.choices("global").get("max_tokens") for document in users.configs]
    default = users.profiles.sections[users.profiles.root][0].choices["max_tokens"]
    most = max(default, *(budget for budget in budgets if isinstance(budget, int)), 0)

    def taken(document: ConfigDocument, *, is_profile: bool = False) -> ConfigDocument:
        kept = narrowed(document, own, most, is_profile=is_profile)
        left_out.extend(str(keys[-1]) for keys in kept.left_out)
        return kept

    # The user's own config is the stronger of the two.
    configs = (users.configs[0], *(taken(document) for document in sources.configs[1:]), *users.configs[1:])
    near = [document for document in sources.profile_files if Path(document.file).stem not in own]
    profile_files = (*(taken(document, is_profile=True) for document in near), *users.profile_files)
    merged = replace(
        sources, configs=configs, profile_files=profile_files, profiles=collect_profiles(configs, profile_files)
    )
    return merged, tuple(dict.fromkeys(left_out))


def protect(sources: Sources, users: Sources) -> Sources:
    """Add the user's own `private` and `redact` to a config that is allowed."""
    held = (protections(document) for document in users.configs[1:])
    return replace(sources, configs=(*sources.configs, *(document for document in held if document.data)))


def _readable(config: Path | Mapping[str, Any], unreadable: list[ConfigProblem]) -> list[ConfigDocument]:
    """Read a document; where it cannot be read, its problems are added to the others."""
    try:
        return [read_file(config) if isinstance(config, Path) else read_mapping(config, GIVEN_NAME)]
    except ConfigError as error:
        unreadable.extend(error.problems)
        return []
