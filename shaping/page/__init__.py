"""The page that shows what shaping saved and left out: one HTML document that needs no network and no script."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from shaping.ledger.call_texts import REASONS
from shaping.ledger.entries import GROUPS
from shaping.response import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jinja2 import Template

    from shaping.ledger import LedgerEntry
    from shaping.page.data import FieldTokens, PageData, ShownCall

_NOT_KEPT: Final = (
    "What the tool sent was not kept: that is done for calls from which something was left out that can be asked for "
    "again. The numbers stay."
)
_GONE: Final = (
    "What the tool sent and what was read of it is no longer kept: its time (store.ttl_seconds) is over, or it "
    'was in the memory of a process that ended ("store": {"kind": "sqlite"} in the config keeps it on disk). '
    "The numbers stay."
)
Box: TypeAlias = tuple[float, float, float, float]  # left, top, width and height


def why_no_texts(entry: LedgerEntry) -> str:
    """Say why there is nothing of a call but its numbers."""
    return _NOT_KEPT if entry.ref is None else _GONE


def document(data: PageData, *, live: bool = False) -> str:
    """Write the whole page; a live one asks its server for news."""
    return _template().render(data=data, live=live, policy=content_policy(), today=datetime.now().astimezone().date())


def calls_document(calls: Sequence[ShownCall]) -> str:
    """Write calls alone, what the model read beside what the tool sent."""
    return _template().render(calls=calls, policy=content_policy(), today=datetime.now().astimezone().date())


def content_policy() -> str:
    """Return the policy of the page: nothing runs and nothing is loaded but what stands in it."""
    style, script = (_hash(_asset(name)) for name in ("page.css", "page.js"))
    return (
        f"default-src 'none'; style-src '{style}'; style-src-attr 'unsafe-inline'; script-src '{script}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text()


@cache
def _template() -> Template:
    from jinja2 import Environment  # noqa: PLC0415 (only a page needs it: costs 40 ms)

    environment = Environment(autoescape=True)
    environment.filters |= {
        "boxes": _boxes,
        "counted": counted,
        "local": lambda time: datetime.fromtimestamp(time).astimezone(),
        "number": number,
        "of": lambda part, most: f"{100 * max(0, part) / most:.2f}",
        "percent": percent,
        "tool": GROUPS["tool"],
        "why_no_texts": why_no_texts,
    }
    known: Any = {"reasons": REASONS, "style": _asset("page.css"), "script": _asset("page.js")}
    return environment.from_string(_asset("page.html"), known)


def _boxes(fields: Sequence[FieldTokens]) -> Iterator[tuple[FieldTokens, Box]]:
    """Give each field a rectangle of its tokens."""
    shown = [each for each in fields if each.tokens > 0]
    return zip(shown, squarify([float(each.tokens) for each in shown], (0, 0, 160, 90)), strict=True)


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
