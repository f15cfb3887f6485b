from __future__ import annotations

import copy
import fnmatch
import sys
from collections import Counter, OrderedDict
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings, strategies as st
from pydantic import BaseModel

from shaping import Shaper
from shaping.paths import PathError, compile_fields
from shaping.paths.filter import LONGEST_ROW, MOST_ROWS
from shaping.paths.grammar import Deep, Each, Name, Step, join, parse
from shaping.paths.rules import assign_names
from shaping.response import Omission

KEYS = ["a", "b", "c", "d", "e", "f", "a_url", "b_url", "1", "odd.key"]

scalars = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "x"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=8),
    max_leaves=16,
)
steps = st.sampled_from(["a", "b", "c", "*", "**", "*_url", "a*", '"odd.key"', '"1"'])
paths = st.lists(st.tuples(steps, st.sampled_from(["", "", "[]"])), min_size=1, max_size=3).map(
    lambda parts: ".".join(step + brackets for step, brackets in parts)
)
members = paths.filter(lambda path: any(step not in {"**", "**[]"} for step in path.split(".")))
plans = st.fixed_dictionaries(
    {
        "include": st.none() | st.lists(paths, max_size=3),
        "exclude": st.lists(members, max_size=3),
        "rename": st.dictionaries(members, st.sampled_from(["a", "b", "z"]), max_size=2),
    }
)


def fits(steps: tuple[Step, ...], keys: tuple[str, ...]) -> bool:
    """The meaning of a path, said once more and slowly: whether it names exactly this row of keys."""
    if not steps:
        return not keys
    head, tail = steps[0], steps[1:]
    if isinstance(head, Deep):
        return fits(tail, keys) or (bool(keys) and fits(steps, keys[1:]))
    if isinstance(head, Each):
        return fits(tail, keys)
    return bool(keys) and str_fits(head, keys[0]) and fits(tail, keys[1:])


def str_fits(step: Any, key: str) -> bool:
    if isinstance(step, Name):
        return step.key == key
    return fnmatch.fnmatchcase(key, step.pattern)


def leads_below(steps: tuple[Step, ...], keys: tuple[str, ...]) -> bool:
    """Whether a path may name something below this row of keys."""
    rest = tuple(step for step in steps if not isinstance(step, Each))
    if not rest or isinstance(rest[0], Deep):
        return bool(rest)
    return not keys or (str_fits(rest[0], keys[0]) and leads_below(rest[1:], keys[1:]))


class Oracle:
    """The filter by its definition: every member is judged by its whole row of keys."""

    def __init__(self, include: list[str] | None, exclude: list[str], rename: dict[str, str]) -> None:
        def read(path: str) -> tuple[Step, ...]:
            steps = [step for step in parse(path).steps if not isinstance(step, Each)]
            while steps and isinstance(steps[-1], Deep):
                steps.pop()
            return tuple(steps)

        self.include = None if include is None else [read(path) for path in include]
        self.exclude = [read(path) for path in exclude]
        self.rename = [(read(path), name) for path, name in rename.items()]
        self.gone: Counter[str] = Counter()

    def wanted(self, keys: tuple[str, ...]) -> bool:
        starts = [keys[:size] for size in range(len(keys) + 1)]
        return self.include is None or any(fits(path, start) for path in self.include for start in starts)

    def run(self, value: Any, keys: tuple[str, ...] = (), place: str = "") -> Any:
        if isinstance(value, list):
            kept = [self.run(item, keys, f"{place}[]") for item in value]
            return [item for item in kept if item is not Ellipsis]
        if not isinstance(value, dict):
            if self.wanted(keys) or not place:
                return value
            self.gone[place] += 1
            return Ellipsis
        names = assign_names([(key, self.name((*keys, key))) for key in value if self.keeps((*keys, key))])
        result = {}
        for key, item in value.items():
            below = join(place, key)
            if key not in names:
                self.gone[below] += 1
            elif (kept := self.run(item, (*keys, key), below)) is not Ellipsis:
                result[names[key]] = kept
        return result

    def keeps(self, keys: tuple[str, ...]) -> bool:
        if any(fits(path, keys) for path in self.exclude):
            return False
        return self.wanted(keys) or any(leads_below(path, keys) for path in self.include or ())

    def name(self, keys: tuple[str, ...]) -> str:
        return next((name for path, name in self.rename if fits(path, keys)), keys[-1])


