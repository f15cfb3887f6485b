"""Hooks in agent clients: what their own shell, search and fetch tools return is shaped before a model reads it.

A client runs `relay.py` for each result. That hands the result over to one resident process for each user, so that no
call waits for this package to be imported.
"""

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shaping.clients.config_files import ConfigEdit, UnusableFileError, read_config
from shaping.settings import jsonc
from shaping.settings.files import cache_directory, refuse_links, replace_file

RELAY: Final = Path(__file__).with_name("relay.py")
_TIMEOUT_SECONDS: Final = 10  # a client's own limit for a hook; the relay gives up long before
_CLAUDE_TOOLS: Final = "Bash|Grep|WebFetch"


@dataclass(frozen=True, slots=True)
class HookedClient:
    """A client that lets a hook replace a tool's result, and the file of its user in which that hook stands."""

    file: str
    folder: str  # in the home directory, unless a variable names another
    variable: str = ""
    text: Callable[[str, Mapping[str, str]], str] | None = None  # of a file that is the hook; else it has settings


def socket_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of the resident process's socket."""
    return cache_directory(environ) / "hook"


def install(client: str, file: Path, environ: Mapping[str, str] = os.environ) -> bool:
    """Put the hook into a client's file, and return whether that changed it; a backup is kept."""
    known = CLIENTS[client]
    refuse_links(file)
    if known.text is not None:
        return _install_file(client, file, known.text(client, environ))
    ours = claude_entries(hook_command(client, environ))
    try:
        return HOOK_EDIT.apply(file, lambda text: with_hooks(text, ours))
    except jsonc.JsoncError as problem:
        raise UnusableFileError(f"{file}: {problem}") from None


def uninstall(client: str, file: Path) -> bool:
    """Take the hook out, and return whether it was there; a file that is as we left it is restored byte for byte."""
    refuse_links(file)
    if CLIENTS[client].text is not None:
        if not is_installed(client, file):
            return False
        file.unlink()
        return True
    if not file.exists():
        return False
    try:
        restored = HOOK_EDIT.undo(file)
    except jsonc.JsoncError as problem:
        raise UnusableFileError(f"{file}: {problem}") from None
    if restored is False and not HOOK_EDIT.backup_of(file).exists() and _same(read_config(file), "{}"):
        file.unlink()  # there was none before
    return restored is not None


def is_installed(client: str, file: Path) -> bool:
    """Return whether our hook stands in a client's file."""
    if not file.is_file():
        return False
    text = read_config(file)
    if CLIENTS[client].text is not None:
        return "shaping hook install" in text or "hooks/relay.py" in text
    return without_hooks(text) != text


