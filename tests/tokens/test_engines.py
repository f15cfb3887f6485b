from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from benchmarks import texts
from shaping.tokens import bpe
from shaping.tokens.vocabulary import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_splintr_encodes_every_kind_as_tiktoken_does(name: str) -> None:
    pytest.importorskip("splintr", reason="the extra `fast` is not installed")
    fast, sure = bpe.splintr_engine(name), bpe.tiktoken_engine(name)
    assert fast is not None
    for kind in texts.KINDS:
        text = texts.make(kind, 11, 1_500).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert list(fast.encode(text)) == sure.encode(text), kind


def test_splintr_is_used_where_it_is_installed() -> None:
    pytest.importorskip("splintr", reason="the extra `fast` is not installed")
    assert bpe.load("o200k_base").name == "splintr"


class Remembering:
    """Encodes rightly and remembers more with every text, as splintr does."""

    cache_len = 0

    def encode_ordinary(self, text: str) -> list[int]:
        self.cache_len += 4_000
        return list(bpe.tiktoken_engine("cl100k_base").encode(text))

    def clear_cache(self) -> None:
        self.cache_len = 0


def test_splintr_is_made_to_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Remembering()
    module = ModuleType("splintr")
    module.Tokenizer = SimpleNamespace(from_pretrained=lambda _name: tokenizer)  # type: ignore[attr-defined]  # made here
    monkeypatch.setitem(sys.modules, "splintr", module)
    engine = bpe.splintr_engine("cl100k_base")
    assert engine is not None
    texts_seen = ["short", "short", "long " * 3_000, "long " * 3_000, "short"]
    remembered = [(len(engine.encode(text)) > 0, tokenizer.cache_len) for text in texts_seen]
    assert remembered == [(True, 12_000), (True, 16_000), (True, 0), (True, 4_000), (True, 8_000)]


def test_without_splintr_tiktoken_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    assert bpe.load("cl100k_base").name == "tiktoken"


def test_a_splintr_that_disagrees_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = SimpleNamespace(encode_ordinary=lambda text: [0] * len(text), cache_len=0)
    module = ModuleType("splintr")
    module.Tokenizer = SimpleNamespace(from_pretrained=lambda _name: wrong)  # type: ignore[attr-defined]  # made here
    monkeypatch.setitem(sys.modules, "splintr", module)
    assert bpe.load("cl100k_base").name == "tiktoken"


@pytest.mark.parametrize("name", NAMES)
def test_white_space_that_is_one_piece_is_encoded_past_the_regex(name: str) -> None:
    engine = bpe.tiktoken_engine(name)
    assert list(engine.encode_gap(" " * 5_000)) == list(engine.encode(" " * 5_000))
