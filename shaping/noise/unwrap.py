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
_BLANKS = re.compile(r"\n{3,}")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>]*)?/?>")
_WRAPPED = re.compile(
    r"\s*<(?:p|a(?= )|div|span|html|body|section|article|h[1-6]|ul|ol|table|br|b|i|em|strong|font|blockquote"
    r"|!doctype)\b",
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
_BLOCK = r"</?(?:br|p|div|li|h[1-6]|tr|table|ul|ol|dl|dt|dd|blockquote|pre|section|article|header|main|hr)\b[^<>]*+>"
_BLOCKS = re.compile(rf" ?{_BLOCK}(?: ?{_BLOCK})*+ ?", re.IGNORECASE)
_PARAGRAPH = re.compile("</?(?:p|h[1-6]|table|ul|ol|blockquote|pre|section|article)\\b", re.IGNORECASE)
_CELL = re.compile(r" ?</t[dh] ?>\s*<t[dh]\b[^<>]*+> ?", re.IGNORECASE)
_PREFORMATTED = re.compile(r"<(pre|textarea)\b[^<>]*+>((?:[^<]++|<(?!/?(?:pre|textarea)\b))*+)</\1 ?>", re.IGNORECASE)
_SOURCE_BLANKS, _AROUND_LINES = re.compile(r"[ \t\r\n\f]+"), re.compile(r" *\n *")
_KEPT = {ord(" "): "\x01", ord("\t"): "\x02", ord("\n"): "\x03"}
_GIVEN_BACK = {1: " ", 2: "\t", 3: "\n"}
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
    if len(text) > _LARGEST_PAGE:
        return text
    # Its blanks are those of the source, but for preformatted text; lines begin with tags.
    text = _PREFORMATTED.sub(_preformatted, _without_hidden(text.removeprefix("\ufeff"), _PAGE_OPENS))
    text = _CELL.sub(" | ", _SOURCE_BLANKS.sub(" ", text))
    return _AROUND_LINES.sub("\n", _shown(_BLOCKS.sub(_broken, text))).translate(_GIVEN_BACK)


def _preformatted(block: re.Match[str]) -> str:
    """Return a block without the tags in it and with its blanks, in letters that no page has."""
    words = _TAG.sub("", _BREAK.sub("\n", _ANCHOR.sub(_linked, block[2])))
    return f"<pre>{words.translate(_KEPT)}</pre>"


def _broken(tags: re.Match[str]) -> str:
    """Return where a browser begins a new line between tags: a paragraph, an item, or just a line."""
    return ("\n\n" if _PARAGRAPH.search(tags[0]) else "\n") + ("- " if _ITEM.search(tags[0]) else "")


def _shown(text: str) -> str:
    """Return what a browser shows of HTML, with the targets of its links."""
    text = _ANCHOR.sub(_linked, text)
    text = _ITEM.sub("- ", _BREAK.sub("\n", _IMAGE.sub(r"\1", text)))
    text = html.unescape(_TAG.sub("", text))
    return _BLANKS.sub("\n\n", text).strip()


def _linked(anchor: re.Match[str]) -> str:
    """Return the words of a link with its target, unless they say it or it is a place of the same page."""
    target, words = anchor.groups()
    said = _TAG.sub("", words).strip() or words  # a picture alone has no words
    return words if said in target or target.startswith("#") else f"{words} ({target})"


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
