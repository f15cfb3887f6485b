from __future__ import annotations

import json
from typing import Any

import pytest

from shaping.settings.files import bundled_path
from shaping.settings.plan import Plan
from shaping.shaper import Shaper

shape_result = Shaper.shape_result

FILE = '{\n  "name": "x",\n  "main": null,\n  "files": [],\n  "bin": [{"id": 1, "u": "https://x.example/1"}]\n}\n'
TOKEN = "ghp_" + "a1B2" * 9


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def without_meta(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "_meta"}


@pytest.mark.parametrize("profile", ["minimal", "standard", "debug"])
@pytest.mark.parametrize("tool", ["read_file", "read_text_file", "fs_read_file", "disk.read_file", "get_file_contents"])
@pytest.mark.parametrize(
    "result",
    [
        {"content": [text(FILE)]},
        {"content": [text(FILE), text("[1, 2]")]},
        {"content": [text(FILE)], "structuredContent": {"content": FILE}},
        {"content": [text(FILE), text('{"a":null}')], "structuredContent": {"content": FILE}},
        {"content": [text('{"a":1}\n{"a":2}\n')]},
    ],
)
def test_a_file_that_a_tool_reads_is_given_to_the_letter(tool: str, profile: str, result: dict[str, Any]) -> None:
    assert without_meta(shape_result(Shaper({}), result, tool=tool, profile=profile)) == result


def test_other_tools_have_their_text_read_as_data() -> None:
    for tool in ("search", "get_file_info", "read_graph", "list_files"):
        assert shape_result(Shaper({}), {"content": [text('{"a": null, "b": 2}')]}, tool=tool)["content"] == [
            text('{"a":null,"b":2}')
        ]


def test_a_folder_that_comes_in_place_of_a_file_is_data() -> None:
    api = "https://api.github.com/repos/o/r"
    entries = [
        {"type": "file", "name": f"{n}.py", "path": f"src/{n}.py", "sha": f"{n:040x}", "url": f"{api}/contents/{n}"}
        | {"git_url": f"{api}/git/blobs/{n:040x}", "html_url": f"https://github.com/o/r/blob/main/src/{n}.py"}
        for n in range(9)
    ]
    listed = {"content": [text(json.dumps(entries))]}
    assert shape_result(Shaper({}), listed, tool="get_file_contents") == shape_result(Shaper({}), listed, tool="ls")
    both = {**listed, "structuredContent": {"content": json.dumps(entries)}}
    shaped = shape_result(Shaper({}), both, tool="get_file_contents")
    assert "git/blobs" not in str(shaped)
    other = {"content": [text("[]\n"), text('[{"name": "x", "path": "y", "type": null}]')]}
    assert without_meta(shape_result(Shaper({}), other, tool="get_file_contents")) == other


def test_secrets_and_budgets_are_minded_in_a_file_too() -> None:
    shaped = shape_result(Shaper({}), {"content": [text(f'{{"k": "{TOKEN}"}}')]}, tool="read_file")
    assert shaped["content"] == [text('{"k": "[redacted:github-token]"}')]
    shaper = Shaper({"global": {"max_tokens": 40}})
    [cut] = shape_result(shaper, {"content": [text("word " * 500)]}, tool="read_file")["content"]
    assert len(cut["text"]) < 400


@pytest.mark.parametrize(
    "override",
    [
        {"parse": ["json"]},
        {"exclude_fields": ["main", "files"]},
        {"private": ["main"]},
        {"redact": {"paths": ["nothing"]}},
    ],
)
def test_a_config_that_wants_data_of_a_file_gets_it(override: dict[str, Any]) -> None:
    shaper = Shaper({"tool_overrides": {"read_file": override}})
    shaped = shape_result(shaper, {"content": [text(FILE)]}, tool="read_file", channels="structured")
    assert shaped["structuredContent"] == {"name": "x", "bin": [{"id": 1, "u": "https://x.example/1"}]}


def test_any_tool_can_be_said_to_give_its_text_to_the_letter() -> None:
    shaper = Shaper({"tool_overrides": {"cat": {"parse": []}}})
    result = {"content": [text(FILE)]}
    assert without_meta(shape_result(shaper, result, tool="cat")) == result


def test_only_mcp_tools_have_what_is_known_of_them() -> None:
    def plan(surface: Any) -> Plan:
        return Shaper({}).plan("read_file", surface=surface)

    assert [plan(surface).verbatim for surface in ("mcp", "python", "command")] == [True, False, False]


def test_what_is_known_of_tools_is_a_config_that_loads() -> None:
    known = Shaper(bundled_path("config", "tools.json")).loaded_config.config.tool_overrides or {}
    assert {override.parse for override in known.values()} == {()}
