"""`shaping discover`: what shaping would have done to the sessions that your clients keep on disk."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Final

import typer

from shaping.cli.ledger import MODEL, PRICES, price_of_model
from shaping.cli.output import PROFILE, Answer, columns, progress, quiet, stopped
from shaping.learning.statistics import TrafficStatistics
from shaping.learning.suggest import suggest, with_suggestions
from shaping.learning.traffic import (
    BUILT_IN,
    SHELL,
    ToolCall,
    Transcript,
    Usage,
    read_file,
    traffic_files,
)
from shaping.learning.transcripts import FORMATS, ToolReplay, find_transcripts, replay
from shaping.ledger.prices import Price
from shaping.redaction import without_secrets
from shaping.response import EXPAND, counted
from shaping.shaper import Shaper

RECORDINGS = typer.Argument(metavar="DIR", help="A folder of recordings to read instead of your clients' sessions.")
HOME = typer.Option(metavar="DIR", help="The home directory to look in.")

_NEWEST: Final = 200  # sessions of each client that are read
_SHOWN: Final = 5  # missing values that are shown
_EMPTY: Final = '{\n  "tool_overrides": {}\n}\n'
_INSTALL: Final = {
    "Claude Code": ("shaping wrap --client claude-code", "shaping hook install claude-code"),
    "Codex": ("shaping wrap --client codex",),
    "Gemini CLI": ("shaping wrap --client gemini",),
    "opencode": ("shaping wrap --client opencode", "shaping hook install opencode"),
}


def discover(
    recordings: Annotated[Path | None, RECORDINGS] = None,
    *,
    home: Annotated[Path | None, HOME] = None,
    profile: Annotated[str, PROFILE] = "minimal",
    model: Annotated[str | None, MODEL] = None,
    prices: Annotated[str | None, PRICES] = None,
) -> Answer:
    """Read your clients' past sessions: what shaping would have saved, and what would be missing."""
    price = price_of_model(model, prices)
    by_client = _recorded(recordings) if recordings else _transcripts(home or Path.home())
    quiet()
    read = [transcript for found in by_client.values() for transcript in found]
    rows, config = _replayed(read, profile)
    install = [command for client in by_client for command in _INSTALL.get(client, ())]
    money = None if price is None else _money(rows, price)
    lines = list(_report(by_client, rows, profile))
    if money is not None and price is not None:
        lines.append(
            f"These results cost {money['before']:,.4f} {price.currency} as they are, and {money['after']:,.4f} with "
            f"shaping, by the prices of {price.model} of {price.date}: written to the cache once, and read from it in "
            "each later turn."
        )
    if config == _EMPTY:
        lines.append("\nIt needs no config: this traffic suggests no rules of its own.\n")
    else:
        lines.append(f"\nThe config that this traffic suggests (response_config.json):\n\n{config}")
    if recordings is None:  # a proxy that records is installed
        commands = install or ["shaping proxy -- YOUR SERVER'S COMMAND, in your client's list of servers"]
        lines.append("\n  ".join(["To install:", *commands]))
    told = {"sessions": len(read), "tools": [*map(asdict, rows)], "config": config, "install": install}
    return Answer(told if money is None else {**told, "money": money}, lines)


def _replayed(read: Sequence[Transcript], profile: str) -> tuple[list[ToolReplay], str]:
    """Shape every result of some sessions: what each tool would have cost, and the config that they suggest."""
    calls = [call for transcript in read for call in transcript.calls if call.tool != EXPAND]
    usage = Usage()
    for transcript in read:
        usage.add_transcript(transcript)
    shaper = Shaper({"global": {"profile": profile}}, watch=False)
    turns = {transcript.session: transcript.turns for transcript in read}
    replayed = replay(shaper, calls, usage, turns)
    rows = sorted(replayed.values(), key=lambda row: (row.after - row.before, row.server, row.tool))
    return rows, with_suggestions(_EMPTY, suggest(_statistics(calls, usage)))