def compiled(plan: dict[str, Any]) -> Any:
    try:
        return compile_fields(**plan)
    except PathError:
        return None


@given(values, plans)
@settings(max_examples=250, deadline=None)
@example([1, {"a": 1}], {"include": ["a"], "exclude": [], "rename": {}})
def test_the_plan_does_what_the_rules_say_cold_learning_and_learned(value: Any, plan: dict[str, Any]) -> None:
    fields = compiled(plan)
    if fields is None:
        return
    oracle = Oracle(**plan)
    before = copy.deepcopy(value)
    expected = oracle.run(value)
    runs = [fields.apply(value) for _ in range(4)]
    assert [repr(run) for run in runs] == [repr(expected)] * 4
    assert repr(value) == repr(before)
    assert {found.path: found.count for found in fields.left_out(value)} == dict(oracle.gone)


def test_include_keeps_only_what_it_names_and_the_containers_on_the_way() -> None:
    value = {"items": [{"number": 1, "user": {"login": "ann", "id": 7}, "body": "..."}], "total": 1}
    fields = compile_fields(["items[].number", "items[].user.login"])
    assert fields.apply(value) == {"items": [{"number": 1, "user": {"login": "ann"}}]}


def test_a_dropped_field_is_dropped_inside_lists_too_at_every_depth() -> None:
    value = {"a": [[{"secret": 1, "b": [{"secret": 2, "c": 3}]}]], "secret": 4}
    assert compile_fields(exclude=["**.secret"]).apply(value) == {"a": [[{"b": [{"c": 3}]}]]}


@pytest.mark.parametrize(
    "path", ["items.user.id", "items[].user.id", "items[].user[].id", "**.id", "*.*.id", "items.u*.id"]
)
def test_brackets_and_wildcards_reach_the_same_member(path: str) -> None:
    value = {"items": [{"user": {"id": 1, "login": "ann"}}, {"user": [{"id": 2}]}]}
    assert compile_fields(exclude=[path]).apply(value) == {"items": [{"user": {"login": "ann"}}, {"user": [{}]}]}


def test_exclude_subtracts_from_include() -> None:
    fields = compile_fields(["user", "title"], ["user.id", "title"])
    assert fields.apply({"user": {"id": 1, "login": "ann"}, "title": "x"}) == {"user": {"login": "ann"}}


def test_a_bare_name_is_a_member_of_each_element_where_data_is_a_list() -> None:
    assert compile_fields(["a"]).apply([{"a": 1, "b": 2}, {"b": 3}]) == [{"a": 1}, {}]


def test_a_scalar_in_the_place_of_a_container_is_left_out_and_recorded() -> None:
    fields = compile_fields(["items.user.login"])
    value = {"items": [{"user": None}, "drift", {"user": {"login": "ann"}}, {"user": "ann"}]}
    assert fields.apply(value) == {"items": [{}, {"user": {"login": "ann"}}, {}]}
    assert fields.left_out(value) == [Omission("items[]", 1, "fields"), Omission("items[].user", 2, "fields")]


@pytest.mark.parametrize("answer", [None, 0, "text", True])
def test_a_scalar_answer_is_never_turned_into_nothing(answer: Any) -> None:
    fields = compile_fields(["a"])
    assert (fields.apply(answer), fields.left_out(answer)) == (answer, [])


def test_an_empty_include_keeps_nothing_but_the_container() -> None:
    fields = compile_fields([])
    assert [fields.apply(value) for value in ({"a": 1}, [{"a": 1}, 2], [])] == [{}, [{}], []]


@pytest.mark.parametrize("path", ["**", "[]", "a.**", "a[]"])
def test_a_double_star_or_brackets_at_the_end_mean_the_thing_itself(path: str) -> None:
    value = {"a": {"b": [1]}}
    assert compile_fields([path]).apply(value) == value


