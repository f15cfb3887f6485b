from __future__ import annotations

from typing import Any

import pytest

from shaping.mcp.channels import BOTH, STRUCTURED, TEXT, Channels, decide


@pytest.mark.parametrize(
    ("setting", "reads", "typed", "expected"),
    [
        ("auto", None, False, BOTH),
        ("auto", None, True, BOTH),
        ("auto", "content", False, BOTH),
        ("auto", "content", True, BOTH),
        ("auto", "structured", False, TEXT),
        ("auto", "structured", True, BOTH),
        ("auto", "both", False, TEXT),
        ("auto", "both", True, STRUCTURED),
        ("both", "structured", False, BOTH),
        ("text", None, False, TEXT),
        ("text", None, True, BOTH),
        ("structured", "content", False, STRUCTURED),
    ],
)
def test_the_table_of_channels(setting: Any, reads: Any, typed: bool, expected: Channels) -> None:
    assert decide(setting, reads, typed=typed) == expected


@pytest.mark.parametrize("setting", ["auto", "both", "text", "structured"])
@pytest.mark.parametrize("reads", [None, "content", "structured", "both"])
@pytest.mark.parametrize("typed", [True, False])
def test_a_tool_with_a_schema_always_sends_structured_content(setting: Any, reads: Any, typed: bool) -> None:
    chosen = decide(setting, reads, typed=typed)
    assert chosen.structured == chosen.schema
    assert chosen.schema or not typed
