"""`shaping wrap` and `shaping unwrap`: put the proxy in front of the servers in a client's config file, and back."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from shaping.cli.asking import asks_credentials
from shaping.cli.support.output import print_result
from shaping.clients import wrap as entries
from shaping.clients.wrap import Rewritten, same_servers
from shaping.settings import ConfigError, load
from shaping.settings.files import replace_file
from shaping.settings.jsonc import JsoncError
from shaping.settings.problems import suggestion_for

if TYPE_CHECKING:
    from collections.abc import Iterable

File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A client's server list: .mcp.json, claude_desktop_config.json, mcp.json."),
]
JSON = typer.Option("--json", help="Print an envelope for a program to read.")


def wrap(
    file: File,
    *,
    profile: Annotated[str | None, typer.Option(metavar="NAME", help="The profile the proxy should use.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The response_config.json the proxy should use.")
    ] = None,
    skip: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A server to leave as it is; may be repeated.")
    ] = None,
    program: Annotated[str | None, typer.Option(help="How the client starts shaping, if not as found here.")] = None,
    oauth: Annotated[
        bool, typer.Option("--oauth", help="Let the proxy sign in to remote servers where the client did.")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not ask remote servers whether they want credentials.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the new file and change nothing.")] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Put `shaping proxy` in front of every MCP server in a client's config file, and keep a backup of it."""
    text = _read(file)
    _known(profile, config)
    options = [*(["--profile", profile] if profile else []), *(["--config", str(config.resolve())] if config else [])]
    asked = (lambda _: False) if offline else asks_credentials
    result = entries.wrap(
        text, program=program or _program(), options=options, skip=skip or (), oauth=oauth, asks_credentials=asked
    )
    if dry_run:
        _show(result, as_json=as_json)
        return
    _tell(result, "wrapped")
    for address in result.signing_in:
        _talk(f"sign in once, before your client starts it: shaping tools --oauth --url {address}")
    if result.changed:
        _back_up(file, text)
        _write(file, result.text)
        _talk(f"the file as it was is kept in {_backup_of(file)}; undo with: shaping unwrap {file}")
        if _comments_lost(text, result.text):
            _talk("comments inside a wrapped server's own entry are only in that backup; all others stay")
    if as_json:
        print_result(_told(result))


def unwrap(file: File, *, as_json: Annotated[bool, JSON] = False) -> None:
    """Take the proxy away again: the backup comes back byte for byte unless the file was edited since."""
    result = entries.unwrap(_read(file))
    _tell(result, "unwrapped")
    if result.changed:
        _restore(file, result)
    if as_json:
        print_result(_told(result))


def _restore(file: Path, result: Rewritten) -> None:
    backup = _backup_of(file)
    if backup.exists() and same_servers(result.text, _read(backup)):
        _write(file, _read(backup))
        backup.unlink()
        _talk(f"{file} is byte for byte as it was before it was wrapped")
        return
    _write(file, result.text)
    _talk(f"{file} was edited since it was wrapped: the edits stay, the proxy is gone, {backup} is left as it is")


def _known(profile: str | None, config: Path | None) -> None:
    """Refuse a config or a profile that the proxy would refuse, where a client hides what it says."""
    if config is not None and not config.is_file():
        beside = [path.name for path in config.parent.glob("*.json")] if config.parent.is_dir() else []
        _refuse(f"{config} is not there", config.name, beside)
    if profile is None and config is None:
        return
    try:
        known = load(config).profiles
    except ConfigError as problem:
        _talk(str(problem))
        raise typer.Exit(1) from None
    if profile is not None and profile not in known:
        _refuse(f"there is no profile {profile!r}; there are {', '.join(sorted(known))}", profile, known)


def _refuse(problem: str, word: str, known: Iterable[str]) -> NoReturn:

    meant = suggestion_for(word, known)
    _talk(f"{problem}; did you mean {meant!r}?" if meant else problem)
    raise typer.Exit(2)


def _program() -> str:
    """Name the running program by its whole path: a client started from a desktop has another PATH than a shell."""
    running, beside = Path(sys.argv[0]), Path(sys.executable).with_name("shaping")
    if running.stem == "shaping" and running.is_file():
        return str(running.absolute())
    return str(beside) if beside.exists() else shutil.which("shaping") or str(beside)


def _backup_of(file: Path) -> Path:
    return file.with_name(file.name + ".shaping-backup")


def _back_up(file: Path, text: str) -> None:
    backup = _backup_of(file)
    plain = entries.unwrap(text)
    # A second wrap must not replace the one true original by a file that is already half wrapped.
    if plain.changed and backup.exists() and same_servers(plain.text, _read(backup)):
        return
    _write(backup, plain.text if plain.changed else text, like=file)


def _comments_lost(before: str, after: str) -> bool:
    return before.count("//") + before.count("/*") > after.count("//") + after.count("/*")


def _read(file: Path) -> str:
    try:
        text = file.read_bytes().decode()
        same_servers(text, text)
    except FileNotFoundError:
        _talk(f"{file} is not there")
        raise typer.Exit(2) from None
    except (JsoncError, UnicodeDecodeError) as problem:
        _talk(f"{file}: {problem}")
        raise typer.Exit(2) from None
    return text


def _write(file: Path, text: str, like: Path | None = None) -> None:
    # A client may be reading at this moment, and there are tokens in it.
    file = file.resolve()
    replace_file(file, text.encode(), like=like or file)


def _show(result: Rewritten, *, as_json: bool) -> None:
    if as_json:
        print_result({**_told(result), "text": result.text})
    else:
        typer.echo(result.text, nl=False)


def _told(result: Rewritten) -> dict[str, Any]:
    left = [{"name": name, "reason": reason} for name, reason in result.left]
    return {"changed": list(result.changed), "left": left}


def _tell(result: Rewritten, done: str) -> None:
    for name in result.changed:
        _talk(f"{done}: {name}")
    for name, reason in result.left:
        _talk(f"left: {name} ({reason})")
    if not result.changed and not result.left:
        _talk("there is no MCP server in this file: expected mcpServers, servers or context_servers")


def _talk(line: str) -> None:
    typer.echo(line, err=True)
