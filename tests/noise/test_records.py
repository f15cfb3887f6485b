"""Records are put together again from what is left of them."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from shaping.noise.records import MISSING, Records, Surroundings

names = st.sampled_from("abcdef")
records = st.dictionaries(names, st.integers(0, 3), max_size=6)


@given(st.lists(records, min_size=1, max_size=6), st.sets(names), st.data())
def test_every_record_keeps_its_order_and_what_was_neither_dropped_nor_replaced(
    rows: list[dict[str, Any]], drop: set[str], data: st.DataObject
) -> None:
    replaced = data.draw(st.sets(names)) - drop
    found = Records(rows, Surroundings(listed=True))
    found.drop = dict.fromkeys(sorted(drop & found.kinds.keys()), "links")
    for name in sorted(replaced & found.kinds.keys()):
        chosen = st.sampled_from([MISSING, 7, None])
        found.replace[name] = [data.draw(chosen) if name in row else MISSING for row in rows]
    before = [dict(row) for row in rows]
    new = {name: dict(enumerate(column)) for name, column in found.replace.items()}
    expected = [
        [(key, new.get(key, {}).get(index, value)) for key, value in row.items() if key not in drop]
        for index, row in enumerate(rows)
    ]
    assert [list(row.items()) for row in found.result()] == [
        [(key, value) for key, value in row if value is not MISSING] for row in expected
    ]
    assert rows == before


def test_a_record_that_nothing_was_taken_from_is_the_same_object() -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": 2}, {"a": 1, "b": 3}]
    found = Records(rows, Surroundings(listed=True))
    found.replace["b"] = [rows[0]["b"], MISSING]
    first, second = found.result()
    assert first is rows[0]
    assert second == {"a": 1}
