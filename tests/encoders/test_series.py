"""Lists without records: what is regular is said by its rule, and everything reads back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from shaping import Shaper
from shaping.encoders.table import decode, encode
from shaping.encoders.table.header import TableError

HOURS = [(datetime(2021, 11, 24, tzinfo=UTC) + timedelta(hours=n)).strftime("%Y-%m-%dT%H:%M") for n in range(48)]


def test_regular_times_are_their_first_their_last_and_the_step() -> None:
    value: Any = {"hourly": {"time": HOURS, "name": "x"}, "n": 1}
    text = encode(value)
    assert text == "hourly:\n time[48] from 2021-11-24T00:00 to 2021-11-25T23:00 every 1 hour\n name: x\nn: 1"
    assert decode(text) == value


def test_values_that_stay_the_same_are_said_with_how_many_times() -> None:
    value: Any = {"soil": [0.308] * 4 + [0.309] * 7 + [None, 0.308], "n": 1}
    assert encode(value) == "soil[13] in runs: 0.308 x4,0.309 x7,null,0.308\nn: 1"
    assert decode(encode(value)) == value


def test_pairs_of_a_regular_time_and_a_value_are_said_apart_below_their_row() -> None:
    value: Any = [{"job": f"j{j}", "values": [[1609746000 + 60 * n, str(j)] for n in range(20)]} for j in range(2)]
    assert encode(value).splitlines()[1:4] == [
        "job,values",
        "j0,below",
        ' values[20] pairs, first from 1609746000 to 1609747140 every 60, second: "0" x20',
    ]
    assert decode(encode(value)) == value


def test_lists_of_lists_are_rows() -> None:
    value: Any = {"range": "A1:C3", "values": [["name", "n", ""], ["web", 1, None], ["a,b"], ["7", 2.5, True]]}
    assert encode(value) == 'range: A1:C3\nvalues[4] lists:\nname,n,""\nweb,1,null\n"a,b"\n"7",2.5,true'
    assert decode(encode(value)) == value


def test_parallel_lists_are_columns_with_their_time_first() -> None:
    days = [f"2021-11-2{n}" for n in range(4, 9)]
    value: Any = {"daily": {"max": [7.6, 5.4, 4.8, 4.5, 3.4], "time": days, "rain": [0, 1, 0, 2, 0]}}
    text = encode(value)
    assert text.splitlines()[:3] == ["daily, 3 lists as columns, 5 rows:", "time,max,rain", "2021-11-24,7.6,0"]
    assert decode(text) == value


@pytest.mark.parametrize(
    "text", ["a[3] in runs: 1 x2\nb: 1", "a[3] in runs: 1 x2,x\nb: 1", "a[2] pairs, first 1, second: 2\nb: 1"]
)
def test_a_series_that_was_cut_or_changed_is_refused(text: str) -> None:
    with pytest.raises(TableError):
        decode(text)


def exact(value: Any) -> bytes:
    """Tell 1 from 1.0 from true, and 0.0 from -0.0."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


