from typing import Any

import pytest
from mcp import types as sdk

from shaping.envelope.model import read_block


@pytest.mark.parametrize(
    "wire",
    [
        {"type": "text", "text": "x", "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026"}},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
        {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "x"}},
        {"type": "resource_link", "uri": "u", "name": "n", "size": 4, "_meta": {"k": 1}, "icons": [{"src": "i"}]},
    ],
)
def test_a_known_block_is_kept_with_what_a_newer_protocol_adds(wire: dict[str, Any]) -> None:
    assert read_block(wire) == wire


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "hologram", "frames": 3}, '{"type":"hologram","frames":3}'),
        ({"type": "text"}, '{"type":"text"}'),
        ({"type": "image", "data": 5, "mimeType": None}, '{"type":"image","data":5,"mimeType":null}'),
        ("only words", "only words"),
        (None, "null"),
        ([1, 2], "[1,2]"),
        ({"type": "x", 3: object}, '{"type":"x","3":"<class \'object\'>"}'),
    ],
)
def test_a_block_that_is_not_understood_is_kept_as_text(block: Any, text: str) -> None:
    assert read_block(block) == {"type": "text", "text": text}


def test_blocks_of_the_sdk_are_read_without_importing_it_ourselves() -> None:
    image = sdk.ImageContent(type="image", data="AA==", mime_type="image/png")
    assert read_block(sdk.TextContent(type="text", text="x")) == {"type": "text", "text": "x"}
    assert read_block(image) == {"type": "image", "data": "AA==", "mimeType": "image/png"}
