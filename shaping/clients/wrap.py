"""A client's list of MCP servers, rewritten so that each is started behind the proxy, and back; and trying them out."""

import asyncio
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath, PureWindowsPath
from typing import Any, Final, NamedTuple, TypeAlias

import tomlkit
from tomlkit.items import InlineTable, Table

from shaping.proxy import outage
from shaping.proxy.messages import METHOD_NOT_FOUND
from shaping.proxy.upstream import (
    START_SECONDS,
    RequestError,
    ServerUnavailableError,
    Upstream,
    command_server,
    connected,
)
from shaping.settings import jsonc

# Headers go by the environment, not by the arguments: they hold tokens, and arguments can be read by every user.
HEADER_VARIABLE = "SHAPING_PROXY_HEADER_"
# The same for an address with a user or a query in it, where people put keys.
URL_VARIABLE = "SHAPING_PROXY_URL"
FAILS: Final = "it does not work behind the proxy"
_SIGNS_IN = (
    "it signs in by OAuth, which your client does by itself and would not do through a proxy; "
    "to let the proxy sign in instead: shaping wrap --oauth"
)
_LISTS = ("mcpServers", "servers", "context_servers")  # most clients, VS Code, Zed
_OPENCODE_TYPES = ("local", "remote")  # opencode and Kilo, which have their servers under "mcp"
_UNFILLED = re.compile(r"\$\{|\{(?:env|file):")  # what only the client fills in
_ANSWER_SECONDS: Final = 5.0
_REFUSALS: Final = ("AUTH_REQUIRED", "PERMISSION_DENIED")
_REMOTE_MEMBERS = ("url", "httpUrl", "type", "headers", "http_headers")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A config file's new text, the servers that changed, and those that were left with the reason."""

    text: str
    changed: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    signing_in: tuple[str, ...] = ()


class Failure(NamedTuple):
    """Why a server cannot be used behind the proxy, and whether that is for want of credentials."""

    reason: str
    wants_credentials: bool = False


@dataclass(frozen=True, slots=True)
class WrapOptions:
    """How servers are wrapped; `why_it_fails` tries one behind the proxy, and says why it cannot be used there."""

    program: Sequence[str] = ("shaping",)
    options: Sequence[str] = ()
    skip: Collection[str] = ()
    oauth: bool = False
    why_it_fails: Callable[[Mapping[str, Any]], Failure | None] = lambda _: None


_DEFAULTS = WrapOptions()


def wrap(text: str, options: WrapOptions = _DEFAULTS, *, toml: bool = False) -> Rewritten:
    """Put `shaping proxy` in front of every server that is not behind it yet.

    A remote server that signs in by OAuth is left as it is unless `oauth` lets the proxy do that.
    """
    signing_in: list[str] = []

    def decide(name: str, server: dict[str, Any]) -> dict[str, Any] | str:
        if name in options.skip:
            return "skipped as asked"
        if is_wrapped(server):
            return "already wrapped"
        # The config's rules for a server go by the name that its user gave it.
        words = [*(["--name", name] if not name.startswith("-") else []), *options.options]
        entry = _wrapped(server, options.program, words)
        may_sign_in = "command" not in server and bool(url_of(server)) and not has_credentials(server)
        signs_in = may_sign_in and wants_sign_in(server)
        # A server that wants a sign-in first cannot be tried here.
        failure = None if signs_in or isinstance(entry, str) else options.why_it_fails(entry)
        if signs_in or (may_sign_in and failure is not None and failure.wants_credentials):
            if not options.oauth:
                return _SIGNS_IN
            entry = _wrapped(server, options.program, [*words, "--oauth"])
            if not isinstance(entry, str):
                signing_in.append(url_of(server))
            return entry
        if failure is not None:
            # What failed, what the server printed and what to do stand on lines of their own.
            sentences = re.sub(r"(?<![.:;,?!])\s*\n", ". ", failure.reason.strip())
            return f"{FAILS}: {' '.join(sentences.split()).rstrip('.')}; --no-test wraps it all the same"
        return entry

    return replace(_rewrite(text, decide, toml=toml), signing_in=tuple(signing_in))


