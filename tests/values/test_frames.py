from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from shaping import Shaper

COUNTS = pd.Series(["b", "a", "b"]).value_counts()
RECORDS = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f4")])
SALES = pd.DataFrame({"city": ["Oslo", "Rome", "Oslo"], "sold": [1, 2, 3]})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (pd.DataFrame({"a": [1, 2]}), [{"a": 1}, {"a": 2}]),
        (SALES[SALES.sold > 1], [{"city": "Rome", "sold": 2}, {"city": "Oslo", "sold": 3}]),
        (SALES.groupby("city").sum(), [{"city": "Oslo", "sold": 4}, {"city": "Rome", "sold": 2}]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), [{"a": 1, "a (2)": 2}]),
        (pd.DataFrame([[1]], columns=["a"], index=pd.Index(["x"], name="a")), [{"a": "x", "a (2)": 1}]),
        (COUNTS, {"count": {"b": 2, "a": 1}}),
        (SALES["sold"], {"sold": [1, 2, 3]}),
        (pd.Series([1, 2]), [1, 2]),
        (pd.Series([1, 2], index=["x", "x"]), [{"index": "x", "0": 1}, {"index": "x", "0": 2}]),
        (RECORDS, [{"a": 1, "b": 2.5}]),
        (RECORDS[0], {"a": 1, "b": 2.5}),
        (RECORDS.reshape(1, 1), [[{"a": 1, "b": 2.5}]]),
        (np.array(["2020-01-01T00:00:00"], dtype="M8[ns]"), ["2020-01-01T00:00:00"]),
        (np.datetime64("2020-01-01T00:00:00", "ns"), "2020-01-01T00:00:00"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.float32(1.5), 1.5),
    ],
)
def test_a_table_is_its_rows_and_keeps_the_labels_that_say_something(value: Any, expected: Any) -> None:
    assert Shaper({}).shape(value).data == expected


@pytest.mark.parametrize("value", [SALES["sold"], SALES.groupby("city")["sold"].sum(), RECORDS[0]])
def test_a_private_name_is_found_where_a_series_or_a_record_has_it(value: Any) -> None:
    shaped = Shaper({"tool_overrides": {"*": {"private": ["**.sold", "**.a", "**.b"]}}}).shape(value)
    assert not any(digit in shaped.text for digit in "12345")
