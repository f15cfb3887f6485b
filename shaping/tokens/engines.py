"""The two programs that can encode: tiktoken, always there, and splintr, faster, where the extra is installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shaping.tokens.vocabulary import encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Whoever encodes these in as many tokens has the right vocabulary, splits contractions, digits and spaces in the right
# places, and does not take a special token's spelling for the token.
_PROBES = (
    ("Don't split 1234567 like THIS: <|endoftext|>\r\n\r\n\t  x  ", {"o200k_base": 19, "cl100k_base": 19}),
    (
        '{"größe":[1.5e-9,null],"名前":"東京タワー🗼","url":"https://a.example/b?c=%20"}',
        {"o200k_base": 33, "cl100k_base": 38},
    ),
)

_LONG, _CACHED = 10_000, 10_000


@dataclass(frozen=True, slots=True)
class Engine:
    """Encodes for one vocabulary: a text, or white space that is known to be one pre-token."""

    name: str
    encode: Callable[[str], Sequence[int]]
    encode_gap: Callable[[str], Sequence[int]]


def load(name: str) -> Engine:
    """Load the fastest engine that counts this vocabulary rightly."""
    return splintr_engine(name) or tiktoken_engine(name)


def tiktoken_engine(name: str) -> Engine:
    """Load tiktoken with the vocabulary in this package."""
    made = encoding(name)
    # The one way past tiktoken's regex, which overflows its stack on a gap.
    gap = made._encode_single_piece  # noqa: SLF001 - there is no public spelling; a test holds it to its word
    return Engine("tiktoken", made.encode_ordinary, gap)


def splintr_engine(name: str) -> Engine | None:
    """Load splintr where it is installed and agrees with tiktoken on the probes."""
    try:
        import splintr  # noqa: PLC0415 - an extra

        tokenizer = splintr.Tokenizer.from_pretrained(name)
        agrees = all(len(tokenizer.encode_ordinary(text)) == counts[name] for text, counts in _PROBES)
    except Exception:  # noqa: BLE001 - whatever is wrong with an extra, tiktoken is there
        return None

    def encode(text: str) -> Sequence[int]:
        found = tokenizer.encode_ordinary(text)
        # It remembers pieces, which is worth it within a text and not for ever; asking how many takes as long as 2 KB.
        if len(text) > _LONG and tokenizer.cache_len > _CACHED:
            tokenizer.clear_cache()
        return found

    return Engine("splintr", encode, encode) if agrees else None
