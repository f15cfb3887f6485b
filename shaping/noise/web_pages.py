"""Web pages, in HTML or Markdown, without what stands on every page of their site."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from shaping.noise.unwrap import page_text
from shaping.parsers.terminal import matcher, without_surrogates

_PAGE = re.compile(
    r"[\s\ufeff]*(?:<\?xml[^<>]*>\s*|<!--[^<>]*-->\s*)*"
    r"<(?:!doctype html|html|body|main|article|section|div|table|t(?:head|body|r)|[uod]l|h[1-6]|p)\b"
    r"(?![^{}]{0,400}\{[{%#])",  # of a template
    re.IGNORECASE,
)
_TITLE = re.compile(r'(\]\([^()\s"]+) "[^"\n]*"\)')
_PICTURE = r"!\[([^\[\]]{0,500})\]\(([^()\s]{1,1000})\)"
_LINKED_PICTURE = re.compile(rf"\[\s*{_PICTURE}\s*\]\(([^()\s]{{1,1000}})\)(\s*)")
_TARGET = re.compile(r"\]\(([^()\s]{1,1000})\)")
_SHOWN_PICTURE = re.compile(_PICTURE)
_IN_PAGE = re.compile(r"\[([^\[\]]{0,200}+(?:\[[^\[\]]{0,200}+\][^\[\]]{0,200}+)?)\]\(#[^()\s]{0,500}\)")
_LINK = re.compile(
    r"\[(?>[^\[\]]{0,500}+(?:\[[^\[\]]{0,500}+\][^\[\]]{0,500}+)?+)\]\([^()\s]{0,2000}+(?:\([^()]{0,200}+\)[^()\s]{0,200}+)?+\)"
)
_BLANK_LINES = re.compile(r"\n{3,}")
_ENDS_BLANK = matcher(r"[ \t\x{a0}]\n")
_ESCAPED = re.compile(r"(`[^`]*`)|\\([_=])")  # by a converter; in code a backslash means itself
_NAMED_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{1,200})\]\([^()\s]{8,1000}\)")
# A link to what it names: `[#12](https://x.dev/issues/12)`, `[@ann](https://x.dev/ann)`, a commit by its short hash.
_REFERENCE = re.compile(
    r"\[(?<!!\[)(?:([^\[\]\n]{0,16}[#@!])([\w-]{1,40})|([0-9a-f]{7,12}))\]"
    r"\((https?://[^()\s]{1,200}/)(?:\2|\3[0-9a-f]{0,33})\)"
)
_HEADING = re.compile(r"\n# \S")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+\.)?\s*(?:[-*+•]\s*)?")
_MANY_LINKS, _LINK_LINES = 12, 5  # links of a page, and lines of nothing but links in a row
# Characters of a line, and of all such lines, without which links are what a page is about.
_SENTENCE, _PROSE = 60, 1500
_ABOUT_PICTURES = 0.6  # of the links of a page are pictures, from which they are what it is about
_REFERENCES = 5  # of one form
_LARGE = 2000  # characters of HTML; a shorter piece of it may be what was asked for
_EDGES = 0.25, 0.6  # of a page: navigation stands before the one or after the other


def strip_page(text: str) -> str:
    """Return a web page without what stands on every page of its site."""
    if _PAGE.match(text) and len(text) >= _LARGE:
        return page_text(text)
    if text.count("](") < _MANY_LINKS:
        return text
    text = _without_pictures(_TITLE.sub(r"\1)", text))
    if sum(_sentences(text)) < _PROSE:
        return text
    # Converters fill lines with blanks, and give links of a page whose address they do not know that of an empty one.
    text = _BLANK_LINES.sub("\n\n", _without_line_ends(_without_masthead(text))).replace("](about:blank/", "](")
    text = _without_targets(_without_navigation(text.split("\n"), len(text)))
    return _ESCAPED.sub(r"\1\2", text) if "\\_" in text or "\\=" in text else text


def shorten_references(text: str) -> str:
    """Return a text whose links to what they name are without addresses, but for the first of each form."""
    if text.count("](http") < _REFERENCES:
        return text
    forms = Counter((found[1] or "", found[4]) for found in _REFERENCE.finditer(text))
    told: dict[str, str] = {}
    for (mark, folder), count in forms.most_common():
        name = rf"{re.escape(mark)}[\w-]+" if mark else "[0-9a-f]{7,12}"
        # One that has no address already would be given this one.
        if count >= _REFERENCES and mark not in told and not re.search(rf"\[{name}\](?!\()", text):
            told[mark] = folder
    examples: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        mark = found[1] or ""
        if told.get(mark) != found[4]:
            return found[0]
        examples.setdefault(mark, found[0])
        return found[0][: found[0].index("](") + 1]

    shorter = _REFERENCE.sub(named, text)
    return f"(addresses of links like these: {', '.join(examples.values())})\n{shorter}" if examples else text


def _without_line_ends(text: str) -> str:
    """Return a text whose lines do not end with blanks."""
    if not _ENDS_BLANK(without_surrogates(text)):
        return text
    *lines, last = text.split("\n")
    return "\n".join([*(line.rstrip(" \t\xa0") for line in lines), last])


def _sentences(text: str) -> list[int]:
    """Return the lengths of the long lines that a text has besides its links."""
    return [len(line) for line in _LINK.sub("", text).split("\n") if len(line) >= _SENTENCE]


def _without_masthead(text: str) -> str:
    """Return a page without the links before its title, where hardly anything else stands between them."""
    title = _HEADING.search(f"\n{text}")
    last = text.rfind("](", 0, title.start()) if title else -1
    end = text.find("\n", last) + 1 if last >= 0 else 0  # a date can stand between them and the title
    lines = [line for line in text[:end].split("\n") if line.strip()]
    linked = sum(1 for line in lines if "](" in line)
    if linked < max(_LINK_LINES, len(lines) / 2) or _sentences(text[:end]):
        return text
    return f"[navigation: {linked} links]\n{text[end:]}"


def _without_pictures(text: str) -> str:
    """Return a page with what its pictures show in place of their addresses, unless it is about pictures."""
    pictures = text.count("![")
    if not pictures or _ABOUT_PICTURES * text.count("](") < pictures:
        return text
    targets = Counter(_TARGET.findall(text))

    def linked(found: re.Match[str]) -> str:
        alt, picture, page, blanks = found.groups()
        if page == picture:
            return f"![{alt}]({picture}){blanks}"
        # The link beside it says what the page is about.
        return "" if targets[page] > 1 else f"[{alt or 'picture'}]({page}){blanks}"

    return _SHOWN_PICTURE.sub(lambda found: found[1] and f"[image: {found[1]}]", _LINKED_PICTURE.sub(linked, text))


def _without_targets(text: str) -> str:
    """Return a page whose links only say what they show where they lead into it or come again."""
    text = _IN_PAGE.sub(r"\1", text)
    seen: set[str] = set()

    def shown(found: re.Match[str]) -> str:
        again = found[0] in seen
        seen.add(found[0])
        return f"[{found[1]}]" if again else found[0]

    return _NAMED_LINK.sub(shown, text)


def _without_navigation(lines: Sequence[str], size: int) -> str:
    kept: list[str] = []
    run: list[str] = []
    at = start = 0
    for line in (*lines, None):
        if line is not None and (_is_link_only(line) or (run and not line.strip())):
            start = start if run else at
            run.append(line)
        else:
            if run:
                links = sum(1 for one in run if one.strip())
                is_edge = at <= _EDGES[0] * size or start >= _EDGES[1] * size
                kept += [f"[navigation: {links} links]", ""] if links >= _LINK_LINES and is_edge else run
                run = []
            kept += [] if line is None else [line]
        at += 0 if line is None else len(line) + 1
    return "\n".join(kept)


def _is_link_only(line: str) -> bool:
    """Whether a line holds nothing but links and what marks an item of a list."""
    return "](" in line and not _LINK.sub("", _ITEM.sub("", line, count=1)).strip(" |·•,#")
