"""Files: those that ship with shaping, the config that applies, and replacing a file whole."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from platformdirs import user_cache_path, user_config_path, user_data_path

from shaping.settings.problems import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def find(config: str | os.PathLike[str] | None, *, cwd: Path, environ: Mapping[str, str]) -> Path | None:
    """Find the config file that applies, or None where only the bundled default does."""
    demanded = _demanded(config, cwd, environ)
    if demanded is None:
        return next((place for place in config_places(config, cwd=cwd, environ=environ) if is_there(place)), None)
    place, asked_by = demanded
    if os.path.isfile(place):  # noqa: PTH113 (the method of a path raises where a directory may not be looked at)
        return place
    says = "is not a file" if is_there(place) else "does not exist"
    raise ConfigError([ConfigProblem(str(place), asked_by, None, str(place), "a config file", says=says)])


def config_places(config: str | os.PathLike[str] | None, *, cwd: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """List every place that is looked at, the strongest first; a file asked for by name is the only one."""
    demanded = _demanded(config, cwd, environ)
    if demanded is not None:
        return (demanded[0],)
    near = (
        directory / name
        for directory in _upwards(cwd)
        for name in NAMES
        if not _is_strangers(directory / name, directory)
    )
    return (*near, user_directory(environ) / NAMES[0])


def _is_strangers(place: Path, directory: Path) -> bool:
    """Return whether another user put a file into a directory that is not theirs, as everybody can into /tmp."""
    try:
        owner = place.stat().st_uid
        return hasattr(os, "getuid") and owner not in {os.getuid(), 0, directory.stat().st_uid}
    except OSError:
        return False


def is_in_tree(path: Path, config: str | os.PathLike[str] | None, *, environ: Mapping[str, str]) -> bool:
    """Return whether a config was found in the working tree: not asked for by name, and not the user's own."""
    return config is None and not environ.get(VARIABLE) and path.parent != user_directory(environ)


def user_directory(environ: Mapping[str, str]) -> Path:
    """Return the directory of a user's own config on this platform."""
    given = environ.get("XDG_CONFIG_HOME")
    return Path(given, _APP) if given else user_config_path(_APP, appauthor=False, roaming=True)


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return the user's cache directory."""
    given = environ.get("XDG_CACHE_HOME")
    return Path(given, _APP) if given else user_cache_path(_APP, appauthor=False)


def data_directory(environ: Mapping[str, str]) -> Path:
    """Return the directory of what a user keeps: what was allowed."""
    given = environ.get("XDG_DATA_HOME")
    return Path(given, _APP) if given else user_data_path(_APP, appauthor=False)


def ledger_path(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the path of the user's ledger: SHAPING_LEDGER names another file, or switches it off."""
    named = environ.get("SHAPING_LEDGER", "").strip()
    if named.lower() in {"off", "0", "false", "no"}:
        return None
    if named and named.lower() not in {"on", "1", "true", "yes"}:
        return Path(named).expanduser()
    return user_data_path(_APP, appauthor=False) / "ledger.sqlite"


def is_there(place: Path) -> bool:
    """Return whether anything has a config's name, be it a link to nothing or the directory that Docker made.

    What cannot be read is an error then, and not a config that was never there. A place that may not be looked at
    holds none.
    """
    return os.path.lexists(place)


def _demanded(config: str | os.PathLike[str] | None, cwd: Path, environ: Mapping[str, str]) -> tuple[Path, str] | None:
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
    """Write beside a file and move that over it; it is for its user alone, or for as many as another one is."""
    with written_beside(file, content, like=like) as beside:
        beside.replace(file)
        sync_directory(file.parent)


@contextmanager
def written_beside(file: Path, content: bytes, *, like: Path | None = None) -> Iterator[Path]:
    """Write a file beside another one, and delete it after use if it is still there."""
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


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux


def exchange(one: Path, other: Path) -> None:
    """Let two files change places: on Linux in one step, elsewhere in three."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 (only to replace a file that others edit: costs 5 ms)

        rename = getattr(ctypes.CDLL(None), "renameat2", None)
        names = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
        if rename is not None and rename(*names, _RENAME_EXCHANGE) == 0:
            return
    kept = one.with_name(f"{one.name}.kept")
    os.link(other, kept)
    one.replace(other)
    kept.replace(one)


def sync_directory(directory: Path) -> None:
    """Make a rename outlive a crash of the machine, where directories can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
