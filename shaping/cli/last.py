"""`shaping last`: what the model read of the last calls, beside what their tools sent."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import datetime
from itertools import islice, zip_longest
from pathlib import Path  # noqa: TC003 (Typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from shaping.cli.report import write_page
from shaping.cli.support.ledger import LEDGER, ledger_file, user_store
from shaping.cli.support.output import config_failure, print_result, stopped
from shaping.ledger import LedgerDatabase, LedgerError
from shaping.ledger.entries import GROUPS
from shaping.ledger.texts import REASONS, find_texts, marked_lines
from shaping.page.data import ShownCall
from shaping.page.html import GONE, calls_document
from shaping.response import counted
from shaping.settings import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.ledger.texts import CallTexts

NUMBER = typer.Argument(metavar="N", min=1, max=500, help="How many calls, the newest last.")
TOOL = typer.Option("--tool", metavar="NAME", help="Only calls of this tool, as `shaping stats` names it.")
FULL = typer.Option("--full", help="Show every line; without it, the first 40 of each side.")
HTML = typer.Option("--html", metavar="FILE", help="Write the calls as one HTML file instead.", dir_okay=False)
JSON = typer.Option("--json", help="Print an envelope for a program to read.")

_LINES: Final = 40
_SIDES: Final = 110  # columns of a terminal from which on two sides stand beside each other
_GAP: Final = " │ "


def last(
    number: Annotated[int, NUMBER] = 1,
    *,
    tool: Annotated[str | None, TOOL] = None,
    full: Annotated[bool, FULL] = False,
    html: Annotated[Path | None, HTML] = None,
    ledger: Annotated[str | None, LEDGER] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show what the model read of the last calls beside what their tools sent, and why the rest was left out."""
    path = ledger_file(ledger)
    try:
        calls = _last_calls(LedgerDatabase(path), tool, number)
    except LedgerError as problem:
        raise stopped(str(problem), 1, code="UNAVAILABLE") from None
    except ConfigError as problem:
        raise config_failure(problem, as_json=as_json) from None
    if html is not None:
        write_page(html, calls_document(calls))
    elif as_json:
        print_result({"ledger": str(path), "calls": [_told(call) for call in calls]})
    elif not calls:
        typer.echo(f"The ledger {path} has no calls{f' of {tool}' if tool else ''} yet.")
    else:
        limit = sys.maxsize if full else _LINES
        typer.echo("\n\n".join("\n".join(_shown(call, limit)) for call in calls))


def _last_calls(database: LedgerDatabase, tool: str | None, number: int) -> list[ShownCall]:
    named = GROUPS["tool"]
    entries = [
        entry
        for entry in database.entries()
        if entry.kind != "definition" and (tool is None or tool in {named(entry), entry.tool})
    ]
    with user_store() as store:
        return [ShownCall(entry, find_texts(store, entry.ref)) for entry in entries[-number:]]


def _told(call: ShownCall) -> dict[str, Any]:
    entry, texts = call.entry, call.texts
    told: dict[str, Any] = {
        "time": datetime.fromtimestamp(entry.time).astimezone().isoformat(timespec="seconds"),
        "kind": entry.kind,
        "server": entry.server,
        "tool": entry.tool,
        "client": entry.client,
        "tokens_before": entry.before,
        "tokens_after": entry.after,
        "read": None,
        "sent": None,
    }
    if texts is not None:
        told["read"] = texts.read
        told["sent"] = [{"value": part.value, "omissions": [*map(_omission, part.omissions)]} for part in texts.sent]
    return told


def _omission(omission: Any) -> dict[str, Any]:
    return {"path": omission.path, "count": omission.count, "reason": omission.reason}


def _shown(call: ShownCall, limit: int) -> Iterator[str]:
    entry, texts = call.entry, call.texts
    when = f"{datetime.fromtimestamp(entry.time).astimezone():%d %b %H:%M:%S}"
    saved = f", {entry.saved / entry.before:.0%} saved" if entry.before else f" ({entry.kind})"
    client = f" for {entry.client}" if entry.client else ""
    yield f"{when}  {GROUPS['tool'](entry)}{client}: {entry.before:,} tokens sent, {entry.after:,} read{saved}"
    if texts is None:
        yield GONE
        return
    if reasons := _reasons(texts):
        yield f"left out: {reasons}"
    read = _cut(iter(texts.read.splitlines()), limit)
    if not texts.sent:
        yield from ("", "The model read:", *read)
        return
    sent = _cut(_marked(texts), limit)
    width = (shutil.get_terminal_size().columns - len(_GAP)) // 2
    if sys.stdout.isatty() and 2 * width + len(_GAP) >= _SIDES:
        yield from _beside(["The tool sent (- was left out)", "", *sent], ["The model read", "", *read], width)
    else:
        yield from ("", "The tool sent (- was left out):", *sent, "", "The model read:", *read)


def _reasons(texts: CallTexts) -> str:
    counts: dict[str, int] = {}
    for part in texts.sent:
        for omission in part.omissions:
            counts[omission.reason] = counts.get(omission.reason, 0) + omission.count
    return ", ".join(f"{count:,} {reason} ({REASONS.get(reason, reason)})" for reason, count in counts.items())


def _marked(texts: CallTexts) -> Iterator[str]:
    for part in texts.sent:
        for line in marked_lines(part, texts.read):
            yield f"  {line.text}" if line.reason is None else f"- {line.text}  ({line.reason})"


def _cut(lines: Iterator[str], limit: int) -> list[str]:
    shown = list(islice(lines, limit))
    rest = sum(1 for _ in lines)
    return [*shown, f"… {counted(rest, 'more line')}; --full shows them"] if rest else shown


def _beside(left: list[str], right: list[str], width: int) -> Iterator[str]:
    """Write two texts beside each other, their long lines wrapped."""
    colours = not os.environ.get("NO_COLOR")
    empty = ("", False)
    for (one, gone), (other, _) in zip_longest(_wrapped(left, width), _wrapped(right, width), fillvalue=empty):
        cell = f"{one:<{width}}"
        yield f"{typer.style(cell, fg='red') if gone and colours else cell}{_GAP}{other}".rstrip()


def _wrapped(lines: list[str], width: int) -> Iterator[tuple[str, bool]]:
    """Break lines to a width, each with whether it was left out."""
    for line in lines:
        for at in range(0, max(len(line), 1), width):
            yield line[at : at + width], line.startswith("- ")
