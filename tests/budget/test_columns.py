from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from shaping.budget.fit import Budget, Fitted, fit_value
from shaping.paths import select
from shaping.response import Listed, Omission
from shaping.tokens import counter

COUNTER = counter("o200k_base")


def render(fitted: Fitted) -> str:
    shown = [[one.path, one.shown, one.total] for one in fitted.lists]
    return orjson.dumps({"data": fitted.value, "truncated": bool(fitted.omissions), "lists": shown}).decode()


def fit(value: Any, max_tokens: int) -> Fitted:
    return fit_value(value, Budget(max_tokens), render, COUNTER.exact)


def numbers(count: int, seed: int) -> list[float]:
    return [round(n * seed * 7919 % 99991 / 991, 2) for n in range(count)]


def weather(series: int, rows: int) -> dict[str, list[Any]]:
    """Give a table by its columns, the axis in the midst of them, as weather and finance services do."""
    table: dict[str, list[Any]] = {f"series {n}": numbers(rows, n + 1) for n in range(series)}
    axis = {"time": [f"2021-11-{1 + n // 24:02d}T{n % 24:02d}:00" for n in range(rows)]}
    return dict(sorted((table | axis).items(), key=lambda member: member[0] == "series 1"))


@pytest.mark.parametrize("series", [2, 12, 38])
def test_lists_that_line_up_are_cut_to_one_length_and_none_is_dropped(series: int) -> None:
    value: Any = {"place": "Berlin", "hourly": weather(series, 168)}
    limit = COUNTER.exact(orjson.dumps(value).decode()) * 3 // 4
    fitted = fit(value, limit)
    shown = fitted.lists[0].shown
    assert fitted == Fitted(
        value={"place": "Berlin", "hourly": {key: column[:shown] for key, column in weather(series, 168).items()}},
        omissions=(Omission(f"hourly.*[{shown}:]", (series + 1) * (168 - shown), "items"),),
        lists=(Listed("hourly.*", shown, 168),),
        position=("hourly.series 0", shown),
    )
    assert 0.95 * limit < COUNTER.exact(render(fitted)) <= limit
    tails: Any = select(value, f"hourly.*[{shown}:]")
    assert len(tails) == fitted.omissions[0].count


def test_where_not_all_columns_have_room_for_a_few_rows_those_that_do_line_up_and_the_axis_is_among_them() -> None:
    fitted = fit({"hourly": weather(60, 168)}, 400)
    kept: Any = fitted.value
    table = kept["hourly"]
    assert "time" in table
    assert 1 < len(table) < 61
    assert len({len(column) for column in table.values()}) == 1
    assert fitted.omissions[-1] == Omission("hourly", 61 - len(table), "depth")


def test_columns_of_texts_and_records_line_up_too() -> None:
    value: Any = {
        "ids": [f"doc-{n}" for n in range(40)],
        "documents": [f"Words of document {n}. " * 9 for n in range(40)],
        "metadatas": [{"page": n, "source": f"book {n}"} for n in range(40)],
        "included": ["documents"],
    }
    fitted = fit(value, 1500)
    shown = fitted.lists[0].shown
    assert 0 < shown < 40
    assert fitted.value == {key: column[:shown] for key, column in value.items()}


def test_a_table_within_an_object_leaves_the_small_members_whole() -> None:
    small = {"id": 7, "tags": ["a", "b"], "note": "short"}
    fitted = fit({**small, **weather(3, 200)}, 1200)
    kept: Any = fitted.value
    assert {key: kept[key] for key in small} == small
    assert [one.path for one in fitted.lists] == ["*"]


def test_where_one_row_is_larger_than_the_room_its_texts_lose_their_middles() -> None:
    value: Any = {"ids": ["a", "b", "c", "d"], "documents": [f"Page {n}. " * 2000 for n in range(4)]}
    fitted = fit(value, 300)
    kept: Any = fitted.value
    assert (len(kept["ids"]), len(kept["documents"])) == (1, 1)
    assert "characters left out" in kept["documents"][0]
    assert COUNTER.exact(render(fitted)) > 250


