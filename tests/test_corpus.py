"""On every recorded result: never dearer than what the tool sent, an error's code aside, and read back exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks import corpus
from shaping import Shaper
from shaping.encoders import decode, encode
from shaping.parsers import parse
from shaping.tokens import exact

if TYPE_CHECKING:
    from benchmarks.corpus import Payload

pytestmark = pytest.mark.skipif(not corpus.PAYLOADS.exists(), reason="the corpus lies beside the repository")
RECORDED = [
    payload for folder in (corpus.PAYLOADS, corpus.MORE) if folder.exists() for payload in corpus.payloads(folder)
]
CODE = 8  # tokens of an error's code, generously


@pytest.mark.parametrize("payload", RECORDED, ids=lambda payload: payload.name)
@pytest.mark.parametrize("profile", ["minimal", "standard"])
def test_a_recorded_result_never_costs_more_than_the_tool_sent(payload: Payload, profile: str) -> None:
    if payload.result.get("isError") and profile == "standard":
        pytest.skip("standard says an error as the coded envelope")
    shaped = Shaper({"global": {"profile": profile}}).shape_result(payload.result, tool=payload.tool, channels="text")
    sent, made = (
        "\n".join(block["text"] for block in result["content"] if block.get("type") == "text")
        for result in (payload.result, shaped)
    )
    assert exact(made) <= exact(sent) + (CODE if payload.result.get("isError") else 0)


@pytest.mark.parametrize("payload", RECORDED, ids=lambda payload: payload.name)
def test_the_data_of_a_recorded_result_is_read_back_exactly(payload: Payload) -> None:
    texts = [block["text"] for block in payload.result["content"] if block.get("type") == "text"]
    for parsed in filter(None, map(parse, texts)):
        written = encode(parsed.value)
        assert decode(written.text, written.encoding) == parsed.value
