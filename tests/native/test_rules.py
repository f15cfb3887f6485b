"""The noise rules in C take what those in Python take, and share and tell the same."""

from __future__ import annotations

import gc
import sys
from base64 import b64encode, urlsafe_b64encode
from hashlib import sha512
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from benchmarks import corpus
from shaping import native
from shaping.noise import read_text, reduce

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from hypothesis.strategies import SearchStrategy

pytestmark = pytest.mark.skipif(native.rules is None, reason="the native core is not built here")

RULES = ("links", "opaque", "bulk", "boilerplate")
COMBINATIONS = list(chain.from_iterable(combinations(RULES, count) for count in range(1, 5)))
NAMES = (
    *("id", "name", "key", "number", "url", "html_url", "avatar_url", "comments_url", "clone_url", "web_url", "self"),
    *("href", "_links", "links", "next", "node_id", "etag", "digest", "sha", "body", "body_html", "text", "source"),
    *(
        "status",
        "outcome",
        "ok",
        "user",
        "owner",
        "labels",
        "call",
        "data",
        "page_token",
        "größe",
        "名前",
        "odd.key",
        "Bild😀",
        "HTMLText",
        "",
    ),
)


class Sub(dict[str, Any]):
    """A record that is more than a dict."""


class Word(str):
    """A string that is more than one."""

    __slots__ = ()


class Row(list[Any]):
    """A list that is more than one."""


# What a member holds in the record of this number.
CELLS: tuple[Callable[[int], Any], ...] = (
    *(lambda n: n, lambda n: n % 2, lambda n: n * 1.5, lambda _: None, lambda _: True, lambda n: n % 5 > 0),
    *(
        lambda n: 10**30 + n,
        lambda n: f"name {n}",
        lambda n: f"n{n}",
        lambda _: "",
        lambda _: "same",
        lambda _: "é" * 70,
    ),
    lambda n: f"https://api.tracker.dev/repos/a/b/issues/{n}",
    lambda n: f"https://tracker.dev/a/b/issues/{n}",
    lambda n: f"https://tracker.dev/a/b/issues/{n}/comments",
    lambda n: f"https://tracker.dev/a/n{n}/v2/x{{/y}}",
    lambda n: f"http://tracker.dev/api/v1.2/{n % 3}",
    lambda n: f"https://tracker.dev/{n}/%post_name%/",
    lambda n: f"https://tracker.dev/?q=%ab%{n}%20%abc%&b=%%abcd%",
    lambda n: f"https://trackerapi.dev/a/b/issues/{n}",
    lambda n: f"https://tracker.dev/größe/{n}?utm_source=a&id={n}",
    lambda n: f"git@tracker.dev:a/{n}.git",
    lambda n: f"//tracker.dev/{n}",
    lambda n: f"httpx {n} is no link",
    lambda n: f"see https://tracker.dev/{n} or ask",
    lambda n: f"MDQ6VXNlcjE{n:04d}=",
    lambda n: f"{n:064x}",
    lambda n: f"sha256:{n:064x}",
    lambda n: "QUJD" * (60 + n),
    lambda n: b64encode(f"The order {n} was paid. ".encode() * (5 + n)).decode(),
    lambda n: "\n".join([b64encode(f"line {n} of a file".encode() * 3).decode()] * 4) + "\n",
    lambda n: urlsafe_b64encode(sha512(str(n).encode()).digest() * (2 + n % 2)).decode(),
    lambda n: b64encode(sha512(str(n).encode()).digest() * 5).decode(),
    *(lambda n: "aB" * 59 + f"é{n}", lambda n: "aB" * 59 + f"\0{n}", lambda n: "aB" * 60, lambda n: "AB12" * 40),
    lambda n: f"Größe {n} " * 60,
    lambda n: f"字 {n}\n" * 120,
    lambda n: f"Sentence number {n} of a text that people wrote, and  some more. " * (30 if n % 2 else 1),
    lambda n: f"const a = {n};\nfunction b() {{\n}}\n" * 20,
    lambda _: "Permission is hereby granted, free of charge, to any person " * 10,
    lambda n: f"<p>Read <b>this</b> &amp; number {n}</p>",
    lambda n: f"Read this & number {n}",
    lambda n: f"data:image/png;base64,{'QUJD' * (20 + n)}",
    lambda n: f"half a pair \ud83d {n}" * 40,
    lambda n: f"smile 😀 {n}",
    lambda n: "passed" if n % 7 else "failed",
    lambda n: {"duration": n, "outcome": "passed"},
    lambda n: {"login": f"u{n}", "id": n, "avatar_url": f"https://img.dev/{n}", "url": f"https://api.dev/users/u{n}"},
    lambda n: {"self": {"href": f"https://api.dev/{n}"}, "html": {"href": f"https://dev/{n}"}},
    lambda n: [{"rel": "self", "href": f"https://api.dev/{n}"}],
    lambda n: [{"name": "bug", "color": f"{n:06x}"}] * (n % 4),
    lambda n: ["<p>one</p>", f"two {n}", "https://x.dev/?utm_source=a&b=1", n],
    *(lambda _: [], lambda _: {}, lambda _: [[]], lambda _: list(range(330)), lambda n: [[{"a": {"b": n}}]]),
    *(lambda _: Sub(a=1), lambda _: Word("https://x.dev/a"), lambda _: Row([1]), lambda _: (1, 2), lambda _: b"bytes"),
)

