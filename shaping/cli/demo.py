"""`shaping demo`: a real server behind the proxy, the same call raw and under each profile, and what was left out.

Run as a module it is that server: issues as an issue tracker's API gives them, made up and the same every time.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

import orjson

from shaping.cli.output import Answer, need_posix, stopped
from shaping.cli.proxy import need_extra, quiet_logs
from shaping.clients import joined_texts
from shaping.clients.wrap import started
from shaping.proxy.upstream import RequestError, ServerUnavailableError, Upstream
from shaping.response import EXPAND, cut_end
from shaping.settings.files import bundled, bundled_path
from shaping.tokens import exact

if TYPE_CHECKING:
    from fastmcp import FastMCP

SERVER: Final = [sys.executable, "-P", "-m", "shaping.cli.demo"]  # -P: nothing is imported from the working tree
PROXY: Final = [sys.executable, "-P", "-m", "shaping", "proxy", "--"]
PROFILES: Final = {"minimal": "the default", "standard": "keeps every link and id", "debug": "keeps everything"}
_RAW_LINES, _SHOWN_LINES = 5, 14
_WIDEST: Final = 110  # characters
_LEFT_OUT: Final = "items[0].user.url"
_QUERY: Final = "SELECT state, count(*) AS n, sum(comments) AS comments FROM items GROUP BY state"
_INTRODUCTION: Final = (
    "One call to an MCP server: twelve issues as an issue tracker's API gives them. What the model reads costs:"
)
_NEXT_STEPS: Final = """\
Try it on your own server, and on those of your client (`shaping wrap` alone lists the clients it finds):

  shaping tools -- COMMAND              what your server's tool definitions cost
  shaping wrap --client claude-code     put the proxy in front of every server; shaping unwrap takes it away"""


@dataclass(frozen=True, slots=True)
class MeasuredText:
    """What the model reads of one call, and what that costs."""

    label: str
    text: str
    tokens: int


def demo() -> Answer:
    """Show what shaping does: one call to a server, direct and through the proxy under each profile."""
    need_posix("shaping demo")
    need_extra()
    quiet_logs()
    try:
        raw, (shaped, expanded, counted) = asyncio.run(_calls())
    except (RequestError, ServerUnavailableError) as problem:
        raise stopped(f"the demo's server failed: {problem}", 1, code="UNAVAILABLE") from None
    lines = list(_report(raw, shaped, expanded, counted))
    return Answer({"text": "\n".join(lines)}, lines)


async def _calls() -> tuple[MeasuredText, tuple[list[MeasuredText], str, str]]:
    return await asyncio.gather(_direct_call(), _proxied_calls())


async def _direct_call() -> MeasuredText:
    async with started(SERVER, {}) as server:
        return _measured("the server, direct", await _call(server, "list_issues"))


async def _proxied_calls() -> tuple[list[MeasuredText], str, str]:
    async with started([*PROXY, *SERVER], _environ()) as server:
        results = {name: await _call(server, "list_issues", _meta={"shaping/profile": name}) for name in PROFILES}
        ref = results["minimal"]["_meta"]["shaping"]["ref"]
        asked = [{"ref": ref, "path": _LEFT_OUT}, {"ref": ref, "sql": _QUERY}]
        told = [joined_texts((await _call(server, EXPAND, arguments=one))["content"]) for one in asked]
    return [_measured(f"the proxy, {name}", result) for name, result in results.items()], told[0], told[1]


async def _call(server: Upstream, tool: str, **params: Any) -> dict[str, Any]:
    return await server.ask("tools/call", {"name": tool, "arguments": {}, **params})


def _environ() -> dict[str, str]:
    """Return variables by which no config or profile of the place where the demo runs applies, nor its ledger."""
    others = dict.fromkeys((name for name in os.environ if name.startswith(("SHAPING", "SCALPEL"))), "")
    config = str(bundled_path("config", "response_config.json"))
    return others | {"SHAPING_CONFIG": config, "SHAPING_LEDGER": "off"}


def _measured(label: str, result: dict[str, Any]) -> MeasuredText:
    text = joined_texts(result["content"])
    return MeasuredText(label, text, exact(text))


def _report(raw: MeasuredText, shaped: list[MeasuredText], expanded: str, counted: str) -> Iterator[str]:
    yield from (_INTRODUCTION, "")
    yield f"  {raw.label:<22}{raw.tokens:>7,} tokens"
    for one, meaning in zip(shaped, PROFILES.values(), strict=True):
        yield f"  {one.label:<22}{one.tokens:>7,} tokens  {1 - one.tokens / raw.tokens:>3.0%} less  {meaning}"
    yield from ("", "What the server sends begins like this:", "")
    yield from (f"  {raw.text[start : start + _WIDEST]}" for start in range(0, _WIDEST * _RAW_LINES, _WIDEST))
    yield from ("", "What the model reads instead, under minimal:", "")
    *lines, notice = shaped[0].text.splitlines()  # the last line says what was left out
    for line in (*lines[:_SHOWN_LINES], "…"):
        yield f"  {cut_end(line, _WIDEST)}"
    yield from (f"  {line}" for line in wrap(notice, _WIDEST))
    yield from ("", "What was left out is kept for a while.")
    yield f"The model asks for {_LEFT_OUT} and gets {expanded.strip()}"
    yield from ("", "Counting needs no reading. The model asks", "", f"  {_QUERY}", "", "and gets", "")
    yield from (f"  {line}" for line in counted.strip().splitlines())
    yield from ("", _NEXT_STEPS)


def issues(count: int = 12) -> list[dict[str, Any]]:
    """List made-up issues, as wordy as real ones; there are twelve."""
    found: list[dict[str, Any]] = orjson.loads(bundled("config", "demo.json"))
    return found[:count]


def make_server() -> FastMCP[Any]:
    """Make a server with one tool."""
    from fastmcp import FastMCP  # noqa: PLC0415 (an extra)

    server: FastMCP[Any] = FastMCP("forge")

    @server.tool
    def list_issues(count: int = 12) -> dict[str, Any]:
        """List the repository's issues, newest first."""
        return {"total_count": count, "incomplete_results": False, "items": issues(count)}

    return server


if __name__ == "__main__":
    make_server().run(show_banner=False, log_level="CRITICAL")
