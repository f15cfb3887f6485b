"""The page as one HTML document that needs no network and no script: what is here can be read as a report."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shaping.ledger.entries import GROUPS
from shaping.ledger.marks import REASONS, marked_lines
from shaping.page.charts import bars, treemap
from shaping.page.markup import attributes, element, escape, number, percent
from shaping.response import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shaping.ledger import LedgerEntry, Totals
    from shaping.ledger.marks import MarkedLine
    from shaping.ledger.texts import CallTexts
    from shaping.page.data import FieldTokens, PageData, ShownCall

GONE: Final = (
    "The texts of this call are not to be had: they were kept for a limited time that is over, or in the memory of the "
    "process that answered. The ledger itself holds numbers only."
)
_LINES: Final = 400  # of each side of a call
_COLUMNS: Final = (("Calls", "n"), ("Sent", "n wide"), ("Read", "n wide"), ("Saved", "n"), ("Share", "n"))
_HERE: Final = Path(__file__).parent


@cache
def _asset(name: str) -> str:
    return (_HERE / name).read_text()


def content_policy() -> str:
    """Return the policy of the page: nothing runs and nothing is loaded but what stands in it."""
    style, script = (_hash(_asset(name)) for name in ("page.css", "page.js"))
    return (
        f"default-src 'none'; style-src '{style}'; style-src-attr 'unsafe-inline'; script-src '{script}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def document(data: PageData, *, live: bool = False) -> str:
    """Write the whole page; a live one asks its server for news."""
    state = '<span id="state" class="state" role="status">live</span>' if live else ""
    made = f"{datetime.fromtimestamp(data.made).astimezone():%d %b %Y, %H:%M}"
    since = f"{datetime.fromtimestamp(data.since).astimezone():%d %b %Y}" if data.since else "the beginning"
    return _wrapped(
        "What shaping saved",
        f"<header><h1>shaping</h1><p>What models read of your tools, since {since}. As of {made}. {state}</p></header>"
        f'<main id="main">{"".join(_sections(data))}</main>{_footer(data)}',
        live=live,
    )


def calls_document(calls: Sequence[ShownCall]) -> str:
    """Write calls alone, what the model read beside what the tool sent."""
    shown = "".join(_call(call, opened=True) for call in calls) or "<p>There are no calls yet.</p>"
    return _wrapped(
        "The last calls", f"<header><h1>shaping</h1><p>The last calls.</p></header><main>{shown}</main>", live=False
    )


def _wrapped(title: str, body: str, *, live: bool) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(content_policy())}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<link rel="icon" href="data:,"><style>{_asset("page.css")}</style></head>'
        f"<body{' data-live' if live else ''}>{body}<script>{_asset('page.js')}</script></body></html>"
    )


def _sections(data: PageData) -> Iterator[str]:
    yield _summary(data)
    if not data.tools:
        yield element("section", "<p>No calls yet: every call through <code>shaping proxy</code>, the middleware, "
                      "<code>shaping run</code>, a hook or an integration appears here.</p>")  # fmt: skip
    if data.findings:
        yield _findings(data)
    if data.bars:
        legend = _legend(("saved", "not read"), ("read", "read by a model"))
        yield _section("time", "Savings over time", bars(data.bars), note=f"Tokens. {legend}")
    if data.tools:
        yield _section("tools", "By tool", _groups("tool", data.tools), note="Choose a column to sort by it.")
    if data.fields:
        yield _fields(data.fields)
    if data.calls:
        opened = "".join(_call(call) for call in data.calls)
        yield _section("calls", "The last calls", opened, note="What the tool sent, and what the model read of it.")
    if len(data.clients) > 1:
        yield _section("clients", "By client", _groups("client", data.clients))
    if data.choices:
        yield _config(data)


def _section(name: str, title: str, content: str, *, note: str = "") -> str:
    said = f'<p class="note">{note}</p>' if note else ""
    return f'<section id="{name}"><h2>{escape(title)}</h2>{said}{content}</section>'


def _legend(*kinds: tuple[str, str]) -> str:
    return " ".join(f'<span class="key {kind}"></span>{escape(words)}' for kind, words in kinds)


def _summary(data: PageData) -> str:
    total = data.total
    exact = f"within {number(total.error)} tokens" if total.error >= 1 else "exactly"
    tokenizer = ", ".join(data.tokenizers) or "no tokenizer yet"
    lost = f" {counted(data.dropped, 'call')} came too fast to be counted." if data.dropped else ""
    cards = [
        (
            "Tokens not read",
            number(total.saved),
            f"{percent(total.share)} of {number(total.before)}, net",
        ),
        ("Tokens read", number(total.after), f"{number(total.added)} of them added by shaping"),
        ("Calls", f"{total.calls:,}", _per_call(total)),
        ("Asked back", f"{total.expansions:,}", "expansions and queries, counted as read"),
    ]
    if data.price is not None:
        cost = data.price.cost(total.saved) or 0.0
        said = f"{escape(data.price.model)}, {escape(data.price.date)}; each further turn adds cache reads"
        cards.insert(1, ("Worth, written once", f"{cost:,.2f} {escape(data.price.currency)}", said))
    shown = "".join(
        f'<div class="card{" first" if not place else ""}"><h2>{title}</h2><strong>{value}</strong><p>{said}</p></div>'
        for place, (title, value, said) in enumerate(cards)
    )
    note = f"Counted {exact} by {escape(tokenizer)}, against what each client would have shown its model.{lost}"
    return f'<section id="summary"><div class="cards">{shown}</div><p class="note">{note}</p></section>'


def _per_call(total: Totals) -> str:
    return f"{total.milliseconds / total.calls:.1f} ms of shaping each" if total.calls else "none yet"


def _groups(kind: str, groups: Iterable[tuple[str, Totals]]) -> str:
    """Write a table that a reader can sort; the widest bar is the group that would have been read most."""
    rows = list(groups)
    most = max((total.before for _, total in rows), default=0) or 1
    head = "".join(
        f'<th scope="col" class="{style}"><button type="button">{escape(title)}</button></th>'
        for title, style in ((kind.capitalize(), "name"), *_COLUMNS)
    )
    body = "".join(_group(name, total, most) for name, total in rows)
    table = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll tall"><table class="sortable">{table}</table></div>'


def _group(name: str, total: Totals, most: int) -> str:
    read, saved = 100 * total.after / most, 100 * max(0, total.saved) / most
    bar = (
        f'<span class="bar"><i class="read" style="width:{read:.2f}%"></i>'
        f'<i class="saved" style="width:{saved:.2f}%"></i></span>'
    )
    cells = [(total.calls, f"{total.calls:,}", "n"), (total.before, number(total.before), "n wide")]
    cells += [(total.after, number(total.after), "n wide"), (total.saved, number(total.saved), "n")]
    numbers = "".join(f'<td class="{style}" data-value="{value}">{said}</td>' for value, said, style in cells)
    share = f'<td class="n" data-value="{total.share:.6f}">{percent(total.share)}</td>'
    return f'<tr><th scope="row" class="name"><span>{escape(name)}</span>{bar}</th>{numbers}{share}</tr>'


def _fields(fields: Sequence[tuple[str, Sequence[FieldTokens]]]) -> str:
    legend = _legend(("kept", "read"), ("partly", "partly left out"), ("gone", "left out"))
    maps = "".join(
        f'<details {attributes(id=f"fields-{place}")}{" open" if not place else ""}><summary><span class="tool">'
        f"{escape(tool)}</span><span>{number(sum(each.tokens for each in listed))} tokens</span></summary>"
        f"{treemap(listed)}{_field_table(listed)}</details>"
        for place, (tool, listed) in enumerate(fields)
    )
    note = f"Of the last calls whose originals the store still has. {legend}"
    return _section("fields", "Tokens by field", maps, note=note)


def _field_table(fields: Sequence[FieldTokens]) -> str:
    """Name the largest fields in full: a rectangle has room for a word."""
    rows = "".join(
        f'<tr><th scope="row" class="name"><code>{escape(each.path or "(the whole value)")}</code></th>'
        f'<td class="n">{number(each.tokens)}</td><td class="n">{number(each.left_out) if each.left_out else "0"}</td>'
        f'<td class="wide">{escape(each.reason or "")}</td></tr>'
        for each in fields[:8]
    )
    head = '<th scope="col" class="name">Field</th><th scope="col" class="n">Tokens</th>'
    head += '<th scope="col" class="n">Left out</th><th scope="col" class="wide">Why</th>'
    return (
        f'<div class="scroll"><table class="fields"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _call(call: ShownCall, *, opened: bool = False) -> str:
    entry = call.entry
    when = datetime.fromtimestamp(entry.time).astimezone()
    shown = f"{when:%H:%M:%S}" if when.date() == datetime.now().astimezone().date() else f"{when:%d %b %H:%M}"
    tokens = f"{number(entry.before)} → {number(entry.after)}" if entry.kind == "call" else f"+{number(entry.after)}"
    share = percent(entry.saved / entry.before) if entry.before else entry.kind
    kind = "share" if entry.saved > 0 else "share none"
    summary = (
        f'<time datetime="{when.isoformat(timespec="seconds")}">{shown}</time>'
        f'<span class="tool">{escape(GROUPS["tool"](entry))}</span>'
        f'<span class="client">{escape(entry.client)}</span><span class="tokens">{tokens}</span>'
        f'<span class="{kind}">{share}</span>'
    )
    body = f'<p class="note">{GONE}</p>' if call.texts is None else _texts(entry, call.texts)
    named = attributes(id=f"call-{entry.ref or entry.time}", class_="call")
    return f"<details {named}{' open' if opened else ''}><summary>{summary}</summary>{body}</details>"


def _texts(entry: LedgerEntry, texts: CallTexts) -> str:
    reasons: dict[str, int] = {}
    for part in texts.sent:
        for omission in part.omissions:
            reasons[omission.reason] = reasons.get(omission.reason, 0) + omission.count
    why = "".join(
        f'<li><span class="reason">{escape(reason)}</span> {count:,}: {escape(REASONS.get(reason, ""))}</li>'
        for reason, count in sorted(reasons.items(), key=lambda pair: -pair[1])
    )
    listed = f'<ul class="reasons">{why}</ul>' if why else ""
    read = _pane("The model read", entry.after, (escape(line) for line in texts.read.splitlines()))
    if not texts.sent:
        return f'<div class="panes one">{read}</div>'
    sent = _pane("The tool sent", entry.before, _marked(texts))
    return f'{listed}<div class="panes">{sent}{read}</div>'


def _marked(texts: CallTexts) -> Iterator[str]:
    for part in texts.sent:
        yield from map(_line, marked_lines(part, texts.read))


def _line(line: MarkedLine) -> str:
    if line.reason is None:
        return escape(line.text)
    text = line.text.lstrip(" ")
    indent = " " * (len(line.text) - len(text))
    return f'{indent}<del>{escape(text)}</del> <span class="reason">{escape(line.reason)}</span>'


def _pane(title: str, tokens: int, lines: Iterator[str]) -> str:
    shown = list(islice(lines, _LINES))
    rest = sum(1 for _ in lines)
    more = f'\n<span class="more">… {counted(rest, "more line")}</span>' if rest else ""
    text = "\n".join(shown)
    return (
        f'<div class="pane"><h3>{escape(title)} <span>{counted(tokens, "token")}</span></h3>'
        f'<pre tabindex="0">{text}{more}</pre></div>'
    )


def _config(data: PageData) -> str:
    rows = "".join(
        f'<tr><th scope="row" class="name">{escape(row.tool or "every tool")}</th><td>{escape(row.name)}</td>'
        f"<td><code>{escape(row.value)}</code></td><td>{escape(row.source)}</td></tr>"
        for row in data.choices
    )
    head = "".join(f'<th scope="col">{title}</th>' for title in ("For", "Choice", "Value", "Decided by"))
    files = ", ".join(data.config_files) or "the bundled default"
    table = (
        f'<div class="scroll"><table class="stacked"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )
    return _section("config", "Config in force", table, note=f"{escape(files)} ({escape(data.config_hash)})")


def _findings(data: PageData) -> str:
    items = "".join(
        f'<li><span class="reason">{escape(each.kind)}</span> <b>{escape(each.tool)}</b> '
        f"<code>{escape(each.path)}</code> {escape(each.message)}"
        f"{f'<pre>{escape(each.rule)}</pre>' if each.rule else ''}</li>"
        for each in data.findings
    )
    note = "What tools send has changed, or an answer contract does not hold."
    return _section("findings", "Drift and contracts", f'<ul class="findings">{items}</ul>', note=note)


def _footer(data: PageData) -> str:
    return (
        f"<footer><p>From the ledger {escape(data.ledger)}, which has names and numbers and no payload. "
        "Texts of calls come from the store while it keeps them, without secrets and private fields.</p></footer>"
    )
