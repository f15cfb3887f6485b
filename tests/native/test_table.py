"""The encoder in C writes what the one in Python writes, to the byte, or leaves it to Python."""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from benchmarks import corpus
from shaping import native
from shaping.encoders import table
from shaping.noise import read_text

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

pytestmark = pytest.mark.skipif(native.table is None, reason="the native core is not built here")

TRICKY = (
    "", " ", "-", "--", "-1", "1", "-0", "01", "1.", "1.0", ".5", "1e5", "1E+", "1e-7", "007", "true", "truex", "false",
    "null", "a,b", ",,,,,,", 'say "x"', '"', "[", "{", "}", "]", "a: b", " lead", "trail ", "tab\t", "two\nlines",
    "\nx", "x\n", "a\r\nb\n", "a\rb\n", "\x00", "\x1f", "\x7f", "=", "a=b", "(key)", "a.b", "a[0]", "\\", "é", "\u2028",
    "日本", "😀", "\N{KELVIN SIGN}", "\N{LATIN SMALL LETTER LONG S}", "İd",
)  # fmt: skip
LONG = ("word " * 30, "line one\nline two\n" * 12, "x" * 100, "x" * 101, "é" * 101, " " * 120, "\x01" * 120, "{,}" * 50)
NAMES = (
    "id",
    "name",
    "Name",
    "login",
    "state",
    "user",
    "author",
    "url",
    "key",
    "\N{KELVIN SIGN}",
    "note",
    "a",
    "b",
    "c",
    "-",
    "x.y",
    "é",
)
SENTENCES = ("a sentence of some length, said again", "another one that comes back and back", "short")

