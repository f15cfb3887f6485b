from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from shaping.parsers.json import parse_python

_TEXTS = st.text(alphabet=st.sampled_from("ab'\"\\\n\té,:[]{}None\x00\x1b"), max_size=8)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(_VALUES, min_size=1) | st.dictionaries(_TEXTS, _VALUES, min_size=1))
def test_a_repr_is_read_as_the_value_that_python_printed(value: object) -> None:
    text = repr(value)
    if "'" in text:
        assert repr(parse_python(text)) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[{'n': 123456789012345678901}]", None),  # JSON has no such integer
        ("[b'a']", None),
        ("{1: 'a'}", None),
        ("['a' 'b']", ["ab"]),
        ("['a', (1, 2)]", ["a", [1, 2]]),
        (r"['\N{BULLET}', '\101']", ["\u2022", "A"]),
        ("['None', None, 'True']", ["None", None, "True"]),
        ("['a\nb']", None),
    ],
)
def test_what_only_python_can_read_is_read_by_python(text: str, value: object) -> None:
    assert parse_python(text) == value


def test_rows_of_a_database_are_read_with_their_dates_numbers_and_identifiers() -> None:
    row = {
        "id": UUID("ab069fbb-c844-84d3-15e6-b9f73685b2a2"),
        "price": Decimal("10.00"),
        "made": datetime(2026, 4, 16, 13, 54, 17, 12, tzinfo=ZoneInfo("Europe/Berlin")),
        "paid": datetime(2026, 4, 16, 13, 54, tzinfo=UTC),
        "sent": datetime(2026, 4, 16, tzinfo=timezone(timedelta(hours=2))),
        "due": date(2026, 5, 1),
        "opens": time(8, 30),
        "took": timedelta(seconds=90),
        "note": "datetime.datetime(2026, 1, 1) is a text",
    }
    assert parse_python(repr([row])) == [
        {
            "id": "ab069fbb-c844-84d3-15e6-b9f73685b2a2",
            "price": "10.00",
            "made": "2026-04-16T13:54:17.000012+02:00",
            "paid": "2026-04-16T13:54:00+00:00",
            "sent": "2026-04-16T00:00:00+02:00",
            "due": "2026-05-01",
            "opens": "08:30:00",
            "took": "0:01:30",
            "note": "datetime.datetime(2026, 1, 1) is a text",
        }
    ]


def test_values_of_dateutil_pandas_numpy_and_mongo_are_read_as_what_they_say() -> None:
    text = (
        "[{'_id': ObjectId('65a1f0c2'), 'made': datetime.datetime(2026, 4, 16, 13, 5, tzinfo=tzutc()),"
        " 'seen': datetime.datetime(2026, 4, 16, 13, 5, tzinfo=tzlocal()), 'mean': np.float64(1.5),"
        " 'day': Timestamp('2026-04-16 00:00:00+0200', tz='x'), 'rows': np.int64(3)}]"
    )
    assert parse_python(text) == [
        {
            "_id": "65a1f0c2",
            "made": "2026-04-16T13:05:00+00:00",
            "mean": 1.5,
            "seen": "2026-04-16T13:05:00",
            "day": "2026-04-16 00:00:00+0200",
            "rows": 3,
        }
    ]


@pytest.mark.parametrize(
    "value",
    [
        "__import__('os').system('true')", "eval('1')", "UUID(eval('1'))", "datetime.datetime(1, 1)", "open('date(')",
        "datetime.datetime(2026, 1, 1, tzinfo=ZoneInfo(key='../../etc/passwd'))", "datetime.date(2026, 13, 1)",
        "UUID('a', 'b', 'c', 'd', 'e')", "date(**{'a': 1})", "date('x' * 9)",
    ],
)  # fmt: skip
def test_no_other_call_is_read_and_none_is_made(value: str) -> None:
    assert parse_python(f"['a', {value}, datetime.date(2026, 1, 1)]") is None
