"""Bundled files, the search for the config, and writing files."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path, user_config_path, user_data_path

from shaping.settings.jsonc import ConfigError, ConfigProblem

BundledKind = Literal["profiles", "config"]

_PACKAGE = Path(__file__).resolve().parent.parent


def bundled(kind: BundledKind, name: str) -> bytes:
    """Read a file that ships with shaping."""
    return bundled_path(kind, name).read_bytes()


def bundled_path(kind: BundledKind, name: str) -> Path:
    """Return the path of a file that ships with shaping: in the wheel first, in the checkout second."""
    return _bundled_directory(kind) / name


def _bundled_directory(kind: BundledKind) -> Path:
    wheel = _PACKAGE / "_bundled" / kind
    return wheel if wheel.is_dir() else _PACKAGE.parent / kind


_APP = "shaping"
NAMES = ("response_config.json", ".shaping/response_config.json", ".code-scalpel/response_config.json")
VARIABLE = "SHAPING_CONFIG"
# What people write into a variable that switches something.
FALSE = frozenset({"0", "false", "no", "off"})
TRUE = frozenset({"1", "true", "yes", "on"})


def find(config: str | os.PathLike[str] | None, *, cwd: Path, environ: Mapping[str, str]) -> Path | None:
    """Find the config file that applies, or None where only the bundled default does."""
    named = _named_config(config, cwd, environ)
    if named is None:
        return next((place for place in config_places(config, cwd=cwd, environ=environ) if is_present(place)), None)
    place, asked_by = named
    if os.path.isfile(place):  # noqa: PTH113 (the method of a path raises where a directory may not be looked at)
        return place
    says = "is not a file" if is_present(place) else "does not exist"
    says = f"names {place}, which {says}" if asked_by.startswith("$") else says
    raise ConfigError([ConfigProblem(str(place), asked_by.strip("$"), None, str(place), "a config file", says=says)])


def config_places(config: str | os.PathLike[str] | None, *, cwd: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """List every path that may hold the config, the strongest first; a file given by name is the only one."""
    named = _named_config(config, cwd, environ)
    if named is not None:
        return (named[0],)
    near = (
        directory / name
        for directory in _upwards(cwd)
        for name in NAMES
        if not _is_of_another_user(directory / name, directory)
    )
    return (*near, user_directory(environ) / NAMES[0])


def _is_of_another_user(place: Path, directory: Path) -> bool:
    """Return whether another user put a file into a directory that is not theirs, as everybody can into /tmp."""
    try:
        owner = place.stat().st_uid
        return hasattr(os, "getuid") and owner not in {os.getuid(), 0, directory.stat().st_uid}
    except OSError:
        return False


def profile_files(config: Path) -> list[Path]:
    """List the files of the `profiles` directory beside a config."""
    return sorted((config.parent / "profiles").glob("*.json"))


def is_in_tree(path: Path, config: str | os.PathLike[str] | None, *, environ: Mapping[str, str]) -> bool:
    """Return whether a config was found in the working tree: not given by name, and not the user's own."""
    return config is None and not environ.get(VARIABLE) and path.parent != user_directory(environ)


def user_directory(environ: Mapping[str, str]) -> Path:
    """Return the directory of a user's own config on this platform."""
    return _directory(environ, "XDG_CONFIG_HOME") or user_config_path(_APP, appauthor=False, roaming=True)


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return the user's cache directory."""
    return _directory(environ, "XDG_CACHE_HOME") or user_cache_path(_APP, appauthor=False)


def data_directory(environ: Mapping[str, str]) -> Path:
    """Return the directory of what a user keeps: what was allowed."""
    return _directory(environ, "XDG_DATA_HOME") or user_data_path(_APP, appauthor=False)


def _directory(environ: Mapping[str, str], variable: str) -> Path | None:
    return Path(environ[variable], _APP) if environ.get(variable) else None


def counting_lock(ledger: Path) -> Path:
    """Return the file that is locked while a command's tokens are counted for the ledger."""
    return ledger.with_name(f"{ledger.name}.lock")


