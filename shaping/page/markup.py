"""Writing HTML: everything that comes from a tool, a client or a config is escaped here."""

from __future__ import annotations

from html import escape as _escape


def escape(text: object) -> str:
    """Write a text so that no character of it is markup, in content and in attributes."""
    return _escape(str(text), quote=True)


def attributes(**named: object) -> str:
    """Write attributes; `class_` is `class`, and one that is None is left out."""
    return " ".join(f'{name.rstrip("_")}="{escape(value)}"' for name, value in named.items() if value is not None)


def element(name: str, content: str, **named: object) -> str:
    """Write an element around content that is markup already."""
    opened = " ".join(part for part in (name, attributes(**named)) if part)
    return f"<{opened}>{content}</{name}>"


def number(value: float) -> str:
    """Write a number of tokens in short: 940, 12.4k, 3.1M."""
    size = abs(value)
    if size < 10_000:
        return f"{value:,.0f}"
    for unit, factor in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if size < factor * 1000 or unit == "G":
            return f"{value / factor:.{0 if size >= factor * 100 else 1}f}{unit}"
    raise AssertionError  # the last unit takes every size


def percent(share: float) -> str:
    """Write a share of one in percent."""
    return f"{100 * share:.0f}%" if abs(share) < 0.995 or share == 1 else f"{100 * share:.1f}%"
