"""The page as one HTML document that needs no network and no script: what is here can be read as a report."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime
from functools import cache
from hashlib import sha256
from html import escape as _escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from shaping.ledger.entries import GROUPS
from shaping.ledger.texts import REASONS, CallTexts, marked_lines
from shaping.response import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shaping.ledger import LedgerEntry, Totals
    from shaping.page.data import Bar, FieldTokens, PageData, ShownCall

_NOT_KEPT: Final = (
    "What the tool sent was not kept: that is done for calls from which something was left out. The numbers stay."
)
_GONE: Final = (
    "What the tool sent and what was read of it is no longer kept: its time (store.ttl_seconds) is over, or it "
    'was in the memory of a process that ended ("store": {"kind": "sqlite"} in the config keeps it on disk). '
    "The numbers stay."
)
_LINES: Final = 400  # of each side of a call
_COLUMNS: Final = (("Calls", "n"), ("Sent", "n wide"), ("Read", "n wide"), ("Saved", "n"), ("Share", "n"))
Box: TypeAlias = tuple[float, float, float, float]  # left, top, width and height, in percent of the treemap


def why_no_texts(entry: LedgerEntry) -> str:
    """Say why there is nothing of a call but its numbers."""
    return _NOT_KEPT if entry.ref is None else _GONE


@cache
def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text()


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
        yield (
            "<section><p>No calls yet: every call through <code>shaping proxy</code>, the middleware, "
            "<code>shaping run</code>, a hook or an integration appears here.</p></section>"
        )
    if data.findings:
        yield _findings(data)
    if data.bars:
        legend = _legend(("saved", "not read"), ("read", "read by a model"))
        yield _section("time", "Savings over time", bars(data.bars), note=f"Tokens. {legend}")
    if data.tools:
        yield _section("tools", "By tool", _groups("Tool", data.tools), note="Choose a column to sort by it.")
    if data.fields:
        yield _fields(data.fields)
    if data.calls:
        opened = "".join(_call(call) for call in data.calls)
        yield _section("calls", "The last calls", opened, note="What the tool sent, and what the model read of it.")
    if len(data.clients) > 1:
        yield _section("clients", "By client", _groups("Client", data.clients))
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
        ("Tokens not read", number(total.saved), f"{percent(total.share)} of {number(total.before)}, net"),
        ("Tokens read", number(total.after), f"{number(total.added)} of them added by shaping"),
        ("Calls", f"{total.calls:,}", f"{total.milliseconds / max(total.calls, 1):.1f} ms of shaping each"),
        ("Asked back", f"{total.expansions:,}", "expansions and queries, counted as read"),
    ]
    shown = "".join(
        f'<div class="card{" first" if not place else ""}"><h2>{title}</h2><strong>{value}</strong><p>{said}</p></div>'
        for place, (title, value, said) in enumerate(cards)
    )
    note = f"Counted {exact} by {escape(tokenizer)}, against what each client would have shown its model.{lost}"
    return f'<section id="summary"><div class="cards">{shown}</div><p class="note">{note}</p></section>'


def _groups(kind: str, groups: Iterable[tuple[str, Totals]]) -> str:
    """Write a table that a reader can sort; the widest bar is the group that would have been read most."""
    rows = list(groups)
    most = max((total.before for _, total in rows), default=0) or 1
    columns = [(f'<button type="button">{title}</button>', style) for title, style in ((kind, "name"), *_COLUMNS)]
    return _table("sortable", columns, (_group(name, total, most) for name, total in rows), scroll="scroll tall")


def _table(kind: str, columns: Iterable[tuple[str, str]], rows: Iterable[str], *, scroll: str = "scroll") -> str:
    head = "".join(f'<th scope="col" class="{style}">{title}</th>' for title, style in columns)
    table = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="{scroll}"><table class="{kind}">{table}</table></div>'


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
        f'<details id="fields-{place}"{" open" if not place else ""}><summary><span class="tool">'
        f"{escape(tool)}</span><span>{number(sum(each.tokens for each in listed))} tokens</span></summary>"
        f"{treemap(listed)}{_field_table(listed)}</details>"
        for place, (tool, listed) in enumerate(fields)
    )
    note = f"Of the last calls whose originals the store still has. {legend}"
    return _section("fields", "Tokens by field", maps, note=note)


def _field_table(fields: Sequence[FieldTokens]) -> str:
    """Name the largest fields in full: a rectangle has room for a word."""
    rows = (
        f'<tr><th scope="row" class="name"><code>{escape(each.path or "(the whole value)")}</code></th>'
        f'<td class="n">{number(each.tokens)}</td><td class="n">{number(each.left_out)}</td>'
        f'<td class="wide">{escape(each.reason or "")}</td></tr>'
        for each in fields[:8]
    )
    return _table("fields", (("Field", "name"), ("Tokens", "n"), ("Left out", "n"), ("Why", "wide")), rows)


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
    body = f'<p class="note">{why_no_texts(entry)}</p>' if call.texts is None else _texts(entry, call.texts)
    named = f'id="call-{escape(entry.ref or entry.time)}" class="call"'
    return f"<details {named}{' open' if opened else ''}><summary>{summary}</summary>{body}</details>"


def _texts(entry: LedgerEntry, texts: CallTexts) -> str:
    why = "".join(
        f'<li><span class="reason">{escape(reason)}</span> {count:,}: {escape(REASONS.get(reason, ""))}</li>'
        for reason, count in texts.reasons
    )
    listed = f'<ul class="reasons">{why}</ul>' if why else ""
    read = _pane("The model read", entry.after, (escape(line) for line in texts.read.splitlines()))
    if not texts.sent:
        return f'<div class="panes one">{read}</div>'
    sent = _pane("The tool sent", entry.before, _marked(texts))
    return f'{listed}<div class="panes">{sent}{read}</div>'


def _marked(texts: CallTexts) -> Iterator[str]:
    for line in (line for part in texts.sent for line in marked_lines(part, texts.read)):
        text = line.text.lstrip(" ")
        indent, reason = " " * (len(line.text) - len(text)), line.reason
        removed = f'<del>{escape(text)}</del> <span class="reason">{escape(reason)}</span>'
        yield escape(line.text) if reason is None else f"{indent}{removed}"


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
    rows = (
        f'<tr><th scope="row" class="name">{escape(row.tool or "every tool")}</th><td>{escape(row.name)}</td>'
        f"<td><code>{escape(row.value)}</code></td><td>{escape(row.source)}</td></tr>"
        for row in data.choices
    )
    table = _table("stacked", (("For", ""), ("Choice", ""), ("Value", ""), ("Decided by", "")), rows)
    files = ", ".join(data.config_files) or "the bundled default"
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


def bars(found: Sequence[Bar]) -> str:
    """Draw what was read and what was saved, stretch of time by stretch of time."""
    most = max((max(bar.total.before, bar.total.after) for bar in found), default=0) or 1
    saved = sum(bar.total.saved for bar in found)
    described = f"{number(saved)} tokens saved between {found[0].label} and {found[-1].label}"
    columns = "".join(_column(bar, most) for bar in found)
    places = sorted({0, len(found) // 2, len(found) - 1})
    labels = "".join(f"<span>{escape(found[place].label)}</span>" for place in places)
    return (
        f'<div class="bars" role="img" aria-label="{escape(described)}">'
        f'<div class="scale"><span>{number(most)}</span><span>{number(most // 2)}</span><span>0</span></div>'
        f'<div class="columns">{columns}</div></div><div class="labels">{labels}</div>'
    )


def _column(bar: Bar, most: int) -> str:
    total = bar.total
    read, saved = 100 * total.after / most, 100 * max(0, total.saved) / most
    said = f"{bar.label}: {number(total.before)} sent, {number(total.after)} read, {number(total.saved)} saved"
    parts = f'<i class="saved" style="height:{saved:.2f}%"></i><i class="read" style="height:{read:.2f}%"></i>'
    return f'<div class="column" title="{escape(said)}">{parts if total.before or total.after else ""}</div>'


def treemap(fields: Sequence[FieldTokens]) -> str:
    """Draw each field as a rectangle of its tokens; what was left out of it is marked."""
    shown = [each for each in fields if each.tokens > 0]
    boxes = zip(shown, squarify([float(each.tokens) for each in shown], (0, 0, 160, 90)), strict=True)
    return f'<div class="treemap">{"".join(_field(each, box) for each, box in boxes)}</div>'


def _field(each: FieldTokens, box: Box) -> str:
    left, top, width, height = box
    share = each.left_out / each.tokens
    kind = "gone" if share > 0.9 else "partly" if share > 0.1 else "kept"
    gone = f", {number(each.left_out)} left out" if each.left_out else ""
    why = f" ({each.reason})" if each.reason else ""
    said = escape(f"{each.path or '(the whole value)'}: {number(each.tokens)} tokens{gone}{why}")
    place = f"left:{left / 1.6:.3f}%;top:{top / 0.9:.3f}%;width:{width / 1.6:.3f}%;height:{height / 0.9:.3f}%"
    name = ".".join(each.path.replace("[]", "").split(".")[-2:]).strip(".") or "value"
    label = f"<b>{escape(name)}</b><span>{number(each.tokens)}</span>" if width > 14 and height > 7 else ""
    return f'<div class="field {kind}" title="{said}" style="{place}">{label}</div>'


def squarify(sizes: Sequence[float], box: Box) -> Iterator[Box]:
    """Divide a rectangle by sizes, the largest first, into boxes as square as possible (Bruls et al., 2000)."""
    left, top, width, height = box
    areas = [size * width * height / sum(sizes) for size in sizes]
    while areas:
        side = min(width, height)
        end = 1
        while end < len(areas) and _worst(areas[: end + 1], side) <= _worst(areas[:end], side):
            end += 1
        thick, along = sum(areas[:end]) / side, 0.0
        for area in areas[:end]:
            long = area / thick
            yield (left, top + along, thick, long) if width >= height else (left + along, top, long, thick)
            along += long
        if width >= height:
            left, width = left + thick, max(width - thick, 1e-9)
        else:
            top, height = top + thick, max(height - thick, 1e-9)
        areas = areas[end:]


def _worst(row: Sequence[float], side: float) -> float:
    total = sum(row)
    return max(side * side * max(row) / total**2, total**2 / (side * side * min(row)))


def escape(text: object) -> str:
    """Write a text so that no character of it is markup, in content and in attributes."""
    return _escape(str(text), quote=True)


def number(value: float) -> str:
    """Write a number of tokens in short: 940, 12.4k, 3.1M."""
    size = abs(value)
    if size < 10_000:
        return f"{value:,.0f}"
    unit, factor = ("k", 1e3) if size < 1e6 else ("M", 1e6) if size < 1e9 else ("G", 1e9)
    return f"{value / factor:.{0 if size >= factor * 100 else 1}f}{unit}"


def percent(share: float) -> str:
    """Write a share of one in percent."""
    return f"{100 * share:.0f}%" if abs(share) < 0.995 or share == 1 else f"{100 * share:.1f}%"