def test_rename_gives_a_new_last_name_and_keeps_the_place_in_the_order() -> None:
    fields = compile_fields(
        rename={"items[].user.login": "author", "items[].user": "by", "gone": "here"}, exclude=["gone"]
    )
    value = {"items": [{"no": 1, "user": {"id": 1, "login": "ann"}, "z": 0}], "gone": 1}
    for _ in range(4):
        assert repr(fields.apply(value)) == "{'items': [{'no': 1, 'by': {'id': 1, 'author': 'ann'}, 'z': 0}]}"


@pytest.mark.parametrize(
    ("rename", "value", "expected"),
    [
        ({"x": "y"}, {"x": 1, "y": 2}, {"x": 1, "y": 2}),
        ({"*_id": "id"}, {"a_id": 1, "b_id": 2}, {"id": 1, "b_id": 2}),
        ({"x": "y", "y": "x"}, {"x": 1, "y": 2}, {"y": 1, "x": 2}),
        ({"a": "b", "b": "c"}, {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "c": 3}),
        ({"a": "c", "b": "c"}, {"a": 1, "b": 2}, {"c": 1, "b": 2}),
        ({"a": "c", "b": "c"}, {"b": 2}, {"c": 2}),
        ({"a": "b", "a[]": "c"}, {"a": 1}, {"c": 1}),
    ],
)
def test_renames_that_collide_in_the_data_never_lose_a_value(
    rename: dict[str, str], value: dict[str, int], expected: dict[str, int]
) -> None:
    fields = compile_fields(rename=rename)
    assert [repr(fields.apply(value)) for _ in range(3)] == [repr(expected)] * 3


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"exclude": ["**"]}, "this names the whole answer; name members of it, such as '*'"),
        ({"include": ["a[3].b"]}, "a field rule applies to every element: write '[]'"),
        ({"exclude": ["a[1:2]"]}, "a field rule applies to every element: write '[]'"),
    ],
)
def test_rules_that_cannot_work_are_refused_when_compiled(rules: dict[str, Any], reason: str) -> None:
    with pytest.raises(PathError) as caught:
        compile_fields(**rules)
    assert caught.value.reason == reason


def test_a_refused_index_is_pointed_at() -> None:
    with pytest.raises(PathError) as caught:
        compile_fields(["items[3].body"])
    assert str(caught.value).splitlines()[1:] == ["  items[3].body", "       ^"]


def test_kept_subtrees_are_the_same_objects_and_the_input_is_untouched() -> None:
    value = {"user": {"login": "ann"}, "labels": [{"name": "bug"}], "x": 1}
    before = copy.deepcopy(value)
    for fields in (compile_fields(["user", "labels"]), compile_fields(exclude=["x"])):
        for _ in range(3):
            kept = fields.apply(value)
            assert kept["user"] is value["user"]
            assert kept["labels"] is value["labels"]
    assert value == before


def test_a_plan_without_rules_gives_the_value_itself() -> None:
    value = {"a": [1]}
    fields = compile_fields()
    assert fields.apply(value) is value
    assert (fields.selective, fields.left_out(value)) == (False, [])


class Point(NamedTuple):
    x: int
    secret: int


class Model(BaseModel):
    x: int
    secret: int


