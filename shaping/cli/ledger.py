"""The commands that read the ledger: stats, last, ui and report; its file, how far back they look, and prices."""

import re
import shutil
import sys
import time
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import datetime
from itertools import islice, zip_longest
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shaping.cli.output import CONFIG, Answer, columns, free_address, page_address, saved_or_more, stopped
from shaping.ledger import LedgerDatabase, Totals, add_up
from shaping.ledger.call_texts import REASONS, CallTexts, find_texts
from shaping.ledger.entries import GROUPS, LedgerSum, group
from shaping.ledger.prices import Price, load_prices
from shaping.page import calls_document, document, why_no_texts
from shaping.page.data import PageSource, ShownCall
from shaping.response import counted
from shaping.settings.files import ledger_path, write_file
from shaping.settings.loading import load
from shaping.store import Store, open_store

LEDGER = typer.Option("--ledger", metavar="FILE", help="Read another ledger than the user's own.")
SINCE = typer.Option("--since", metavar="TIME", help="How far back: 30m, 12h, 7d or 4w. [default: everything kept]")
MODEL = typer.Option(
    "--model", metavar="NAME", help="Also say what was saved in money, by the prices of this model; see --prices."
)
PRICES = typer.Option(
    "--prices",
    metavar="FILE",
    help="A price table to use; without it SHAPING_PRICES, prices.json in your config directory, or the bundled one.",
)

BY = typer.Option("--by", metavar="GROUP", help=f"Add up by {', '.join(GROUPS)}.")
WATCH = typer.Option("--watch", help="Print again whenever something was added, until Ctrl-C.")
NUMBER = typer.Argument(metavar="N", min=1, max=500, help="How many calls, the newest last.")
TOOL = typer.Option("--tool", metavar="NAME", help="Only calls of this tool, as `shaping stats` names it.")
FULL = typer.Option("--full", help="Show every line; without it, the first 40 of each side.")
HTML = typer.Option("--html", metavar="FILE", help="Write the calls as one HTML file instead.", dir_okay=False)
PORT = typer.Option("--at", metavar="HOST:PORT", help="Where to serve the page; PORT alone is loopback.")
OPEN = typer.Option("--open/--no-open", help="Open the page in your browser.")
OUTPUT = typer.Option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")

_UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_CLEAR: Final = "\x1b[2J\x1b[H"  # of a terminal
_LINES: Final = 40
_SIDES: Final = 110  # columns of a terminal from which on two sides stand beside each other


def seconds_back(since: str | None) -> float | None:
    """Read how far back to look; None is everything."""
    if since is None:
        return None
    found = re.fullmatch(r"(\d{1,6})([mhdw])", since.strip())
    if found is None:
        raise stopped(f"--since is {since!r}; expected a number with m, h, d or w, such as 7d")
    return float(int(found.group(1)) * _UNITS[found.group(2)])


def user_store(config: Path | None = None) -> closing[Store]:
    """Open the store of the user's commands and proxies, as the config in force names it."""
    return closing(open_store(load(config).store_for("command")))


def price_of_model(model: str | None, prices: str | None) -> Price | None:
    """Find the price of a model, or end with what is wrong; None where no model is named."""
    if model is None:
        if prices is not None:
            raise stopped("--prices is for --model: name the model whose prices apply")
        return None
    return load_prices(prices).find(model)


def readable_ledger(named: str | None) -> LedgerDatabase:
    """Return the ledger to read; one that is not there, or is switched off, ends the command."""
    path = ledger_path() if named is None else Path(named)
    if path is None:
        hint = "Unset it, or name a file with --ledger."
        raise stopped("SHAPING_LEDGER is off, so nothing is recorded", 1, hint=hint)
    if named is not None and not path.exists():
        raise stopped(f"there is no ledger {path}", code="FILE_NOT_FOUND")
    return LedgerDatabase(path)


@contextmanager
def page_source(ledger: str | None, since: str | None, config: Path | None) -> Iterator[PageSource]:
    """Open what a page is made from."""
    seconds, database = seconds_back(since), readable_ledger(ledger)
    with user_store(config) as store:
        yield PageSource(database, store=store, config=lambda: load(config), seconds=seconds)


def write_page(file: Path, written: str) -> Answer:
    """Write a page for its user alone, because it may show what tools sent, and say where it is."""
    try:
        write_file(file, written.encode())
    except OSError as problem:
        raise stopped(f"cannot write {file}: {problem.strerror}", 1) from None
    return Answer({"file": str(file)}, notes=[f"wrote {file}"])


