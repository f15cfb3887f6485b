"""A vocabulary's tokens one by one, and the file that OpenAI publishes of them."""

from __future__ import annotations

import base64
from itertools import pairwise

from shaping.tokens import encoding


def ranked_tokens(name: str) -> list[bytes]:
    """Return an encoding's tokens in the order of their ranks."""
    _, starts, file = encoding.vocabulary(name)
    return [file[start:end] for start, end in pairwise(starts)]


def rank_file(name: str) -> bytes:
    """Rebuild the file that tiktoken would have fetched, byte for byte."""
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(ranked_tokens(name)))
