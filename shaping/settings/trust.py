"""Which configs of the working tree the user has allowed, and what applies of one that is not allowed.

A config that lies in the working tree may come from anybody. Until the user allows it, by its content, only what
narrows an answer applies: fields, budgets, profile and encoding; nothing that writes, connects or widens.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from shaping.settings.files import NAMES, cache_directory, data_directory, replace_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from shaping.settings.jsonc import ConfigDocument
    from shaping.settings.problems import Keys

_CONFIG_DIRECTORIES = frozenset(name.rpartition("/")[0] for name in NAMES if "/" in name)
LIMITS = frozenset({"max_tokens", "max_items", "max_string"})
_NARROWING_SECTIONS = frozenset({"$schema", "global", "profiles", "tool_overrides"})
# All other choices can widen: a new name takes a field out of reach of the user's own rules by name, a pattern for
# lines can take for ever, and an overflow file is written where others may look.
_NARROWING = frozenset(
    {"$schema", "description", "profile", "extends", "include_only", "exclude_fields", "exclude_when_tier", "private"}
    | {"exclude_null_values", "exclude_empty_arrays", "exclude_empty_objects", "exclude_default_values", "defaults"}
    | {"encoding", "dialect", "channels", "typed", "prune", "lossless", "omissions", "envelope", "answers", *LIMITS}
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the user has allowed: configs by the hash of their content, and directories with all that is below them."""

    configs: Mapping[str, str]
    directories: tuple[str, ...] = ()


def allowed_file(environ: Mapping[str, str]) -> Path:
    """Return the file that records what the user has allowed."""
    return data_directory(environ) / "allowed.json"


def is_allowed(config: Path, environ: Mapping[str, str]) -> bool:
    """Return whether the user has allowed a config with exactly this content, or a directory above it."""
    allowed = read_allowed(environ)
    place = config.resolve()
    return any(place.is_relative_to(directory) for directory in allowed.directories) or (
        bool(allowed.configs) and content_hash(config) in allowed.configs
    )


def allow(place: Path, environ: Mapping[str, str]) -> None:
    """Record a config by its content, or a directory."""
    allowed = read_allowed(environ)
    if place.is_dir():
        directories = dict.fromkeys([*allowed.directories, str(place.resolve())])
        allowed = replace(allowed, directories=tuple(directories))
    else:
        allowed = replace(allowed, configs={**allowed.configs, content_hash(place): str(place.resolve())})
    _write(allowed, environ)


def forget(place: Path, environ: Mapping[str, str]) -> bool:
    """Take back what was allowed for a config, whatever its content was, or for a directory; False if there is none."""
    allowed, name = read_allowed(environ), str(place.resolve())
    left = Allowed(
        {digest: config for digest, config in allowed.configs.items() if config != name},
        tuple(directory for directory in allowed.directories if directory != name),
    )
    if left == allowed:
        return False
    _write(left, environ)
    return True


def read_allowed(environ: Mapping[str, str]) -> Allowed:
    """Read what the user has allowed; a damaged record allows nothing."""
    try:
        record = orjson.loads(allowed_file(environ).read_bytes())
        return Allowed(dict(record["configs"]), tuple(record["directories"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Allowed({})


def stays_inside(path: Path, config: Path, environ: Mapping[str, str]) -> bool:
    """Return whether a file lies in a config's project or in the user's cache or data directory, links followed."""
    project = config.parent.parent if config.parent.name in _CONFIG_DIRECTORIES else config.parent
    places = (project, cache_directory(environ), data_directory(environ))
    return any(path.resolve().is_relative_to(place.resolve()) for place in places)


def _write(allowed: Allowed, environ: Mapping[str, str]) -> None:
    file = allowed_file(environ)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    record = {"configs": allowed.configs, "directories": allowed.directories}
    replace_file(file, orjson.dumps(record, option=orjson.OPT_INDENT_2))


def content_hash(config: Path) -> str:
    """Hash a config and the profiles beside it."""
    digest = hashlib.sha256()
    for file in (config, *sorted((config.parent / "profiles").glob("*.json"))):
        try:
            content = file.read_bytes()
        except OSError:
            content = b""
        digest.update(f"{file.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def narrowed(
    document: ConfigDocument, users: Collection[str], *, is_profile: bool = False
) -> tuple[ConfigDocument, tuple[Keys, ...]]:
    """Return what applies of a document that is not allowed, and the places of what does not.

    `users` are the profiles that the user has made: they are not to be changed or chosen by others, nor is debug.
    """
    left_out: list[Keys] = []

    def kept(keys: Keys, choices: Any) -> Any:
        if not isinstance(choices, dict):
            return choices
        found: dict[str, Any] = {}
        for name, value in choices.items():
            applies = _protecting(value) if name == "redact" else _narrowing(name, value, users)
            found |= applies
            if applies.get(name, left_out) != value:
                left_out.append((*keys, name))
        return found

    if is_profile:
        return replace(document, data=kept((), dict(document.data)), narrows=True), tuple(left_out)
    data: dict[str, Any] = {}
    for section, value in document.data.items():
        if section not in _NARROWING_SECTIONS:
            left_out.append((section,))
        elif section == "global":
            data[section] = kept((section,), value)
        elif isinstance(value, dict):
            data[section] = {name: kept((section, name), choices) for name, choices in value.items()}
            if section == "profiles":
                left_out += [(section, name) for name in value if name in users]
                data[section] = {name: value for name, value in data[section].items() if name not in users}
        else:
            data[section] = value
    return replace(document, data=data, narrows=True), tuple(left_out)


def protections(document: ConfigDocument) -> ConfigDocument:
    """Return what a config of the user's holds back, `private` and `redact`, without its other choices."""
    everywhere = document.choices("global")

    def kept(choices: Any) -> dict[str, Any]:
        held = _protecting(choices.get("redact"))
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


def _protecting(value: Any) -> dict[str, Any]:
    """Return the half of `redact` that masks more than the default does."""
    if value is True:
        return {"redact": True}
    rules = {name: rule for name, rule in value.items() if rule} if isinstance(value, dict) else {}
    return {"redact": rules} if rules else {}


def names_of(left_out: tuple[Keys, ...]) -> Iterator[str]:
    """Name what does not apply, each choice once."""
    yield from dict.fromkeys(str(keys[-1]) for keys in left_out)
