from __future__ import annotations

from typing import Any

import pytest

from shaping import Shaper
from shaping.paths import compile_fields
from shaping.paths.rules import original, renamed_path

RAW = {"items": [{"user": {"login": "ada"}, "n": 1}, {"user": {"login": "bob"}, "odd": [[{"login": 1}]]}], "total": 2}
PLAN = compile_fields(None, ["total"], {"items": "rows", "**.login": "author", "items[].n": "total"})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", ""),
        ("rows", "items"),
        ("rows[0:2]", "items[0:2]"),
        ("rows[1].user.author", "items[1].user.login"),
        ("rows[].user.author", "items[].user.login"),
        ("rows.user.author", "items.user.login"),
        ("rows[].total", "items[].n"),
        ("rows[].odd[].author", "items[].odd[].login"),
        ("items[].user.login", "items[].user.login"),
        ("total", "total"),
        ("total.x", "total.x"),
        ("nowhere.at.all", "nowhere.at.all"),
        ("rows.**.author", "items.**.author"),
        ("rows[", "rows["),
    ],
)
def test_a_path_in_the_names_that_were_shown_leads_to_the_raw_value(path: str, expected: str) -> None:
    assert original(path, RAW, PLAN) == expected


def test_without_renames_a_path_is_what_it_is() -> None:
    assert original("rows", RAW, compile_fields(None, ["total"])) == "rows"
    assert original("rows", RAW, None) == "rows"


MIXED = {"a": [1, [{"b": 1}], "x", [{"b": 2}, 5, {"b": 3}], [{"b": 4}]]}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a[0]", "a[1]"),
        ("a[1][1].b", "a[3][2].b"),
        ("a[1:3]", "a[3:5]"),
        ("a[:2]", "a[:4]"),
        ("a[2:]", "a[4:]"),
        ("a[0:9]", "a[1:5]"),
        ("a[7:9]", "a[5:5]"),
        ("a[9]", "a[9]"),
        ("a[][0]", "a[][0]"),
        ("a", "a"),
    ],
)
def test_elements_that_were_not_asked_for_are_counted_again(path: str, expected: str) -> None:
    assert original(path, MIXED, compile_fields(["a.b"])) == expected


def renaming(**override: Any) -> Shaper:
    rename = {"items": "rows", "items[].body": "text"}
    return Shaper({"tool_overrides": {"t": {"rename": rename, **override}}}, expandable=True)


ROWS = {"items": [{"n": number, "body": f"body {number}", "gone": None} for number in range(30)]}


def test_what_a_budget_cut_under_a_new_name_can_be_expanded_by_path_and_by_cursor() -> None:
    shaper = renaming(max_items=3)
    shaped = shaper.shape(ROWS, tool="t")
    assert shaped.ref is not None
    assert shaper.expand(shaped.ref, "rows[3:30]").data == ROWS["items"][3:]
    rest = [{"n": row["n"], "text": row["body"]} for row in ROWS["items"][3:]]
    assert shaper.expand(shaped.ref, cursor=shaped.cursor).data == rest


def test_every_omission_under_a_new_name_can_be_expanded_and_has_its_price() -> None:
    shaper = renaming(exclude_fields=["items[].n"], max_items=3)
    shaped = shaper.shape(ROWS, tool="t", profile="standard")
    assert shaped.ref is not None
    found = {omission.path: shaper.expand(shaped.ref, omission.path).data for omission in shaped.omissions}
    assert found == {
        "items[].n": list(range(30)),
        "rows[].gone": [None] * 30,
        "rows[3:30]": ROWS["items"][3:],
    }
    told = {omission["path"]: omission.get("tokens") for omission in shaped.value["omissions"]}
    assert told["rows[3:30]"] > 0
    assert told["items[].n"] > 0


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("items", "rows"),
        ("items[].n", "rows[].total"),
        ("items.user.login", "rows.user.author"),
        ("**.login", "**.author"),
        ("*.login", "*.author"),
        ("other", "other"),
        ("total.x", "total.x"),
    ],
)
def test_a_path_in_the_tools_names_can_be_written_in_those_that_are_shown(path: str, expected: str) -> None:
    assert renamed_path(path, PLAN) == expected
    assert renamed_path(path, None) == path


def test_a_default_is_listed_by_the_name_that_the_tool_gave() -> None:
    shaper = renaming(exclude_default_values=True, defaults={"items[].body": "", "**.n": 0})
    assert shaper.shape({"items": [{"n": 0, "body": ""}, {"n": 1, "body": "x"}]}, tool="t").data == {
        "rows": [{}, {"n": 1, "text": "x"}]
    }
