from __future__ import annotations

import hashlib
from importlib import import_module, resources
from types import FunctionType
from typing import Any

import pytest

from benchmarks.ranks import rank_file
from shaping.tokens import encoding


def tiktokens_own(name: str) -> dict[str, Any]:
    """Return tiktoken's definition of an encoding, with the sha256 it would check its download by as the ranks."""

    def no_download(_url: str, *, expected_hash: str) -> str:
        return expected_hash

    public = import_module("tiktoken_ext.openai_public")
    offline = FunctionType(getattr(public, name).__code__, {**vars(public), "load_tiktoken_bpe": no_download})
    made: dict[str, Any] = offline()
    return made


@pytest.mark.parametrize("name", encoding.NAMES)
def test_the_rebuilt_rank_file_is_the_one_tiktoken_checks(name: str) -> None:
    assert hashlib.sha256(rank_file(name)).hexdigest() == tiktokens_own(name)["mergeable_ranks"]


@pytest.mark.parametrize("name", encoding.NAMES)
def test_pattern_and_special_tokens_are_tiktokens(name: str) -> None:
    own = tiktokens_own(name)
    assert encoding.definition(name) == encoding.Definition(
        sha256=own["mergeable_ranks"], pat_str=own["pat_str"], special_tokens=own["special_tokens"]
    )


def test_the_data_carries_its_licence_and_is_no_larger_than_its_tables() -> None:
    data = resources.files("shaping.tokens").joinpath("data")
    sizes = {file.name: len(file.read_bytes()) for file in data.iterdir() if file.name.endswith(".table")}
    assert {name: round(size / 1e6, 2) for name, size in sizes.items()} == {
        "o200k_base.table": 4.29,
        "cl100k_base.table": 2.09,
    }
    assert "MIT License" in data.joinpath("LICENSE.tiktoken").read_text()


def test_models_without_a_public_tokenizer_are_multipliers_with_a_source_and_never_counts() -> None:
    told = {other.family: (other.label, bool(other.source), bool(other.note)) for other in encoding.multipliers()}
    assert told == {
        "claude": ("about 1.15 to 1.5 times o200k_base (reported, not counted)", True, True),
        "gemini": ("about 1.22 times o200k_base (reported, not counted)", True, True),
    }
