"""Strings without their wrapping: tags around text, tracking parameters, inline images, licence headers."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import Any

from shaping.noise.vocabulary import TRACKERS

_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=.-]+)*;base64,([A-Za-z0-9+/=_-]{64,})")
_TRACKER = rf"(?:{TRACKERS})="
_AND, _GIVEN = "&(?:amp;)?", r"[^&#\s\"'<>)]*(?<![.,!?])"
# Those before another parameter, then those after one and those that are alone.
_LEADING = re.compile(rf"\?(?:{_TRACKER}{_GIVEN}{_AND})+")
_TRAILING = re.compile(rf"(?:\?|{_AND}){_TRACKER}{_GIVEN}")
# Two patterns that begin with a letter are found many times faster than one that begins with a choice.
_FIRST_TRACKER, _NEXT_TRACKER = re.compile(rf"\?{_TRACKER}"), re.compile(f"{_AND}{_TRACKER}")
_BLANKS, _BLANK_PAGE = re.compile(r"\n{3,}"), re.compile(r"\n{6,}")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>]*)?/?>")
_WRAPPED = re.compile(
    r"\s*<(?:p|div|span|html|body|section|article|h[1-6]|ul|ol|table|br|b|i|em|strong|font|blockquote|!doctype)\b",
    re.IGNORECASE,
)
_MARKUP = re.compile("<(?:/|br|p>)")
# None of these reads on past the next tag in vain: a page of tags without ends would take minutes.
_HIDDEN = ("script", "style", "head", "svg", "noscript")
_ON_EVERY_PAGE = ("nav", "footer", "aside", "template", "form")
_OPENS = re.compile(rf"<({'|'.join(_HIDDEN)})\b|<(!--)|<(!doctype)", re.IGNORECASE)
_PAGE_OPENS = re.compile(rf"<({'|'.join(_HIDDEN + _ON_EVERY_PAGE)})\b|<(!--)|<(!doctype)", re.IGNORECASE)
_ENDS = {"!--": re.compile("-->"), "!doctype": re.compile(">")} | {
    name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in _HIDDEN + _ON_EVERY_PAGE
}
_ANCHOR = re.compile(
    r"<a\b(?=[^<>]*+>)(?>[^<>]*?\bhref\s*=\s*[\"']?([^\"'\s<>]+)[^<>]*+>)((?>[^<]+|<(?!/?a\b))*+)</a\s*>", re.IGNORECASE
)
_IMAGE = re.compile(r"<img\b(?=[^<>]*+>)[^<>]*?\balt\s*=\s*[\"']([^\"']*)[\"'][^<>]*+>", re.IGNORECASE)
_BREAK = re.compile(r"<(?:br|/p|/div|/li|/h[1-6]|/tr|/table|/ul|/ol|/blockquote|/pre)\b[^<>]*+>", re.IGNORECASE)
_ITEM = re.compile(r"<li\b[^<>]*+>", re.IGNORECASE)
_LARGEST_PAGE = 200_000  # characters looked at for tags


def unwrap(text: str) -> str:
    """Take the wrapping off one string; the same object where it had none, and where every blank counts."""
    return _unwrapped(text, _needed(text))


def unwrap_code(text: str) -> str:
    """Take the wrapping off one string whose tags are what was asked for."""
    return _unwrapped(text, [step for step in _needed(text) if step is not _without_tags])


def _unwrapped(text: str, steps: list[Callable[[str], str]]) -> str:
    if not steps or "@@ -" in text[:400]:
        return text
    unwrapped = text
    for step in steps:
        unwrapped = step(unwrapped)
    return text if unwrapped == text else unwrapped


def may_be_wrapped(values: Sequence[Any]) -> bool:
    """Whether any of these values is a string that could have wrapping, by a few searches of all at once."""
    texts = [value for value in values if type(value) is str]
    joined = "\0".join(texts)
    if _has_images(joined) or _has_tracking(joined):
        return True
    return "<" in joined and _MARKUP.search(joined) is not None and any(map(_WRAPPED.match, texts))


def unwrap_text(text: str) -> str:
    """Take empty pages, inline images and tracking off a whole text; its markup may be what was asked for."""
    # Fewer empty lines than a page of them cost nothing, and an edit of the text must find it as it is.
    text = _without_images(text)
    text = _without_tracking(text) if _names_tracker(text) else text
    return _BLANK_PAGE.sub("\n\n", text) if "\n" * 6 in text else text


def _needed(text: str) -> list[Callable[[str], str]]:
    """Return only the steps this text can need, so that a plain one costs a few searches."""
    steps: list[Callable[[str], str]] = []
    if _has_images(text):
        steps.append(_without_images)
    if _has_tracking(text):
        steps.append(_without_tracking)
    if "<" in text and (steps or _WRAPPED.match(text)) and _MARKUP.search(text):
        steps.append(_without_tags)
    return steps


# One letter is searched for many times faster than two, and most texts lack one of those that matter.
def _has_images(text: str) -> bool:
    return ";" in text and "," in text and ";base64," in text


def _has_tracking(text: str) -> bool:
    return "=" in text and "://" in text and _names_tracker(text)


def _names_tracker(text: str) -> bool:
    return ("?" in text and bool(_FIRST_TRACKER.search(text))) or ("&" in text and bool(_NEXT_TRACKER.search(text)))


def _without_images(text: str) -> str:
    return _DATA_URI.sub(lambda found: f"[{found[1]}, {len(found[2]) * 3 // 4} bytes]", text)


def _without_tracking(text: str) -> str:
    return _TRAILING.sub("", _LEADING.sub("?", text))


def _without_tags(text: str) -> str:
    """Return a string that is HTML throughout as its text; code and sentences about tags stay."""
    if len(text) > _LARGEST_PAGE or not _WRAPPED.match(text) or "```" in text:
        return text
    return _shown(_without_hidden(text, _OPENS))


def page_text(text: str) -> str:
    """Return a page of HTML as its text, without what stands on every page of its site."""
    return text if len(text) > _LARGEST_PAGE else _shown(_without_hidden(text, _PAGE_OPENS))


def _shown(text: str) -> str:
    """Return what a browser shows of HTML, with the targets of its links."""
    text = _ANCHOR.sub(lambda found: found[2] if found[2] in found[1] else f"{found[2]} ({found[1]})", text)
    text = _ITEM.sub("- ", _BREAK.sub("\n", _IMAGE.sub(r"\1", text)))
    text = html.unescape(_TAG.sub("", text))
    return _BLANKS.sub("\n\n", text).strip()


def _without_hidden(text: str, opens: re.Pattern[str]) -> str:
    """Take out what a browser does not show as text."""
    kept: list[str] = []
    at, endless = 0, set[str]()
    for opened in opens.finditer(text):
        name = next(filter(None, opened.groups())).lower()
        if opened.start() < at or name in endless:
            continue
        end = _ENDS[name].search(text, opened.end())
        if end is None:  # then none of those after it has one
            endless.add(name)
            continue
        kept.append(text[at : opened.start()])
        at = end.end()
    return "".join(kept) + text[at:]
