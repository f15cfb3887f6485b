from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from shaping.paths import Path, PathError, join, parse
from shaping.paths.grammar import Deep, Each, Glob, Index, Name, Slice, Step

names = st.text(max_size=6) | st.sampled_from(
    ["a", "odd.key", "$", "*", "**", "a b", " a", "", '"', "\\", "\ud800", "[]", "a\nb"]
)
globs = st.sampled_from(["*", "*_url", "a*b", "a*b*"]).map(Glob)
bounds = st.none() | st.integers(0, 10**6)
steps: st.SearchStrategy[Step] = st.one_of(
    names.map(Name),
    globs,
    st.just(Deep()),
    st.just(Each()),
    st.integers(0, 10**6).map(Index),
    st.builds(Slice, bounds, bounds),
)


@given(st.lists(steps, min_size=1, max_size=6).map(tuple))
def test_a_written_path_reads_back_as_itself(steps: tuple[Step, ...]) -> None:
    path = Path(steps)
    assert parse(str(path)) == path


@given(st.lists(names | st.integers(0, 99), min_size=1, max_size=5))
def test_joined_steps_read_back_as_those_steps(keys: list[str | int]) -> None:
    text = ""
    for key in keys:
        text = join(text, key)
    assert parse(text) == Path(tuple(Name(key) if isinstance(key, str) else Index(key) for key in keys))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a.b", (Name("a"), Name("b"))),
        ("a[].b", (Name("a"), Each(), Name("b"))),
        ("[].b", (Each(), Name("b"))),
        ("a[3][40:100]", (Name("a"), Index(3), Slice(40, 100))),
        ("a[-1][-3:][:-2]", (Name("a"), Index(-1), Slice(-3, None), Slice(None, -2))),
        ("a[40:][:2][:]", (Name("a"), Slice(40, None), Slice(None, 2), Slice(None, None))),
        ('"odd.key".x', (Name("odd.key"), Name("x"))),
        (r'"q\"\u00e9"', (Name('q"\u00e9'),)),
        ("**.*_url", (Deep(), Glob("*_url"))),
        ("*.first name.+1", (Glob("*"), Name("first name"), Name("+1"))),
        ("$ref.über-key", (Name("$ref"), Name("über-key"))),
    ],
)
def test_the_language_is_read_as_designed(text: str, steps: tuple[Step, ...]) -> None:
    assert parse(text) == Path(steps)


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("", 1, "expected a name, and the path ends"),
        ("a..b", 3, "expected a name"),
        ("a.", 3, "expected a name, and the path ends"),
        (".a", 1, "expected a name"),
        ("a.[]", 3, "no '.' before '[': write 'a[]'"),
        ("a[*]", 2, "expected '[]', an index such as '[3]' or a slice such as '[40:100]'"),
        ("a[--1]", 2, "expected '[]', an index such as '[3]' or a slice such as '[40:100]'"),
        ("a]", 2, "expected '.' or '[' here"),
        ('a"b"', 2, "expected '.' or '[' here"),
        ('a."b', 3, "this quote is never closed"),
        (r'"\q"', 1, "a quoted name is written as a JSON string"),
        ("ab**c", 3, "'**' stands alone between dots; inside a name write '*'"),
        ("a. b", 3, "a name with space around it needs quotes"),
        ("$.a", 1, "a path starts at the data itself: leave out '$', or quote a key of that name"),
        ("$", 1, "a path starts at the data itself: leave out '$', or quote a key of that name"),
    ],
)
def test_an_error_carries_text_column_and_reason_and_points(text: str, column: int, reason: str) -> None:
    with pytest.raises(PathError) as caught:
        parse(text)
    error = caught.value
    assert (error.text, error.column, error.reason) == (text, column, reason)
    assert str(error) == f"{reason} (column {column})\n  {text}\n  {' ' * (column - 1)}^"


@given(st.text(max_size=12))
def test_any_text_is_a_path_or_a_path_error_within_it(text: str) -> None:
    column = 1
    try:
        parse(text)
    except PathError as error:
        column = error.column
    assert 1 <= column <= len(text) + 1


@pytest.mark.parametrize(
    ("prefix", "key", "expected"),
    [
        ("", "a", "a"),
        ("a", "b.c", 'a."b.c"'),
        ("a", 3, "a[3]"),
        ("a", slice(40, 100), "a[40:100]"),
        ("a", slice(40, None), "a[40:]"),
        ("a", slice(None), "a[]"),
        ("", "", '""'),
    ],
)
def test_join_writes_one_step_below_a_prefix(prefix: str, key: str | int | slice, expected: str) -> None:
    assert join(prefix, key) == expected


@given(
    st.text(alphabet="ab*", min_size=1, max_size=5).filter(lambda text: "*" in text), st.text(alphabet="ab", max_size=6)
)
def test_a_glob_fits_what_its_stars_can_be_filled_in_to(pattern: str, key: str) -> None:
    def filled(pattern: str, key: str) -> bool:
        if not pattern:
            return not key
        if pattern[0] == "*":
            return filled(pattern[1:], key) or (bool(key) and filled(pattern, key[1:]))
        return key[:1] == pattern[0] and filled(pattern[1:], key[1:])

    assert Glob(pattern).fits(key) == filled(pattern, key)


def test_a_quoted_name_is_plain_json() -> None:
    assert str(Name("odd.key")) == json.dumps("odd.key")
