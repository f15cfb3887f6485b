"""`shaping hook`: shape the results of a client's own shell, search and fetch tools."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import typer

from shaping.cli.output import Answer, need_posix, stopped, with_suggestion
from shaping.clients.hooks import CLIENTS, HOOK_EDIT, file_of, install, is_installed, socket_directory, uninstall
from shaping.clients.hooks.relay import ask
from shaping.clients.hooks.resident import main as serve

ACTION = typer.Argument(
    metavar="ACTION", help="install, uninstall, status, or serve: the resident process, which hooks start themselves."
)
CLIENT = typer.Argument(metavar="CLIENT", help=f"One of {', '.join(CLIENTS)}; status without one tells of all.")


def hook(
    action: Annotated[Literal["install", "uninstall", "status", "serve"], ACTION],
    client: Annotated[str | None, CLIENT] = None,
) -> Answer | None:
    """Install a hook that shapes what a client's own shell, search and fetch tools return; never files."""
    _check(action, client)
    if action == "serve":
        serve(socket_directory())
        return None
    name = str(client)
    try:
        if action == "status":
            return _status([client] if client else list(CLIENTS))
        file = file_of(name)
        changed = install(name, file) if action == "install" else uninstall(name, file)
    except OSError as problem:
        raise stopped(f"cannot write {problem.filename}: {problem.strerror}", 1, code="PERMISSION_DENIED") from None
    notes = _installed(name, file, changed) if action == "install" else _uninstalled(file, changed)
    return Answer({"client": name, "file": str(file), "changed": changed}, notes=notes)


def _check(action: str, client: str | None) -> None:
    need_posix("shaping hook")
    if client is None and action not in {"status", "serve"}:
        raise stopped(f"say for which client: {', '.join(CLIENTS)}")
    if client is not None and client not in CLIENTS:
        said = f"there is no hook for {client!r}; there are hooks for {', '.join(CLIENTS)}"
        raise stopped(with_suggestion(said, client, CLIENTS))


def _installed(client: str, file: Path, changed: bool) -> list[str]:
    if not changed:
        return [f"the hook is already in {file}"]
    kept = [f"the file as it was is kept in {HOOK_EDIT.backup_of(file)}"] if HOOK_EDIT.backup_of(file).exists() else []
    return [
        f"installed in {file}; sessions of {client} that start from now on use it",
        *kept,
        f"undo with: shaping hook uninstall {client}; see what it saves with: shaping stats --by tool",
    ]


def _uninstalled(file: Path, changed: bool) -> list[str]:
    if not changed:
        return [f"there is no hook of ours in {file}"]
    backup = HOOK_EDIT.backup_of(file)
    if backup.exists():
        return [f"removed from {file}; it was edited since, so the edits stay, and {backup} is left as it is"]
    return [f"removed from {file}, which is as it was before" if file.exists() else f"{file} is removed; it was ours"]


def _status(clients: list[str]) -> Answer:
    files = {name: file_of(name) for name in clients}
    found = {name: str(file) if is_installed(name, file) else None for name, file in files.items()}
    running = _running()
    lines = [f"{name}: {file or 'not installed'}" for name, file in found.items()]
    if running is None:
        lines.append("no resident process runs; the first call starts it")
    else:
        counts = ", ".join(f"{running[name]} {name}" for name in ("shaped", "rejected", "unknown", "waiting"))
        lines.append(f"the resident process {running['pid']} runs; results: {counts}")
    return Answer({"installed": found, "running": running}, lines)


def _running() -> dict[str, Any] | None:
    here = Path.cwd()
    try:
        return dict(orjson.loads(ask("status", str(socket_directory()), b"")))
    except (OSError, ValueError):
        return None
    finally:
        os.chdir(here)
