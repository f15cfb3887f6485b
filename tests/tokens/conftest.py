from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest
import tiktoken

from benchmarks.ranks import ranked_tokens
from shaping.tokens import encoding

if TYPE_CHECKING:
    from collections.abc import Callable


@functools.cache
def _reference(name: str) -> tiktoken.Encoding:
    defined = encoding.definition(name)
    ranks = {token: rank for rank, token in enumerate(ranked_tokens(name))}
    return tiktoken.Encoding(
        name, pat_str=defined.pat_str, mergeable_ranks=ranks, special_tokens=defined.special_tokens
    )


@pytest.fixture(scope="session")
def reference() -> Callable[[str], tiktoken.Encoding]:
    """Build tiktoken's encoding, by which ours is judged."""
    return _reference