values = st.sampled_from([0, 0.0, -0.0, 1, True, None, "", "a x3", "a,b", "2021-11-24", 0.1])
runs = st.lists(st.tuples(values, st.integers(1, 9)), min_size=1, max_size=6).map(
    lambda found: [value for value, times in found for _ in range(times)]
)
starts = st.datetimes(datetime(1, 1, 1), datetime(9999, 1, 1))  # noqa: DTZ001 (the zone is drawn apart, as text)
forms = st.sampled_from(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.000Z"])


@st.composite
def times(draw: st.DrawFn) -> list[str]:
    start, form = draw(starts), draw(forms)
    step = timedelta(seconds=draw(st.sampled_from([1, 60, 90, 3600, 86400, 7 * 86400])))
    return [(start + step * n).strftime(form) for n in range(draw(st.integers(10, 20)))]


ranges = st.builds(
    lambda first, step, count: [first + step * n for n in range(count)],
    st.integers(-(2**40), 2**40),
    st.integers(-9, 9),
    st.integers(12, 20),
)
lists = runs | times() | ranges


@settings(max_examples=150, deadline=None)
@given(lists, lists, st.booleans())
def test_every_list_reads_back(one: list[Any], other: list[Any], nested: bool) -> None:
    pairs: Any = [list(pair) for pair in zip(one, other, strict=False)]
    value: Any = {"one": one, "both": {"a": one, "b": other, "c": one}, "pairs": pairs, "in": [one, other] * 2}
    if nested:
        value = [{"id": n, "list": [one, other, pairs][n % 3]} for n in range(4)]
    assert exact(decode(encode(value))) == exact(value)


def test_numbers_that_follow_each_other_are_told_by_the_first_and_the_last() -> None:
    value: Any = {
        "versions": [f"{major}.{minor}.{patch}" for major in (2, 1) for minor in range(3) for patch in range(9)],
        "ports": [*range(20, 40), 80, 443, *range(9000, 8990, -1)],
    }
    text = encode(value)
    assert '"2.0.0" to "2.0.8","2.1.0" to "2.1.8"' in text
    assert "ports[32] in runs: 20 to 39,80,443,9000 to 8991" in text
    assert decode(text) == value


def test_paths_stand_below_their_folders() -> None:
    value: Any = {"files": [*(f"src/{name}/{n}.py" for name in "abc" for n in range(9)), "README.md", "a,b/c,d"]}
    text = encode(value)
    assert text.splitlines()[:3] == [
        "files[29] strings, each == line says how those after it begin:",
        "== src/a/",
        "0.py,1.py,2.py,3.py,4.py,5.py,6.py,7.py,8.py",
    ]
    assert decode(text) == value
    assert decode(encode(value["files"])) == value["files"]


def test_many_scalars_of_an_object_share_what_stands_around_them() -> None:
    value: Any = {f"1.{n}.0": f"2026-11-{n}T10:00:00.000000+00:00" for n in range(10, 30)}
    text = encode({"time": value})
    assert text.splitlines()[:3] == ["time{20}:", "(key),(value)=2026-11-{}T10:00:00.000000+00:00", "1.10.0,10"]
    assert decode(text) == {"time": value}
    records: Any = {f"k{n}": {"(value)": n, "x": "words of some length"} for n in range(20)}
    assert decode(encode(records)) == records


def test_rows_without_names_are_a_table_of_the_names_beside_them() -> None:
    rows: Any = [[n, f"user{n}", f"2026-11-{10 + n // 9}T10:{n:02}:00Z", n % 17 != 0] for n in range(60)]
    value: Any = {"columns": ["id", "the name", "created", "active"], "rows": rows}
    text = encode(value)
    assert "rows[60] lists of {id,the name,created,active}:" in text
    assert "unless (but …) follows it: active=true" in text
    assert decode(text) == value
    assert encode({"rows": rows}).splitlines()[0] == "rows[60] lists of {1,2,3,4}:"
    for each in ({"rows": rows}, rows, {"headers": ["a.b", "c,d", '"', "x{"], "rows": rows}):
        assert decode(encode(each)) == each


def test_a_list_that_is_all_of_an_answer_is_written_in_runs_and_not_cut() -> None:
    values = ["who email", *["a b"] * 12_500]
    shaped = Shaper({}).shape(values, tool="t")
    assert (shaped.text, shaped.truncated) == ('[12501] in runs: "who email","a b" x12500', False)
    assert decode(shaped.text) == values


def test_keys_and_names_in_modules_are_written_below_what_they_begin_with() -> None:
    keys: Any = {"keys": [f"order:{7919 * at % 10007}" for at in range(60)]}
    names: Any = [f"shop.cart.{'xyz'[at % 3]}{at}" for at in range(40)]
    assert encode(keys).count("order:") == 1
    assert encode(names).count("shop.cart.") == 1
    assert [decode(encode(value)) for value in (keys, names)] == [keys, names]
