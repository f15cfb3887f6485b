from __future__ import annotations

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
