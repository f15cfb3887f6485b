"""A price limit for tests: what a tool's answer may cost, checked where the tool is tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shaping.tokens.registry import counter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike


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
    from shaping import Shaper  # noqa: PLC0415 - a plugin must not load the library before coverage watches

    shaped = Shaper(config).shape(value, tool=tool, profile=profile)
    tokens = counter(shaped.plan.tokenizer).exact(shaped.text)
    if tokens > max:
        raise AssertionError(
            f"the answer of {tool or 'the tool'} costs {tokens} tokens, {tokens - max} more than {max}; "
            f"unshaped it costs {shaped.tokens.before}. It reads:\n{_head(shaped.text)}"
        )
    return tokens


def _head(text: str, most: int = 400) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
