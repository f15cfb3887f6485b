"""XML documents of data: attributes and child elements become members."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import Any
from xml.etree.ElementTree import Comment, Element, ParseError, ProcessingInstruction, TreeBuilder

from shaping.parsers.rows import number

_START = re.compile(r"\s*<(?:\?xml\b|[A-Za-z_])")
_PAGE = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+)?(?:html|svg)\b", re.IGNORECASE)
_NAMESPACE = re.compile(r"\{[^}]*\}")
_DEEPEST = 100
_MEMBERS = 4  # names of a record, one of which may come back after others: it has its order from its generator


def parse_xml(text: str) -> Any:
    """Return the root element by its name; a page and elements between words are text."""
    if not _START.match(text) or _PAGE.match(text) or not text.rstrip().endswith(">"):
        return None
    from defusedxml.common import DefusedXmlException  # noqa: PLC0415 (few texts are XML: costs 10 ms)
    from defusedxml.ElementTree import DefusedXMLParser  # noqa: PLC0415 (few texts are XML: costs 10 ms)

    try:
        parser = DefusedXMLParser(target=TreeBuilder(insert_comments=True, insert_pis=True))
        parser.feed(text)
        root = parser.close()
        value = _Reader(root).value(root, 0)
        spaces = dict.fromkeys(space for each in root.iter() for space in _NAMESPACE.findall(str(each.tag)))
        if spaces and type(value) is dict and "xmlns" not in value:
            value = {"xmlns": " ".join(space[1:-1] for space in spaces), **value}
        return {_name(root.tag): value}
    except (ParseError, DefusedXmlException, ValueError):
        return None


class _Reader:
    """Reads elements with what the whole document says of their names: which are lists, and which hold numbers."""

    def __init__(self, root: Element) -> None:
        self._repeated: set[tuple[str, str]] = set()  # names that some parent has several of: lists wherever they stand
        self._texts: set[tuple[str, str]] = set()  # names, of elements and attributes, of which one is no number
        for element in root.iter():
            names = Counter(child.tag for child in element if not _is_comment(child))
            self._repeated |= {(element.tag, name) for name, count in names.items() if count > 1}
            said = [("", (element.text or "").strip()), *element.attrib.items()]
            self._texts |= {(element.tag, name) for name, words in said if words and type(number(words)) is str}

    def _scalar(self, element: Element, name: str, words: str) -> Any:
        return words if (element.tag, name) in self._texts else number(words)

    def value(self, element: Element, depth: int) -> Any:
        """Return the members of an element, or its words where it has none."""
        if depth > _DEEPEST:
            raise ValueError("nested deeper than any data")
        words = (element.text or "").strip()
        if len(element) and (words or any((child.tail or "").strip() for child in element)):
            raise ValueError("elements between words are a text with markup")
        members = {_name(key): self._scalar(element, key, value) for key, value in element.attrib.items()}
        comments = [(child.text or "").strip() for child in element if _is_comment(child)]
        members |= {"comment": "\n".join(comments)} if comments else {}
        runs = [tag for tag, _ in groupby(child.tag for child in element if not _is_comment(child))]
        names: dict[Any, None] = dict.fromkeys(runs)
        # A name that comes back after others: the order of the elements says something.
        in_order = len(runs) > len(names) + (len(names) >= _MEMBERS)
        own = len(element.attrib) + bool(comments)
        taken = ("elements",) if in_order else names
        if ProcessingInstruction in names or len({*map(_name, taken), *members}) < len(taken) + own:
            raise ValueError("a name stands for two things")
        children = [(child.tag, self.value(child, depth + 1)) for child in element if not _is_comment(child)]
        by_name: dict[Any, list[Any]] = {}
        for tag, value in children:
            by_name.setdefault(tag, []).append(value)
        if in_order:
            # An element without anything is a word, as <true/> of a property list.
            members["elements"] = [_name(tag) if value is None else {_name(tag): value} for tag, value in children]
        else:
            for tag, values in by_name.items():
                members[_name(tag)] = values if (element.tag, tag) in self._repeated else values[0]
        if not members:
            return self._scalar(element, "", words) if words else None
        if words and "text" in members:
            raise ValueError("a name stands for two things")
        return {**members, "text": words} if words else members


def _name(tag: str) -> str:
    return _NAMESPACE.sub("", tag)


def _is_comment(element: Any) -> bool:
    return element.tag is Comment
