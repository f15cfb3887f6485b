"""Which configs of the working tree the user has allowed, and what applies of one that is not.

A config that lies in the working tree may come from anybody: until it is allowed it can only narrow what leaves.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.settings.choices import CHOICES, masking
from shaping.settings.files import NAMES, cache_directory, data_directory, profile_files, replace_file
from shaping.settings.jsonc import ConfigDocument, ConfigError, ConfigProblem, Keys

if TYPE_CHECKING:
    from shaping.settings.sources import Sources

_LARGEST: Final = 64_000_000  # bytes of a config that can be allowed
_CONFIG_DIRECTORIES: Final = frozenset(name.rpartition("/")[0] for name in NAMES if "/" in name)
# Of a config that is not allowed, with its profiles: each path in it costs time in every command.
_MOST_BYTES: Final = 256_000
_MOST_VALUES: Final = 4_000
_MOST_PRIVATE: Final = 200  # paths that are looked for in every member of every answer
_PRIVATE: Final = frozenset({"private", "exclude_when_tier", "paths"})
_SAYS_NOTHING: Final = frozenset({"$schema", "description", "answers"})  # keys of a section that choose nothing


def allowed_file(environ: Mapping[str, str]) -> Path:
    """Return the file that records what the user has allowed."""
    return data_directory(environ) / "allowed.json"


def is_allowed(config: Path, environ: Mapping[str, str]) -> bool:
    """Return whether the user has allowed a config with exactly this content, or a directory above it."""
    allowed = read_allowed(environ)
    place = Path(os.path.realpath(config))  # `resolve` raises where a link leads to itself
    return bool(allowed) and (content_hash(config) in allowed or any(str(above) in allowed for above in place.parents))


def allow(place: Path, environ: Mapping[str, str]) -> None:
    """Record a config by its content, or a directory."""
    name = str(place.resolve())
    _write({**read_allowed(environ), name if place.is_dir() else content_hash(place): name}, environ)


def forget(place: Path, environ: Mapping[str, str]) -> bool:
    """Revoke what was allowed for a config, whatever its content, or for a directory; return False if nothing was."""
    allowed, name = read_allowed(environ), str(place.resolve())
    left = {key: known for key, known in allowed.items() if known != name}
    if left != allowed:
        _write(left, environ)
    return left != allowed


def read_allowed(environ: Mapping[str, str]) -> dict[str, str]:
    """Read what the user has allowed, each with its place; a damaged record allows nothing.

    A config is known by the hash of its content, a directory with all that is below it by its path.
    """
    try:
        return dict(orjson.loads(allowed_file(environ).read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}


def _write(allowed: Mapping[str, str], environ: Mapping[str, str]) -> None:
    file = allowed_file(environ)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(file, orjson.dumps(allowed, option=orjson.OPT_INDENT_2))


def content_hash(config: Path) -> str:
    """Hash a config and the files of its `profiles` directory."""
    digest = hashlib.sha256()
    for file in (config, *profile_files(config)):
        try:
            size = file.stat().st_size
            # A link in a working tree may lead to a device, or to a file of any size.
            content = file.read_bytes() if file.is_file() and size <= _LARGEST else b""
        except OSError:
            size, content = 0, b""
        digest.update(f"{file.name}\0{size}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def refuse_large_files(config: Path) -> None:
    """Raise ConfigError where a config and its profiles are too large to be read before they are allowed."""
    size = 0
    for file in (config, *profile_files(config)):
        with suppress(OSError):  # reading the file reports what is wrong with it
            size += file.stat().st_size
    _refuse_more(config, size, _MOST_BYTES, "bytes")


def refuse_many_values(config: Path, documents: Iterable[ConfigDocument]) -> None:
    """Raise ConfigError where a config and its profiles say too much to be applied before they are allowed."""
    protects = [each for document in documents for each in _walk(document.data)]
    _refuse_more(config, len(protects), _MOST_VALUES, "values")
    _refuse_more(config, sum(protects), _MOST_PRIVATE, "private or redacted paths")


def _walk(value: Any, *, held: bool = False) -> Iterator[bool]:
    """Go through all values of a config, and tell of each whether it is a path that must not leave."""
    if isinstance(value, Mapping):
        yield False
        for name, one in value.items():
            yield from _walk(one, held=held or name in _PRIVATE)
    elif isinstance(value, list):
        yield False
        for one in value:
            yield from _walk(one, held=held)
    else:
        yield held


def _refuse_more(config: Path, count: int, most: int, what: str) -> None:
    if count > most:
        size = f"{count:,} {what}, at most {most:,}"
        says = f"is in the working tree, not allowed, and too large to be applied so ({size})"
        raise ConfigError([_to_allow(config, says, "it")])


def _to_allow(config: Path | None, says: str, what: str) -> ConfigProblem:
    advice = f"read it, then run `shaping allow` to make {what} apply"
    return ConfigProblem(str(config), "it", None, None, advice, says=says, needs_allow=True)


def refuse_store_outside(config: Path, document: ConfigDocument, *, cwd: Path, environ: Mapping[str, str]) -> None:
    """Raise ConfigError where a config of the working tree names a store elsewhere, or one that a link leads out to."""
    path = document.choices("store").get("path")
    project = config.parent.parent if config.parent.name in _CONFIG_DIRECTORIES else config.parent
    places = (project, cache_directory(environ), data_directory(environ))
    if path and not any((cwd / path).resolve().is_relative_to(place.resolve()) for place in places):
        expected = "a file in the project, or in your cache or data directory"
        raise ConfigError([document.problem(("store", "path"), path, expected)])


def narrow(found: Sources, users: Sources) -> Sources:
    """Lay what narrows of a config that is not allowed below the user's own, which is the stronger of the two."""
    made = {name for name, sections in users.profiles.sections.items() if not sections[-1].is_bundled}
    # A budget above all of these only lowers others, so it is named as one that does not apply, too.
    budgets = [
        *(section.choices.get("max_tokens") for section in users.profiles.layers(users.profiles.root)),
        *(document.choices("global").get("max_tokens") for document in users.configs),
    ]
    most = max((budget for budget in budgets if budget is not None), default=0)
    configs = [_narrowed(document, made, most) for document in found.configs[1:]]
    profiles = [_narrowed(document, made, most, is_profile=True) for document in found.profile_files]
    return replace(
        found,
        configs=(users.configs[0], *configs, *users.configs[1:]),
        profile_files=(
            *(document for document in profiles if Path(document.file).stem not in made),
            *users.profile_files,
        ),
    )


