"""Charts as HTML boxes: bars over time and a treemap, sized by percentages, so that they fit any width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shaping.page.markup import attributes, element, escape, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shaping.page.data import Bar, FieldTokens


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of a treemap, in percent of its width and height."""

    left: float
    top: float
    width: float
    height: float


def bars(found: Sequence[Bar]) -> str:
    """Draw what was read and what was saved, stretch of time by stretch of time."""
    most = max((max(bar.total.before, bar.total.after) for bar in found), default=0) or 1
    columns = "".join(_column(bar, most) for bar in found)
    labels = _labels([bar.label for bar in found])
    return (
        f'<div class="bars" role="img" aria-label="{_described(found)}">'
        f'<div class="scale"><span>{number(most)}</span><span>{number(most // 2)}</span><span>0</span></div>'
        f'<div class="columns">{columns}</div></div><div class="labels">{labels}</div>'
    )


def _described(found: Sequence[Bar]) -> str:
    saved = sum(bar.total.saved for bar in found)
    return escape(f"{number(saved)} tokens saved between {found[0].label} and {found[-1].label}")


def _column(bar: Bar, most: int) -> str:
    total = bar.total
    read, saved = 100 * total.after / most, 100 * max(0, total.saved) / most
    said = f"{bar.label}: {number(total.before)} sent, {number(total.after)} read, {number(total.saved)} saved"
    parts = f'<i class="saved" style="height:{saved:.2f}%"></i><i class="read" style="height:{read:.2f}%"></i>'
    return element("div", parts if total.before or total.after else "", class_="column", title=said)


def _labels(labels: Sequence[str]) -> str:
    """Write the first, the last and a few labels between them."""
    places = sorted({0, len(labels) // 2, len(labels) - 1}) if labels else []
    return "".join(element("span", escape(labels[place])) for place in places)


def treemap(fields: Sequence[FieldTokens]) -> str:
    """Draw each field as a rectangle of its tokens; what was left out of it is marked."""
    sizes = [float(each.tokens) for each in fields if each.tokens > 0]
    shown = [each for each in fields if each.tokens > 0]
    boxes = zip(shown, squarify(sizes, 0, 0, 160, 90), strict=True)
    return element("div", "".join(_field(each, box) for each, box in boxes), class_="treemap")


def _field(each: FieldTokens, box: Box) -> str:
    share = each.left_out / each.tokens
    kind = "gone" if share > 0.9 else "partly" if share > 0.1 else "kept"
    left = f", {number(each.left_out)} left out" if each.left_out else ""
    why = f" ({each.reason})" if each.reason else ""
    said = f"{each.path or '(the whole value)'}: {number(each.tokens)} tokens{left}{why}"
    place = (
        f"left:{box.left / 1.6:.3f}%;top:{box.top / 0.9:.3f}%;"
        f"width:{box.width / 1.6:.3f}%;height:{box.height / 0.9:.3f}%"
    )
    large = box.width > 14 and box.height > 7
    name = ".".join(each.path.replace("[]", "").split(".")[-2:]).strip(".") or "value"
    label = f"<b>{escape(name)}</b><span>{number(each.tokens)}</span>" if large else ""
    return f"<div {attributes(class_=f'field {kind}', title=said, style=place)}>{label}</div>"


def squarify(sizes: Sequence[float], left: float, top: float, width: float, height: float) -> Iterator[Box]:
    """Divide a rectangle by sizes, the largest first, into boxes as square as possible (Bruls et al., 2000)."""
    whole = sum(sizes)
    if not whole:
        return
    scale = width * height / whole
    areas = [size * scale for size in sizes]
    at = 0
    while at < len(areas):
        side = min(width, height)
        end = at + 1
        while end < len(areas) and _worst(areas[at : end + 1], side) <= _worst(areas[at:end], side):
            end += 1
        row, thick = areas[at:end], sum(areas[at:end]) / side
        along = 0.0
        for area in row:
            long = area / thick
            if width >= height:
                yield Box(left, top + along, thick, long)
            else:
                yield Box(left + along, top, long, thick)
            along += long
        if width >= height:
            left, width = left + thick, max(width - thick, 1e-9)
        else:
            top, height = top + thick, max(height - thick, 1e-9)
        at = end


def _worst(row: Sequence[float], side: float) -> float:
    total = sum(row)
    return max(side * side * max(row) / total**2, total**2 / (side * side * min(row)))
