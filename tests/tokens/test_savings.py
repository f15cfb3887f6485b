from __future__ import annotations

import pytest

from shaping.tokens import TokenCount, Tokens


class Recording:
    """A tokenizer of words that remembers what it was asked."""

    name = "recording"

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[str] = []
        self.fails = fails

    def count(self, text: str) -> TokenCount:
        self.asked.append(text)
        if self.fails:
            raise RuntimeError("broken")
        return TokenCount(self.exact(text), "sampled" if len(text) > 20 else "exact", 1.5 if len(text) > 20 else 0.0)

    def exact(self, text: str) -> int:
        return len(text.split())


def test_savings_say_before_after_saved_and_ratio() -> None:
    tokens = Tokens("one two three four", "one", Recording())
    assert (tokens.before, tokens.after, tokens.saved, tokens.ratio) == (4, 1, 3, 0.75)
    assert (tokens.method, tokens.error_bound) == ("exact", 0.0)


def test_nothing_is_counted_before_it_is_asked_for_nor_twice() -> None:
    recording = Recording()
    written: list[str] = []

    def write() -> str:
        written.append("made")
        return "one two"

    tokens = Tokens(write, "one", recording)
    assert (recording.asked, written) == ([], [])
    assert [tokens.saved, tokens.before, tokens.after, tokens.ratio] == [1, 2, 1, 0.5]
    assert (recording.asked, written) == (["one two", "one"], ["made"])


def test_a_text_that_did_not_change_is_counted_once() -> None:
    recording, text = Recording(), "the same text"
    tokens = Tokens(text, text, recording)
    assert (tokens.saved, recording.asked) == (0, [text])


def test_numbers_that_are_known_are_taken_as_they_are() -> None:
    tokens = Tokens(lambda: 10, TokenCount(4, "sampled", 1.2), Recording(fails=True))
    assert (tokens.before, tokens.after, tokens.method, tokens.error_bound) == (10, 4, "sampled", 1.2)


def test_the_weaker_number_labels_both() -> None:
    tokens = Tokens("one two three four five six", "one", Recording())
    assert (tokens.before.method, tokens.after.method, tokens.method, tokens.error_bound) == (
        "sampled",
        "exact",
        "sampled",
        1.5,
    )


@pytest.mark.parametrize("tokenizer", [Recording(fails=True), "no such tokenizer"])
def test_a_tokenizer_that_fails_leaves_characters(tokenizer: Recording | str) -> None:
    tokens = Tokens("12345678", "1234", tokenizer)
    assert (tokens.before, tokens.after, tokens.method, tokens.error_bound) == (2, 1, "chars", 66.0)


def test_a_text_that_cannot_be_written_costs_nothing_and_says_it_is_a_guess() -> None:
    def fail() -> str:
        raise ValueError("unwritable")

    tokens = Tokens(fail, "1234", Recording())
    assert (tokens.before, tokens.method, tokens.ratio) == (0, "chars", 0.0)


def test_savings_are_readable_in_a_debugger() -> None:
    assert repr(Tokens("one two", "one", Recording())) == "Tokens(before=2, after=1, saved=1, method='exact')"


def test_the_default_tokenizer_is_o200k() -> None:
    assert Tokens("hello world", "hello").saved == 1
