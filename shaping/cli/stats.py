"""`shaping stats`: what shaping has saved, from the user's ledger."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from shaping.cli.support.ledger import LEDGER, MODEL, PRICES, SINCE, ledger_file, price_of, seconds_back
from shaping.cli.support.output import print_result, stopped
from shaping.ledger import LedgerDatabase, LedgerError, add_up
from shaping.ledger.entries import GROUPS, group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shaping.ledger import LedgerEntry, Totals
    from shaping.ledger.prices import Price

BY = typer.Option("--by", metavar="GROUP", help=f"Add up by {', '.join(GROUPS)}.")
WATCH = typer.Option("--watch", help="Print again whenever something was added, until Ctrl-C.")
JSON = typer.Option("--json", help="Print an envelope for a program to read.")

_CLEAR: Final = "\x1b[2J\x1b[H"  # of a terminal


def stats(
    *,
    by: Annotated[str, BY] = "tool",
    since: Annotated[str | None, SINCE] = None,
    watch: Annotated[bool, WATCH] = False,
    model: Annotated[str | None, MODEL] = None,
    prices: Annotated[str | None, PRICES] = None,
    ledger: Annotated[str | None, LEDGER] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show what shaping has saved: tokens that models did not read, net of what shaping added."""
    if by not in GROUPS:
        raise stopped(f"--by is {by!r}; expected one of {', '.join(GROUPS)}")
    back, price = seconds_back(since), price_of(model, prices)
    start = 0.0 if back is None else time.time() - back
    path = ledger_file(ledger)
    database = LedgerDatabase(path)
    try:
        if as_json:
            print_result(_told(database.entries(since=start), by, str(path), price))
            return
        shown = ""
        while True:
            entries, dropped = database.entries(since=start), database.dropped(since=start)
            text = "\n".join(_lines(entries, by, str(path), dropped, price))
            if text != shown:
                clear = _CLEAR if watch and sys.stdout.isatty() else "\n" if shown else ""
                typer.echo(f"{clear}{text}")
                sys.stdout.flush()
                shown = text
            if not watch:
                return
            time.sleep(1)
    except LedgerError as problem:
        raise stopped(str(problem), 1, code="UNAVAILABLE") from None


def _told(entries: list[LedgerEntry], by: str, path: str, price: Price | None) -> dict[str, Any]:
    groups = [{by: name, **_members(total, price)} for name, total in group(entries, by).items()]
    return {"ledger": path, "total": _members(add_up(entries), price), "groups": groups}


def _members(total: Totals, price: Price | None) -> dict[str, Any]:
    money = {} if price is None else {f"saved_{price.currency.lower()}": round(price.cost(total.saved) or 0.0, 6)}
    return {
        **money,
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


def _lines(entries: list[LedgerEntry], by: str, path: str, dropped: int, price: Price | None) -> Iterator[str]:
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
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()
    yield ""
    yield f"{everything}. Tokens of {_tokenizers(entries)}, counted {_exactness(everything)}."
    if price is not None:
        yield _worth(everything, price)
    if dropped:
        yield f"{dropped:,} calls came too fast to be counted and are not in these numbers."


def _worth(total: Totals, price: Price) -> str:
    """Say what the saved tokens would have cost when written; how many turns they stayed, a ledger cannot tell."""
    once, turn = price.cost(total.saved) or 0.0, price.cost(total.saved, total.saved)
    kind = "input" if price.cache_write is None else "cache writes"
    each = "" if turn is None else f", and {turn - once:,.4f} more for each turn that they would have stayed"
    return f"Worth {once:,.4f} {price.currency} as {kind} of {price.model} (prices of {price.date}){each}."


def _cells(total: Totals) -> tuple[str, ...]:
    return (
        f"{total.calls:,}" if total.calls else "",
        f"{total.before:,}",
        f"{total.after:,}",
        f"{total.saved:,}",
        f"{100 * total.share:.1f}%" if total.before else "",
    )


def _tokenizers(entries: list[LedgerEntry]) -> str:
    return ", ".join(sorted({entry.tokenizer for entry in entries if entry.tokenizer})) or "an unknown tokenizer"


def _exactness(total: Totals) -> str:
    return f"to within {round(total.error):,} tokens" if total.error >= 1 else "exactly"
