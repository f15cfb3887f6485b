"""Where each client keeps its list of MCP servers, and how such a file is replaced safely."""

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

import orjson
from platformdirs import user_config_path

from shaping.errors.codes import CodedError
from shaping.settings.files import data_directory, refuse_links, replace_file, sync_directory, written_beside

_TRIES: Final = 5  # to replace a file that is edited meanwhile


@dataclass(frozen=True, slots=True)
class ClientFiles:
    """A client's config files: in a project, in the user's home, and in the directory of desktop applications."""

    project: Sequence[str] = ()
    home: Sequence[str] = ()
    desktop: Sequence[str] = ()


# Where each client is known to keep its servers; tried on Linux only, and a path that is wrong is merely not found.
CLIENTS: Final[Mapping[str, ClientFiles]] = {
    name: ClientFiles(**places)
    for name, places in orjson.loads(Path(__file__).with_name("config_files.json").read_bytes()).items()
}


class UnusableFileError(CodedError):
    """A config file that cannot be read or must not be written."""

    code = "PERMISSION_DENIED"


class EditedMeanwhileError(UnusableFileError):
    """A config file that somebody else writes all the time."""

    code = "CONFLICT"


def client_files(client: str, folder: Path) -> list[Path]:
    """Return the files of a client that exist: the project's first, then the user's."""
    known = CLIENTS[client]
    places = [(Path.home(), known.home), (user_config_path(roaming=True), known.desktop)]
    if client == "codex" and os.environ.get("CODEX_HOME"):
        places.append((Path(os.environ["CODEX_HOME"]), ("config.toml",)))
    found = [place / name for place, names in places for name in names]
    return list(dict.fromkeys([*_files_in(folder, known.project), *(file for file in found if file.is_file())]))


def project_files(folder: Path) -> list[Path]:
    """Return the files of all clients in a project's folder."""
    names = dict.fromkeys(name for known in CLIENTS.values() for name in known.project)
    return _files_in(folder, [*names, "mcp.json"])


def _files_in(folder: Path, names: Iterable[str]) -> list[Path]:
    """Return the files of a project; none of a directory that a link of its makers leads out to."""
    inside = (file for name in names if (file := folder / name).parent.resolve().is_relative_to(folder.resolve()))
    return [file for file in inside if file.is_file()]


def is_shared(file: Path) -> bool:
    """Return whether a file lies in a repository, other than one of the whole home directory: a team may share it."""
    home = Path.home().resolve()
    parents = file.resolve().parents
    return any((parent / ".git").exists() for parent in parents if parent != home and parent not in home.parents)


@dataclass(frozen=True, slots=True)
class ConfigEdit:
    """A change to clients' config files that can be undone: a file as it was is kept, and comes back byte for byte."""

    plain: Callable[[str], str]  # takes the change out of a text
    same: Callable[[str, str], bool]  # whether two texts say the same
    kind: str = ""

    def backup_of(self, file: Path) -> Path:
        """Return where a file is kept as it was: the user's data directory, not the repository it may lie in."""
        place = blake2b(str(file.resolve()).encode(), digest_size=8).hexdigest()
        return data_directory(os.environ) / "backups" / f"{self.kind}{place}" / file.name

    def apply(self, file: Path, change: Callable[[str], str]) -> bool:
        """Change a file, and return whether that made a difference; one that is edited meanwhile is changed anew."""
        for _ in range(_TRIES):
            before = read_config(file) if file.exists() or file.is_symlink() else None
            after = change(before or "")
            if after == (before or ""):
                return False
            if before is None:
                file.parent.mkdir(parents=True, exist_ok=True)
                replace_file(file, after.encode())
                return True
            self._keep(file, before)
            if replace_config(file, before, after):
                return True
        raise EditedMeanwhileError(f"{file} is being edited; nothing was written")

    def undo(self, file: Path) -> bool | None:
        """Take the change out; True where the file is as it was, False where it was edited, None without a change."""
        for _ in range(_TRIES):
            before = read_config(file)
            after = self.plain(before)
            if after == before:
                return None
            backup = self.backup_of(file)
            original = read_config(backup) if backup.exists() else None
            restored = original is not None and self.same(after, original)
            if replace_config(file, before, original if restored and original is not None else after):
                if restored:
                    backup.unlink()
                    with suppress(OSError):  # somebody else put a file there too
                        backup.parent.rmdir()
                return restored
        raise EditedMeanwhileError(f"{file} is being edited; nothing was written")

    def _keep(self, file: Path, text: str) -> None:
        plain, backup = self.plain(text), self.backup_of(file)
        # A second change must not replace the one true original by a file that has the first one.
        if plain != text and backup.exists() and self.same(plain, read_config(backup)):
            return
        try:
            backup.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(backup, plain.encode(), like=file)
        except OSError as problem:
            raise UnusableFileError(f"cannot keep {backup}: {problem.strerror}; nothing was written") from None


def read_config(file: Path) -> str:
    """Read a config file; a link is refused, because replacing what it points to is not what its owner asked for."""
    if file.is_symlink():
        raise UnusableFileError(f"{file} is a link; name the file itself: {file.resolve()}")
    try:
        refuse_links(file)
        return file.read_bytes().decode()
    except FileNotFoundError:
        raise UnusableFileError(f"{file} is not there") from None
    except OSError as problem:
        raise UnusableFileError(f"cannot read {file}: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise UnusableFileError(f"{file}: {problem}") from None


def replace_config(file: Path, before: str, after: str) -> bool:
    """Replace a config file's text, keep its mode, and return False where somebody has edited the file since."""
    if file.is_symlink():
        raise UnusableFileError(f"{file} is a link; nothing was written")
    try:
        # Not os.access: an administrator may write what its owner has made read-only.
        if not stat.S_IMODE(file.stat().st_mode) & stat.S_IWUSR:
            raise UnusableFileError(f"{file} is read-only; nothing was written")
        with written_beside(file, after.encode(), like=file) as beside:
            if file.read_bytes() != before.encode():
                return False
            beside.replace(file)
            sync_directory(file.parent)
    except OSError as problem:
        raise UnusableFileError(f"cannot write {file}: {problem.strerror}") from None
    return True
