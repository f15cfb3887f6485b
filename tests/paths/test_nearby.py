from __future__ import annotations

from typing import Any

import pytest

from shaping.paths.selection import Miss, miss

ISSUES = {"items": [{"number": 1, "title": "a", "user": {"login": "ada"}}, {"number": 2, "tags": [["x"]]}], "total": 2}


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("items[].titel", "nothing at items[].titel; did you mean items[].title?"),
        ("items.titel", "nothing at items.titel; did you mean items.title?"),
        ("items[0].usr.login", "nothing at items[0].usr; did you mean items[0].user?"),
        ("login", "nothing at login; did you mean items[].user.login?"),
        ("**.zzz", "nothing at **.zzz; there is: items, total, number, title, user, tags, login"),
        ("zz*", "nothing at zz*; there is: items, total"),
        ("items[7]", "nothing at items[7]; the list has 2 elements"),
        ("items[-7]", "nothing at items[-7]; the list has 2 elements"),
        ("items[-1].nme", "nothing at items[-1].nme; did you mean items[-1].number?"),
        ("total[1:]", "nothing at total[1:]; there is no list"),
        ("total.x", "nothing at total.x"),
    ],
)
def test_a_path_without_a_match_is_told_with_what_may_be_meant(path: str, says: str) -> None:
    assert str(miss(ISSUES, path)) == says


def test_the_names_of_a_wide_object_are_told_in_part() -> None:
    wide = {f"name{n}": n for n in range(20)}
    found = miss(wide, "zzz")
    assert found == Miss("zzz", (), f"there is: {', '.join(list(wide)[:8])}, …")


@pytest.mark.parametrize("path", ["items[].number", "items[0]", "**.login", "items[].*", "total", "items[].tags[][]"])
def test_a_path_with_a_match_is_no_miss(path: str) -> None:
    assert miss(ISSUES, path) is None


def test_a_name_that_stands_in_many_places_is_told_once_for_each_kind_of_place() -> None:
    assert miss({"rows": [{"id": n} for n in range(9)], "sub": {"id": 1}}, "id") == Miss(
        "id", ("sub.id", "rows[].id"), "there is: rows, sub"
    )


def test_lists_that_lie_deeper_than_calls_may_are_looked_through() -> None:
    deep: Any = {"name": 1}
    for _ in range(5_000):
        deep = [deep]
    begin = "the data is a list of 1: begin with [0] or []"
    assert miss(deep, "nam") == Miss("nam", ("name",), "there is: name", begin)
    assert miss(deep, "zzz") == Miss("zzz", (), "there is: name", begin)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("items[0].url", "nothing at items; the data is a list of 50: begin with [0] or []; there is: title, user"),
        ("titel", "nothing at titel; did you mean title?"),
        ("login", "nothing at login; did you mean [].user.login?"),
    ],
)
def test_a_name_before_data_that_is_a_list_is_told_so(path: str, says: str) -> None:
    assert str(miss([{"title": "a", "user": {"login": "ada"}}] * 50, path)) == says


def test_a_name_before_a_list_of_plain_values_is_told_so() -> None:
    assert str(miss([1, 2], "items[0]")) == "nothing at items; the data is a list of 2: begin with [0] or []"
