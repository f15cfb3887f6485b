from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from benchmarks import texts
from shaping.tokens import engines
from shaping.tokens.vocabulary import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_splintr_encodes_every_kind_as_tiktoken_does(name: str) -> None:
    pytest.importorskip("splintr", reason="the extra `fast` is not installed")
    fast, sure = engines.splintr_engine(name), engines.tiktoken_engine(name)
    assert fast is not None
    for kind in texts.KINDS:
        text = texts.make(kind, 11, 1_500).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert list(fast.encode(text)) == sure.encode(text), kind


def test_splintr_is_used_where_it_is_installed() -> None:
    pytest.importorskip("splintr", reason="the extra `fast` is not installed")
    assert engines.load("o200k_base").name == "splintr"


def test_splintr_forgets_what_it_has_seen() -> None:
    splintr = pytest.importorskip("splintr", reason="the extra `fast` is not installed")
    made: list[SimpleNamespace] = []

    class Counting:
        def __init__(self) -> None:
            self.inner = splintr.Tokenizer.from_pretrained("o200k_base")
            self.encode_ordinary = self.inner.encode_ordinary
            self.clear_cache = self.inner.clear_cache

        @property
        def cache_len(self) -> int:
            return int(self.inner.cache_len)

    def from_pretrained(_name: str) -> Counting:
        made.append(SimpleNamespace(tokenizer=Counting()))
        return made[-1].tokenizer  # type: ignore[no-any-return]  # a namespace holds anything

    module = ModuleType("splintr")
    module.Tokenizer = SimpleNamespace(from_pretrained=from_pretrained)  # type: ignore[attr-defined]  # made here
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "splintr", module)
        engine = engines.splintr_engine("o200k_base")
    assert engine is not None
    for seed in range(60):
        engine.encode(texts.make("base64", seed, 50_000))
        engine.encode(texts.make("uuids", seed, 50_000))
    assert made[0].tokenizer.cache_len <= 20_000


def test_without_splintr_tiktoken_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    assert engines.load("cl100k_base").name == "tiktoken"


def test_a_splintr_that_disagrees_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = SimpleNamespace(encode_ordinary=lambda text: [0] * len(text), cache_len=0)
    module = ModuleType("splintr")
    module.Tokenizer = SimpleNamespace(from_pretrained=lambda _name: wrong)  # type: ignore[attr-defined]  # made here
    monkeypatch.setitem(sys.modules, "splintr", module)
    assert engines.load("cl100k_base").name == "tiktoken"


@pytest.mark.parametrize("name", NAMES)
def test_white_space_that_is_one_piece_is_encoded_past_the_regex(name: str) -> None:
    engine = engines.tiktoken_engine(name)
    assert list(engine.encode_gap(" " * 5_000)) == list(engine.encode(" " * 5_000))
