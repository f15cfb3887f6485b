"""The promises of the design, each as a property."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import orjson
from hypothesis import given, settings, strategies as st

from shaping import Shaper, tokens, using
from shaping.cleaning import drop_empties
from shaping.encoders import decode
from shaping.mcp.output_schema import data_schema
from shaping.settings.plan import Empties

EMPTIES = Empties(nulls=True, empty_arrays=True, empty_objects=True, defaults=False)
SHAPER = Shaper(
    {
        "tool_overrides": {
            "keep": {"include_only": ["a", "items[].b", "**.c"]},
            "drop": {"exclude_fields": ["a", "items[].b", "**.c"]},
        }
    }
)

keys = st.sampled_from(["a", "b", "c", "items", "url", "name", "id", "state"]) | st.text(max_size=4)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(["https://api.example.test/x/1", "2026-01-02T03:04:05Z", "MDQ6VXNlcjE=", "open"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=30,
)
records = st.lists(
    st.fixed_dictionaries({"id": st.integers(0, 2**40), "name": st.text(max_size=8), "state": scalars}), max_size=8
)
tools = st.sampled_from(["keep", "drop", "none"])
profiles = st.sampled_from(["minimal", "standard", "debug"])


@settings(max_examples=150, deadline=None)
@given(values | records, profiles)
def test_1_the_data_never_costs_more_than_its_compact_json(value: Any, profile: str) -> None:
    with using(dialect="none"):
        shaped = SHAPER.shape(value, profile=profile)
    raw = value if isinstance(value, str) else orjson.dumps(value).decode()
    assert tokens.exact(shaped.text) <= tokens.exact(raw)


@settings(max_examples=50, deadline=None)
@given(values | records, st.sampled_from(["minimal", "standard"]))
def test_1_an_mcp_result_never_costs_more_than_the_text_that_the_tool_sent(value: Any, profile: str) -> None:
    sent = orjson.dumps(value).decode()
    with using(profile=profile):
        result = SHAPER.shape_result({"content": [{"type": "text", "text": sent}]}, tool="none")
    assert tokens.exact(result["content"][0]["text"]) <= tokens.exact(sent)


@settings(max_examples=150, deadline=None)
@given(values | records)
def test_2_under_standard_decoding_gives_the_data_back(value: Any) -> None:
    with using(dialect="none"):
        shaped = SHAPER.shape(value, profile="standard")
    assert shaped.data == drop_empties(value, EMPTIES)[0]
    if shaped.encoding != "text":
        data = shaped.text.removesuffix(shaped.notice).removesuffix(shaped.absent_line)
        # What naming would make dearer stays in its place.
        assert drop_empties(decode(data, shaped.encoding), EMPTIES)[0] == shaped.data


@settings(max_examples=150, deadline=None)
@given(values, tools, profiles)
def test_3_every_absence_is_explained(value: Any, tool: str, profile: str) -> None:
    with using(dialect="none"):
        shaped = SHAPER.shape(value, tool=tool, profile=profile)
    missing = _leaves(value) - _leaves(shaped.data)
    if shaped.data != value:
        assert shaped.omissions or not missing
    if not shaped.omissions:
        assert shaped.data == value


@settings(max_examples=100, deadline=None)
@given(values | records)
def test_3_nulls_and_empties_that_went_are_counted_one_by_one(value: Any) -> None:
    shaped = SHAPER.shape(value, tool="none", profile="standard")
    assert sum(omission.count for omission in shaped.omissions) == _members_gone(value, shaped.data)


@settings(max_examples=100, deadline=None)
@given(values, tools, profiles)
def test_5_shaping_is_idempotent_and_never_mutates_its_input(value: Any, tool: str, profile: str) -> None:
    before = copy.deepcopy(value)
    with using(dialect="none"):
        shaped = SHAPER.shape(value, tool=tool, profile=profile)
        again = SHAPER.shape(shaped, tool=tool, profile=profile)
        twice = SHAPER.shape(copy.deepcopy(shaped.data), tool=tool, profile=profile)
    assert value == before
    assert again is shaped
    if tool == "none":
        assert twice.data == shaped.data


SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "n": {"type": "integer"},
        "items": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"b": {"type": ["string", "null"]}, "d": {"type": "object"}, "c": {"type": "number"}},
                "required": ["b", "c", "d"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["a", "items", "n"],
    "additionalProperties": False,
}
fitting = st.fixed_dictionaries(
    {
        "a": st.text(max_size=6),
        "n": st.integers(-9, 9),
        "items": st.lists(
            st.fixed_dictionaries(
                {
                    "b": st.none() | st.text(max_size=4),
                    "c": st.floats(allow_nan=False, allow_infinity=False),
                    "d": st.dictionaries(st.text(max_size=3), st.none() | st.integers(), max_size=2),
                }
            ),
            min_size=1,
            max_size=4,
        ),
    }
)


@settings(max_examples=100, deadline=None)
@given(fitting, tools, profiles)
def test_6_a_shaped_result_fits_the_advertised_schema(value: Any, tool: str, profile: str) -> None:
    with using(dialect="none"):
        shaped = SHAPER.shape(value, tool=tool, profile=profile)
    jsonschema.validate(shaped.data, data_schema(shaped.plan, SCHEMA))


def _leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(_leaves(item) for item in value.values())
    if isinstance(value, list):
        return sum(_leaves(item) for item in value)
    return 1


def _members_gone(before: Any, after: Any) -> int:
    if isinstance(before, dict):
        return sum(1 if key not in after else _members_gone(item, after[key]) for key, item in before.items())
    if isinstance(before, list):
        return sum(_members_gone(old, new) for old, new in zip(before, after, strict=True))
    return 0
