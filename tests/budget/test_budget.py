from __future__ import annotations

import orjson
import pytest

from shaping import Shaper, tokens, using

ROWS = [{"id": n, "name": f"widget {n}", "owner": None} for n in range(60)]


@pytest.mark.parametrize("profile", ["minimal", "standard", "debug"])
@pytest.mark.parametrize("dialect", ["lean", "none", "flat", "invariant", "sourced"])
@pytest.mark.parametrize("budget", [40, 64, 100, 250])
def test_a_budget_is_kept_in_every_dialect_marks_included(profile: str, dialect: str, budget: int) -> None:
    shaper = Shaper({}, expandable=True)
    with using(dialect=dialect, max_tokens=budget, max_items=40):
        shaped = shaper.shape(ROWS, tool="t", profile=profile, as_json=True)
    assert tokens.exact(orjson.dumps(shaped.value).decode()) <= budget
    assert shaped.truncated


@pytest.mark.parametrize("budget", [100, 300])
def test_a_budget_is_kept_by_the_text_too_where_it_is_longer_than_the_json(budget: int) -> None:
    with using(max_tokens=budget):
        shaped = Shaper({}).shape([{f"b{n}": None} for n in range(1500)], tool="t", profile="standard", as_json=True)
    assert max(map(tokens.exact, (shaped.text, orjson.dumps(shaped.value).decode()))) <= budget


@pytest.mark.parametrize("budget", [200, 300, 400])
def test_a_budget_counts_the_text_that_a_model_reads_and_is_used(budget: int) -> None:
    with using(max_tokens=budget):
        text = Shaper({}).shape(ROWS * 5, tool="t").text
    assert 0.8 * budget <= tokens.exact(text) <= budget


def test_where_even_the_marks_are_too_much_it_is_only_said_that_something_was_cut() -> None:
    shaper = Shaper({}, expandable=True)
    with using(max_tokens=10):
        shaped = shaper.shape(ROWS, tool="t")
    assert shaped.value == {"truncated": True, "data": []}
    assert shaper.expand(shaped.ref or "", "[59].name").data == "widget 59"
    with using(max_tokens=10, dialect="none"):
        assert shaper.shape(ROWS, tool="t").text.endswith("(cut)")


def test_a_price_is_looked_up_once_however_often_a_budget_is_tried() -> None:
    config = {"tool_overrides": {"t": {"exclude_fields": ["name"]}}}
    with using(max_tokens=400):
        shaped = Shaper(config).shape(ROWS, tool="t", profile="standard")
    told = {omission["path"]: omission for omission in shaped.value["omissions"]}
    assert told["[].name"]["count"] == 60
    assert told["[].name"]["tokens"] > 100


def test_where_the_marks_leave_no_room_for_data_they_make_way_for_it() -> None:
    shaper = Shaper({}, expandable=True)
    with using(max_tokens=48, dialect="none"):
        shaped = shaper.shape(ROWS, tool="t", surface="command")
    assert shaped.data != []


@pytest.mark.parametrize("value", [[], {}, [[]], {"a": []}])
def test_what_is_empty_already_goes_out_as_it_is_under_any_budget(value: object) -> None:
    with using("debug", max_tokens=1, dialect="none"):
        shaped = Shaper({}).shape(value, tool="t")
    assert not any(warning.code == "SHAPING_FAULT" for warning in shaped.warnings)


def test_a_budget_is_kept_by_the_text_too_where_it_costs_more_than_the_json() -> None:
    link = "https://x.com/t/7"
    member = {"temp": "open", "errors": link, "id": 2.5, "token": 1}
    rows, more = [{"status": "passed"}, {"status": link}], {"temp": 1, "a.b": "ok", "url": 1}
    value = {"errors": 2.5, "id": "", "status": {"id": rows, "a.b": member, "status": more}}
    with using(dialect="none", max_tokens=tokens.exact(orjson.dumps(value).decode())):
        shaped = Shaper({}).shape(value, tool="t", profile="standard")
    assert tokens.exact(shaped.text) <= (shaped.plan.max_tokens or 0)
