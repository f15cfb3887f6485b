"""The counting in C gives the numbers that the counting in Python gives."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from shaping import native
from shaping.tokens import density

pytestmark = pytest.mark.skipif(native.density is None, reason="the native core is not built here")
CLASSES = density._CLASSES


@given(st.binary() | st.text(st.sampled_from("aaAA11  ,.é€😀\n")).map(str.encode))
def test_both_count_the_same(data: bytes) -> None:
    assert native.density is not None
    assert native.density.counted(data, CLASSES) == density.counted(data)


def test_no_byte_is_in_two_pairs() -> None:
    assert density.counted(b"aaa aa") == (5, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0)


@pytest.mark.parametrize("wrong", [(b"a",), ("a", CLASSES), (b"a", b"short"), (b"a", bytearray(CLASSES))])
def test_a_call_with_other_arguments_is_refused(wrong: tuple[object, ...]) -> None:
    assert native.density is not None
    with pytest.raises(TypeError, match="takes bytes, and the class of each"):
        native.density.counted(*wrong)


def test_a_class_that_is_none_is_refused() -> None:
    assert native.density is not None
    with pytest.raises(ValueError, match="a class is less than 9"):
        native.density.counted(b"a", bytes([9]) * 256)
