"""Every format reads back what it wrote, types and all, whatever the value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from shaping.encoders import FORMATS, decode, encode, table

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# What breaks separators, quotes, indentation and literals, beside any other text.
TRICKY = (
    "", " ", "-", "--", "1", "-0", "1.0", "1e5", "007", "true", "null", "None", "a,b", 'say "x"', '"', "[", "{", "}",
    "]", "[0]", "a: b", "key:", " lead", "trail ", "tab\t", "two\nlines", "\nx", "x\n", "\r", "=", "==", "a=b", "(key)",
    "a.b", "a[0]", "x, 2 lines:", "é", "\u2028", "日本", "😀", "\x7f", "\\", "all with", " by ",
    "gives", ",,,", "|", "a|b",
)  # fmt: skip
LONG = ("word " * 30, "line one\nline two\n" * 12, "{" + '"a":1,' * 30, "x" * 150, " " * 120, "tail\n\n" + "y" * 120)

scalars: SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(TRICKY)
    | st.sampled_from(LONG)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
names = st.sampled_from(("id", "name", "state", "a", "b", *TRICKY)) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=4
)
few = st.sampled_from(("x", "y", 1, 1.0, True, None, "", "1", 0, -0.0, 0.0))


def nested(children: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.lists(children, max_size=5) | st.dictionaries(names, children, max_size=5)


anything = st.recursive(scalars, nested, max_leaves=25)


@st.composite
def records(draw: st.DrawFn) -> list[dict[str, Any]]:
    members = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    column = st.one_of(few, few, scalars, st.recursive(few | scalars, nested, max_leaves=6))
    pool = {name: draw(st.lists(column, min_size=1, max_size=3)) for name in members}
    count = draw(st.integers(2, 9))
    return [
        {name: draw(st.sampled_from(pool[name])) for name in members if draw(st.integers(0, 9))} for _ in range(count)
    ]


keyed = st.dictionaries(names, st.dictionaries(st.sampled_from(("id", "v")), few, min_size=1), max_size=6)
values = anything | records() | st.dictionaries(names, records(), max_size=3) | keyed
sampled = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def exact(value: Any) -> bytes:
    """Tell 1 from 1.0 from true from "1", and 0.0 from -0.0."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


@sampled
@given(values, st.booleans(), st.booleans())
def test_a_table_reads_back_exactly(value: Any, repeats: bool, constants: bool) -> None:
    text = table.encode(value, repeats=repeats, constants=constants)
    assert exact(table.decode(text)) == exact(value)


