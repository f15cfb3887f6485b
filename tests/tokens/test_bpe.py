from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from benchmarks import texts
from shaping.tokens import CountingError, counter
from shaping.tokens.counters import BpeCounter
from shaping.tokens.encoding import NAMES, Encoding

if TYPE_CHECKING:
    from collections.abc import Callable

    import tiktoken

    Reference = Callable[[str], tiktoken.Encoding]


def count_words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_text_costs_what_tiktoken_says(reference: Reference, name: str) -> None:
    counter = BpeCounter(name)
    made = {(kind, seed): texts.make(kind, seed, 700) for kind in texts.KINDS for seed in range(3)}
    assert {key: counter.exact(text) for key, text in made.items()} == {
        key: len(reference(name).encode_ordinary(text)) for key, text in made.items()
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["issues", "chinese", "lone surrogates", "white space", "base64", "mixed"])
def test_a_long_text_costs_the_same_in_parts(reference: Reference, name: str, kind: str) -> None:
    text = texts.make(kind, 3, 200_000)
    assert BpeCounter(name).exact(text) == len(reference(name).encode_ordinary(text))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text",
    ["a" * 150_000, "日本" * 60_000, "=" * 150_000, "😀" * 50_000, f"x;\n{' ' * 150_000}word", f"x{' ' * 150_000}"],
    ids=["letters", "cjk", "rule", "emoji", "spaces before a word", "spaces at the end"],
)
def test_a_run_of_one_kind_of_character_costs_what_tiktoken_says(reference: Reference, name: str, text: str) -> None:
    assert BpeCounter(name).exact(text) == len(reference(name).encode_ordinary(text))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("char", [*" \t\n=-_.#0aA", "é", "日", "😀"])
def test_a_run_of_any_length_costs_what_tiktoken_says(reference: Reference, name: str, char: str) -> None:
    runs = [char * size for size in (2, 129, 8_193, 24_577, 65_536, 70_003)]
    # As a cut text has them: in quotes, with a mark, and two of them in one piece.
    runs += [
        f'{{"data":"{char * 30_000}…[7 characters left out]…{char * 40_001}"}}',
        f"{char * 25_000}!?{char * 25_001}!",
    ]
    count = counter(name).exact
    assert [count(run) for run in runs] == [len(reference(name).encode_ordinary(run)) for run in runs]


def test_a_million_spaces_are_counted_too() -> None:
    counter = BpeCounter("o200k_base")
    assert counter.exact(" " * 1_100_000 + "x") == 8595
    assert counter.count(" " * 1_100_000 + "x").method == "sampled"


def test_a_special_tokens_spelling_is_text() -> None:
    assert BpeCounter("o200k_base").exact("<|endoftext|>") == 7


def test_a_lone_surrogate_counts_as_the_replacement_character() -> None:
    counter = BpeCounter("o200k_base")
    assert counter.exact("a\ud800b") == counter.exact("a\ufffdb")
    assert counter.exact("\ud83d\ude00") == counter.exact("😀")


def test_lone_surrogates_do_not_stop_sampling() -> None:
    text = texts.make("lone surrogates", 1, 60_000)
    counter = BpeCounter("o200k_base")
    count = counter.count(text)
    assert count.method == "sampled"
    assert count == pytest.approx(counter.exact(text), rel=0.05)


def test_a_count_is_exact_to_48000_characters_and_sampled_above() -> None:
    counter = BpeCounter("o200k_base")
    methods = [counter.count("ab, " * (length // 4)).method for length in (48_000, 48_004)]
    assert methods == ["exact", "sampled"]


def test_a_vocabulary_that_cannot_be_loaded_leaves_characters_and_is_not_tried_again() -> None:
    tried = []

    def load(name: str) -> Callable[[str], int]:
        tried.append(name)
        raise OSError("no such file")

    counter = BpeCounter("o200k_base", load)
    assert [counter.count("12345678").label for _ in range(3)] == ["chars ±66.0%"] * 3
    with pytest.raises(CountingError, match="vocabulary of o200k_base cannot be loaded: no such file"):
        counter.exact("text")
    assert tried == ["o200k_base"]


def test_threads_that_ask_at_once_share_one_load() -> None:
    loads = []

    def load(name: str) -> Callable[[str], int]:
        loads.append(name)
        time.sleep(0.05)
        return count_words

    counter = BpeCounter("o200k_base", load)
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(counter.exact("one two"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (results, loads) == ([2] * 8, ["o200k_base"])


def test_a_child_forked_during_the_load_can_count(run_forking: Callable[..., str]) -> None:
    script = """
import os, threading, time
from shaping.tokens.counters import BpeCounter
started = threading.Event()

def load(_name):
    started.set()
    time.sleep(0.2)
    return lambda text: len(text.split())

counter = BpeCounter("o200k_base", load)
thread = threading.Thread(target=counter.exact, args=("one",))
thread.start()
started.wait()
child = os.fork()
if child == 0:
    os._exit(0 if counter.exact("one two three") == 3 else 1)
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_forking(script) == "0\n"


def test_a_run_of_one_character_takes_no_more_merges_when_it_is_four_times_as_long() -> None:
    merged: list[int] = []

    class Watched(Encoding):
        def _boundaries(self, piece: bytes) -> list[int]:
            merged.append(len(piece))
            return super()._boundaries(piece)

    encoding, spent = Watched("o200k_base"), []
    for size in (100_000, 400_000):
        merged.clear()
        encoding.count("a" * size)
        spent.append(sum(merged))
    assert max(spent) < 10_000
