from __future__ import annotations

from typing import Any

import orjson
import pytest

from shaping.store.expand import price
from shaping.tokens import counter, exact

RAW: dict[str, Any] = {
    "items": [{"id": n, "text": f"some words about number {n}", "tags": ["a", "b", n]} for n in range(1000)],
    "map": {"a": [1, 2], "odd.key": "x"},
}


COUNTING = counter("o200k_base")


@pytest.mark.parametrize(("path", "part"), [("map", RAW["map"]), ("items[0:3]", RAW["items"][:3]), ("map.a", [1, 2])])
def test_a_few_values_are_priced_by_what_it_would_cost_to_have_them_back(path: str, part: Any) -> None:
    assert price(path, RAW, COUNTING) == exact(orjson.dumps(part).decode())


@pytest.mark.parametrize(("path", "part"), [("items[5:1000]", RAW["items"][5:]), ("items", RAW["items"])])
def test_a_long_tail_is_priced_by_a_sample_of_it(path: str, part: Any) -> None:
    whole = exact(orjson.dumps(part).decode())
    assert abs((price(path, RAW, COUNTING) or 0) - whole) < whole / 20


def test_a_long_text_is_priced_by_its_beginning() -> None:
    text = "the same few words again and again, " * 5000
    whole = exact(orjson.dumps(text).decode())
    assert abs((price("log", {"log": text}, COUNTING) or 0) - whole) < whole / 20


@pytest.mark.parametrize("path", ["**", "nowhere.at.all", "items[", "items[5000]"])
def test_what_no_path_leads_to_has_no_price(path: str) -> None:
    assert price(path, RAW, COUNTING) is None