scalars: SearchStrategy[Any] = st.one_of(
    st.sampled_from((None, True, False, 0, 1, -1, 2**63 - 1, -(2**63), 2**64 - 1, 0.0, -0.0, 1.0, 1e16, 1e-5, 1.5e-9)),
    st.sampled_from(TRICKY),
    st.sampled_from(LONG),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
few = st.sampled_from(("x", "y", 1, 1.0, True, None, "", "1", 0, -0.0, 0.0, "open"))
names = st.sampled_from((*NAMES, *TRICKY))
checked = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def nested(children: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.lists(children, max_size=5) | st.dictionaries(names, children, max_size=6)


anything = st.recursive(scalars, nested, max_leaves=25)


@st.composite
def records(draw: st.DrawFn, column: SearchStrategy[Any] | None = None, most: int = 12) -> list[dict[str, Any]]:
    """Draw records whose values and absences come back."""
    members = draw(st.lists(names, min_size=1, max_size=9, unique=True))
    column = (
        column
        if column is not None
        else st.one_of(few, few, scalars, st.recursive(few | scalars, nested, max_leaves=8))
    )
    pool = {name: draw(st.lists(column, min_size=1, max_size=4)) for name in members}
    gaps = draw(st.sampled_from((0, 1, 7)))
    chance = draw(st.randoms(use_true_random=True))
    return [
        {name: chance.choice(pool[name]) for name in members if chance.randrange(10) >= gaps}
        for _ in range(draw(st.integers(2, most)))
    ]


@st.composite
def entries(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw maps that are written as lists of entries, mostly in one order."""
    keys = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    chance = draw(st.randoms(use_true_random=True))
    pick = draw(st.sampled_from((few, scalars, st.just("y" * 120))))
    value = draw(pick)
    return [{"Key": key, "Value": value} for key in keys if chance.randrange(8)] + (
        [{"Key": keys[0], "Value": 1}] if not chance.randrange(9) else []
    )


@st.composite
def decided(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw so many rows that what a column decides is told apart."""
    chance = draw(st.randoms(use_true_random=True))
    told = {rule: chance.choice(SENTENCES) for rule in ("r1", "r2", "r3", "")}
    rules = [chance.choice(list(told)) for _ in range(draw(st.integers(20, 80)))]
    odd = draw(st.booleans())
    return [
        {"rule": rule, "text": told[rule] if chance.randrange(30) or not odd else SENTENCES[0], "line": number}
        for number, rule in enumerate(rules)
    ]


@st.composite
def named(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw records in which others come back that a member names."""
    people = [
        {
            "login": f"u{n}",
            "id": n,
            "url": f"https://example.org/people/{n}" * 3,
            "tags": [n] * n,
            "more": {"a": {"b": n}},
        }
        for n in range(draw(st.integers(1, 5)))
    ]
    chance = draw(st.randoms(use_true_random=True))
    return [
        {"n": n, "by": chance.choice(people), "to": chance.choice([*people, None, {}]), "cc": [chance.choice(people)]}
        for n in range(draw(st.integers(2, 30)))
    ]


@st.composite
def twins(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw records with two nested ones that say the same, or nearly."""
    inner = st.fixed_dictionaries({"a": few, "b": st.lists(few | st.floats(0, 1), max_size=2), "c": scalars})
    pool = draw(st.lists(inner, min_size=1, max_size=3))
    chance = draw(st.randoms(use_true_random=True))
    rows = [chance.choice(pool) for _ in range(draw(st.integers(2, 8)))]
    nearly = [chance.choice(pool) if not chance.randrange(9) else orjson.loads(orjson.dumps(row)) for row in rows]
    return [{"one": row, "deep": {"two": other}} for row, other in zip(rows, nearly, strict=True)]


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an object with records under a member that names them."""
    return {draw(st.sampled_from(("path", "file", "x"))): "src/a.py", draw(names): draw(records(few, most=4))}


tables = st.one_of(
    twins(),
    files(),
    records(),
    named(),
    decided(),
    records(records(most=5)),
    records(entries()),
    records(st.dictionaries(names, records())),
)
values = anything | tables | st.dictionaries(names, tables | scalars, max_size=4)


def agree(value: Any, *flags: bool) -> str | None:
    """Hold what C writes against what Python writes."""
    assert native.table is not None
    text: str | None = native.table.encode(value, *flags)
    if text is not None:
        assert text == table.encode_in_python(value, **dict(zip(("repeats", "constants", "near"), flags, strict=True)))
    return text


@checked
@given(values, st.booleans(), st.booleans(), st.booleans())
def test_both_write_the_same(value: Any, repeats: bool, constants: bool, near: bool) -> None:
    kelvin = "\N{KELVIN SIGN}" in str(value)  # the one letter that is left to Python
    assert agree(value, repeats, constants, near) is not None or kelvin


@checked
@given(
    st.lists(st.dictionaries(st.sampled_from([f"k{n}" for n in range(40)]), few, max_size=40), min_size=2, max_size=9)
)
def test_both_write_wide_rows_with_gaps_the_same(value: Any) -> None:
    assert agree(value, True, True, True) is not None


@pytest.mark.skipif(not corpus.PAYLOADS.exists(), reason="the shared corpus is not beside this checkout")
def test_both_write_real_answers_the_same() -> None:
    blocks = [block for payload in corpus.payloads() for block in payload.result["content"]]
    texts = [block["text"] for block in blocks if block.get("type") == "text"]
    for value in filter(None, map(read_text, texts)):
        for flags in ((True, True, True), (True, True, False), (False, False, True)):
            assert agree(value, *flags) is not None


class Text(StrEnum):
    ONE = "one"


@pytest.mark.parametrize(
    "odd",
    [
        float("nan"),
        float("inf"),
        2**64,
        -(2**63) - 1,
        "\ud800",
        Text.ONE,
        OrderedDict(a=1),
        (1, 2),
        {1: 2},
        {"\ud800": 1},
        b"",
        1j,
    ],
    ids=repr,
)
def test_what_is_not_plain_data_is_left_to_python_wherever_it_stands(odd: Any) -> None:
    places = (
        odd,
        [odd],
        {"a": odd},
        [{"a": odd}, {"a": 1}],
        [{"a": {"b": odd}}, {"a": {"b": 2}}],
        {"r": [{"c": [{"d": odd}]}] * 3},
    )
    assert [agree(place, True, True, True) for place in places] == [None] * len(places)


def test_what_is_nested_too_deep_for_tables_is_left_to_python() -> None:
    value: Any = 1
    for _ in range(250):
        value = {"a": [value]}
    assert agree([value, value], True, True, True) is None


def test_strings_of_every_width_are_written_the_same() -> None:
    widths = ("plain", "caf\u00e9", "\u65e5\u672c", "\U0001f600")
    value = [{one: other, "n": n} for n, (one, other) in enumerate((a, b) for a in widths for b in widths)]
    assert agree(value, True, True, True) is not None


def test_nothing_is_kept_of_what_was_written() -> None:
    value: Any = [{"id": n, "text": f"é{n}" * 60, "amount": n / 7, "by": {"login": "x", "id": n}} for n in range(50)]
    odd = [*value, {"id": float("nan")}]

    def write() -> int:
        for _ in range(50):
            table.encode(value)
            assert native.table is not None
            native.table.encode(odd, True, True, True)
        gc.collect()
        return sys.getallocatedblocks()

    before = [sys.getrefcount(row["text"]) for row in value], write()
    after = [sys.getrefcount(row["text"]) for row in value], write()
    assert before[0] == after[0]
    assert after[1] - before[1] < 50


def test_a_call_with_other_arguments_is_refused() -> None:
    assert native.table is not None
    with pytest.raises(TypeError, match="takes a value, repeats, constants and near"):
        native.table.encode([])


def test_the_part_in_c_is_what_the_encoder_uses() -> None:
    value: Any = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert native.table is not None
    assert table.encode(value) == native.table.encode(value, True, True, True) == "[2]:\na,b\n1,x\n2,y"