def _transcripts(home: Path) -> dict[str, list[Transcript]]:
    found = find_transcripts(home)
    if not found:
        raise stopped(
            f"no sessions of Claude Code, Codex, Gemini CLI or opencode in {home}; name a folder of recordings"
            " (`shaping proxy --record DIR` makes some), or another home directory with --home",
            1,
            code="FILE_NOT_FOUND",
        )
    read: dict[str, list[Transcript]] = {}
    with progress() as show:
        for client, files in found.items():
            newest = sorted(files, key=lambda path: path.stat().st_mtime)[-_NEWEST:]
            for done, path in enumerate(newest, 1):
                read.setdefault(client, []).extend(map(_clean, FORMATS[client][0](path)))
                show(client, done, len(newest))
    return {client: transcripts[-_NEWEST:] for client, transcripts in read.items()}


def _recorded(folder: Path) -> dict[str, list[Transcript]]:
    sessions: dict[str, list[ToolCall]] = {}
    for call in (one for path in traffic_files(folder) for one in read_file(path) if isinstance(one, ToolCall)):
        sessions.setdefault(call.session, []).append(call)
    return {"recordings": [Transcript(name, tuple(calls)) for name, calls in sessions.items()]}


def _clean(transcript: Transcript) -> Transcript:
    """Take secrets out of what a client kept: values of it are printed."""
    calls = tuple(
        replace(call, result=without_secrets(call.result), arguments=without_secrets(call.arguments))
        for call in transcript.calls
    )
    return replace(transcript, calls=calls)


def _statistics(calls: Sequence[ToolCall], usage: Usage) -> TrafficStatistics:
    found = TrafficStatistics()
    for call in calls:
        if call.server not in {BUILT_IN, SHELL}:
            found.add(call, usage)
    return found.ordered()


def _report(by_client: dict[str, list[Transcript]], rows: Iterable[ToolReplay], profile: str) -> Iterator[str]:
    for client, read in by_client.items():
        yield f"{client}: {counted(len(read), 'session')}, {counted(sum(len(one.calls) for one in read), 'call')}"
    shaped = [row for row in rows if row.server != BUILT_IN]
    yield ""
    heads = ("server/tool", "calls", "tokens read", "with shaping", "saved", "used later", "missing")
    rows_of = (
        (_name(row), row.calls, row.before, row.after, f"{row.saved:.0%}", row.used, sum(row.missing.values()))
        for row in shaped
    )
    yield from columns([heads, *rows_of])
    before, after = sum(row.before for row in shaped), sum(row.after for row in shaped)
    if before:
        saved = f"{1 - after / before:.0%} of {before:,} tokens"
        error = round(sum(row.error for row in shaped))
        how = f"counted by o200k_base {f'to within {error:,} tokens' if error else 'exactly'}"
        yield f"\n{saved} ({how}, profile {profile}) would not have been read."
    for row in shaped:
        if row.missing:
            some = ", ".join(sorted(row.missing)[:_SHOWN])
            yield f"{_name(row)} would have lacked what was used later: {some}"
    own = [row for row in rows if row.server == BUILT_IN]
    if own:
        calls, tokens = sum(row.calls for row in own), sum(row.before for row in own)
        of = f"{counted(calls, 'call')} of the clients' own tools ({counted(tokens, 'token')})"
        yield f"Not counted, because no proxy sees them: {of}."


def _money(rows: Iterable[ToolReplay], price: Price) -> dict[str, float | str]:
    """Price what was read and would have been read: written once, and read from the cache for the turns it stayed."""
    shaped = [row for row in rows if row.server != BUILT_IN]
    before = price.cost(sum(row.before for row in shaped), sum(row.read_before for row in shaped))
    after = price.cost(sum(row.after for row in shaped), sum(row.read_after for row in shaped))
    return {"before": round(before, 6), "after": round(after, 6), "currency": price.currency}


def _name(row: ToolReplay) -> str:
    return f"{row.server}/{row.tool}" if row.server else row.tool