def hook_command(client: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the command line by which a client runs our hook; it uses no package, so none is looked for."""
    words = [sys.executable, "-I", "-S", str(RELAY), client, str(socket_directory(environ))]
    return " ".join(shlex.quote(word) for word in words)


def with_hooks(text: str, ours: Mapping[str, list[Any]]) -> str:
    """Add our entries to the `hooks` of a settings file, and leave the rest of it as it is."""
    text = text if text.strip() else "{}"
    root = jsonc.read(text)
    if not isinstance(root.value, dict):
        raise UnusableFileError("the settings are not a JSON object")
    present = root.value.get("hooks")
    hooks = _others(present) if isinstance(present, dict) else {}
    for event, added in ours.items():
        hooks[event] = [*(hooks.get(event) or []), *added]
    if hooks == present:
        return text
    if "hooks" in root.members:
        return jsonc.replace(text, [(root.members["hooks"], hooks)])
    return jsonc.insert(text, root, f'"hooks": {json.dumps(hooks, ensure_ascii=False, indent=2)}')


def without_hooks(text: str) -> str:
    """Take our entries out of the `hooks` of a settings file; the same text where there are none."""
    node = jsonc.read(text).members.get("hooks") if text.strip() else None
    if node is None or not isinstance(node.value, dict) or (hooks := _others(node.value)) == node.value:
        return text
    return jsonc.replace(text, [(node, {event: groups for event, groups in hooks.items() if groups})])


def _others(hooks: Mapping[str, Any]) -> dict[str, Any]:
    return {event: _without_ours(groups) for event, groups in hooks.items()}


def _without_ours(groups: Any) -> Any:
    if not isinstance(groups, list):
        return groups
    kept = []
    for group in groups:
        listed = group.get("hooks") if isinstance(group, dict) else None
        others = [hook for hook in listed if not _is_ours(hook)] if isinstance(listed, list) else listed
        if others == listed:
            kept.append(group)
        elif others:
            kept.append({**group, "hooks": others})
    return kept


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and "shaping" in command and "hooks/relay.py" in command


def _same(one: str, other: str) -> bool:
    return bool(_settled(jsonc.read(one or "{}").value) == _settled(jsonc.read(other or "{}").value))


def _settled(value: Any) -> Any:
    # Where ours were the only ones, nothing is left of the lists that held them.
    hooks = value.get("hooks") if isinstance(value, dict) else None
    if not isinstance(hooks, dict):
        return value
    left = {event: groups for event, groups in hooks.items() if groups}
    return {**value, "hooks": left} if left else {name: item for name, item in value.items() if name != "hooks"}


HOOK_EDIT: Final = ConfigEdit(without_hooks, _same, "hook-")


def claude_entries(command: str) -> dict[str, list[Any]]:
    """Return what Claude Code's settings have under `hooks`, by event."""
    hook = {"type": "command", "command": command, "timeout": _TIMEOUT_SECONDS}
    # The first event starts the resident process, so that it is there when the first tool has run.
    return {"SessionStart": [{"hooks": [hook]}], "PostToolUse": [{"matcher": _CLAUDE_TOOLS, "hooks": [hook]}]}


def _copilot_text(client: str, environ: Mapping[str, str]) -> str:
    hook = {"type": "command", "bash": hook_command(client, environ), "timeoutSec": _TIMEOUT_SECONDS}
    return json.dumps({"version": 1, "hooks": {"sessionStart": [hook], "postToolUse": [hook]}}, indent=2) + "\n"


def _plugin_text(client: str, environ: Mapping[str, str]) -> str:
    """Return the plugin of a client: how it asks the resident process, and what this client's hooks are called."""
    folder = Path(__file__).with_name("plugins")
    told = {"client": client, "python": sys.executable, "directory": str(socket_directory(environ))}
    name = "cline" if client == "cline" else "opencode"
    asking = (folder / "ask.js").read_text(encoding="utf-8").replace("{/* told at installation */}", json.dumps(told))
    return asking + (folder / f"{name}.js").read_text(encoding="utf-8")


def _install_file(client: str, file: Path, text: str) -> bool:
    """Write a file that is the hook, unless there is another one of its name."""
    if file.exists():
        if read_config(file) == text:
            return False
        if not is_installed(client, file):
            raise UnusableFileError(f"{file} is there already and not ours; nothing was written")
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, text.encode())
    return True


CLIENTS: Final[Mapping[str, HookedClient]] = {
    "claude-code": HookedClient("settings.json", ".claude", "CLAUDE_CONFIG_DIR"),
    "cline": HookedClient("plugins/shaping.js", ".cline", text=_plugin_text),
    "copilot-cli": HookedClient("hooks/shaping.json", ".copilot", text=_copilot_text),
    "kilo": HookedClient("kilo/plugin/shaping.js", ".config", "XDG_CONFIG_HOME", _plugin_text),
    "opencode": HookedClient("opencode/plugin/shaping.js", ".config", "XDG_CONFIG_HOME", _plugin_text),
}


def file_of(client: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the user's own file of a client in which a hook stands."""
    known, home = CLIENTS[client], Path(environ.get("HOME") or Path.home())
    return Path(environ.get(known.variable) or home / known.folder) / known.file
