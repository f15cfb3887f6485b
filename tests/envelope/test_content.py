from typing import Any

import pytest
from mcp import types as sdk

from shaping.envelope import TextBlock
from shaping.envelope.model import (
    Annotations,
    AudioBlock,
    ContentBlock,
    ImageBlock,
    ResourceBlock,
    ResourceContents,
    ResourceLinkBlock,
    read_block,
    read_blocks,
    write_block,
)

KNOWN: list[tuple[dict[str, Any], ContentBlock]] = [
    (
        {"type": "text", "text": "x", "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026"}},
        TextBlock(text="x", annotations=Annotations(audience=("user",), priority=0.5, last_modified="2026")),
    ),
    ({"type": "image", "data": "AA==", "mimeType": "image/png"}, ImageBlock(data="AA==", mime_type="image/png")),
    ({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}, AudioBlock(data="AA==", mime_type="audio/wav")),
    (
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "x"}},
        ResourceBlock(resource=ResourceContents(uri="file:///a", mime_type="text/plain", text="x")),
    ),
    (
        {"type": "resource_link", "uri": "file:///a", "name": "a", "description": "d", "mimeType": "text/plain"},
        ResourceLinkBlock(uri="file:///a", name="a", description="d", mime_type="text/plain"),
    ),
]


@pytest.mark.parametrize(("wire", "block"), KNOWN)
def test_a_known_block_is_read_and_written_back(wire: dict[str, Any], block: ContentBlock) -> None:
    assert read_block(wire) == block
    assert write_block(block) == wire
    assert next(iter(write_block(block))) == "type"


def test_what_a_newer_protocol_adds_to_a_block_is_kept() -> None:
    wire = {"type": "resource_link", "uri": "u", "name": "n", "size": 4, "_meta": {"k": 1}, "icons": [{"src": "i"}]}
    assert write_block(read_block(wire)) == wire


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
    assert read_block(block) == TextBlock(text=text)


def test_a_block_of_ours_is_taken_as_it_is() -> None:
    block = TextBlock(text="x")
    assert read_blocks([block])[0] is block


def test_blocks_of_the_sdk_are_read_without_importing_it_ourselves() -> None:
    blocks = [
        sdk.TextContent(type="text", text="x"),
        sdk.ImageContent(type="image", data="AA==", mime_type="image/png"),
    ]
    assert read_blocks(blocks) == (TextBlock(text="x"), ImageBlock(data="AA==", mime_type="image/png"))
