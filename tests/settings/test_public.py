from __future__ import annotations

import pytest

import shaping.settings


def test_every_public_name_is_there() -> None:
    assert [name for name in shaping.settings.__all__ if not hasattr(shaping.settings, name)] == []


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'shaping.settings' has no attribute 'nothing'"):
        _ = shaping.settings.nothing
