"""The names that are nearest to one that is not known, as an error tells them."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def nearest(word: str, candidates: Iterable[str], n: int = 3, least: float = 0.6) -> tuple[str, ...]:
    """Return up to n candidates that look like the word, best first; between equals, in the order given."""
    scored = [(_closeness(word.casefold(), candidate.casefold()), candidate) for candidate in dict.fromkeys(candidates)]
    near = sorted((pair for pair in scored if pair[0] >= least), key=lambda pair: -pair[0])
    return tuple(candidate for _, candidate in near[:n])


def did_you_mean(similar: Sequence[str]) -> str:
    """Ask, behind a sentence, whether the nearest was meant; nothing where nothing is near."""
    return f" Did you mean {similar[0]!r}?" if similar else ""


def _closeness(word: str, candidate: str) -> float:
    if not word or not candidate:
        return 0.0
    ratio = SequenceMatcher(None, word, candidate, autojunk=False).ratio()
    # A word left unfinished (`inst` for `install`) is as good as one misspelt.
    return max(ratio, 0.9) if min(len(word), len(candidate)) >= 3 and candidate.startswith(word) else ratio