texts = st.text(st.sampled_from("ahtps:/.@<>=?&; \n{}é字😀"), max_size=30)
columns = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(CELLS)), max_size=12)


@st.composite
def records(draw: Callable[[SearchStrategy[Any]], Any]) -> list[Any]:
    """Draw records that are alike but for a few members that are missing, moved, other, or whatever."""
    shape = draw(columns)
    rows: list[Any] = [{name: cell(n) for name, cell in shape} for n in range(draw(st.integers(1, 25)))]
    for _ in range(draw(st.integers(0, 3))):
        row = rows[draw(st.integers(0, len(rows) - 1))]
        name = draw(st.sampled_from(sorted(row) or ["id"]))
        row.pop(name, None)
        row[draw(st.sampled_from((name, *NAMES)))] = draw(st.sampled_from(CELLS))(draw(st.integers(0, 9)))
        row[draw(st.sampled_from(NAMES))] = draw(texts)
    return rows


payloads = st.recursive(
    records() | records().map(lambda rows: rows[0]) | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
        | st.builds(lambda rows, held: [{**row, "held": held} for row in rows], records(), inner)
    ),
    max_leaves=4,
)


def known_parts(value: Any, path: Any, found: dict[int, Any]) -> dict[int, Any]:
    """Name every record and list of a payload by the way to it."""
    if isinstance(value, (dict, list)):
        found.setdefault(id(value), path)
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            known_parts(item, (path, step), found)
    return found


def described(value: Any, known: dict[int, Any]) -> Any:
    """Write a value with its types and order, and what it shares with the one that came in."""
    if id(value) in known:
        return "shared", known[id(value)]
    if isinstance(value, dict):
        return type(value), [(key, described(item, known)) for key, item in value.items()]
    if isinstance(value, list):
        return type(value), [described(item, known) for item in value]
    return type(value), repr(value)


def outcome(value: Any, rules: tuple[str, ...], arguments: frozenset[str] = frozenset()) -> Any:
    """Give all that can be told of one reduction."""
    before = repr(value)
    reduced, omissions = reduce(value, rules, arguments=arguments)
    assert repr(value) == before
    return described(reduced, known_parts(value, None, {})), omissions


@pytest.fixture(scope="session")
def check(core_off: Callable[[], AbstractContextManager[None]]) -> Callable[..., None]:
    """Compare both ways; where one refuses a value, the other does."""

    def compare(*reduction: Any) -> None:
        try:
            with core_off():
                expected = outcome(*reduction)
        except (ValueError, TypeError) as error:
            with pytest.raises(type(error)):
                outcome(*reduction)
            return
        assert outcome(*reduction) == expected

    return compare


@settings(max_examples=settings().max_examples * 3)
@given(payloads, st.sampled_from([RULES, RULES, *COMBINATIONS]), st.sets(st.sampled_from(NAMES), max_size=3))
def test_any_payload_comes_out_the_same_with_and_without_the_core(
    check: Callable[..., None], value: Any, rules: tuple[str, ...], arguments: set[str]
) -> None:
    # Megabytes of the same records over again show no more, and take seconds.
    assume(len(repr(value)) < 300_000)
    check(value, rules, frozenset(arguments))


@pytest.mark.skipif(not corpus.PAYLOADS.exists(), reason="the shared corpus is not beside this checkout")
def test_every_payload_of_the_corpus_comes_out_the_same_by_any_rules(check: Callable[..., None]) -> None:
    for payload in corpus.payloads():
        found = [block["text"] for block in payload.result["content"] if block.get("type") == "text"]
        for value in filter(None, map(read_text, found)):
            for rules in COMBINATIONS:
                check(value, rules)


@pytest.mark.parametrize("name", [5, None, ("a",), Word("url"), 1.5])
def test_records_with_names_that_are_no_strings_are_left_to_python(check: Callable[..., None], name: Any) -> None:
    rows: list[Any] = [{"id": n, name: f"https://x.dev/{n}", "url": f"https://api.x.dev/{n}"} for n in range(4)]
    check(rows, RULES)
    check([{"held": row, "n": 1} for row in rows], RULES)


@pytest.mark.parametrize("depth", [10, 149, 150, 151, 199, 200, 201, 260])
def test_what_lies_too_deep_is_passed_on_the_same_way(check: Callable[..., None], depth: int) -> None:
    value: Any = [{"id": n, "node_id": f"MDQ6VXNlcjE{n:04d}="} for n in range(3)]
    for step in range(depth):
        value = {"in": value, "n": step} if step % 3 else [value]
    check(value, RULES)


def test_nothing_is_kept_of_a_payload_that_is_gone() -> None:
    rows: Any = [{name: cell(n) for name, cell in zip(NAMES, CELLS, strict=False)} for n in range(20)]
    reduce(rows, RULES)
    # Numbers and single letters are shared with the whole process.
    owned = [item for row in rows for item in row.values() if isinstance(item, (dict, list, str)) and len(item) > 1]
    gc.collect()
    counts, objects = [sys.getrefcount(item) for item in owned], len(gc.get_objects())
    for _ in range(50):
        reduce(rows, RULES)
    gc.collect()
    assert [sys.getrefcount(item) for item in owned] == counts
    assert len(gc.get_objects()) < objects + 50
