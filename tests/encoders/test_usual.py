"""What most rows have is said once, and a row that differs says so."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given, settings, strategies as st

from shaping.encoders.table import decode, encode

PROCESSES: Any = [
    {"pid": n, "tty": "?" if n != 4 else "tty1", "rss": 0 if n not in {4, 7} else n * 100, "command": f"worker {n}"}
    for n in range(40)
]  # fmt: skip


def test_only_the_rows_that_differ_name_what_they_differ_in() -> None:
    text = encode(PROCESSES)
    lines = text.splitlines()
    assert lines[1:4] == [" each row, unless (but …) follows it: tty=?,rss=0", "pid,command", "0,worker 0"]
    assert lines[7:11] == ["4,worker 4", " (but tty=tty1,rss=400)", "5,worker 5", "6,worker 6"]
    assert decode(text) == PROCESSES


def test_a_state_stands_in_each_row() -> None:
    value: Any = [{"id": n, "state": "open" if n else "closed", "locked": not n} for n in range(30)]
    text = encode(value)
    assert text.splitlines()[1:3] == [" each row, unless (but …) follows it: locked=false", "id,state"]
    assert decode(text) == value


def test_members_of_nested_records_are_named_by_their_path() -> None:
    value: Any = [
        {"id": n, "spec": {"node": f"n{n}", "policy": {"restart": "Always" if n != 3 else "Never"}}} for n in range(20)
    ]
    text = encode(value)
    assert " (but spec.policy.restart=Never)" in text
    assert decode(text) == value


def test_a_member_that_a_row_lacks_is_never_taken_for_the_usual_one() -> None:
    value: Any = [{"id": n, **({"kind": "plain"} if n != 5 else {})} for n in range(30)]
    assert decode(encode(value)) == value


mostly: st.SearchStrategy[Any] = st.sampled_from(
    ["x", 1, 1.0, True, None, "", "1", "{id}", {"id": 1}, [], "a,b", "(but x=1)", "below"]
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(mostly, mostly), min_size=1, max_size=3), st.lists(st.integers(0, 29), max_size=6), mostly)
def test_exceptions_of_any_kind_read_back(columns: list[Any], odd: list[int], other: Any) -> None:
    value: Any = [
        {"id": n, **{f"c{at}": other if n in odd else usual for at, (usual, _) in enumerate(columns)}}
        for n in range(30)
    ]
    nested: Any = [{"n": {"id": row["id"], "in": row}, "same": row["id"] if row["id"] != 3 else 7} for row in value]
    for each in (value, nested):
        assert _exact(decode(encode(each))) == _exact(each)


def _exact(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def test_a_nested_record_that_has_only_what_is_usual_is_there() -> None:
    usual = {"date": "a date of thirty days ago", "insight": "TRENDS OF EVERYTHING"}
    rows: Any = [{"id": n, "filters": usual | {f"d{at}": f"x{n}{at}" for at in range(6)}} for n in range(30)]
    rows[3]["filters"] = rows[7]["filters"] = usual
    rows[4]["filters"]["date"] = "another one"
    text = encode(rows)
    assert "each row, unless (but" in text
    assert decode(text) == rows
