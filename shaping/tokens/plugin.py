"""The pytest fixture `assert_tokens`; pytest loads it by itself where shaping is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def assert_tokens() -> Callable[..., int]:
    """Fail where a tool's answer costs too much: `assert_tokens(value, tool="search", max=500)`."""
    from shaping.tokens.limit import assert_tokens  # noqa: PLC0415 - coverage must watch what it imports

    return assert_tokens
