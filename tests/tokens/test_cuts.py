from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

import pytest

from benchmarks import texts
from shaping.tokens.encoding import NAMES
from shaping.tokens.sampling import CUT, chunks

if TYPE_CHECKING:
    from collections.abc import Callable

    import tiktoken


@pytest.mark.parametrize("name", NAMES)
def test_a_text_cut_anywhere_safe_has_as_many_tokens(reference: Callable[[str], tiktoken.Encoding], name: str) -> None:
    encode = reference(name).encode_ordinary
    rng = Random(1)  # noqa: S311 - nobody's secret
    for kind in texts.KINDS:
        text = texts.make(kind, 1, 800).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        cuts = [cut.end() for cut in re.finditer(CUT, text)]
        for cut in rng.sample(cuts, min(10, len(cuts))):
            assert len(encode(text[:cut])) + len(encode(text[cut:])) == len(encode(text)), (
                kind,
                text[cut - 9 : cut + 9],
            )


def test_chunks_make_the_text_again() -> None:
    for kind in ("issues", "chinese", "chinese bare", "emoji", "white space"):
        text = texts.make(kind, 2, 200_000)
        assert "".join(chunks(text)) == text


def test_a_text_without_a_safe_cut_is_one_chunk() -> None:
    assert list(chunks("a" * 300_000)) == ["a" * 300_000]
