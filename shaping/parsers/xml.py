"""XML documents of data: attributes and child elements become members."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

from shaping.parsers.rows import number

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_START = re.compile(r"\s*<(?:\?xml\b|[A-Za-z_])")
_PAGE = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype|html|svg)\b", re.IGNORECASE)
_NAMESPACE = re.compile(r"\{[^}]*\}")
_LARGEST = 4_000_000  # characters
_DEEPEST = 100


def parse(text: str) -> dict[str, Any] | None:
    """Return the root element by its name, unless the document is a page or its elements stand between words."""
    if not _START.match(text) or _PAGE.match(text) or not text.rstrip().endswith(">") or len(text) > _LARGEST:
        return None
    from defusedxml.common import DefusedXmlException  # noqa: PLC0415 (few texts are XML: costs 10 ms)
    from defusedxml.ElementTree import fromstring  # noqa: PLC0415 (few texts are XML: costs 10 ms)

    try:
        root = fromstring(text)
        return {_name(root.tag): _value(root, 0)}
    except (ParseError, DefusedXmlException, ValueError):
        return None


def _value(element: Element, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("nested deeper than any data")
    words = (element.text or "").strip()
    runs = [(name, list(run)) for name, run in groupby(element, key=lambda child: _name(child.tag))]
    members: dict[str, Any] = {_name(key): number(value) for key, value in element.attrib.items()}
    if runs and (words or any((child.tail or "").strip() for child in element)):
        raise ValueError("elements between words are a text with markup")
    for name, run in runs:
        if name in members:
            raise ValueError("a name comes twice: the order of the elements says something")
        values = [_value(child, depth + 1) for child in run]
        members[name] = values[0] if len(values) == 1 else values
    if not members:
        return number(words)
    return {**members, "text": words} if words and "text" not in members else members


def _name(tag: str) -> str:
    return _NAMESPACE.sub("", tag)
