"""`shaping wrap` and `shaping unwrap`: put the proxy in front of the servers in a client's config file, and back."""

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from tomlkit.exceptions import TOMLKitError

from shaping.cli.output import PROFILE, Answer, stopped, with_suggestion
from shaping.cli.proxy import START_TIMEOUT, need_extra, quiet_logs
from shaping.clients import wrap as entries
from shaping.clients.config_files import (
    CLIENTS,
    ConfigEdit,
    UnusableFileError,
    client_files,
    is_shared,
    project_files,
    read_config,
)
from shaping.clients.wrap import (
    FAILS,
    Failure,
    Rewritten,
    WrapOptions,
    same_servers,
    server_entries,
    why_it_fails,
    why_untested,
)
from shaping.proxy.upstream import START_SECONDS
from shaping.settings.jsonc import JsoncError
from shaping.settings.loading import load

FILE = typer.Argument(
    metavar="FILE", help="A client's server list (.mcp.json, mcp.json, config.toml), or a folder of such files."
)
CLIENT = typer.Option(metavar="NAME", help=f"Find your files of this client: {', '.join(CLIENTS)}.")
CONFIG = typer.Option(metavar="FILE", help="The response_config.json the proxy should use.")
SKIP = typer.Option(metavar="NAME", help="A server to leave as it is; may be repeated.")
PROGRAM = typer.Option(
    metavar="WORDS",
    help="The command that starts shaping, such as 'uvx --from shaping[mcp] shaping'; it ends in shaping.",
)
OAUTH = typer.Option("--oauth", help="Also wrap remote servers that need a sign-in; the proxy then signs in.")
NO_TEST = typer.Option(
    "--no-test",
    help="Do not start the servers. By default each is started once behind the proxy; one that fails, or wants a"
    " sign-in, is not wrapped.",
)
DRY_RUN = typer.Option("--dry-run", help="Print the new file; change nothing and contact no server.")


