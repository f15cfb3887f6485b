"""Fixtures for tests of tools; ask for them with `-p shaping.pytest` or `pytest_plugins = ["shaping.pytest"]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

from shaping import Shaper
from shaping.response import cut_end
from shaping.tokens.counters import counter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

_MOST_SHOWN = 400  # characters of an answer that costs too much


class AssertTokens(Protocol):
    """The type of the fixture `assert_tokens`."""

    def __call__(
        self,
        value: Any,
        *,
        tool: str = "",
        max: int,  # noqa: A002 - the word a reader of the test expects
        profile: str | None = None,
        config: str | PathLike[str] | Mapping[str, Any] | None = None,
    ) -> int:
        """Return what the shaped answer costs, or fail."""


@pytest.fixture(name="assert_tokens")
def assert_tokens_fixture() -> AssertTokens:
    """Fail where a tool's answer costs too much: `assert_tokens(value, tool="search", max=500)`."""
    return assert_tokens


def assert_tokens(
    value: Any,
    *,
    tool: str = "",
    max: int,  # noqa: A002 - the word a reader of the test expects
    profile: str | None = None,
    config: str | PathLike[str] | Mapping[str, Any] | None = None,
) -> int:
    """Shape a tool's answer as the config says and fail where it costs more than `max` tokens, counted exactly."""
    __tracebackhide__ = True
    shaped = Shaper(config).shape(value, tool=tool, profile=profile)
    tokens = counter(shaped.plan.tokenizer).exact(shaped.text)
    if tokens > max:
        text = cut_end(shaped.text, _MOST_SHOWN)
        raise AssertionError(
            f"the answer of {tool or 'the tool'} costs {tokens} tokens, {tokens - max} more than {max}; "
            f"unshaped it costs {shaped.tokens.before}. It reads:\n{text}"
        )
    return tokens
