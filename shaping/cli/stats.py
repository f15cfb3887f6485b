"""`shaping stats`: what shaping has saved, from the user's ledger."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from shaping.cli.support.output import print_result, stopped
from shaping.ledger import LedgerDatabase, LedgerError, add_up, default_path
from shaping.ledger.totals import GROUPS, group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.ledger import LedgerEntry, Totals

BY = typer.Option("--by", metavar="GROUP", help=f"Add up by {', '.join(GROUPS)}.")
SINCE = typer.Option("--since", metavar="TIME", help="How far back: 30m, 12h, 7d or 4w. [default: everything kept]")
WATCH = typer.Option("--watch", help="Print again whenever something was added, until Ctrl-C.")
LEDGER = typer.Option("--ledger", metavar="FILE", help="Read another ledger than the user's own.")
JSON = typer.Option("--json", help="Print an envelope for a program to read.")

_UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def stats(
    *,
    by: Annotated[str, BY] = "tool",
    since: Annotated[str | None, SINCE] = None,
    watch: Annotated[bool, WATCH] = False,
    ledger: Annotated[str | None, LEDGER] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show what shaping has saved: tokens that models did not read, net of what shaping added."""
    if by not in GROUPS:
        raise stopped(f"--by is {by!r}; expected one of {', '.join(GROUPS)}")
    start = _start(since)
    path = default_path() if ledger is None else ledger
    if path is None:
        raise stopped(
            "SHAPING_LEDGER is off, so nothing is recorded", 1, hint="Unset it, or name a file with --ledger."
        )
    database = LedgerDatabase(path)
    try:
        if as_json:
            print_result(_told(database.entries(since=start), by, str(path)))
            return
        shown = ""
        while True:
            text = "\n".join(_lines(database.entries(since=start), by, str(path), database.dropped(since=start)))
            if text != shown:
                typer.echo(text if not shown else f"\n{text}")
                shown = text
            if not watch:
                return
            time.sleep(1)
    except LedgerError as problem:
        raise stopped(str(problem), 1, code="UNAVAILABLE") from None


def _start(since: str | None) -> float:
    if since is None:
        return 0.0
    found = re.fullmatch(r"(\d+)([mhdw])", since.strip())
    if found is None:
        raise stopped(f"--since is {since!r}; expected a number with m, h, d or w, such as 7d")
    return time.time() - int(found.group(1)) * _UNITS[found.group(2)]


def _told(entries: list[LedgerEntry], by: str, path: str) -> dict[str, Any]:
    groups = [{by: name, **_members(total)} for name, total in group(entries, by).items()]
    return {"ledger": path, "total": _members(add_up(entries)), "groups": groups}


def _members(total: Totals) -> dict[str, Any]:
    return {
        "calls": total.calls,
        "expansions": total.expansions,
        "tokens_before": total.before,
        "tokens_after": total.after,
        "tokens_added_by_shaping": total.added,
        "tokens_saved": total.saved,
        "saved_percent": round(100 * total.share, 1),
        "tokens_error": round(total.error),
        "milliseconds_per_call": round(total.milliseconds / total.calls, 2) if total.calls else 0.0,
    }


def _lines(entries: list[LedgerEntry], by: str, path: str, dropped: int) -> Iterator[str]:
    if not entries:
        yield f"The ledger {path} has no calls yet."
        yield "Every call through `shaping proxy`, the middleware and `shaping run` is entered there."
        return
    rows: list[tuple[str, ...]] = [(by, "calls", "before", "after", "saved", "")]
    for name, total in group(entries, by).items():
        rows.append((name or "(unnamed)", *_cells(total)))
    everything = add_up(entries)
    if len(rows) > 2:
        rows.append(("in all", *_cells(everything)))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        first, *rest = row
        yield "  ".join(
            [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        )
    yield ""
    yield f"{everything}. Tokens of {_tokenizers(entries)}, counted {_exactness(everything)}."
    if dropped:
        yield f"{dropped:,} calls came too fast to be counted and are not in these numbers."


def _cells(total: Totals) -> tuple[str, ...]:
    return (
        f"{total.calls:,}",
        f"{total.before:,}",
        f"{total.after:,}",
        f"{total.saved:,}",
        f"{100 * total.share:.1f}%",
    )


def _tokenizers(entries: list[LedgerEntry]) -> str:
    return ", ".join(sorted({entry.tokenizer for entry in entries if entry.tokenizer})) or "an unknown tokenizer"


def _exactness(total: Totals) -> str:
    return f"to within {round(total.error):,} tokens" if total.error >= 1 else "exactly"
