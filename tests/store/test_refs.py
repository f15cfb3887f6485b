from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from shaping.store.keeper import CursorError, make_cursor, make_ref, read_cursor

SECRET = b"s" * 32


def test_the_same_answer_has_the_same_ref() -> None:
    assert make_ref(SECRET, "search", b"content") == make_ref(SECRET, "search", b"content")


def test_a_ref_is_128_bits_in_letters_and_digits() -> None:
    assert re.fullmatch(r"r_[a-z2-7]{26}", make_ref(SECRET, "search", b"content"))


def test_any_other_tool_content_owner_or_secret_has_another_ref() -> None:
    refs = {
        make_ref(SECRET, "search", b"content"),
        make_ref(b"t" * 32, "search", b"content"),
        make_ref(SECRET, "searchc", b"ontent"),
        make_ref(SECRET, "search", b"contents"),
        make_ref(SECRET, "search", b"content", "session-1"),
        make_ref(SECRET, "search", b"content", "session-2"),
    }
    assert len(refs) == 6


@pytest.mark.parametrize("size", [0, 2047, 2048, 5000, 300_000])
def test_a_ref_is_of_every_byte_however_long_the_content(size: int) -> None:
    content = bytes(size)
    changed = [content[:at] + b"x" + content[at + 1 :] for at in (0, size // 2, size - 1) if at >= 0 and size]
    refs = {make_ref(SECRET, "search", one) for one in (content, content + b"x", *changed)}
    assert len(refs) == 2 + len(changed)


def test_a_cursor_gives_its_position_back() -> None:
    position = "40/3.é~x"
    assert read_cursor(SECRET, "r_a", make_cursor(SECRET, "r_a", position)) == position


def test_a_cursor_of_another_ref_or_secret_is_refused() -> None:
    cursor = make_cursor(SECRET, "r_a", "40//items")
    for secret, ref in ((SECRET, "r_b"), (b"t" * 32, "r_a")):
        with pytest.raises(CursorError):
            read_cursor(secret, ref, cursor)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_cursor_that_was_changed_anywhere_is_refused(data: st.DataObject) -> None:
    cursor = make_cursor(SECRET, "r_a", "40//items")
    at = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.characters().filter(lambda char: char != cursor[at]))
    with pytest.raises(CursorError):
        read_cursor(SECRET, "r_a", cursor[:at] + other + cursor[at + 1 :])


@pytest.mark.parametrize("rubbish", ["", "~", "abc", "é~é", "a~b~c", "\ud800~x"])
def test_rubbish_is_no_cursor(rubbish: str) -> None:
    with pytest.raises(CursorError):
        read_cursor(SECRET, "r_a", rubbish)