def _narrowed(
    document: ConfigDocument, made: Collection[str], most: int, *, is_profile: bool = False
) -> ConfigDocument:
    """Return what applies of a document that is not allowed, with the places of what does not."""
    left_out: list[Keys] = []

    def kept(keys: Keys, choices: Mapping[str, Any]) -> dict[str, Any]:
        parts = {name: _narrowing_part(name, value, made) for name, value in choices.items()}
        for name, part in parts.items():
            if part is None or part != choices[name] or (name == "max_tokens" and part > most):
                left_out.append((*keys, name))
        return {name: part for name, part in parts.items() if part is not None}

    data: dict[str, Any] = kept((), document.data) if is_profile else {}
    for section in () if is_profile else document.data:
        choices = document.choices(section)
        if section == "global":
            data[section] = kept((section,), choices)
        elif section in ("profiles", "tool_overrides"):
            taken = made if section == "profiles" else ()
            left_out += [(section, name) for name in choices if name in taken]
            data[section] = {name: kept((section, name), one) for name, one in choices.items() if name not in taken}
        elif section != "$schema":
            left_out.append((section,))
    return replace(document, data=data, narrows=True, left_out=tuple(left_out))


def _narrowing_part(name: str, value: Any, made: Collection[str]) -> Any:
    """Return the part of a choice that narrows, or None; a profile that the user made is not for others to choose."""
    if name == "redact":
        return masking(value)
    if name in ("profile", "extends"):
        return None if value == "debug" or value in made else value
    # Of what narrows, only a limit can be null, and then it is none.
    return value if name in _SAYS_NOTHING or CHOICES[name].narrows else None


def warn_of_left_out(found: Sources, documents: Iterable[ConfigDocument]) -> list[ConfigProblem]:
    """Make the warning that not all of a config applies, where that is so."""
    names = dict.fromkeys(f"`{keys[-1]}`" for document in documents for keys in document.left_out)
    return [_to_allow(found.in_tree, "is in the working tree and not allowed", ", ".join(names))] if names else []


def protect(found: Sources, users: Sources) -> Sources:
    """Add the user's own `private` and `redact` to a config that is allowed."""
    held = (_protections(document) for document in users.configs[1:])
    return replace(found, configs=(*found.configs, *(document for document in held if document.data)))


def _protections(document: ConfigDocument) -> ConfigDocument:
    everywhere = document.choices("global")

    def kept(choices: Mapping[str, Any]) -> dict[str, Any]:
        held = {"redact": masked} if (masked := masking(choices.get("redact"))) else {}
        if choices.get("private"):
            unreadable = choices.get("on_unreadable", everywhere.get("on_unreadable", "withhold"))
            held |= {"private": choices["private"], "on_unreadable": unreadable}
        return held

    overrides = {name: held for name, choices in document.choices("tool_overrides").items() if (held := kept(choices))}
    sections = {"global": kept(everywhere), "tool_overrides": overrides}
    return replace(document, data={name: section for name, section in sections.items() if section})
