"""A bar chart as SVG, plain enough to read in either colour scheme."""

from __future__ import annotations

from html import escape

_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#57606a}.b{fill:#8c959f}.o{fill:#1f883d}.s{font-weight:600}"
    "@media(prefers-color-scheme:dark){text{fill:#9198a1}.b{fill:#656c76}.o{fill:#3fb950}}"
)
_ROW, _LEFT, _WIDTH, _TOP = 30, 150, 380, 46


def bars(rows: list[tuple[str, float, int]]) -> str:
    """Draw tokens saved in percent, and beside each bar how many of 100 answers are still there."""
    height = _TOP + _ROW * len(rows) + 14
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" width="720" height="{height}">',
        f"<style>{_STYLE}</style>",
        '<text x="0" y="16" class="s">Tokens saved on 20 real tool results, and answers kept of 100</text>',
        f'<text x="{_LEFT}" y="36">saved</text>',
    ]
    for index, (name, saved, kept) in enumerate(rows):
        top = _TOP + _ROW * index
        style = "o" if name.startswith("shaping") else "b"
        width = max(2.0, _WIDTH * max(saved, 0) / 100)
        lines += [
            f'<text x="{_LEFT - 10}" y="{top + 15}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{style}" x="{_LEFT}" y="{top}" width="{width:.0f}" height="20" rx="2"/>',
            f'<text x="{_LEFT + width + 8:.0f}" y="{top + 15}">{saved:.1f}%, {kept} kept</text>',
        ]
    return "\n".join([*lines, "</svg>\n"])
