"""Texts made to be slow are read in the time that their length takes."""

from __future__ import annotations

import pytest

from shaping.noise import reduce_text
from shaping.parsers import parse, parse_within

PIECES = (
    "x",
    "[",
    "](",
    "[![",
    "a\n",
    "\n",
    " ",
    "* ",
    "-",
    "*",
    "| ",
    "```",
    "a: ",
    ": ",
    " = ",
    "<a>",
    "  at x",
    "a.py::[",
    "#",
    "1.1",
    "1.234E+01," * 19 + "x",
)


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_repeated_a_hundred_thousand_times_is_read_at_once(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    for whole in (text, f"{text}\n{text}", f"a: b\n{text}"):
        parse(whole)
        parse_within(whole)
        reduce_text(whole, ("links", "opaque", "bulk", "boilerplate"))