def stats(
    *,
    by: Annotated[str, BY] = "tool",
    since: Annotated[str | None, SINCE] = None,
    watch: Annotated[bool, WATCH] = False,
    model: Annotated[str | None, MODEL] = None,
    prices: Annotated[str | None, PRICES] = None,
    ledger: Annotated[str | None, LEDGER] = None,
) -> Answer:
    """Show what shaping has saved: tokens that models did not read, net of what shaping added."""
    if by not in GROUPS:
        raise stopped(f"--by is {by!r}; expected one of {', '.join(GROUPS)}")
    back, price = seconds_back(since), price_of_model(model, prices)
    start = 0.0 if back is None else time.time() - back
    database = readable_ledger(ledger)
    path, shown = str(database.path), list[str]()
    while True:
        sums = database.sums(since=start, shift=time.localtime().tm_gmtoff, by=by)
        lines = list(_lines(sums, by, path, database.dropped(since=start), price))
        if not watch:
            groups = [{by: name, **_members(total, price)} for name, total in group(sums, by).items()]
            return Answer({"ledger": path, "total": _members(add_up(sums), price), "groups": groups}, lines)
        if lines != shown:
            typer.echo("\n".join([_CLEAR if sys.stdout.isatty() else "", *lines]))
            sys.stdout.flush()
            shown = lines
        time.sleep(1)


def _members(total: Totals, price: Price | None) -> dict[str, Any]:
    money = {} if price is None else {f"saved_{price.currency.lower()}": round(price.cost(total.saved), 6)}
    return {**asdict(total), "saved": total.saved, **money}


def _lines(sums: list[LedgerSum], by: str, path: str, dropped: int, price: Price | None) -> Iterator[str]:
    if not sums:
        yield f"The ledger {path} has no calls, or none in the time of --since."
        yield "Calls through the proxy, the middleware, `shaping run`, hooks and integrations are entered there."
        return
    everything, totals = add_up(sums), group(sums, by)
    named = [*totals.items(), *([("in all", everything)] if len(totals) > 1 else [])]
    rows = (
        (
            name or "(unnamed)",
            total.calls or "",
            total.before,
            total.after,
            total.saved,
            f"{total.share:.1%}" if total.before else "",
        )
        for name, total in named
    )
    yield from columns([(by, "calls", "before", "after", "saved", ""), *rows])
    yield ""
    yield f"{everything}. {_counting(sums, everything)}."
    if price is not None:
        yield _worth(everything, price)
    if dropped:
        yield f"{dropped:,} calls came too fast to be counted and are not in these numbers."


def _worth(total: Totals, price: Price) -> str:
    """Say what the saved tokens would have cost when written; how many turns they stayed, a ledger cannot tell."""
    kind = "input" if price.cache_write is None else "cache writes"
    written, turn = price.cost(total.saved), price.cost(0, total.saved)
    worth = f"Worth {written:,.4f} {price.currency} as {kind} of {price.model} (prices of {price.date})"
    return f"{worth}, and {turn:,.4f} more for each turn that they would have stayed."


def _counting(sums: list[LedgerSum], total: Totals) -> str:
    """Say which tokens were counted, and how well."""
    named = {one.tokenizer for one in sums}
    exact = ", ".join(sorted(named - {"", "chars"})) or "an unknown tokenizer"
    how = f"to within {round(total.error):,} tokens" if total.error >= 1 else "exactly"
    guessed = "; short outputs that were not changed are guessed by their length" if "chars" in named else ""
    return f"Tokens of {exact}, counted {how}{guessed}" if named != {"chars"} else f"Counted {how}{guessed}"


def last(
    number: Annotated[int, NUMBER] = 1,
    *,
    tool: Annotated[str | None, TOOL] = None,
    full: Annotated[bool, FULL] = False,
    html: Annotated[Path | None, HTML] = None,
    ledger: Annotated[str | None, LEDGER] = None,
) -> Answer:
    """Show what the model read of the last calls beside what their tools sent, and why the rest was left out."""
    database = readable_ledger(ledger)
    calls = _last_calls(database, tool, number)
    if html is not None:
        return write_page(html, calls_document(calls))
    limit = sys.maxsize if full else _LINES
    lines = ["\n".join([*([""] if at else []), *_shown(call, limit)]) for at, call in enumerate(calls)]
    none = f"The ledger {database.path} has no calls{f' of {tool}' if tool else ''} yet."
    return Answer({"ledger": str(database.path), "calls": [asdict(call) for call in calls]}, lines or [none])


