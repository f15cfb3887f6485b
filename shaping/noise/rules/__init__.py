"""The noise rules, one file each. To add one, write its file and name its RULE here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shaping.noise.rules import (
    base64,
    html_twins,
    link_lists,
    links,
    long_strings,
    markup,
    opaque,
    passed_rows,
    pictures,
    printed,
)

if TYPE_CHECKING:
    from shaping.noise.rule import NoiseRule

# In this order: what a link says is settled before anything asks whether a record is still identified.
RULES: tuple[NoiseRule, ...] = (
    link_lists.RULE,
    links.RULE,
    pictures.RULE,
    opaque.RULE,
    base64.RULE,
    long_strings.RULE,
    printed.RULE,
    passed_rows.RULE,
    html_twins.RULE,
    markup.RULE,
)
