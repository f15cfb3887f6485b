"""`shaping demo`: a real server behind the proxy, a real client, and the same call raw and under each profile."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from shaping.cli.proxy import need_extra
from shaping.settings.files import bundled_path
from shaping.tokens import exact

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = [sys.executable, "-m", "shaping.cli.demo_server"]
PROXY = [sys.executable, "-c", "from shaping.cli.app import main; main()", "proxy", "--"]
PROFILES = ("minimal", "standard", "debug")
_SHOWN_LINES = 14
_ABOUT = "One call of `list_issues`: twelve issues as a forge's API gives them. What the model reads costs:"
_ASKED = "items[0].user.url"
_WIDEST = 110
_NEXT = "In front of your own server: shaping proxy -- COMMAND. In your client's config: shaping wrap FILE"


@dataclass(frozen=True, slots=True)
class Seen:
    """One call: how it was made, what the model reads of it, and what that costs."""

    how: str
    text: str
    tokens: int


def demo() -> None:
    """Show what shaping does: one call to a server, direct and through the proxy under each profile."""
    need_extra()
    import anyio  # noqa: PLC0415 (an extra)

    seen, back = anyio.run(_calls)
    if sys.stdout.isatty():
        _show(seen, back)
        return
    for line in _report(seen, back):
        typer.echo(line)


async def _calls() -> tuple[list[Seen], str]:
    async with _client(SERVER) as client:
        raw = await client.call_tool("list_issues", {})
    seen = [_seen("the server, direct", raw)]
    async with _client([*PROXY, *SERVER]) as client:
        for profile in PROFILES:
            result = await client.call_tool("list_issues", {}, meta={"shaping/profile": profile})
            seen.append(_seen(f"the proxy, {profile}", result))
            if profile == "minimal":
                ref = result.meta["shaping"]["ref"]
        back = await client.call_tool("shaping_expand", {"ref": ref, "path": _ASKED})
    return seen, back.content[0].text


def _client(command: list[str]) -> Any:
    from fastmcp import Client  # noqa: PLC0415 (an extra)
    from fastmcp.client.transports import StdioTransport  # noqa: PLC0415 (the same)

    # No config of the directory we happen to be in, and no profile of the environment: the demo is the same everywhere.
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SHAPING", "SCALPEL"))}
    environ = kept | {"SHAPING_CONFIG": _default_config()}
    return Client(StdioTransport(command[0], command[1:], env=environ, keep_alive=False))


def _default_config() -> str:

    return str(bundled_path("config", "response_config.json"))


def _seen(how: str, result: Any) -> Seen:

    text = "\n".join(block.text for block in result.content if block.type == "text")
    return Seen(how, text, exact(text))


def _report(seen: list[Seen], back: str) -> Iterator[str]:
    raw, minimal = seen[0], seen[1]
    yield from (_ABOUT, "")
    for one in seen:
        yield f"  {one.how:<22}{one.tokens:>7,} tokens  {_saved(one, raw)}".rstrip()
    yield from ("", f"What the model reads under minimal (the first {_SHOWN_LINES} lines):", "")
    for line in minimal.text.splitlines()[:_SHOWN_LINES]:
        yield f"  {line if len(line) <= _WIDEST else line[: _WIDEST - 1] + '…'}"
    yield from ("", _nothing_lost(back), _NEXT)


def _show(seen: list[Seen], back: str) -> None:
    """Print the same for a person at a terminal."""
    console, raw = Console(), seen[0]
    table = Table("call", "tokens", "saved", box=None, pad_edge=False)
    for one in seen:
        table.add_row(one.how, f"{one.tokens:,}", _saved(one, raw), style="bold green" if one is seen[1] else None)
    console.print(_ABOUT, table, sep="\n\n")
    lines = seen[1].text.splitlines()[:_SHOWN_LINES]
    console.print(
        Panel(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"), title="what the model reads: minimal")
    )
    console.print(Text(_nothing_lost(back)), Text(_NEXT), sep="\n")


def _saved(one: Seen, raw: Seen) -> str:
    return "" if one is raw else f"{1 - one.tokens / raw.tokens:.0%} less"


def _nothing_lost(back: str) -> str:
    return f"Nothing is lost: shaping_expand gives {_ASKED} back as {back}"
