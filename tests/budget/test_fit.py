from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from shaping.budget.fit import Budget, Fitted, fit_value, search
from shaping.paths import parse, select
from shaping.paths.grammar import Each, Glob, Index, Name, Slice
from shaping.response import Listed, Omission
from shaping.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTER = counter("o200k_base")


class Recording:
    """The exact tokenizer, and how often and with how much it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def exact(self, text: str) -> int:
        self.asked.append(len(text))
        return COUNTER.exact(text)


def render(fitted: Fitted) -> str:
    shown = [[one.path, one.shown, one.total] for one in fitted.lists]
    return orjson.dumps({"data": fitted.value, "truncated": bool(fitted.omissions), "lists": shown}).decode()


def fit(value: Any, max_tokens: int | None = None, **limits: Any) -> Fitted:
    return fit_value(value, Budget(max_tokens, **limits), render, COUNTER.exact)


def issues(count: int) -> list[Any]:
    return [
        {"number": n, "title": f"Issue {n}", "body": f"Something about {n}. " * 8, "labels": []} for n in range(count)
    ]


def unexplained(before: Any, after: Any, omissions: tuple[Omission, ...]) -> list[tuple[Any, ...]]:
    """Give the places whose value is missing or different though no omission speaks of them."""
    rules = [parse(one.path).steps if one.path else () for one in omissions]
    return [place for place in _different(before, after, ()) if not any(_covers(rule, place) for rule in rules)]


def _different(before: Any, after: Any, place: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    if isinstance(before, dict) and isinstance(after, dict):
        gone = [(*place, key) for key in before if key not in after]
        return gone + [one for key in after for one in _different(before[key], after[key], (*place, key))]
    if isinstance(before, list) and isinstance(after, list):
        gone = [(*place, number) for number in range(len(after), len(before))]
        return gone + [
            one for n, (x, y) in enumerate(zip(before, after, strict=False)) for one in _different(x, y, (*place, n))
        ]
    return [] if before == after and type(before) is type(after) else [place]


def _covers(rule: tuple[Any, ...], place: tuple[Any, ...]) -> bool:
    return len(rule) <= len(place) and all(_meets(step, key) for step, key in zip(rule, place, strict=False))


def _meets(step: Any, key: Any) -> bool:
    match step:
        case Name(name):
            return bool(name == key)
        case Index(at):
            return bool(at == key)
        case Slice(start, stop):
            return isinstance(key, int) and (start or 0) <= key and (stop is None or key < stop)
        case Each():
            return isinstance(key, int)
        case Glob():
            return isinstance(key, str) and step.fits(key)
    raise AssertionError(step)


def test_what_fits_is_handed_on_as_it_is() -> None:
    value: Any = {"items": issues(3)}
    assert fit(value, 1000) == Fitted(value)
    assert fit(value, 1000).value is value
    assert fit(value).value is value


def test_a_list_is_cut_from_its_end_and_says_how_many_of_how_many() -> None:
    value = {"total": 200, "items": issues(200)}
    fitted = fit(value, 1000)
    shown = len(fitted.value["items"])  # type: ignore[index, call-overload, arg-type]  # the shape is known here
    assert 0 < shown < 200
    assert fitted == Fitted(
        value={"total": 200, "items": value["items"][:shown]},  # type: ignore[index]  # the same
        omissions=(Omission(f"items[{shown}:200]", 200 - shown, "items"),),
        lists=(Listed("items", shown, 200),),
        position=("items", shown),
    )
    assert 900 < COUNTER.exact(render(fitted)) <= 1000


def test_the_largest_list_is_cut_and_the_small_ones_stay() -> None:
    value = {"labels": ["a", "b", "c"], "items": issues(100), "people": [{"id": n} for n in range(5)]}
    fitted = fit(value, 800)
    assert [one.path for one in fitted.omissions] == [f"items[{fitted.lists[0].shown}:100]"]


def test_a_long_string_loses_its_middle_and_says_how_much() -> None:
    value = {"id": 7, "text": "".join(f"line {n}\n" for n in range(3000))}
    fitted = fit(value, 300)
    text = fitted.value["text"]  # type: ignore[index, call-overload]  # the shape is known here
    assert isinstance(text, str)
    assert text.startswith("line 0\nline 1\n")
    assert text.endswith("line 2999\n")
    gone = fitted.omissions[0].count
    assert fitted.omissions == (Omission("text", gone, "string"),)
    mark = next(line for line in text.split("\n") if line.endswith(" lines …"))
    assert len(text) == len(value["text"]) - gone + len(mark) + 1  # type: ignore[arg-type]  # the same


def test_errors_and_identifiers_stay_to_the_last() -> None:
    value: dict[str, Any] = {f"field{n}": {"x": "some words " * 20} for n in range(25)}
    value |= {"id": 12345, "error": {"message": "disk full"}, "notes": "words " * 500}
    fitted = fit(value, 64)
    assert isinstance(fitted.value, dict)
    assert fitted.value["id"] == 12345
    assert fitted.value["error"] == {"message": "disk full"}


def test_a_map_of_many_members_keeps_some_of_them_whole() -> None:
    value = {f"package-{n}": {"version": f"1.{n}", "home": f"https://x.io/{n}"} for n in range(500)}
    fitted = fit(value, 400)
    assert isinstance(fitted.value, dict)
    whole = [key for key, member in fitted.value.items() if member == value[key]]
    assert len(whole) > 5
    assert fitted.omissions[-1] == Omission("", 500 - len(fitted.value), "depth")
    assert len(fitted.omissions) <= 3


def test_a_deep_tree_is_cut_where_it_is_deep() -> None:
    tree: Any = {"name": "leaf"}
    for number in range(60):
        tree = {"name": f"node {number}", "children": [tree]}
    fitted = fit(tree, 150)
    assert isinstance(fitted.value, dict)
    assert fitted.value["name"] == "node 59"
    assert unexplained(tree, fitted.value, fitted.omissions) == []


def test_a_tree_of_files_shows_part_of_a_folder_that_is_too_large() -> None:
    tree = [
        {"name": "README"},
        {"name": "src", "children": [{"name": f"file{n}.py"} for n in range(300)]},
        {"name": "z"},
    ]
    fitted = fit(tree, 200)
    assert fitted.lists[0].path == "[1].children"
    assert fitted.lists[0].shown > 5


def test_max_items_and_max_string_hold_everywhere() -> None:
    value = {"a": list(range(10)), "b": [{"c": list(range(7)), "s": "x" * 500} for _ in range(9)], "t": "y" * 61}
    fitted = fit(value, max_items=4, max_string=60)
    text = json.dumps(fitted.value, ensure_ascii=False)
    assert fitted.value["a"] == [0, 1, 2, 3]  # type: ignore[index, call-overload]  # the shape is known here
    assert "left out" in text
    assert fitted.omissions == (
        Omission("a[4:10]", 6, "items"),
        Omission("b[].c[4:]", 12, "items"),
        Omission("b[4:9]", 5, "items"),
        Omission("b[].s", fitted.omissions[3].count, "string"),
        Omission("t", fitted.omissions[4].count, "string"),
    )
    assert fitted.lists == (Listed("a", 4, 10), Listed("b[].c", 16, 28), Listed("b", 4, 9))
    assert all(len(s) <= 60 for s in _strings(fitted.value))


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [s for member in value.values() for s in _strings(member)]
    if isinstance(value, list):
        return [s for item in value for s in _strings(item)]
    return [value] if isinstance(value, str) else []


def test_a_string_that_no_mark_fits_into_keeps_its_beginning() -> None:
    fitted = fit({"s": "abcdefghijklmnopqrstuvwxyz"}, max_string=8)
    assert fitted == Fitted({"s": "abcdefg…"}, (Omission("s", 19, "string"),), position=("s", 7))


def test_a_string_cut_by_both_limits_counts_from_the_whole() -> None:
    value = {"s": "word " * 2000}
    fitted = fit(value, 120, max_string=5000)
    assert fitted.omissions[0].count > 9000
    assert unexplained(value, fitted.value, fitted.omissions) == []


def test_a_mark_that_was_in_the_text_before_is_not_taken_for_ours() -> None:
    value = {"s": "…[7 characters left out]… " * 200}
    fitted = fit(value, 100)
    text = fitted.value["s"]  # type: ignore[index, call-overload]  # the shape is known here
    ours = f"…[{fitted.omissions[0].count:,} characters left out]…"
    assert ours in text  # type: ignore[operator]  # the same
    assert fitted.omissions[0].count == len(value["s"]) - len(text) + len(ours)  # type: ignore[arg-type]  # the same


def test_limits_look_no_further_than_the_tokens_go() -> None:
    class Watched(list[Any]):
        def __getitem__(self, key: Any) -> Any:
            assert not isinstance(key, int) or key < 5000
            return super().__getitem__(key)

    fitted = fit(Watched(issues(20_000)), 500, max_string=50)
    assert fitted.lists[0].total == 20_000


@pytest.mark.parametrize("value", [{"a": "x" * 500}, ["y" * 500], "z" * 500, {"k" * 400: 1}, [[["deep" * 90]]]])
def test_a_budget_too_small_for_anything_gives_the_empty_value(value: Any) -> None:
    fitted = fit(value, 28)
    assert COUNTER.exact(render(fitted)) <= 28 or not fitted.fits
    assert type(fitted.value) is type(value)
    assert unexplained(value, fitted.value, fitted.omissions) == []


def test_a_budget_that_the_envelope_alone_is_over_is_said() -> None:
    fitted = fit({"a": list(range(50))}, 3)
    assert fitted.value == {}
    assert fitted.fits is False


def test_a_number_cannot_be_cut() -> None:
    assert fit(123456789, 2) == Fitted(123456789, fits=False)


def test_the_tokenizer_is_asked_a_logarithmic_number_of_times_and_never_about_everything() -> None:
    for size in (500, 5000, 50_000):
        recording = Recording()
        value = {"items": issues(size)}
        fitted = fit_value(value, Budget(2000), render, recording.exact)
        assert len(recording.asked) <= 12
        assert max(recording.asked) <= 2000 * 8
        assert COUNTER.exact(render(fitted)) <= 2000


def test_the_same_value_and_budget_give_the_same_bytes() -> None:
    assert render(fit(issues(90), 700)) == render(fit(issues(90), 700))


def test_the_input_is_not_touched() -> None:
    value = {"items": issues(50), "text": "words " * 900}
    before = orjson.dumps(value)
    fit(value, 200, max_items=3, max_string=40)
    assert orjson.dumps(value) == before


TEXT = st.text(max_size=30) | st.integers(0, 400).map(lambda n: "lorem ipsum " * n)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=12)
        | st.dictionaries(st.text(string.ascii_letters + "._ é", max_size=12), inner, max_size=8)
    ),
    max_leaves=60,
)


@settings(max_examples=80, deadline=None)
@given(value=JSON, budget=st.integers(64, 2000))
def test_any_value_fits_any_budget_and_every_absence_is_explained(value: Any, budget: int) -> None:
    fitted = fit(value, budget)
    text = render(fitted)
    assert COUNTER.exact(text) <= budget
    assert orjson.loads(text)["data"] == fitted.value
    assert unexplained(value, fitted.value, fitted.omissions) == []
    assert bool(fitted.omissions) is (fitted.value != value)
    for omission in fitted.omissions:
        select(value, omission.path)


def test_large_values_fit_too() -> None:
    dice = random.Random(5)  # noqa: S311  the same in every run
    for _ in range(6):
        value = [{f"field{m}": "word " * dice.randint(0, 60) for m in range(dice.randint(1, 9))} for _ in range(400)]
        budget = dice.randint(64, 5000)
        fitted = fit({"result": {"data": value}}, budget)
        assert COUNTER.exact(render(fitted)) <= budget
        assert unexplained({"result": {"data": value}}, fitted.value, fitted.omissions) == []


def test_a_value_deeper_than_json_writers_go_is_cut_too() -> None:
    deep: Any = "leaf"
    for _ in range(300):
        deep = [deep]
    fitted = fit_value([deep, deep], Budget(60), lambda fitted: "x " * len(str(fitted.value)), COUNTER.exact)
    assert unexplained([deep, deep], fitted.value, fitted.omissions) == []


@pytest.mark.parametrize(
    ("cost", "most"),
    [
        (lambda room: 150 + room / 4, 3),  # what is said of a cut costs the same in each
        (lambda room: room / 10, 2),
        (lambda room: 150 + room**0.7, 4),
        (lambda room: 102 * (1 + room // 3000), 8),  # elements so large that most rooms hold the same
    ],
)
@pytest.mark.parametrize("limit", [300, 1000, 1900])
def test_a_cut_is_found_in_few_attempts(cost: Callable[[int], float], most: int, limit: int) -> None:
    tried: list[int] = []

    def attempt(room: int) -> tuple[float, float, bool]:
        tried.append(room)
        return cost(room), cost(room), False

    found = search(limit, attempt, 4 * limit)
    assert found is not None
    assert 0.65 * limit < found <= limit
    assert len(tried) <= most
