"""On every recorded result: never dearer than what the tool sent, an error's code aside, and read back exactly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from benchmarks import corpus
from shaping import Shaper
from shaping.encoders import decode, encode
from shaping.parsers import parse
from shaping.store.backends import MemoryStore
from shaping.tokens import exact

if TYPE_CHECKING:
    from benchmarks.corpus import Payload

if not corpus.PAYLOADS.exists():
    pytest.skip("there is no corpus beside this checkout", allow_module_level=True)
RECORDED = [
    payload for folder in (corpus.PAYLOADS, corpus.MORE) if folder.exists() for payload in corpus.payloads(folder)
]
# Under standard an error is the coded envelope.
CASES = [(payload, "minimal") for payload in RECORDED] + [
    (payload, "standard") for payload in RECORDED if not payload.result.get("isError")
]
CODE = 8  # tokens of an error's code, generously


@pytest.mark.parametrize(("payload", "profile"), CASES, ids=lambda one: getattr(one, "name", one))
def test_a_recorded_result_never_costs_more_than_the_tool_sent(payload: Payload, profile: str) -> None:
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


LINE = re.compile(r"^\((.*\d of \d+ shown.*)\)$", re.MULTILINE)
TABLES = re.compile(r"sql tables (.*?)(?:; |$)")


@pytest.mark.parametrize(
    "limit", [{"max_tokens": 200}, {"max_tokens": 500}, {"max_tokens": 2000}, {"max_items": 3}], ids=str
)
def test_what_can_be_asked_of_a_cut_answer_is_said_in_150_tokens_that_cost_less_than_they_save(
    limit: dict[str, int],
) -> None:
    store = MemoryStore(max_bytes=100_000_000)
    shaper, reader = Shaper({"global": limit}, expandable=True, store=store), Shaper({}, store=store)
    cut = 0
    for payload in RECORDED:
        for block in payload.result["content"]:
            if block.get("type") != "text":
                continue
            result = {"content": [block]}
            text = shaper.shape_result(result, tool=payload.tool, channels="text")["content"][0]["text"]
            if (line := LINE.search(text)) is None:
                continue
            cut += 1
            assert exact(line[0]) <= 150, payload.name
            assert exact(line[0]) <= exact(block["text"]) - exact(text.replace(line[0], "")), payload.name
            if tables := TABLES.search(line[1]):
                named = re.sub(r"\(.*?\)", "", tables[1]).split(", ")
                ref = re.search(r"ref=(r_\w+)", line[1])
                assert ref is not None
                assert shaper.keeper("mcp").flush(10)
                listed = {row["table"] for row in reader.expand(ref[1], sql="schema", surface="mcp").data}
                if named[-1] == "…":
                    assert listed - {*named}, payload.name
                else:  # values outside of lists, the table `data`, may all have been cleaned away
                    assert listed - {"data"} <= {*named}, payload.name
                assert ('sql="schema" lists all' in line[1]) == (named[-1] == "…"), payload.name
    assert cut >= 20