@st.composite
def related(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw records whose members follow from one another, recur, or have much in common, most of them."""
    count = draw(st.integers(2, 30))
    ids: list[Any] = draw(st.sampled_from([list(range(100, 100 + count)), [f"item-{n}" for n in range(count)]]))
    makers: dict[str, Any] = {
        "url": lambda n: f"https://x.dev/items/{ids[n]}/more",
        "both": lambda n: f"https://x.dev/{ids[n]}/of/name {n % 3}",
        "copy": lambda n: ids[n],
        "hub": lambda n: f"https://x.dev/{{/owner}}/{ids[n]}" if draw(st.integers(0, 9)) else "https://x.dev/{id}",
        "name": lambda n: f"name {n % 3}",
        "at": lambda n: f"2026-11-17T10:{n:02}:00.000Z",
        "day": lambda n: f"2026-11-{n % 28 + 1:02}T10:00:00.000Z",
        "sha": lambda n: "0123456789abcdef0123456789abcde" + str(n % 2),
        "float": lambda n: 0.10000000149011612 * 2 ** (n % 5),
        "tags": lambda n: ["a-long-first-tag", "a-long-second-tag", *map(str, range(n % 3))],
        "pairs": lambda n: [{"key": f"k{m}", "value": draw(few)} for m in range(n % 4)],
        "rows": lambda n: [{"id": m, "url": f"https://x.dev/row/{m}", "text": "some words"} for m in range(n % 4)],
        "user": lambda n: {"login": f"u{n % 3}", "page": f"https://x.dev/u{n % 3}", "bio": f"words of {n % 3} " * 9},
        "wide": lambda n: {f"w{m}": n * m for m in range(9)} if n % 5 else draw(st.sampled_from([None, {}, "x"])),
        "text": lambda n: draw(st.sampled_from(LONG)),
        **{f"rare{m}": lambda _: draw(few) for m in range(7)},
    }  # fmt: skip
    chosen = draw(st.lists(st.sampled_from(list(makers)), min_size=1, max_size=8, unique=True))
    nested = draw(st.booleans())
    seldom = [name for name in makers if name.startswith("rare")] if draw(st.booleans()) else []
    rows = []
    for n in range(count):
        members = {name: makers[name](n) for name in chosen if draw(st.integers(0, 40))}
        members |= {name: makers[name](n) for name in seldom if not draw(st.integers(0, 6))}
        rows.append({"id": ids[n], **({"in": members} if nested and members else members)})
    return rows


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(related(), st.booleans())
def test_records_with_much_in_common_read_back_exactly(value: Any, repeats: bool) -> None:
    text = table.encode(value, repeats=repeats)
    assert exact(table.decode(text)) == exact(value)


@sampled
@given(values)
def test_what_auto_chooses_reads_back_exactly(value: Any) -> None:
    encoded = encode(value, "auto", repeats=True, constants=True, lossless=True)
    assert exact(decode(encoded.text, encoded.encoding)) == exact(value)


@sampled
@given(st.data(), st.integers(24, 40))
def test_sentences_told_once_read_back_exactly(data: st.DataObject, count: int) -> None:
    keys: list[Any] = data.draw(st.lists(few | st.just([1]) | st.just({"a": 1}), min_size=1, max_size=4))
    sentences = ["A sentence that comes back, again and again", "Another, with a comma and more words", "x", 1, None]
    told = data.draw(st.lists(st.sampled_from(sentences), min_size=len(keys), max_size=len(keys)))
    value: Any = [
        {"n": n, "key": keys[n % len(keys)], "told": told[n % len(keys)]} if data.draw(st.integers(0, 30)) else {"n": n}
        for n in range(count)
    ]
    assert exact(table.decode(table.encode(value, lossless=False))) == exact(value)


@pytest.mark.parametrize("encoding", ["csv", "markdown"])
@sampled
@given(value=records())
def test_rows_read_back_exactly(encoding: str, value: Any) -> None:
    text = FORMATS[encoding].encode(value)
    if text is None:
        assert not any(value)
    else:
        assert exact(decode(text, encoding)) == exact(value)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), st.integers(0, 9) | st.sampled_from(["x", "two words"]), min_size=1))
def test_toon_reads_back_what_its_package_wrote(value: Any) -> None:
    pytest.importorskip("toon_format")
    assert decode(encode(value, "toon").text, "toon") == value


def test_many_rows_with_repeats_of_every_kind_read_back() -> None:
    owners = [{"login": f"user{i}", "id": i, "site": "https://example.com/" + "path/" * 12 + str(i)} for i in range(3)]
    value: Any = [
        {
            "number": i,
            "owner": owners[i % 3],
            "again": owners[i % 3],
            "rule": f"rule-{i % 2}",
            "message": f"A sentence of some length that comes back, number {i % 2}",
            "tags": [{"Key": "Name", "Value": f"n{i}"}, {"Key": "Team", "Value": "web"}],
            "steps": [{"name": f"s{j}", "took": j / 3} for j in range(i % 4)],
            "only": [{"deep": {"er": i}}],
            "body": "line\n" * 30 if i % 2 else "short",
        }
        for i in range(48)
    ]
    text = table.encode(value)
    assert table.decode(text) == value
    assert "\n again={owner}\n" in text
    assert "\n owner.site=https://example.com/" in text


def test_maps_keyed_by_values_inside_rows_make_no_columns_of_them() -> None:
    value: Any = [
        {"name": f"app{i}", "uses": {f"lib{j}": {"version": f"{j}.0.0", "ok": True} for j in range(i, i + 3)}}
        for i in range(12)
    ]
    text = table.encode(value)
    assert text.split("\n")[1] == "name,uses"
    assert table.decode(text) == value


def test_json_in_a_string_comes_back_to_the_letter_where_nothing_may_be_lost() -> None:
    rows = [{"b": n, "id": n, "a": None if n % 2 else "x"} for n in range(20)]
    mixed = [dict(reversed(row.items())) if row["id"] == 7 else row for row in rows]
    value: Any = {"n": 1, "Body": json.dumps({"rows": mixed}, separators=(",", ":"))}
    text = table.encode(value, lossless=True)
    assert "JSON in a string" in text
    assert table.decode(text) == value
