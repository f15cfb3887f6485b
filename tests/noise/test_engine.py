"""The rules together: what they promise about any payload."""

from __future__ import annotations

import gc
import tracemalloc
from copy import deepcopy
from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings, strategies as st

from shaping.noise import reduce

ALL = ("links", "opaque", "bulk", "boilerplate")

names = st.sampled_from(
    [
        "id",
        "name",
        "url",
        "html_url",
        "_links",
        "self",
        "etag",
        "node_id",
        "body",
        "source",
        "status",
        "tags",
        "odd.key",
        "n",
    ]
)
leaves = st.sampled_from(
    [
        *(
            None,
            "",
            1,
            2.5,
            True,
            "x",
            "open",
            "passed",
            "https://api.x.dev/a/1",
            "https://x.dev/a",
            "abcdef0123456789",
        ),
        *("<p>a</p> b", "word " * 90, "var a = 1;\n" * 60, "Zm9v" * 80, "a  \nb with trailing blanks"),
        "https://x.dev/?utm_source=a&b=1",
    ]
)
payloads = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6),
    max_leaves=30,
) | st.lists(st.dictionaries(names, leaves, min_size=2, max_size=8), min_size=2, max_size=20)
sampled = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def paths(value: Any, path: str = "") -> set[str]:
    """List the places of a payload, every element of a list as one."""
    if isinstance(value, dict):
        found = {path}
        for key, item in value.items():
            step = f'"{key}"' if "." in key else key
            found |= paths(item, f"{path}.{step}" if path else step)
        return found
    if isinstance(value, list):
        return {path}.union(*(paths(item, f"{path}[]") for item in value))
    return {path}


def test_what_was_left_out_may_be_changed_by_its_caller() -> None:
    rows: Any = [{"id": n, "name": f"n{n}", "etag": f"W/{n * 977}", "url": f"https://api.dev/{n}"} for n in range(5)]
    first = reduce(rows, ALL)[1]
    told = deepcopy(first)
    for omission in first:
        omission.count = 0
    assert reduce(rows, ALL)[1] == told != []


@sampled
@given(payloads)
def test_a_payload_is_never_changed_and_what_has_no_noise_is_the_same_object(value: Any) -> None:
    before = deepcopy(value)
    reduced, omissions = reduce(value, ALL)
    assert value == before
    assert (reduced is value) == (not omissions)


@sampled
@given(payloads)
def test_every_absence_is_explained(value: Any) -> None:
    reduced, omissions = reduce(value, ALL)
    gone = paths(value) - paths(reduced)
    said = {omission.path for omission in omissions}
    for path in gone:
        covered = any(path == one or path.startswith((f"{one}.", f"{one}[]")) for one in said)
        emptied = any(one.startswith((f"{path}.", f"{path}[]")) for one in said)
        assert covered or emptied


@sampled
@given(payloads)
def test_numbers_states_and_names_of_records_stay(value: Any) -> None:
    reduced, _ = reduce(value, ("links", "opaque", "boilerplate"))

    def kept(old: Any, new: Any) -> None:
        if isinstance(old, dict):
            for key, item in old.items():
                if isinstance(item, int | float) or (
                    key in {"status", "name", "id"} and not isinstance(item, dict | list)
                ):
                    assert key in new
                elif key in new:
                    kept(item, new[key])
        elif isinstance(old, list):
            for one, other in zip(old, new, strict=True):
                kept(one, other)

    kept(value, reduced)


@sampled
@given(payloads)
def test_reducing_again_changes_nothing_of_data_kept_whole(value: Any) -> None:
    once, _ = reduce(value, ("bulk", "boilerplate", "opaque"))
    twice, _ = reduce(once, ("bulk", "boilerplate", "opaque"))
    assert orjson.dumps(twice) == orjson.dumps(once)


def test_without_rules_nothing_happens() -> None:
    value: Any = [{"id": 1, "url": "https://api.x.dev/1"}]
    assert reduce(value, ()) == (value, [])
    assert reduce(value, ("repeats", "constants")) == (value, [])


def test_scalars_and_lists_of_anything_pass() -> None:
    values: list[Any] = [None, 1, [], {}, [1, [2, [3]]], [[{"a": 1}], "x", {"b": 2}]]
    for value in values:
        assert reduce(value, ALL)[0] is value


def test_a_nest_deeper_than_any_answer_passes() -> None:
    value: Any = 1
    for _ in range(450):
        value = [value]
    assert reduce(value, ALL)[0] is value


def test_records_nested_deeper_than_any_answer_pass_with_or_without_noise_of_their_own() -> None:
    for around in ({"n": 1}, {"url": "https://x.dev/a", "n": 1}):
        value: Any = 1
        for _ in range(450):
            value = {**around, "inner": value}
        assert reduce(value, ALL)[0] is value


def test_odd_names_are_quoted_in_paths() -> None:
    value: Any = [{"id": n, "kind": "x", "odd.etag": f"abcdef012345{n}"} for n in range(3)]
    assert [omission.path for omission in reduce(value, ALL)[1]] == ['[]."odd.etag"']


def test_a_large_map_of_words_is_passed_at_once() -> None:
    value: Any = {"time": {f"1.{n}.0": f"2026-10-01T10:00:{n:02d}Z" for n in range(60)}, "name": "x"}
    assert reduce(value, ALL)[0] is value
    links: Any = {"pages": {f"p{n}": f"https://x.dev/{n}" for n in range(60)}, "name": "x"}
    assert reduce(links, ALL)[0] is links


def test_answers_keyed_by_values_leave_no_names_in_memory() -> None:
    def answer(number: int) -> Any:
        names = [f"file_{number}_{at}_url" for at in range(400)]
        return [{"id": row, **{name: f"https://api.example.com/v1/{row}/{name}" for name in names}} for row in (1, 2)]

    def held_after(answers: range) -> int:
        for number in answers:
            assert len(reduce(answer(number), ALL)[1]) == 399
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        # What is said of single names is kept for some thousands of them, and these fill that up.
        before = held_after(range(25))
        after = held_after(range(25, 50))
    finally:
        tracemalloc.stop()
    assert after - before < 1_500_000
