"""Web pages as Markdown or HTML: navigation, footers and the titles of links are left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shaping.noise.unwrap import page_text

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAGE = re.compile(r"\s*(?:<!doctype html|<html)\b", re.IGNORECASE)
_TITLE = re.compile(r'(\]\([^()\s"]+) "[^"\n]*"\)')
_PICTURE = re.compile(r"\[!\[([^\]]{0,500})\]\(([^()\s]{1,1000})\)\]\(\2\)")
_LINK = re.compile(
    r"\[(?>[^\[\]]{0,500}+(?:\[[^\[\]]{0,500}+\][^\[\]]{0,500}+)?+)\]\([^()\s]{0,2000}+(?:\([^()]{0,200}+\)[^()\s]{0,200}+)?+\)"
)
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+\.)?\s*(?:[-*+•]\s*)?")
_MANY_LINKS, _RUN = 12, 5  # links of a page, and lines of nothing but links in a row
_SENTENCE, _PROSE = (
    60,
    1500,
)  # characters of a line, and of all such lines, without which links are what a page is about
_LARGE = 2000  # characters of HTML; a shorter piece of it may be what was asked for
_EDGES = 0.25, 0.6  # of a page: navigation stands before the one or after the other


def strip_page(text: str) -> str:
    """Return a web page without what stands on every page of its site."""
    if _PAGE.match(text) and len(text) >= _LARGE:
        return page_text(text)
    if text.count("](") < _MANY_LINKS:
        return text
    text = _PICTURE.sub(r"![\1](\2)", _TITLE.sub(r"\1)", text))
    lines = text.split("\n")
    words = [len(_LINK.sub("", line)) for line in lines]
    prose = sum(size for size in words if size >= _SENTENCE)
    return _without_navigation(lines, len(text)) if prose >= _PROSE else text


def _without_navigation(lines: Sequence[str], size: int) -> str:
    kept: list[str] = []
    run: list[str] = []
    at = start = 0
    for line in (*lines, None):
        if line is not None and (_is_link_only(line) or (run and not line.strip())):
            start = start if run else at
            run.append(line)
        else:
            links = sum(1 for one in run if one.strip())
            is_edge = at <= _EDGES[0] * size or start >= _EDGES[1] * size
            kept += [f"[navigation: {links} links]", ""] if links >= _RUN and is_edge else run
            kept += [] if line is None else [line]
            run = []
        at += 0 if line is None else len(line) + 1
    return "\n".join(kept)


def _is_link_only(line: str) -> bool:
    """Whether a line holds nothing but links and what marks an item of a list."""
    return "](" in line and not _LINK.sub("", _ITEM.sub("", line, count=1)).strip(" |·•,#")
