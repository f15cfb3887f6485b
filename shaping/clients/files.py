"""Where each client keeps its list of MCP servers, and how such a file is replaced safely."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shaping.settings.files import data_directory, exchange, refuse_links, replace_file, sync_directory, written_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TRIES: Final = 5  # to replace a file that is edited meanwhile
_CLINE: Final = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"


@dataclass(frozen=True, slots=True)
class ClientFiles:
    """A client's config files: in a project, in the user's home, and in the directory of desktop applications."""

    project: tuple[str, ...] = ()
    home: tuple[str, ...] = ()
    desktop: tuple[str, ...] = ()


# Where each client is known to keep its servers; tried on Linux only, and a path that is wrong is merely not found.
CLIENTS: Final[Mapping[str, ClientFiles]] = {
    "amazon-q": ClientFiles((".amazonq/mcp.json",), (".aws/amazonq/mcp.json",)),
    "claude-code": ClientFiles((".mcp.json",), (".claude.json",)),
    "claude-desktop": ClientFiles(desktop=("Claude/claude_desktop_config.json",)),
    "cline": ClientFiles(home=(".cline/data/settings/cline_mcp_settings.json",), desktop=(f"Code/User/{_CLINE}",)),
    "codex": ClientFiles((".codex/config.toml",), (".codex/config.toml",)),
    "copilot-cli": ClientFiles(home=(".copilot/mcp-config.json",)),
    "cursor": ClientFiles((".cursor/mcp.json",), (".cursor/mcp.json",)),
    "gemini": ClientFiles((".gemini/settings.json",), (".gemini/settings.json",)),
    "kilo": ClientFiles(("kilo.json", "kilo.jsonc"), (".config/kilo/kilo.json", ".config/kilo/kilo.jsonc")),
    "kimi": ClientFiles(home=(".kimi-code/mcp.json",)),
    "kiro": ClientFiles((".kiro/settings/mcp.json",), (".kiro/settings/mcp.json",)),
    "lm-studio": ClientFiles(home=(".lmstudio/mcp.json",)),
    "opencode": ClientFiles(
        ("opencode.json", "opencode.jsonc", ".opencode/opencode.json"),
        (".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"),
    ),
    "qwen": ClientFiles((".qwen/settings.json",), (".qwen/settings.json",)),
    "roo": ClientFiles((".roo/mcp.json",)),
    "vscode": ClientFiles((".vscode/mcp.json",), desktop=("Code/User/mcp.json",)),
    "windsurf": ClientFiles(home=(".codeium/windsurf/mcp_config.json",)),
    "zed": ClientFiles((".zed/settings.json",), (".config/zed/settings.json",)),
}


class UnusableFileError(Exception):
    """A config file that cannot be read or must not be written."""


def client_files(client: str, folder: Path, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the files of a client that exist: the project's first, then the user's."""
    known = CLIENTS[client]
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    places = [(folder, known.project), (home, known.home), (_desktop_directory(home, environ), known.desktop)]
    if client == "codex" and environ.get("CODEX_HOME"):
        places.append((Path(environ["CODEX_HOME"]), ("config.toml",)))
    found = [place / name for place, names in places[1:] for name in names]
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


def backup_of(file: Path, kind: str = "", environ: Mapping[str, str] = os.environ) -> Path:
    """Return where a client's file is kept as it was: the user's data directory, not the repository it may lie in.

    Versions before 0.2 kept it beside the file, where it is still found.
    """
    older = file.with_name(f"{file.name}.shaping-{kind}backup")
    if older.exists():
        return older
    place = blake2b(str(file.absolute()).encode(), digest_size=8).hexdigest()
    return data_directory(environ) / "backups" / f"{kind}{place}" / file.name


def keep_backup(file: Path, text: str, kind: str = "") -> None:
    """Keep a file's text as it was, readable by those who may read the file."""
    backup = backup_of(file, kind)
    try:
        backup.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(backup, text.encode(), like=file)
    except OSError as problem:
        raise UnusableFileError(f"cannot keep a backup in {backup}: {problem.strerror}; nothing was written") from None


def remove_backup(backup: Path) -> None:
    """Remove a backup that its file is the same as again, with the directory that was made for it."""
    backup.unlink()
    if not backup.name.endswith("backup"):
        with suppress(OSError):
            backup.parent.rmdir()


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
    """Replace a config file's text, keep its mode, and return False where somebody has edited the file since.

    An edit that comes while the file is being replaced is put back.
    """
    if file.is_symlink():
        raise UnusableFileError(f"{file} is a link; nothing was written")
    try:
        # Not os.access: an administrator may write what its owner has made read-only.
        if not stat.S_IMODE(file.stat().st_mode) & stat.S_IWUSR:
            raise UnusableFileError(f"{file} is read-only; nothing was written")
        if file.read_bytes() != before.encode():
            return False
        with written_beside(file, after.encode(), like=file) as beside:
            done = _exchanged(file, beside, before.encode(), after.encode())
            sync_directory(file.parent)
    except OSError as problem:
        raise UnusableFileError(f"cannot write {file}: {problem.strerror}") from None
    return done


def _exchanged(file: Path, beside: Path, before: bytes, after: bytes) -> bool:
    """Put a new text in a file's place, and what others wrote meanwhile back into it, the newest of it."""
    expected, placed = before, after
    while True:
        exchange(beside, file)
        found = beside.read_bytes()
        if found == expected:
            return placed is after
        expected, placed = placed, found


def _desktop_directory(home: Path, environ: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