def wrap(
    file: Annotated[Path | None, FILE] = None,
    *,
    client: Annotated[str | None, CLIENT] = None,
    profile: Annotated[str | None, PROFILE] = None,
    config: Annotated[Path | None, CONFIG] = None,
    skip: Annotated[list[str] | None, SKIP] = None,
    start_timeout: Annotated[float | None, START_TIMEOUT] = None,
    program: Annotated[str | None, PROGRAM] = None,
    oauth: Annotated[bool, OAUTH] = False,
    no_test: Annotated[bool, NO_TEST] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Answer:
    """Put `shaping proxy` in front of every MCP server in a client's config file, and keep a backup of it."""
    if not dry_run:
        need_extra()
    quiet_logs()
    _check_profile(profile, config)
    files = _files(file, client)
    _check_skipped(skip or [], files)
    values = {
        "--profile": profile,
        "--config": config and str(config.resolve()),
        "--start-timeout": start_timeout and f"{start_timeout:g}",
    }
    passed = [word for option, value in values.items() if value for word in (option, value)]
    untested = wrapping = WrapOptions(options=passed, skip=skip or (), oauth=oauth)
    if not dry_run and not no_test:
        wrapping = replace(untested, why_it_fails=_once(partial(_why_it_fails, start_timeout or START_SECONDS)))
    untried = [path for path in files if path != file and (is_shared(path) or _is_found_here(path))]

    def rewrite(path: Path, text: str) -> Rewritten:
        # The commands of a file that came with a repository are not run because it was found there.
        chosen = untested if path in untried else wrapping
        chosen = replace(chosen, program=_program(program, path, dry_run=dry_run))
        return entries.wrap(text, chosen, toml=_is_toml(path))

    if dry_run:
        results = [rewrite(path, _read(path)) for path in files]
        text = "\n".join(result.text for result in results)
        return Answer({**_data(results), "text": text}, [text.removesuffix("\n")])
    results = [_wrap_file(path, rewrite) for path in files]
    for path in () if no_test else untried:
        _say(f"the servers of {path} were not tried, because the file is a project's")
    failed = any(reason.startswith(FAILS) for result in results for _, reason in result.left)
    changed, empty = (any(result.changed for result in results), not any(result.left for result in results))
    return Answer(_data(results), exit_code=1 if (failed or empty) and not changed else 0)


def _is_found_here(path: Path) -> bool:
    """Return whether a file lies in the working directory: an archive that was unpacked there may have brought it."""
    here, home = Path.cwd(), Path.home().resolve()
    return here not in (home, *home.parents) and path.resolve().is_relative_to(here)


def _why_it_fails(start_seconds: float, entry: Mapping[str, Any]) -> Failure | None:
    named = dict(pairwise(entry["args"])).get("--name", "a server")
    if (reason := why_untested(entry)) is not None:
        _say(f"not tested: {named}: {reason}")
        return None
    _say(f"starting {named} once behind the proxy to test it (--no-test skips this)")
    return why_it_fails(entry, start_seconds)


def _once(test: Callable[[Mapping[str, Any]], Failure | None]) -> Callable[[Mapping[str, Any]], Failure | None]:
    """Test each entry once, however often its file has to be rewritten."""
    known = cache(lambda written: test(orjson.loads(written)))
    return lambda entry: known(orjson.dumps(entry))


def unwrap(file: Annotated[Path | None, FILE] = None, *, client: Annotated[str | None, CLIENT] = None) -> Answer:
    """Take the proxy away again; a file that was not edited since the first wrap comes back byte for byte."""
    return Answer(_data([_unwrap_file(path) for path in _files(file, client, "unwrap")]))


def _files(file: Path | None, client: str | None, command: str = "wrap") -> list[Path]:
    """Return the files that an argument or a client's name stands for, or end with what there is."""
    if (file is None) == (client is None):
        found = [(name, path) for name in CLIENTS for path in client_files(name, Path.cwd())]
        lines = [
            f"  {name}: shaping {command} {shlex.quote(str(path)) if is_shared(path) else f'--client {name} ({path})'}"
            for name, path in found
        ]
        listed = "\n".join(["; found here:", *lines]) if found else f"; clients are {', '.join(CLIENTS)}"
        raise stopped(f"give a FILE or --client NAME{listed}")
    if client is not None and client not in CLIENTS:
        raise stopped(
            with_suggestion(f"there is no client {client!r}; there are {', '.join(CLIENTS)}", client, CLIENTS)
        )
    in_folder = file is not None and file.is_dir()
    files = client_files(str(client), Path.cwd()) if file is None else project_files(file) if in_folder else [file]
    if not files:
        where = f"in your own files of {client}, nor in {Path.cwd()}" if file is None else f"in {file}"
        raise stopped(f"no file with MCP servers was found {where}", code="NOT_FOUND")
    return files if client is None else _own_files(client, files, command)


def _own_files(client: str, files: list[Path], command: str) -> list[Path]:
    """Leave out what lies in a repository: others may share the file, so whoever wants it changed names it."""
    shared = [path for path in files if is_shared(path)]
    typed = f"shaping {command}"
    named = [
        f"{path} is a repository's, and others may share it; to {command} it, type: {typed} {shlex.quote(str(path))}"
        for path in shared
    ]
    if shared == files:
        raise stopped("; ".join([f"{client} has no file of your own with MCP servers here", *named]), code="NOT_FOUND")
    for line in named:
        _say(line)
    return [path for path in files if path not in shared]


def _wrap_file(file: Path, rewrite: Callable[[Path, str], Rewritten]) -> Rewritten:
    tried: list[tuple[str, Rewritten]] = []

    def change(text: str) -> str:
        tried.append((text, rewrite(file, text)))
        return tried[-1][1].text

    edit = _edit(file)
    _read(file)
    changed = edit.apply(file, change)
    text, result = tried[-1]
    _report(file, result, "wrapped")
    if changed:
        _say(f"the file as it was is kept in {edit.backup_of(file)}; undo with: shaping unwrap {file}")
        if text.count("//") + text.count("/*") > result.text.count("//") + result.text.count("/*"):
            _say("comments inside a wrapped server's own entry are only in that backup; all others stay")
    return result


def _unwrap_file(file: Path) -> Rewritten:
    result, edit = entries.unwrap(_read(file), toml=_is_toml(file)), _edit(file)
    backup = edit.backup_of(file)
    restored = edit.undo(file)
    _report(file, result, "unwrapped")
    if restored:
        _say(f"{file} is as it was, without the proxy")
    elif restored is False:
        _say(f"{file} was edited since it was wrapped: the edits stay, the proxy is gone, {backup} is left as it is")
    return result


def _edit(file: Path) -> ConfigEdit:
    toml = _is_toml(file)

    def plain(text: str) -> str:
        backup = edit.backup_of(file)
        before = read_config(backup) if backup.exists() else None
        return entries.unwrap(text, toml=toml, before=before).text

    edit = ConfigEdit(plain, partial(same_servers, toml=toml))
    return edit


def _check_profile(profile: str | None, config: Path | None) -> None:
    """Refuse a config or a profile that the proxy would refuse, where a client hides the message."""
    if config is not None and not config.is_file():
        beside = [path.name for path in config.parent.glob("*.json")] if config.parent.is_dir() else []
        raise stopped(with_suggestion(f"{config} is not there", config.name, beside))
    if profile is None and config is None:
        return
    load(config).plan("", profile=profile)


def _check_skipped(skipped: list[str], files: list[Path]) -> None:
    known = [name for file in files for name in server_entries(_read(file), toml=_is_toml(file))]
    for name in skipped:
        if name not in known:
            said = f"there is no server {name!r} to skip; there are {', '.join(known) or 'none'}"
            raise stopped(with_suggestion(said, name, known))


def _program(given: str | None, file: Path, *, dry_run: bool) -> list[str]:
    """Return the words that start shaping: its whole path in a user's own file, its name in one that a team shares."""
    words = shlex.split(given) if given else [] if is_shared(file) else [_running_program()]
    if given and (not words or Path(words[-1]).stem != "shaping"):
        raise stopped(f"--program {given!r} does not end in shaping, so that unwrap could not find it again")
    if words:
        return words
    if not dry_run and shutil.which("shaping") is None:
        raise stopped(
            f"{file} is in a repository, so it names shaping without a path, and there is no shaping on PATH: "
            'everybody who uses the file installs it, as with pipx install "shaping[mcp]"; or give --program',
            code="DEPENDENCY_UNAVAILABLE",
        )
    return ["shaping"]


def _running_program() -> str:
    """Name the running program by its whole path: a client started from a desktop has another PATH than a shell."""
    running, beside = Path(sys.argv[0]), Path(sys.executable).with_name("shaping")
    if running.stem == "shaping" and running.is_file():
        return str(running.absolute())
    return str(beside) if beside.exists() else shutil.which("shaping") or str(beside)


def _is_toml(file: Path) -> bool:
    return file.suffix == ".toml"


def _read(file: Path) -> str:
    try:
        text = read_config(file)
        same_servers(text, text, toml=_is_toml(file))
    except UnusableFileError as problem:
        raise stopped(str(problem)) from None
    except (JsoncError, TOMLKitError) as problem:
        raise stopped(f"{file}: {problem}") from None
    return text


def _data(results: list[Rewritten]) -> dict[str, Any]:
    left = [{"name": name, "reason": reason} for result in results for name, reason in result.left]
    return {"changed": [name for result in results for name in result.changed], "left": left}


def _report(file: Path, result: Rewritten, done: str) -> None:
    for name in result.changed:
        _say(f"{done}: {name} in {file}")
    for name, reason in result.left:
        _say(f"not {done}: {name} in {file}: {reason}")
    if not result.changed and not result.left:
        _say(f"there is no MCP server in {file} under mcpServers, servers, context_servers, mcp or mcp_servers")
    for address in result.signing_in:
        _say(f"sign in once, before your client starts it: shaping tools --oauth --url {address}")


def _say(line: str) -> None:
    typer.echo(line, err=True)
