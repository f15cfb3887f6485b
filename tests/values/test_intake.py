from __future__ import annotations

import datetime as dt
import enum
import math
import uuid
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple, TypedDict

import attrs
import msgspec
import numpy as np
import orjson
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field, SecretStr, computed_field, field_serializer
from pydantic.dataclasses import dataclass as pydantic_dataclass

from shaping import Shaper
from shaping.response import Omission
from shaping.values import DEEPEST, json_if_plain, open_carefully, to_plain
from shaping.values.opening import open_value


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Point(NamedTuple):
    x: int
    y: int


class Movie(TypedDict):
    title: str


@dataclass
class Owner:
    login: str
    tags: list[str] = field(default_factory=list)
    site_admin: bool = False


@attrs.define
class Label:
    name: str
    colour: str = "red"
    extra: list[int] = attrs.field(factory=list)


class Commit(msgspec.Struct, rename="camel"):
    commit_sha: str
    parents: list[str] = []
    verified: bool = False


class Issue(BaseModel):
    number: int
    title: str = Field(serialization_alias="headline", default="untitled")
    owner: Owner | None = None
    token: SecretStr = SecretStr("hush")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def slug(self) -> str:
        return f"#{self.number}"


@pydantic_dataclass
class Place:
    name: str
    at: dt.date


class Reserved:
    def __init__(self) -> None:
        self.shown = 1
        self._hidden = 2


class Spoken:
    def __str__(self) -> str:
        return "spoken"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({1, "a"}, [1, "a"]),
        (deque([1]), [1]),
        (OrderedDict(a=1), {"a": 1}),
        (MappingProxyType({"a": (1,)}), {"a": [1]}),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        ({Colour.RED: Level.HIGH}, {"red": 3}),
        (Point(1, 2), {"x": 1, "y": 2}),
        (Movie(title="Alien"), {"title": "Alien"}),
        (Owner("ada"), {"login": "ada", "tags": [], "site_admin": False}),
        (Label("bug"), {"name": "bug", "colour": "red", "extra": []}),
        (Commit("abc"), {"commitSha": "abc", "parents": [], "verified": False}),
        (Place("here", dt.date(2026, 1, 2)), {"name": "here", "at": "2026-01-02"}),
        (dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "2026-01-02T03:04:05Z"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.time(3, 4), "03:04:00"),
        (dt.timedelta(hours=1), "PT1H"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.10"), "1.10"),
        (PurePosixPath("/a/b"), "/a/b"),
        (b"\x00\xff", {"$base64": "AP8="}),
        (bytearray(b"a"), {"$base64": "YQ=="}),
        (memoryview(b"a"), {"$base64": "YQ=="}),
        (
            {1: "a", None: "b", False: "c", 2.5: "d", (1, 2): "e"},
            {"1": "a", "null": "b", "false": "c", "2.5": "d", "[1,2]": "e"},
        ),
        (np.float32(0.5), 0.5),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]),
        (pd.Series([1, 2]), [1, 2]),
        (pd.Timestamp("2026-01-02T03:04:05"), "2026-01-02T03:04:05"),
        (range(3), [0, 1, 2]),
    ],
)
def test_a_value_becomes_plain_data(value: Any, expected: Any) -> None:
    taken = to_plain(value)
    assert taken == expected
    assert orjson.loads(orjson.dumps(taken)) == expected


def test_a_pydantic_model_is_written_as_its_own_json_schema_says() -> None:
    issue = Issue(number=7, owner=Owner("ada"))
    assert to_plain({"items": [issue]}) == {
        "items": [
            {
                "number": 7,
                "headline": "untitled",
                "owner": {"login": "ada", "tags": [], "site_admin": False},
                "token": "**********",
                "slug": "#7",
            }
        ]
    }


def test_a_pydantic_model_that_cannot_write_itself_is_read_field_by_field() -> None:
    class Blob(BaseModel):
        content: bytes

    assert to_plain(Blob(content=b"\xff")) == {"content": {"$base64": "/w=="}}


def test_a_custom_serializer_is_honoured() -> None:
    class Price(BaseModel):
        cents: int

        @field_serializer("cents")
        def euros(self, cents: int) -> str:
            return f"{cents / 100:.2f}"

    assert to_plain(Price(cents=150)) == {"cents": "1.50"}


def test_a_generator_anywhere_is_read_once_and_kept() -> None:
    taken = open_carefully({"items": (n for n in (1, 2))})
    assert taken.value == {"items": [1, 2]}
    assert taken.consumed


def test_plain_data_is_handed_on_without_a_copy() -> None:
    value = {"a": [1, 2.5, None, True, {"b": "c"}], "é": "ü"}
    assert to_plain(value) is value


def test_what_is_not_plain_is_copied_and_the_value_stays_as_it_was() -> None:
    value = {"same": {"x": [1]}, "changed": [(1, 2)]}
    taken = to_plain(value)
    assert taken == {"same": {"x": [1]}, "changed": [[1, 2]]}
    assert value == {"same": {"x": [1]}, "changed": [(1, 2)]}


