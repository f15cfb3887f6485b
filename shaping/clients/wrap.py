"""A client's list of MCP servers, rewritten so that each is started behind the proxy, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from shaping.settings import jsonc

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

# Headers go by the environment, not by the arguments: they hold tokens, and arguments can be read by every user.
HEADER_VARIABLE = "SHAPING_PROXY_HEADER_"
# The same for an address with a user or a query in it, where people put keys.
URL_VARIABLE = "SHAPING_PROXY_URL"
_SIGNS_IN = (
    "it signs in by OAuth, which your client does by itself and would not do through a proxy; "
    "to let the proxy sign in instead: shaping wrap --oauth"
)
LISTS = ("mcpServers", "servers", "context_servers")  # most clients, VS Code, Zed
_REMOTE_MEMBERS = ("url", "type", "headers")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A config file's new text, the servers that changed, and those that were left with the reason."""

    text: str
    changed: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    signing_in: tuple[str, ...] = ()


def wrap(
    text: str,
    *,
    program: str = "shaping",
    options: Sequence[str] = (),
    skip: Collection[str] = (),
    oauth: bool = False,
    asks_credentials: Callable[[str], bool] = lambda _: False,
) -> Rewritten:
    """Put `shaping proxy` in front of every server that is not behind it yet.

    A remote server that signs in by OAuth, as its entry says or as `asks_credentials` finds out at its address,
    is left as it is unless `oauth` lets the proxy do that.
    """
    signing_in: list[str] = []

    def decide(name: str, server: dict[str, Any]) -> dict[str, Any] | str:
        if name in skip:
            return "skipped as asked"
        if is_wrapped(server):
            return "already wrapped"
        signs_in = _signs_in(server, asks_credentials)
        if signs_in and not oauth:
            return _SIGNS_IN
        signing_in.extend([server["url"]] if signs_in else [])
        return _wrapped(server, program, [*options, *(["--oauth"] if signs_in else [])])

    return replace(_rewrite(text, decide), signing_in=tuple(signing_in))


def unwrap(text: str) -> Rewritten:
    """Take `shaping proxy` away from every server that is behind it."""

    def decide(_: str, server: dict[str, Any]) -> dict[str, Any] | str:
        return _unwrapped(server) if is_wrapped(server) else "not wrapped"

    return _rewrite(text, decide)


def same_servers(one: str, other: str) -> bool:
    """Say whether two config files hold the same data, whatever their layout and comments."""
    return bool(_settled(jsonc.read(one).value) == _settled(jsonc.read(other).value))


def is_wrapped(server: dict[str, Any]) -> bool:
    """Say whether a server's entry starts our proxy."""
    return _proxy_arguments(server) is not None


def wants_sign_in(server: dict[str, Any]) -> bool:
    """Say whether a remote server's entry tells the client how to sign in by OAuth."""
    return isinstance(server.get("url"), str) and any(server.get(key) for key in ("oauth", "auth"))


def has_credentials(server: dict[str, Any]) -> bool:
    """Say whether an entry sends something that opens doors, under whatever name."""
    names = {str(name).lower() for name in server.get("headers") or {}}
    return any(word in name for name in names for word in ("auth", "key", "token", "secret", "cookie"))


def _signs_in(server: dict[str, Any], asks_credentials: Callable[[str], bool]) -> bool:
    url = server.get("url")
    if isinstance(server.get("command"), str) or not isinstance(url, str) or has_credentials(server):
        return False
    return wants_sign_in(server) or ("${" not in url and asks_credentials(url))


def _settled(value: Any) -> Any:
    # An entry without arguments and one with an empty list start the same process.
    if isinstance(value, dict):
        return {key: _settled(item) for key, item in value.items() if not (key == "args" and item == [])}
    if isinstance(value, list):
        return [_settled(item) for item in value]
    return value


def _rewrite(text: str, decide: Callable[[str, dict[str, Any]], dict[str, Any] | str]) -> Rewritten:
    replacements: list[tuple[jsonc.JsonNode, Any]] = []
    changed: list[str] = []
    left: list[tuple[str, str]] = []
    for name, node, server in _servers(jsonc.read(text)):
        outcome = decide(name, server)
        if isinstance(outcome, str):
            left.append((name, outcome))
        else:
            replacements.append((node, outcome))
            changed.append(name)
    return Rewritten(jsonc.replace(text, replacements), tuple(changed), tuple(left))


