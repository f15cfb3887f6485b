"""Each question that the noise rules ask of C is answered as the one in Python answers it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st

from shaping import native
from shaping.noise import boilerplate, bulk, columns, hypermedia, links, passing, rebuild, renderings, walk
from shaping.noise.batch import MISSING, Batch

Asking: TypeAlias = Callable[..., None]

pytestmark = pytest.mark.skipif(native.rules is None, reason="the native core is not built here")


@pytest.fixture(scope="session")
def assert_same(core_off: Callable[[], AbstractContextManager[None]]) -> Asking:
    """Ask both ways."""

    def ask_both_ways(ask: Callable[..., Any], *arguments: Any) -> None:
        with core_off():
            expected = ask(*arguments)
        assert ask(*arguments) == expected

    return ask_both_ways


def spelled(*parts: str, most: int = 8) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(parts), max_size=most).map("".join)


names = st.sampled_from(("url", "href", "avatar_url", "html_url", "id", "name", "api_url", "größe"))
urls = spelled(
    *("https", "http", "://", "/", ".", "api", "API", "apis", "rest", "v1", "V2", "v", "1.", "12", "wp-json", "_apis"),
    *(
        "x",
        "dev",
        "{",
        "-",
        "_",
        "\n",
        "é",
        "\N{LATIN SMALL LETTER LONG S}",
        "K",
        "graphql",
        "git@",
        " ",
        "?",
        "#",
        "&",
        "=",
    ),
)
words = st.sampled_from(("", "a", "1", "x", "dev", "api", "é", "字", "None", "True"))
scalars = words | st.sampled_from((1, 12, -1, 0, True, None, 1.5, 10**20))
code = spelled(
    *(";", "\n", "{", "}", "=", ">", " ", ")", "<", "/", "def ", "import ", "function ", "var ", "const ", "#include"),
    *("words ", "  ", "é", "字", "😀", "\0", "x" * 40, "d", "de"),
    most=30,
)
cells = urls | scalars | st.sampled_from(([], {}, ["a"], {"a": 1}, "x" * 330, list(range(330)), (1,), b"a" * 400))
records = st.lists(st.dictionaries(names, cells, max_size=6), min_size=1, max_size=14)


@given(records, st.booleans())
def test_members_are_sorted_the_same_way(assert_same: Asking, rows: list[dict[str, Any]], alike: bool) -> None:
    rows = [{**rows[0], **row} for row in rows] if alike else rows

    def sort() -> list[Any]:
        batch = Batch(rows, listed=True, nested=False, arguments=frozenset())
        batch.sort()
        kinds = (batch.links, batch.opaque, batch.hex, batch.long, batch.wrapped, batch.inside, batch.plain)
        return [*kinds, list(batch.kinds), batch.uniform, list(batch.sample), list(map(batch.column, names_of(rows)))]

    assert_same(sort)


def names_of(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


@given(st.dictionaries(names, urls | st.sampled_from((None, 0, 1, [], ["a"], {})), min_size=1), st.booleans())
def test_the_same_links_are_plumbing(assert_same: Asking, head: dict[str, Any], company: bool) -> None:
    more: dict[str, Any] = dict.fromkeys(head, "https://x.dev/api/1")
    batch = Batch([head, more], listed=True, nested=False, arguments=frozenset())
    batch.sample, batch.links = (head, {}, more), [*head, "more"]
    assert_same(links._judged, links._named(tuple(head)), batch, 2 if company else 1)


@given(records, st.sets(names))
def test_the_same_members_hold_only_links(assert_same: Asking, rows: list[dict[str, Any]], http: set[str]) -> None:
    keys = names_of(rows)
    batch = Batch(rows, listed=True, nested=False, arguments=frozenset())
    batch.uniform = False
    assert_same(links._only_links, keys, http, batch)


@given(
    st.lists(st.tuples(urls, st.dictionaries(names, scalars, min_size=1)), min_size=1, max_size=24),
    names,
    st.booleans(),
)
def test_the_same_links_follow_a_pattern(
    assert_same: Asking, pairs: list[tuple[str, dict[str, Any]]], key: str, same: bool
) -> None:
    if same:
        pairs = [(f"http://x/{n}/a", {"id": n if n % 9 else str(n), **row}) for n, (_, row) in enumerate(pairs)]
    rows: list[Any] = [{**row, key: link} for link, row in pairs]
    batch = Batch(rows, listed=True, nested=False, arguments=frozenset())
    assert_same(links._gives, rows, key, batch)
    assert_same(links._gives, [row for _, row in pairs], key, batch)


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=5), st.booleans())
def test_the_same_links_extend_another(assert_same: Asking, parts: list[tuple[str, str, str]], same: bool) -> None:
    ending = parts[0][1]
    rows: list[Any] = [{"a": start, "b": start + (ending if same else other)} for start, other, _ in parts]
    batch = Batch(rows, listed=True, nested=False, arguments=frozenset())
    assert_same(links._extends, "b", "a", batch)


@given(code)
def test_the_same_texts_are_code(assert_same: Asking, text: str) -> None:
    assert_same(bulk._is_code, text)


@given(st.lists(code | cells, min_size=1, max_size=5), st.integers(1, 40), st.integers(0, 40))
def test_long_strings_are_cut_at_the_same_letter(assert_same: Asking, column: list[Any], head: int, more: int) -> None:
    def cut() -> Any:
        batch = Batch([{"a": value} for value in column], listed=True, nested=False, arguments=frozenset())
        bulk._cut("a", batch, head + more, head)
        return batch.replace, batch.cut

    assert_same(cut)


@given(st.lists(spelled("abcd", "1234", "=", "-", "\n", " ", "é", "\0", ":", "(") | st.just("")))
def test_the_same_strings_are_codes(assert_same: Asking, values: list[str]) -> None:
    if values:
        assert_same(columns.all_codes, values)


@given(st.lists(spelled("<", "p>", "</p>", "<br", " ", "\n", ";base64,", "://", "?utm_a=", "&", "é", "\u3000") | cells))
def test_the_same_strings_are_unwrapped(assert_same: Asking, values: list[Any]) -> None:
    def unwrapped() -> Any:
        batch = Batch([{"a": value} for value in values], listed=True, nested=False, arguments=frozenset())
        batch.links.append("a")
        boilerplate.boilerplate(batch)
        return batch.replace, batch.cut

    if values:
        assert_same(unwrapped)


markup = spelled(
    *("<p>", "</p>", "<a href='", '<a href = "', "/x/", "x", "y", "'>", '">', "<", ">", "<!--", "-->", "-", " ", "\n"),
    *(
        "&amp;",
        "&lt;",
        "&",
        "&copy;",
        "&#39;",
        "&nbsp;",
        "&;",
        "href=",
        "'",
        "é",
        "字",
        "_",
        ".",
        "x.y",
        "\xa0",
        "\x1c",
    ),
    most=16,
)


@given(markup, markup, st.integers(0, 40))
def test_the_same_texts_say_what_their_html_says(assert_same: Asking, html: str, text: str, more: int) -> None:
    words = "".join(f" w{n}" for n in range(more))
    assert_same(renderings._says_the_same, html, text)
    assert_same(renderings._says_the_same, html + words, text + html + words)


entries = st.sampled_from(
    ("https://x.dev/a", "x://y", "a b", "", True, False, None, 1, {"href": "x"}, {"rel": "a"}, {})
)
collections = st.dictionaries(st.sampled_from(("self", "rel", "href", "type")), entries | st.lists(entries, max_size=2))


@given(st.lists(collections | st.lists(collections, max_size=2), max_size=3))
def test_the_same_collections_are_links(assert_same: Asking, values: list[Any]) -> None:
    assert_same(hypermedia._all_links, values)


leaves = spelled("some", "word", "other", "é", most=4) | scalars
trees = st.recursive(
    leaves, lambda held: st.lists(held, max_size=2) | st.dictionaries(words, held, max_size=2), max_leaves=3
)
rows_told = st.tuples(trees | st.just(MISSING), st.dictionaries(words, leaves, max_size=3), st.booleans())


@given(st.lists(rows_told, max_size=6))
def test_the_same_rows_are_dull(assert_same: Asking, drawn: list[tuple[Any, dict[str, Any], bool]]) -> None:
    column, rows, fine = ([each[at] for each in drawn] for at in range(3))
    assert_same(passing._emptied, rows, column, fine)
    assert_same(passing._fine, column)
    assert_same(walk._counts, rows, ["a", "x"])


@given(st.lists(st.dictionaries(names, st.integers(), max_size=6), min_size=1), st.sets(names), st.sets(names))
def test_records_are_put_together_the_same_way(
    assert_same: Asking, rows: list[Any], gone: set[str], new: set[str]
) -> None:
    def put_together() -> Any:
        batch = Batch(rows, listed=True, nested=False, arguments=frozenset())
        batch.sort()
        batch.drop = dict.fromkeys(sorted(gone & batch.kinds.keys()), "links")
        for key in sorted((new - gone) & batch.kinds.keys()):
            batch.replace[key] = [value if n % 3 else MISSING for n, value in enumerate(batch.column(key))]
        return [(list(made.items()), made is came) for made, came in zip(rebuild.rebuilt(batch), rows, strict=True)]

    assert_same(put_together)


def test_a_text_that_has_no_bytes_is_refused_both_ways(core_off: Callable[[], AbstractContextManager[None]]) -> None:
    with core_off(), pytest.raises(UnicodeEncodeError):
        bulk._is_code("\ud800")
    with pytest.raises(UnicodeEncodeError):
        bulk._is_code("\ud800")
