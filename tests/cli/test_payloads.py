from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from shaping.cli.app import build
from shaping.cli.payloads import Payload, read_payloads

if TYPE_CHECKING:
    from pathlib import Path


def mcp(**result: object) -> Payload:
    return Payload("result.json", json.dumps(result))


def test_a_document_is_its_own_data_and_a_text_too() -> None:
    document, text = Payload("a.json", '{ "a": 1 }'), Payload("a.txt", "plain { text")
    assert (document.data, document.compact, document.as_sent()) == ({"a": 1}, '{"a":1}', '{ "a": 1 }')
    assert (text.data, text.compact, text.as_sent()) == ("plain { text",) * 3


def test_of_an_mcp_result_a_client_shows_the_channels_that_it_reads() -> None:
    payload = mcp(content=[{"type": "text", "text": '{ "a": 1 }'}], structuredContent={"a": 1})
    assert (payload.is_mcp, payload.compact) == (True, '{"a":1}')
    shown = [payload.as_sent(client) for client in (None, "Zed", "claude-code", "copilot-cli")]
    assert shown == ['{ "a": 1 }', '{ "a": 1 }', '{"a":1}', '{ "a": 1 }\n{"a":1}']


def test_json_that_a_tool_gave_as_a_string_is_the_data() -> None:
    text = '{"issues": [{"key": "A-1"}]}'
    payload = mcp(content=[{"type": "text", "text": text}], structuredContent={"result": text})
    assert payload.data == {"issues": [{"key": "A-1"}]}


@pytest.mark.parametrize("text", ["5", "NaN", '"x"', "true"])
def test_a_text_block_with_a_single_value_stays_the_text_that_a_model_reads(text: str) -> None:
    assert mcp(content=[{"type": "text", "text": text}]).data == text


def test_several_blocks_are_a_list_and_pictures_no_text() -> None:
    blocks = [
        {"type": "text", "text": "[1, 2]"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "words"}},
    ]
    payload = mcp(content=blocks)
    assert (payload.data, payload.as_sent()) == ([[1, 2], "words"], "[1, 2]\nwords")


@pytest.mark.parametrize(
    "value",
    [
        {"content": "a page"},
        {"content": [{"body": 1}]},
        {"content": [{"type": "paragraph"}]},
        {"content": [{"type": "text", "text": "hi"}], "role": "user"},
        [1],
        "text",
    ],
)
def test_a_document_that_only_looks_like_a_result_is_none(value: object) -> None:
    assert not Payload("a.json", json.dumps(value)).is_mcp


def test_files_folders_lines_and_gzip_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.jsonl").write_text('{"n": 1}\n\n{"n": 2}\n')
    (tmp_path / "inner" / "ignored.py").write_text("pass")
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b"[1]"))
    found = [(payload.name.removeprefix(str(tmp_path)), payload.text) for payload in read_payloads([str(tmp_path)])]
    assert found == [("/a.json.gz", "[1]"), ("/inner/b.jsonl:1", '{"n": 1}'), ("/inner/b.jsonl:3", '{"n": 2}')]


def test_data_deeper_than_orjson_writes_is_written() -> None:
    text = "[" * 600 + "]" * 600
    assert Payload("", text).compact == text


def test_a_packed_file_and_one_of_windows_are_read_by_every_command(tmp_path: Path) -> None:
    packed, wide = tmp_path / "a.json.gz", tmp_path / "b.json"
    packed.write_bytes(gzip.compress(b'[{"n": 1}]'))
    wide.write_text('[{"n": 1}]', encoding="utf-16")
    for file in (str(packed), str(wide)):
        for words in (["shape", "--value"], ["query"], ["tokens"], ["bench"]):
            done = CliRunner().invoke(build(), [words[0], file, *words[1:]])
            assert (done.exit_code, "not UTF-8" in done.output) == (0, False)
        assert '{"data":[{"n":1}]}' in CliRunner().invoke(build(), ["shape", "--value", file]).output
