from __future__ import annotations

from shaping.tokens import multipliers


def test_models_without_a_public_tokenizer_are_multipliers_with_a_source_and_never_counts() -> None:
    told = {other.family: (other.label, bool(other.source), bool(other.note)) for other in multipliers()}
    assert told == {
        "claude": ("about 1.15 to 1.5 times o200k_base (reported, not counted)", True, True),
        "gemini": ("about 1.22 times o200k_base (reported, not counted)", True, True),
    }
