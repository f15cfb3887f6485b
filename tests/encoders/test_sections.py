"""What stays the same for several rows is said once above them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from shaping.encoders.table import decode, encode


def test_rows_of_one_file_stand_below_its_name() -> None:
    value: Any = [{"file": f"src/package/{'abc'[n // 9]}.py", "line": 5 * n + n * n % 7} for n in range(27)]
    lines = encode(value).splitlines()
    assert lines[1:5] == [
        " each == line holds for the rows after it, up to the next",
        "line",
        "== file=src/package/a.py",
        "0",
    ]
    assert lines[13] == "== file=src/package/b.py"
    assert decode("\n".join(lines)) == value


def test_paths_times_and_tests_stand_below_directory_day_and_file() -> None:
    made = {
        "path": [f"/usr/lib/package-{n // 10}/file-{n}.py" for n in range(40)],
        "at": [f"2026-1{n // 20}-1{n // 10}T10:{n:02}:00.000Z" for n in range(40)],
        "nodeid": [f"tests/test_{n // 10}.py::test_of_number_{n}" for n in range(40)],
    }
    heads = ("path=/usr/lib/package-0/{}", "at=2026-10-10T{}.000Z", "nodeid=tests/test_0.py::{}")
    for (name, column), head in zip(made.items(), heads, strict=True):
        value: Any = [{"n": n * n, name: text} for n, text in enumerate(column)]
        text = encode(value)
        assert f"\n== {head}\n" in text
        assert decode(text) == value


def test_every_nested_list_says_its_own() -> None:
    value: Any = [
        {"id": f"p{n}", "rows": [{"team": f"team-of-{n}", "v": m * 3 % 7, "w": f"w{m}"} for m in range(6)]}
        for n in range(5)
    ]
    text = encode(value)
    assert text.count(" == team=") == 5
    assert decode(text) == value


@pytest.mark.parametrize("column", ["state", "status"])
def test_a_state_stays_in_its_row(column: str) -> None:
    value: Any = [{"id": n, column: "waiting for approval" if n < 20 else "done by somebody"} for n in range(40)]
    assert "==" not in encode(value)


odd: st.SearchStrategy[Any] = st.sampled_from(
    ["x", 1, 1.0, True, None, "", "{}", {}, [], "a,b", "== a=1", "/", "a/", "2026-11-17T10:00", "x=y"]
)


@settings(max_examples=80, deadline=None)
@given(st.lists(odd, min_size=1, max_size=4), st.lists(odd, min_size=1, max_size=3), st.integers(4, 9))
def test_runs_of_anything_read_back(first: list[Any], second: list[Any], run: int) -> None:
    rows: Any = [
        {"n": n, "a": one, "in": {"b": second[n % len(second)], "c": one}, "p": f"dir with {one}/sub/{n % 3}/f{n}"}
        for n, one in enumerate(one for one in first for _ in range(run))
    ]
    nested: Any = [{"id": n, "rows": rows[n : n + 5]} for n in range(len(rows))]
    for value in (rows, nested, {"x": rows}):
        assert _exact(decode(encode(value))) == _exact(value)


def _exact(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
