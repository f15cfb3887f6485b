"""The noise rules. To add one, write its file and name its rule here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaping.noise.rules import copies, link_lists, links, long_strings, markup, opaque, passed_rows, pictures

if TYPE_CHECKING:
    from shaping.noise.records import NoiseRule

# In this order: what a link says is settled before anything asks whether a record is still identified.
RULES: tuple[NoiseRule, ...] = (
    copies.RULE,
    link_lists.RULE,
    links.RULE,
    pictures.RULE,
    opaque.OPAQUE,
    opaque.BASE64_TEXT,
    long_strings.LONG_STRINGS,
    long_strings.PRINTED,
    passed_rows.RULE,
    markup.HTML_TWINS,
    markup.MARKUP,
)