def open_model(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return dict(value)
    return value._asdict() if isinstance(value, Point) else value


@pytest.mark.parametrize(
    "rules", [{"include": ["p.x"]}, {"exclude": ["p.secret"]}, {"exclude": ["**.secret"]}, {"exclude": ["**.s*t"]}]
)
@pytest.mark.parametrize(
    "inside",
    [
        OrderedDict(x=1, secret=2),
        MappingProxyType({"x": 1, "secret": 2}),
        Point(1, 2),
        Model(x=1, secret=2),
        ({"x": 1, "secret": 2},),
        [[({"x": 1, "secret": 2},)]],
    ],
    ids=lambda inside: type(inside).__name__,
)
def test_no_container_passes_unfiltered_whatever_its_type(rules: dict[str, Any], inside: Any) -> None:
    fields = compile_fields(**rules, opener=open_model)
    learned = {"p": {"x": 1, "secret": 2}}
    for _ in range(3):
        fields.apply(learned)
    assert "secret" not in repr(fields.apply({"p": inside}))
    assert "'x': 1" in repr(fields.apply({"p": inside}))
    assert [found.count for found in fields.left_out({"p": inside})] == [1]


def test_an_opener_that_hands_back_a_container_unopened_is_not_believed() -> None:
    fields = compile_fields(exclude=["secret"], opener=lambda value: value)
    assert fields.apply(OrderedDict(x=1, secret=2)) == {"x": 1}


def test_without_an_opener_an_object_is_refused_rather_than_passed() -> None:
    with pytest.raises(TypeError, match="cannot filter inside a Model without an opener"):
        compile_fields(exclude=["**.secret"]).apply({"p": Model(x=1, secret=2)})


def test_what_has_no_inside_needs_no_opener() -> None:
    fields = compile_fields(exclude=["**.x"])
    assert fields.apply({"b": b"raw", "c": 1 + 2j, "s": {1}}) == {"b": b"raw", "c": 1 + 2j, "s": [1]}


def test_a_key_that_is_not_text_is_judged_by_its_text() -> None:
    dropped, kept = compile_fields(exclude=['"1"']), compile_fields(['"1"'])
    for _ in range(3):
        assert dropped.apply({1: "x", "a": 2}) == {"a": 2}
        assert kept.apply({1: "x", "a": 2}) == {1: "x"}


def test_many_members_alike_are_filtered_by_one_loop() -> None:
    value = {key: {"x_url": 1, "y": [2]} for key in "abcdef"} | {"n": 1, "x_url": 2}
    without = {key: {"y": [2]} for key in "abcdef"} | {"n": 1}
    only = {key: {"x_url": 1, "y": []} for key in "abcdef"} | {"x_url": 2}
    some = {key: {"y": [2]} for key in "abcde"} | {"f": {"x_url": 1, "y": [2]}}
    cases = [
        (compile_fields(exclude=["**.*_url"]), without),
        (compile_fields(["**.*_url"]), only),
        (compile_fields(["**.x_url", "n.**.z*"]), only),
        (compile_fields([*"abcdef"], [f"{key}.x_url" for key in "abcde"]), some),
        (compile_fields([*"abcdef"], ["*.x_u*"]), {key: {"y": [2]} for key in "abcdef"}),
    ]
    for fields, expected in cases:
        assert [repr(fields.apply(value)) for _ in range(3)] == [repr(expected)] * 3


def test_an_object_that_no_pattern_touches_is_passed_on_as_it_is() -> None:
    fields = compile_fields(exclude=["*_url"])
    value = {"a": 1, "b": [2]}
    assert [fields.apply(value) for _ in range(3)] == [value] * 3
    assert fields.apply(value) is value


def test_rows_of_keys_are_remembered_up_to_a_bound() -> None:
    fields = compile_fields(["a", "b.x"], rename={"a": "A"})
    rows = [{"a": 1, f"k{at}": 0, "b": {"x": 1, f"k{at}": 2}} for at in range(MOST_ROWS)]
    for _ in range(3):
        assert fields.apply(rows) == [{"A": 1, "b": {"x": 1}}] * MOST_ROWS
    assert len(fields.filters.rows) <= MOST_ROWS
    assert fields.apply({"a": 1, "k" * LONGEST_ROW: 2}) == {"A": 1}
    assert all(len("".join(row)) <= LONGEST_ROW for _, row in fields.filters.rows)


@pytest.mark.parametrize("path", ["**.a.*.*.*", "**.a*.*.*.*", "**.a.b.b.a"])
def test_rules_with_more_states_than_are_kept_still_filter_right(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaping.paths.filter.MOST_NODES", 3)
    value: Any = 1
    for _ in range(7):
        value = {"a": value, "b": value}
    fields = compile_fields(exclude=[path])
    expected = Oracle(None, [path], {}).run(value)
    assert [fields.apply(value) for _ in range(3)] == [expected] * 3
    assert len(fields.filters.nodes) == 3


@pytest.mark.parametrize("rules", [{"include_only": ["**.x"]}, {"exclude_fields": ["**.url"]}, {"private": ["**.url"]}])
def test_data_nested_ten_thousand_deep_is_filtered_as_far_as_it_is_taken_in(rules: dict[str, Any]) -> None:
    value: Any = {"url": "https://held.example", "x": 2}
    for at in range(10_000):
        value = {"url": "https://held.example", "x": 1, "next": value if at % 2 else [value]}
    shaped = Shaper({"tool_overrides": {"t": rules}}).shape(value, tool="t", profile="standard")
    assert "held.example" not in shaped.text
    assert shaped.data["x"] == 1


@pytest.mark.parametrize(
    "rules", [{"private": ["**.url"]}, {"exclude_fields": ["**.url"]}, {"include_only": ["text.x"]}]
)
def test_data_in_a_text_that_is_nested_deeper_than_can_be_followed_is_withheld(rules: dict[str, Any]) -> None:
    text = '{"a":' * 600 + '{"url":"https://held.example"}' + "}" * 600
    shaped = Shaper({"tool_overrides": {"t": rules}}).shape({"id": 1, "text": text}, tool="t", profile="standard")
    assert "held.example" not in shaped.text


@pytest.mark.parametrize("rules", [{"include_only": ["**.x"]}, {"exclude_fields": ["**.url"]}])
def test_a_value_that_contains_itself_is_filtered_up_to_that_place(rules: dict[str, Any]) -> None:
    value: dict[str, Any] = {"a": {"x": 1}, "url": "https://held.example"}
    value["a"]["b"] = value
    shaped = Shaper({"tool_overrides": {"t": rules}}).shape(value, tool="t")
    assert shaped.data["a"]["x"] == 1
    assert "held.example" not in shaped.text


def test_threads_that_learn_at_once_all_get_right_answers() -> None:
    rows = [{f"k{at}": 1, "a": at, "user": {"x": 1, f"y{at}": 2}, "b": 3} for at in range(40)]
    expected = [{"a": at, "user": {"x": 1}, "b": 3} for at in range(40)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(10):
            fields = compile_fields(["a", "b", "user.x", "user.z"])
            with ThreadPoolExecutor(4) as pool:
                assert list(pool.map(fields.apply, [rows] * 16)) == [expected] * 16
    finally:
        sys.setswitchinterval(interval)


def test_plans_are_equal_by_their_rules() -> None:
    assert compile_fields(["a"], ["b"]) == compile_fields(("a",), ("b",))
    assert compile_fields(["a"]) != compile_fields(["b"])


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcxyz")), unique_by=lambda pair: pair[0]))
def test_settled_names_are_all_different_and_old_or_new(names: list[tuple[str, str]]) -> None:
    settled = assign_names(names)
    assert len(set(settled.values())) == len(names)
    assert all(settled[key] in {key, name} for key, name in names)
    assert all(settled[key] == key for key, name in names if key == name)


def test_a_long_run_of_backslashes_is_read_once() -> None:
    text = "\\" * 200_000
    assert compile_fields(exclude=["**.url"]).apply({"path": text, "url": text}) == {"path": text}
    assert compile_fields(exclude=["**.url"]).apply(text) == text


def test_private_paths_cost_no_time_by_their_number() -> None:
    value = {f"k{number}": f"some text {number}" for number in range(300)}

    def calls(count: int) -> int:
        plan = compile_fields(None, [f"a{number}.name{number}" for number in range(count)], private=True, withhold=True)
        plan.apply(value)  # what is learned of names and paths is learned once
        made = 0

        def count_call(_frame: object, event: str, _argument: object) -> None:
            nonlocal made
            made += event in {"call", "c_call"}

        sys.setprofile(count_call)
        try:
            plan.apply(value)
        finally:
            sys.setprofile(None)
        return made

    assert calls(200) < 1.2 * calls(20)
