from __future__ import annotations

from typing import Any

import orjson
import pytest

from shaping.paths import select
from shaping.response import Omission
from shaping.store.parts import choose, price
from shaping.tokens import exact

RAW: dict[str, Any] = {
    "items": [{"id": n, "text": f"some words about number {n}", "tags": ["a", "b", n]} for n in range(1000)],
    "map": {"a": [1, 2, 3], "odd.key": "x"},
}


def test_each_omission_is_priced_by_what_it_would_cost_to_have_back() -> None:
    omissions = [
        Omission("map", 1, "depth"),
        Omission("items[0:3]", 3, "items"),
        Omission("items[].id", 1000, "fields"),
    ]
    priced = price(omissions, RAW, "o200k_base")
    assert [one.tokens for one in priced[:2]] == [
        exact(orjson.dumps(part).decode()) for part in (RAW["map"], RAW["items"][:3])
    ]
    assert [one.path for one in priced] == [one.path for one in omissions]


def test_a_long_tail_is_priced_by_a_sample_of_it() -> None:
    (priced,) = price([Omission("items[5:1000]", 995, "items")], RAW, "o200k_base")
    whole = exact(orjson.dumps(RAW["items"][5:]).decode())
    assert priced.tokens is not None
    assert abs(priced.tokens - whole) < whole / 20


@pytest.mark.parametrize("path", ["**", "nowhere.at.all", "items[", "items[5000]"])
def test_what_no_path_leads_to_has_no_price(path: str) -> None:
    assert price([Omission(path, 3, "null")], RAW, "o200k_base")[0].tokens is None


@pytest.mark.parametrize(
    "path",
    [
        "",
        "items",
        "items[2:5]",
        "items[998:]",
        "items[:1]",
        "items[3].tags[1:]",
        "items.tags[0:2]",
        "items[].tags[1:3]",
        "map.a[1:]",
    ],
)
def test_choosing_is_selecting(path: str) -> None:
    assert choose(RAW, path) == select(RAW, path)


def test_a_slice_of_what_is_no_list_is_what_selecting_makes_of_it() -> None:
    assert choose(RAW, "map[0:2]") == select(RAW, "map[0:2]")
    assert choose([[1, 2, 3], [4]], "[0:1]") == [[1, 2, 3]]