def test_an_object_without_words_of_its_own_is_read_by_its_public_attributes() -> None:
    assert to_plain(Reserved()) == {"shown": 1}


def test_an_unknown_type_is_said_in_its_own_words_with_a_warning() -> None:
    taken = open_carefully({"a": Spoken()})
    assert taken.value == {"a": "spoken"}
    assert [(w.code, w.path) for w in taken.warnings] == [("UNKNOWN_TYPE", "a")]


def test_functions_and_modules_never_leak_an_address() -> None:
    assert open_value(object()) == "<object>"


@pytest.mark.parametrize(
    ("value", "written", "code"),
    [
        (2**70, str(2**70), "BIG_INTEGER"),
        (-(2**63) - 1, str(-(2**63) - 1), "BIG_INTEGER"),
        pytest.param(10**5000, hex(10**5000), "BIG_INTEGER", id="more digits than str() allows"),
        (math.nan, "NaN", "NOT_A_NUMBER"),
        (math.inf, "Infinity", "NOT_A_NUMBER"),
        (-math.inf, "-Infinity", "NOT_A_NUMBER"),
        ("a\ud800b", "a\\ud800b", "LONE_SURROGATE"),
    ],
)
def test_what_json_cannot_hold_is_written_another_way_with_a_warning(value: Any, written: str, code: str) -> None:
    assert json_if_plain({"deep": [value]}) is None
    taken = open_carefully({"deep": [value]})
    assert taken.value == {"deep": [written]}
    assert [(w.code, w.path) for w in taken.warnings] == [(code, "deep[0]")]
    orjson.dumps(taken.value)


def test_the_same_in_many_elements_of_a_list_is_one_warning() -> None:
    taken = open_carefully({"rows": [{"n": math.nan, "big": 2**70}, {"n": 1.0, "big": 1}, {"n": math.nan, "big": 2}]})
    assert [(w.code, w.path) for w in taken.warnings] == [("NOT_A_NUMBER", "rows[].n"), ("BIG_INTEGER", "rows[0].big")]


def test_the_largest_integers_that_json_can_hold_stay_numbers() -> None:
    assert to_plain([2**64 - 1, -(2**63)]) == [2**64 - 1, -(2**63)]


def test_a_lone_surrogate_in_a_key_is_escaped_too() -> None:
    taken = open_carefully({"\udc00": 1})
    assert taken.value == {"\\udc00": 1}
    assert taken.warnings[0].code == "LONE_SURROGATE"


def test_two_keys_that_are_written_alike_are_both_kept() -> None:
    taken = open_carefully({1: "int", "1": "text", "1 (2)": "taken"})
    assert taken.value == {"1": "int", "1 (2)": "text", "1 (2) (2)": "taken"}
    assert {w.code for w in taken.warnings} == {"KEY_COLLISION"}
    assert to_plain({1: "int", "1": "text"}) == {"1": "int", "1 (2)": "text"}


def test_a_key_that_is_no_number_is_named_as_such_a_value_is() -> None:
    keys = {float("nan"): 1, float("inf"): 2, float("-inf"): 3}
    assert to_plain(keys) == {"NaN": 1, "Infinity": 2, "-Infinity": 3}


def test_a_cycle_is_named_where_it_closes() -> None:
    value: dict[str, Any] = {"name": "a", "children": []}
    value["children"].append({"parent": value})
    taken = open_carefully(value)
    assert taken.value == {"name": "a", "children": [{"parent": "[cycle: the top]"}]}
    assert [(w.code, w.path) for w in taken.warnings] == [("CYCLE", "children[0].parent")]
    assert to_plain(value) == taken.value


def test_the_same_object_twice_is_no_cycle() -> None:
    shared = {"x": 1}
    assert open_carefully([shared, shared, math.nan]).value == [{"x": 1}, {"x": 1}, "NaN"]


@pytest.mark.parametrize("kind", ["list", "dict", "tuple"])
def test_ten_thousand_levels_end_with_a_sentence_and_a_warning(kind: str) -> None:
    value: Any = "bottom"
    for _ in range(10_000):
        value = [value] if kind == "list" else {"a": value} if kind == "dict" else (value,)
    taken = open_carefully(value)
    assert [w.code for w in taken.warnings] == ["TOO_DEEP"]
    assert b"nested too deep" in orjson.dumps(taken.value)
    assert b"nested too deep" in orjson.dumps(to_plain([value]))


def test_a_deep_part_is_written_as_json_that_parses() -> None:
    deep: Any = {"b": [1, "x", None, {"c": 2.5}, ()], 2: {}}
    for _ in range(DEEPEST + 1):
        deep = [deep]
    value = open_carefully(deep).value
    while not isinstance(value, str):
        value = value[0]
    assert orjson.loads(value.lstrip("[").rstrip("]") if value.startswith("[{") else value) == {
        "b": [1, "x", None, {"c": 2.5}, []],
        "2": {},
    }