def ledger_path(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the path of the user's ledger: SHAPING_LEDGER names another file, or switches it off."""
    named = environ.get("SHAPING_LEDGER", "").strip()
    if named.lower() in FALSE:
        return None
    if named and named.lower() not in TRUE:
        return Path(named).expanduser()
    return user_data_path(_APP, appauthor=False) / "ledger.sqlite"


def is_present(place: Path) -> bool:
    """Return whether anything has a config's name, be it a link to nothing or the directory that Docker made.

    What cannot be read is an error then, and not a config that was never there. A place that may not be looked at
    holds none.
    """
    return os.path.lexists(place)


def _named_config(
    config: str | os.PathLike[str] | None, cwd: Path, environ: Mapping[str, str]
) -> tuple[Path, str] | None:
    if config is not None:
        return cwd / Path(config).expanduser(), "config"
    if environ.get(VARIABLE):
        return cwd / Path(environ[VARIABLE]).expanduser(), f"${VARIABLE}"
    return None


def _upwards(cwd: Path) -> Iterator[Path]:
    for directory in (cwd, *cwd.parents):
        yield directory
        if (directory / ".git").exists():
            return


def link_in_tree(file: Path, cwd: Path | None = None) -> Path | None:
    """Return the first link of the working tree that a file is or lies behind: it may come from anybody.

    The working tree is the repository around the working directory, or that directory; never the home directory.
    """
    try:
        here = (cwd or Path.cwd()).resolve()
    except FileNotFoundError:  # the working directory was deleted
        return None
    home = Path.home().resolve()
    inside = [directory for directory in (here, *here.parents) if directory not in (home, *home.parents)]
    if not inside:
        return None
    root = next((directory for directory in inside if (directory / ".git").exists()), here)
    place = here / file
    links = (step for step in (*reversed(place.parents), place) if step.is_symlink())
    return next((link for link in links if link.parent.resolve().is_relative_to(root)), None)


def refuse_links(file: Path) -> None:
    """Raise OSError where a link of the working tree is, or leads to, a file that is to be written or deleted."""
    link = link_in_tree(file)
    if link is not None:
        target = link.parent / link.readlink()
        says = f"{link} is a link in the working tree; remove it, or name the place it leads to: {target}"
        raise OSError(errno.ELOOP, says, str(file))


def write_file(file: Path, content: bytes, *, like: Path | None = None) -> None:
    """Write a file that the user names as `replace_file` does, or into it where it is a device or a pipe."""
    refuse_links(file)
    place = file.resolve()
    if place.exists() and not place.is_file():
        place.write_bytes(content)
    else:
        replace_file(place, content, like=like)


def replace_file(file: Path, content: bytes, *, like: Path | None = None) -> None:
    """Replace a file whole by a rename; only its user may read it, unless it gets the mode of `like`."""
    with written_beside(file, content, like=like) as beside:
        beside.replace(file)
        sync_directory(file.parent)


def create_private(file: Path) -> None:
    """Create a file that only its user can read, and its directory; what is there stays, and no link is followed."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


@contextmanager
def written_beside(file: Path, content: bytes, *, like: Path | None = None) -> Iterator[Path]:
    """Write a temporary file next to another one, and delete it after use if it is still there."""
    refuse_links(file.parent)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        if like is not None and like.exists():
            shutil.copymode(like, beside)
        yield beside
    finally:
        beside.unlink(missing_ok=True)


def delete_oldest(files: Iterable[Path], room: int, since: float = 0.0) -> None:
    """Delete files that were changed before a time, and the oldest of those that take more bytes than there is room."""
    found: list[tuple[float, int, Path]] = []
    for file in files:
        with suppress(OSError):  # other processes delete files, too
            known = file.lstat()
            if stat.S_ISREG(known.st_mode):
                found.append((known.st_mtime, known.st_size, file))
    for changed, size, file in sorted(found, reverse=True):
        room -= size
        if room < 0 or changed < since:
            with suppress(OSError):
                file.unlink()


def sync_directory(directory: Path) -> None:
    """Make a rename outlive a crash of the machine, where directories can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