def unwrap(text: str, *, toml: bool = False, before: str | None = None) -> Rewritten:
    """Take `shaping proxy` away from every server that is behind it; `before` is the file as it was without it."""
    known = {} if before is None else server_entries(before, toml=toml)

    def decide(name: str, server: dict[str, Any]) -> dict[str, Any] | str:
        if not is_wrapped(server):
            return "it has no proxy"
        entry, original = _unwrapped(server, toml=toml), known.get(name)
        return entry if original is None or _settled(original) != _settled(entry) else original

    return _rewrite(text, decide, toml=toml)


def server_entries(text: str, *, toml: bool = False) -> dict[str, dict[str, Any]]:
    """Return the servers of a list by their names, each as most clients write it."""
    if toml:
        return dict(tomlkit.parse(text).unwrap().get("mcp_servers", {}))
    return {name: server for name, _, server in _servers(jsonc.read(text))}


def same_servers(one: str, other: str, *, toml: bool = False) -> bool:
    """Return whether two config files hold the same data, whatever their layout and comments."""
    read = (lambda text: tomlkit.parse(text).unwrap()) if toml else (lambda text: jsonc.read(text).value)
    return bool(_settled(read(one)) == _settled(read(other)))


def is_wrapped(server: dict[str, Any]) -> bool:
    """Return whether a server's entry starts our proxy."""
    return _proxy_arguments(server) is not None


def url_of(server: Mapping[str, Any]) -> str:
    """Return the address of a remote server's entry, under either name that clients have for it, or an empty string."""
    return next((server[key] for key in ("url", "httpUrl") if isinstance(server.get(key), str)), "")


def wants_sign_in(server: dict[str, Any]) -> bool:
    """Return whether a remote server's entry tells the client how to sign in by OAuth."""
    return bool(url_of(server)) and any(server.get(key) for key in ("oauth", "auth"))


def has_credentials(server: dict[str, Any]) -> bool:
    """Return whether an entry sends a header that looks like a credential."""
    names = {str(name).lower() for name in {**(server.get("headers") or {}), **(server.get("http_headers") or {})}}
    return any(word in name for name in names for word in ("auth", "key", "token", "secret", "cookie"))


def _settled(value: Any) -> Any:
    # An entry without arguments and one with an empty list start the same process.
    if isinstance(value, dict):
        return {key: _settled(item) for key, item in value.items() if not (key == "args" and item == [])}
    if isinstance(value, list):
        return [_settled(item) for item in value]
    return value


_Decide: TypeAlias = "Callable[[str, dict[str, Any]], dict[str, Any] | str]"


def _rewrite(text: str, decide: _Decide, *, toml: bool) -> Rewritten:
    """Put what is decided about each server in the place of its entry; a text is the reason why one stays."""
    document: Any = tomlkit.parse(text) if toml else jsonc.read(text)
    listed = [*(_toml_servers if toml else _servers)(document)]
    outcomes = [decide(name, server) for name, _, server in listed]
    left = [(one[0], outcome) for one, outcome in zip(listed, outcomes, strict=True) if isinstance(outcome, str)]
    new = [(*one, entry) for one, entry in zip(listed, outcomes, strict=True) if not isinstance(entry, str)]
    if toml:
        for _, table, _, entry in new:
            _update(table, entry)
        text = tomlkit.dumps(document)
    else:
        written = [(node, entry if server is node.value else _opencode_entry(entry)) for _, node, server, entry in new]
        text = jsonc.replace(text, written)
    return Rewritten(text, tuple(name for name, *_ in new), tuple(left))


def _toml_servers(document: tomlkit.TOMLDocument) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for name, table in document.get("mcp_servers", {}).items():
        if isinstance(table, (Table, InlineTable)):
            yield name, table, table.unwrap()


def _update(table: Any, entry: Mapping[str, Any]) -> None:
    """Change a table to an entry; what is the same in both keeps its layout and comments."""
    for key in [key for key in table if key not in entry]:
        del table[key]
    table.update({key: value for key, value in entry.items() if key not in table or table[key] != value})