def _last_calls(database: LedgerDatabase, tool: str | None, number: int) -> list[ShownCall]:
    named = GROUPS["tool"]
    # Of what is expanded in a shell, no texts are kept.
    shown = (
        entry for entry in database.entries() if entry.kind == "call" or (entry.kind != "definition" and entry.ref)
    )
    entries = [entry for entry in shown if tool is None or tool in {named(entry), entry.tool}]
    with user_store() as store:
        return [ShownCall(entry, find_texts(store, entry.ref)) for entry in entries[-number:]]


def _refs(texts: CallTexts | None) -> list[str]:
    return [part.ref for part in (texts.sent if texts else ()) if part.ref]


def _shown(call: ShownCall, limit: int) -> Iterator[str]:
    entry, texts = call.entry, call.texts
    when = f"{datetime.fromtimestamp(entry.time).astimezone():%d %b %H:%M:%S}"
    saved = f", {saved_or_more(entry.saved / entry.before)}" if entry.before else f" ({entry.kind})"
    client = f" for {entry.client}" if entry.client else ""
    sizes = f"{entry.before:,} tokens without shaping, {entry.after:,} read"
    yield f"{when}  {GROUPS['tool'](entry)}{client}: {sizes}{saved}"
    if texts is None:
        yield why_no_texts(entry)
        return
    if texts.asked:
        yield f"asked: {', '.join(f'{name} {value}' for name, value in texts.asked.items())}"
    for ref in _refs(texts):
        yield f"all of it: shaping expand {ref}"
    if texts.reasons:
        reasons = (f"{count:,} {reason} ({REASONS.get(reason, reason)})" for reason, count in texts.reasons)
        yield f"left out: {', '.join(reasons)}"
    read = _cut(iter(texts.read.splitlines()), limit)
    if not texts.sent:
        yield from ("", "The model read:", *read)
        return
    marks = (f"  {one.text}" if one.reason is None else f"- {one.text}  ({one.reason})" for one in texts.sent_lines())
    sent = _cut(marks, limit)
    title = f"{texts.sent_title} (- was left out)"
    width = shutil.get_terminal_size().columns
    if sys.stdout.isatty() and width >= _SIDES:
        yield _beside([title, "", *sent], ["The model read", "", *read], width)
    else:
        yield from ("", f"{title}:", *sent, "", "The model read:", *read)


def _cut(lines: Iterator[str], limit: int) -> list[str]:
    shown = list(islice(lines, limit))
    rest = sum(1 for _ in lines)
    return [*shown, f"… {counted(rest, 'more line')}; --full shows them"] if rest else shown


def _beside(left: list[str], right: list[str], width: int) -> str:
    """Write two texts beside each other, their long lines wrapped, and what was left out in red."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(ratio=1, overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    for one, other in zip_longest(left, right, fillvalue=""):
        table.add_row(Text(one, "red" if one.startswith("- ") else ""), Text(other))
    console = Console(width=width)
    with console.capture() as written:
        console.print(table)
    return "\n".join(line.rstrip() for line in written.get().splitlines())


def ui(
    *,
    at: Annotated[str, PORT] = "127.0.0.1:8765",
    since: Annotated[str | None, SINCE] = None,
    config: Annotated[Path | None, CONFIG] = None,
    ledger: Annotated[str | None, LEDGER] = None,
    open_it: Annotated[bool, OPEN] = True,
) -> None:
    """Show a live page: what was saved over time, by tool and by field, the last calls, and what was left out."""
    try:
        from shaping.page.app import serve_page  # noqa: PLC0415 (an extra)
    except ImportError:
        raise stopped('the page needs an extra: pip install "shaping[http]"', code="DEPENDENCY_UNAVAILABLE") from None
    with page_source(ledger, since, config) as source:
        host, port = free_address(at)
        address, token = page_address(host, port)
        typer.echo(f"serving {address}", err=True)
        if open_it:
            webbrowser.open(address)
        serve_page(source, token, host, port)


def report(
    *,
    output: Annotated[str, OUTPUT] = "report.html",
    since: Annotated[str | None, SINCE] = None,
    config: Annotated[Path | None, CONFIG] = None,
    ledger: Annotated[str | None, LEDGER] = None,
) -> Answer:
    """Write what `shaping ui` shows as one HTML file that needs no network."""
    with page_source(ledger, since, config) as source:
        written = document(source.collect())
    return Answer({"html": written}, [written]) if output == "-" else write_page(Path(output), written)
