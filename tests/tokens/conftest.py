from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest
import tiktoken

from shaping.tokens import vocabulary
from shaping.tokens.bpe import Engine, tiktoken_engine

if TYPE_CHECKING:
    from collections.abc import Callable


@functools.cache
def _engine(name: str) -> Engine:
    return tiktoken_engine(name)


@pytest.fixture(scope="session")
def tiktoken_only() -> Callable[[str], Engine]:
    """Load tiktoken even where splintr is installed, each vocabulary once."""
    return _engine


@functools.cache
def _reference(name: str) -> tiktoken.Encoding:
    lines = vocabulary.rank_file(name).splitlines()
    import base64

    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}
    defined = vocabulary.definition(name)
    return tiktoken.Encoding(
        name, pat_str=defined.pat_str, mergeable_ranks=ranks, special_tokens=defined.special_tokens
    )


@pytest.fixture(scope="session")
def reference() -> Callable[[str], tiktoken.Encoding]:
    """Build tiktoken's encoding from its own file format, apart from the code under test."""
    return _reference