def _servers(root: jsonc.JsonNode) -> Iterator[tuple[str, jsonc.JsonNode, dict[str, Any]]]:
    """Yield the name, the node and the entry of each server; an entry of opencode in the form of all others."""
    for place in _places(root):
        for listed in filter(None, map(place.members.get, _LISTS)):
            for name, node in listed.members.items():
                if isinstance(node.value, dict):
                    yield str(name), node, node.value
    if "mcp" in root.members:
        for name, node in root.members["mcp"].members.items():
            if isinstance(node.value, dict) and node.value.get("type") in _OPENCODE_TYPES:
                yield str(name), node, _common_entry(node.value)


def _common_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of opencode as other clients write it: it has one list for a command and its arguments."""
    common = {key: value for key, value in entry.items() if key not in {"type", "command", "environment"}}
    words = entry.get("command")
    command = {"command": words[0], "args": words[1:]} if isinstance(words, list) and words else {}
    variables = {"env": entry["environment"]} if "environment" in entry else {}
    return {**command, **variables, **common}


def _opencode_entry(common: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in common.items() if key not in {"command", "args", "env"}}
    variables = {"environment": common["env"]} if "env" in common else {}
    if "command" not in common:
        return {"type": "remote", **variables, **rest}
    return {"type": "local", "command": [common["command"], *common.get("args", [])], **variables, **rest}


def _places(root: jsonc.JsonNode) -> Iterator[jsonc.JsonNode]:
    # VS Code's settings.json holds its servers under "mcp", Claude Code's ~/.claude.json some under each project.
    yield root
    if "mcp" in root.members:
        yield root.members["mcp"]
    if "projects" in root.members:
        yield from root.members["projects"].members.values()


def _wrapped(server: dict[str, Any], program: Sequence[str], options: Sequence[str]) -> dict[str, Any] | str:
    command, start = program[0], [*program[1:], "proxy", *options]
    if isinstance(server.get("command"), str):
        given = server.get("args", [])
        if not isinstance(given, list):
            return "its args are no list"
        return _with(server, {"command": command, "args": [*start, "--", server["command"], *given]})
    if not url_of(server):
        return "it has neither a command nor a url"
    if server.get("headersHelper"):
        return "its headers come from a command that only the client runs (headersHelper)"
    if from_environment := [key for key in ("bearer_token_env_var", "env_http_headers") if server.get(key)]:
        return f"its headers come from variables that only the client reads ({from_environment[0]})"
    if not url_of(server).startswith(("http://", "https://", "${", "{")):
        return "its address is neither http nor https"
    return _wrapped_remote(server, command, start)


def _wrapped_remote(server: dict[str, Any], command: str, start: list[str]) -> dict[str, Any]:
    url, variables = url_of(server), dict(server.get("env") or {})
    if "?" in url or "@" in url:  # where people put keys
        variables[URL_VARIABLE] = url
    arguments = [*start, "--url", f"env:{URL_VARIABLE}" if URL_VARIABLE in variables else url]
    transport = "http" if "httpUrl" in server else server.get("type")
    arguments += ["--transport", transport] if isinstance(transport, str) else []
    entry: dict[str, Any] = {"type": "stdio"} if "type" in server else {}
    entry |= {"command": command, "args": arguments}
    headers = server.get("headers") or server.get("http_headers") or {}
    variables |= {f"{HEADER_VARIABLE}{n}": f"{key}: {value}" for n, (key, value) in enumerate(headers.items(), 1)}
    if variables:
        entry["env"] = variables
    return entry | {key: value for key, value in server.items() if key not in {*_REMOTE_MEMBERS, *entry}}


def _with(server: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the entry with its command and arguments replaced in place, so that the order of its members stays."""
    result: dict[str, Any] = {}
    for key, value in server.items():
        if key == "command":
            result |= new
        elif key != "args":
            result[key] = value
    return result


