from __future__ import annotations

import hashlib
import inspect
import re
from typing import TYPE_CHECKING

import pytest
from tiktoken_ext import openai_public  # type: ignore[import-untyped]  # it has no types

from benchmarks.ranks import rank_file
from shaping.tokens import UnknownTokenizerError, count, counter, exact, tokenizers, warm

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import tiktoken


def test_the_built_in_tokenizers_are_found_by_name() -> None:
    assert [counter(name).name for name in ("o200k_base", "cl100k_base", "chars")] == list(tokenizers())[:3]


def test_a_name_has_one_counter() -> None:
    assert counter("o200k_base") is counter()


def test_two_vocabularies_count_differently() -> None:
    assert (exact("東京タワー", "o200k_base"), exact("東京タワー", "cl100k_base")) == (4, 7)


def test_a_model_is_counted_by_the_encoding_that_tiktoken_names_for_it() -> None:
    assert (counter("gpt-5"), counter("gpt-4")) == (counter("o200k_base"), counter("cl100k_base"))


def test_an_encoding_that_is_not_carried_is_fetched_by_tiktoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: Callable[[str], tiktoken.Encoding]
) -> None:
    address = re.findall(r'"(https:[^"]+)"', inspect.getsource(openai_public.o200k_base))[0]
    cached = hashlib.sha1(address.encode()).hexdigest()  # noqa: S324 - how tiktoken names the files of its cache
    (tmp_path / cached).write_bytes(rank_file("o200k_base"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    text = "東京タワー and <|start|>"
    assert exact(text, "o200k_harmony") == len(reference("o200k_base").encode_ordinary(text))


def test_an_unknown_tokenizer_is_named_with_the_nearest_one() -> None:
    with pytest.raises(UnknownTokenizerError) as caught:
        count("text", "o200k")
    assert str(caught.value).startswith("tokenizer 'o200k' is not known; expected o200k_base, cl100k_base, chars")
    assert str(caught.value).endswith("Did you mean 'o200k_base'?")
    assert (caught.value.name, caught.value.known) == ("o200k", tokenizers())


def test_a_name_like_no_other_gets_no_suggestion() -> None:
    with pytest.raises(UnknownTokenizerError, match=r"chars[^?]*\.$"):
        counter("zzz")


def test_warming_loads_in_a_thread_that_keeps_no_process_alive() -> None:
    thread = warm("cl100k_base")
    assert (thread.daemon, thread.name) == (True, "shaping-warm-cl100k_base")
    thread.join(60)
    assert counter("cl100k_base").count("warm") == 1