def test_a_cycle_below_the_deepest_level_ends() -> None:
    value: list[Any] = []
    for _ in range(DEEPEST + 5):
        value = [value]
    bottom: dict[str, Any] = {}
    bottom["self"] = bottom
    inner: Any = value
    while inner[0]:
        inner = inner[0]
    inner[0].append(bottom)
    assert "nested too deep" in orjson.dumps(open_carefully(value).value).decode()


def test_default_fields_are_left_out_where_asked_and_said() -> None:
    value = {
        "owner": Owner("ada"),
        "label": Label("bug", "blue"),
        "commit": Commit("abc", verified=True),
        "issue": Issue(number=1),
        "plain": {"x": None},
    }
    taken = open_carefully(value, drop_defaults=True)
    assert taken.value == {
        "owner": {"login": "ada"},
        "label": {"name": "bug", "colour": "blue"},
        "commit": {"commitSha": "abc", "verified": True},
        "issue": {"number": 1, "slug": "#1"},
        "plain": {"x": None},
    }
    assert {(o.path, o.reason) for o in taken.omissions} == {
        ("owner.tags", "default"),
        ("owner.site_admin", "default"),
        ("label.extra", "default"),
        ("commit.parents", "default"),
        ("issue.headline", "default"),
        ("issue.owner", "default"),
        ("issue.token", "default"),
    }


def test_a_field_whose_comparison_fails_counts_as_different() -> None:
    @dataclass
    class Matrix:
        cells: Any = field(default_factory=lambda: np.array([1, 2]))

    assert open_carefully(Matrix(), drop_defaults=True).value == {"cells": [1, 2]}


class Touchy:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Mute:
    def __str__(self) -> str:
        raise RuntimeError


class Endless:
    dtype = "endless"

    def tolist(self) -> Endless:
        return Endless()


class Looped(Endless):
    def tolist(self) -> Endless:
        return self


@pytest.mark.parametrize("odd", [Touchy, Mute, Endless, Looped])
def test_an_object_that_cannot_be_looked_at_costs_nothing_else(odd: type[Any]) -> None:
    taken = open_carefully({"odd": odd(), "a": 1})
    assert taken.value["a"] == 1
    assert isinstance(taken.value["odd"], str)
    assert [warned.path for warned in taken.warnings] == ["odd"]
    assert to_plain({"odd": odd(), "a": 1}) == taken.value


def test_a_generator_that_fails_on_the_way_keeps_what_it_gave_and_is_warned_of() -> None:
    def stream() -> Any:
        yield 1
        raise ValueError("secret")

    taken = open_carefully({"items": stream()})
    assert taken.value == {"items": [1]}
    assert [str(warned) for warned in taken.warnings] == [
        "CUT_SHORT at items: reading stopped after 1 item: ValueError"
    ]


def test_an_answer_that_broke_off_says_so_in_every_profile() -> None:
    def stream() -> Any:
        yield 1
        raise ValueError("secret")

    assert Shaper({}).shape(stream()).value == {"truncated": True, "data": [1]}


def test_the_default_field_of_every_element_is_one_omission() -> None:
    owners = {"all[0]": [Owner("ada"), Owner("bob"), Owner("eve", tags=["x"])]}
    assert open_carefully(owners, drop_defaults=True).omissions == [
        Omission('"all[0]"[].tags', 2, "default"),
        Omission('"all[0]"[].site_admin', 3, "default"),
    ]


def test_a_tagged_struct_keeps_its_tag() -> None:
    class Cat(msgspec.Struct, tag_field="kind", tag="cat"):
        name: str

    assert to_plain(Cat("Tom")) == {"kind": "cat", "name": "Tom"} == msgspec.to_builtins(Cat("Tom"))


def test_a_frame_that_gives_its_rows_by_to_dicts_is_its_rows() -> None:
    class Frame:
        columns = ("a",)

        def to_dicts(self) -> list[dict[str, int]]:
            return [{"a": 1}]

        def to_dict(self) -> dict[str, list[int]]:
            return {"a": [1]}

    assert to_plain(Frame()) == [{"a": 1}]


def test_sets_of_sets_come_in_one_order_in_every_process() -> None:
    value = {frozenset({"b"}), frozenset({"a"}), frozenset({"c", "a"})}
    assert to_plain(value) == [["a", "c"], ["a"], ["b"]]


def test_where_an_object_lies_in_memory_is_not_told() -> None:
    assert " at 0x" not in to_plain({"f": lambda: 1, "g": object()})["f"]


def test_a_namespace_is_its_members() -> None:
    assert to_plain(SimpleNamespace(a=1, b=[Point(1, 2)])) == {"a": 1, "b": [{"x": 1, "y": 2}]}


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_plain_json_passes_unchanged(value: Any) -> None:
    assert to_plain(value) == value


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.decimals()
    | st.uuids(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.integers() | st.text() | st.none() | st.floats(), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=20,
)


@given(anything)
def test_whatever_comes_in_can_be_written(value: Any) -> None:
    taken = open_carefully(value)
    orjson.dumps(taken.value)
    assert to_plain(value) == taken.value