def _servers(root: jsonc.JsonNode) -> Iterator[tuple[str, jsonc.JsonNode, dict[str, Any]]]:
    for place in _places(root):
        for key in LISTS:
            listed = place.members.get(key)
            for name, node in listed.members.items() if listed else ():
                if isinstance(node.value, dict):
                    yield name, node, node.value


def _places(root: jsonc.JsonNode) -> Iterator[jsonc.JsonNode]:
    # VS Code's settings.json holds its servers under "mcp", Claude Code's ~/.claude.json some under each project.
    yield root
    if "mcp" in root.members:
        yield root.members["mcp"]
    if "projects" in root.members:
        yield from root.members["projects"].members.values()


def _wrapped(server: dict[str, Any], program: str, options: Sequence[str]) -> dict[str, Any] | str:
    start = ["proxy", *options]
    if isinstance(server.get("command"), str):
        arguments = [*start, "--", server["command"], *server.get("args", [])]
        return _with(server, {"command": program, "args": arguments})
    if not isinstance(server.get("url"), str):
        return "it has neither a command nor a url"
    if server.get("headersHelper"):
        return "its headers come from a command that only the client runs (headersHelper)"
    if not server["url"].startswith(("http://", "https://", "${")):
        return "its address is neither http nor https"
    return _wrapped_remote(server, program, start)


def _wrapped_remote(server: dict[str, Any], command: str, start: list[str]) -> dict[str, Any]:
    url, variables = server["url"], dict(server.get("env") or {})
    if _may_hold_keys(url):
        variables[URL_VARIABLE] = url
    arguments = [*start, "--url", f"env:{URL_VARIABLE}" if URL_VARIABLE in variables else url]
    if isinstance(server.get("type"), str):
        arguments += ["--transport", server["type"]]
    entry: dict[str, Any] = {"type": "stdio"} if "type" in server else {}
    entry |= {"command": command, "args": arguments}
    headers = server.get("headers") or {}
    variables |= {f"{HEADER_VARIABLE}{n}": f"{key}: {value}" for n, (key, value) in enumerate(headers.items(), 1)}
    if variables:
        entry["env"] = variables
    return entry | {key: value for key, value in server.items() if key not in {*_REMOTE_MEMBERS, *entry}}


def _may_hold_keys(url: str) -> bool:
    return "?" in url or "@" in url


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
    command, arguments = server.get("command"), server.get("args")
    if not isinstance(command, str) or not isinstance(arguments, list):
        return None
    if _basename(command) == "shaping" and arguments[:1] == ["proxy"]:
        return arguments[1:]
    return None


def _basename(command: str) -> str:
    path = PureWindowsPath(command) if "\\" in command else PurePath(command)
    return path.stem if path.suffix.lower() in {".exe", ".cmd"} else path.name


def _unwrapped(server: dict[str, Any]) -> dict[str, Any] | str:
    arguments = _proxy_arguments(server) or []
    if "--" in arguments:
        command, *rest = arguments[arguments.index("--") + 1 :]
        return _with(server, {"command": command} | ({"args": rest} if rest else {}))
    if "--url" in arguments:
        return _unwrapped_remote(server, arguments)
    return "it starts a proxy for several servers, which no single entry can replace"


def _unwrapped_remote(server: dict[str, Any], arguments: list[str]) -> dict[str, Any]:
    given = dict(pairwise(arguments))
    entry: dict[str, Any] = {"type": given["--transport"]} if "--transport" in given else {}
    variables = server.get("env", {})
    entry["url"] = variables.get(URL_VARIABLE, given["--url"])
    headers = dict(
        value.split(": ", 1) for key, value in variables.items() if key.startswith(HEADER_VARIABLE) and ": " in value
    )
    if headers:
        entry["headers"] = headers
    ours = (HEADER_VARIABLE, URL_VARIABLE)
    kept = {key: value for key, value in variables.items() if not key.startswith(ours)}
    rest = {key: value for key, value in server.items() if key not in {"type", "command", "args", "env"}}
    return entry | ({"env": kept} if kept else {}) | rest