def test_where_a_later_row_is_larger_than_the_room_it_is_shown_in_part_too() -> None:
    value: Any = {"ids": list("abcdef"), "documents": ["short", *(f"Page {n}. " * 2000 for n in range(5))]}
    kept: Any = fit(value, 300).value
    assert (len(kept["ids"]), len(kept["documents"])) == (2, 2)


@pytest.mark.parametrize("budget", range(100, 400, 20))
def test_where_no_row_can_be_shown_in_part_the_columns_are_cut_like_any_lists(budget: int) -> None:
    value: Any = {f"{n} long name {'x y ' * 30}": ["words " * 60] * 4 for n in range(3)}
    fitted = fit(value, budget)
    assert COUNTER.exact(render(fitted)) <= budget
    assert fitted.omissions


@pytest.mark.parametrize(
    "value",
    [
        {"labels": ["a", "b", "c"], "people": ["x", "y", "z"], "rows": numbers(600, 3)},
        {"labels": list("abcdef"), "rows": [{"id": n, "text": "words " * 200} for n in range(6)]},
        {"a": numbers(300, 1), "b": list("abcdef"), "c": list("ghijkl"), "d": numbers(10, 1), "e": numbers(9, 1)},
    ],
)
def test_lists_that_are_as_long_as_each_other_by_chance_are_no_table(value: dict[str, Any]) -> None:
    kept: Any = fit(value, 500).value
    small = [key for key, member in value.items() if len(orjson.dumps(member)) < 100]
    assert [kept[key] for key in small] == [value[key] for key in small]


@pytest.mark.parametrize(("series", "rows", "part"), [(34, 20, 0.95), (34, 60, 0.9), (45, 20, 0.95), (45, 60, 0.95)])
def test_a_budget_is_used_where_a_token_is_hardly_more_than_a_byte(series: int, rows: int, part: float) -> None:
    value = {f"series {n}": numbers(rows + n, n + 1) for n in range(series)}
    limit = int(COUNTER.exact(orjson.dumps(value).decode()) * part)
    asked: list[str] = []

    def exact(text: str) -> int:
        asked.append(text)
        return COUNTER.exact(text)

    fitted = fit_value(value, Budget(limit), render, exact)
    assert 0.95 * limit < COUNTER.exact(render(fitted)) <= limit
    assert sum(map(len, asked)) <= 4 * len(orjson.dumps(value))


@pytest.mark.parametrize(("series", "rows", "part"), [(5, 20, 0.95), (10, 60, 0.7), (20, 20, 0.7), (20, 60, 0.9)])
def test_a_cut_text_of_fewer_bytes_than_there_may_be_tokens_is_not_taken_for_a_full_one(
    series: int, rows: int, part: float
) -> None:
    value: Any = {f"series {n}": [numbers(rows + n, n + 1)] for n in range(series)}
    limit = int(COUNTER.exact(orjson.dumps(value).decode()) * part)
    assert 0.95 * limit < COUNTER.exact(render(fit(value, limit))) <= limit


CELLS = st.integers(-1000, 1000) | st.floats(0, 1) | st.none() | st.text(max_size=40)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    rows, names = draw(st.integers(4, 60)), draw(st.lists(st.text("abcxyz._ é", min_size=1), min_size=2, unique=True))
    return {name: draw(st.lists(CELLS, min_size=rows, max_size=rows)) for name in names}


@settings(max_examples=60, deadline=None)
@given(table=tables(), budget=st.integers(80, 600))
def test_any_table_is_within_its_budget_lines_up_and_tells_what_it_lacks(table: dict[str, Any], budget: int) -> None:
    fitted = fit({"table": table}, budget)
    assert COUNTER.exact(render(fitted)) <= budget
    whole: Any = fitted.value
    kept = whole.get("table", {})
    lengths = {len(column) for column in kept.values()}
    assert len(lengths) <= 1
    gone = sum(len(table[key]) - len(column) for key, column in kept.items())
    assert sum(one.count for one in fitted.omissions if one.reason == "items") == gone
    for omission in fitted.omissions:
        select({"table": table}, omission.path)