def _proxy_arguments(server: dict[str, Any]) -> list[str] | None:
    """Return the arguments after `shaping proxy`, whatever starts it: a path, `uvx --from … shaping`, `python -m`."""
    command, arguments = server.get("command"), server.get("args")
    if not isinstance(command, str) or not isinstance(arguments, list):
        return None
    words = [command, *map(str, arguments)]
    own = words[: words.index("--")] if "--" in words else words
    for at, (word, following) in enumerate(pairwise(own)):
        if following == "proxy" and _basename(word) == "shaping":
            return words[at + 2 :]
    return None


def _basename(command: str) -> str:
    path = PureWindowsPath(command) if "\\" in command else PurePath(command)
    return path.stem if path.suffix.lower() in {".exe", ".cmd"} else path.name


def _unwrapped(server: dict[str, Any], *, toml: bool) -> dict[str, Any] | str:
    arguments = _proxy_arguments(server) or []
    if "--" in arguments:
        command, *rest = arguments[arguments.index("--") + 1 :]
        return _with(server, {"command": command} | ({"args": rest} if rest else {}))
    if "--url" in arguments:
        return _unwrapped_remote(server, arguments, toml=toml)
    return "it starts a proxy for several servers, which no single entry can replace"


def _unwrapped_remote(server: dict[str, Any], arguments: list[str], *, toml: bool) -> dict[str, Any]:
    given = dict(pairwise(arguments))
    typed = "--transport" in given and "type" in server
    entry: dict[str, Any] = {"type": given["--transport"]} if typed else {}
    variables = server.get("env", {})
    # Only Gemini's entries have a transport and no type.
    member = "httpUrl" if "--transport" in given and not typed else "url"
    entry[member] = variables.get(URL_VARIABLE, given["--url"])
    headers = dict(
        value.split(": ", 1) for key, value in variables.items() if key.startswith(HEADER_VARIABLE) and ": " in value
    )
    if headers:
        entry["http_headers" if toml else "headers"] = headers
    ours = (HEADER_VARIABLE, URL_VARIABLE)
    kept = {key: value for key, value in variables.items() if not key.startswith(ours)}
    rest = {key: value for key, value in server.items() if key not in {"type", "command", "args", "env"}}
    return entry | ({"env": kept} if kept else {}) | rest


def why_untested(entry: Mapping[str, Any]) -> str | None:
    """Return why the server of a client's entry is not started here, or None."""
    if entry.get("disabled") is True or entry.get("enabled") is False:
        return "it is disabled"
    variable = _UNFILLED.search(repr(entry))
    return "its entry holds a variable that only your client fills in" if variable else None


def why_it_fails(entry: Mapping[str, Any], start_seconds: float = START_SECONDS) -> Failure | None:
    """Start the server of a client's entry, list its tools, and return why that failed, or None.

    On Windows, where its pipes cannot be waited for, no server is started.
    """
    if not hasattr(os, "killpg"):
        return None
    # What a probe asks no model reads: it is no entry of the user's ledger.
    variables = {str(name): str(value) for name, value in (entry.get("env") or {}).items()}

    command = [entry["command"], *entry.get("args", [])]
    seconds = start_seconds + _ANSWER_SECONDS  # the proxy says first why a server does not start

    async def list_tools() -> None:
        environ = {"SHAPING_LEDGER": "off", **variables}
        async with asyncio.timeout(seconds), started(command, environ, entry.get("cwd"), seconds) as server:
            await server.ask("tools/list")

    try:
        asyncio.run(list_tools())
    except RequestError as problem:
        told = problem.error.get("data")
        refused = isinstance(told, dict) and told.get("code") in _REFUSALS
        return None if problem.error.get("code") == METHOD_NOT_FOUND else Failure(str(problem), refused)
    except ServerUnavailableError as problem:
        return Failure(outage.describe(problem.detail))
    except TimeoutError:
        return Failure(f"it did not answer in {seconds:.0f} s")
    return None


def started(
    command: Sequence[str],
    environ: Mapping[str, str],
    cwd: str | None = None,
    seconds: float = START_SECONDS,
) -> AbstractAsyncContextManager[Upstream]:
    """Start a server for the length of a block; what it logs is not shown."""
    return connected(command_server(command, env=environ, cwd=cwd, seconds=seconds)())
