"""Lines of an output that differ in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.encoders.lines import decode

if TYPE_CHECKING:
    from shaping import Shaper

LINES = "".join(f"Get:{at} http://x.dev/debian stable/main amd64 lib{at} all 1.{at} [{at} kB]\n" for at in range(1, 30))


def test_lines_that_differ_in_a_few_words_are_printed_short(shaper: Shaper, respond_to: Any) -> None:
    text = respond_to(shaper, ["apt-get", "update"], LINES, dialect="none").stdout
    assert len(text) < len(LINES) / 2
    assert decode(text) == LINES


def test_a_program_that_prints_files_prints_their_bytes(shaper: Shaper, respond_to: Any) -> None:
    for words in (["cat", "x"], ["/bin/tail", "x"], ["sh", "-c", "cat x"]):
        assert respond_to(shaper, words, LINES, dialect="none").stdout == LINES
