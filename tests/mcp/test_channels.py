from __future__ import annotations

from typing import Any

import pytest

from shaping.clients import UNKNOWN_CLIENT, KnownClient
from shaping.mcp.sessions import BOTH, STRUCTURED, TEXT, ChosenChannels, choose_channels

CODE = KnownClient(reads="structured", code_mode=True)


@pytest.mark.parametrize(
    ("setting", "client", "typed", "relay", "expected"),
    [
        ("auto", UNKNOWN_CLIENT, False, False, BOTH),
        ("auto", KnownClient(reads="structured"), False, False, BOTH),
        ("auto", UNKNOWN_CLIENT, False, True, TEXT),
        ("auto", KnownClient(reads="structured"), False, True, TEXT),
        ("auto", KnownClient(reads="content"), True, True, BOTH),
        ("auto", KnownClient(reads="both"), True, True, STRUCTURED),
        ("auto", CODE, False, True, BOTH),
        ("both", KnownClient(reads="structured"), False, True, BOTH),
        ("text", CODE, False, True, TEXT),
        ("text", UNKNOWN_CLIENT, True, False, BOTH),
        ("structured", KnownClient(reads="content"), False, True, STRUCTURED),
    ],
)
def test_the_table_of_channels(
    setting: Any, client: KnownClient, typed: bool, relay: bool, expected: ChosenChannels
) -> None:
    assert choose_channels(setting, client, typed=typed, relay=relay) == expected


@pytest.mark.parametrize("setting", ["auto", "both", "text", "structured"])
@pytest.mark.parametrize("reads", [None, "content", "structured", "both"])
@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("relay", [True, False])
def test_a_tool_with_a_schema_always_sends_structured_content(
    setting: Any, reads: Any, typed: bool, relay: bool
) -> None:
    chosen = choose_channels(setting, KnownClient(reads=reads), typed=typed, relay=relay)
    assert chosen.structured or not typed
