"""`"enabled": false` leaves a tool's answers as the tool sent them, but for secrets and private fields."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport

from shaping import Shaper, ShapingMiddleware, shape, using

if TYPE_CHECKING:
    from collections.abc import Callable

ECHO = Path(__file__).parents[1] / "servers" / "mirror_server.py"
TOKEN = "ghp_" + "a1B2" * 9
ROW: dict[str, Any] = {"id": 1, "note": None, "tags": [], "url": "https://api.example.com/rows/1", "salary": 7}
CONFIG: dict[str, Any] = {
    "global": {"private": ["salary"]},
    "tool_overrides": {"*": {"exclude_fields": ["id"]}, "rows": {"enabled": False}, "mirror": {"enabled": False}},
}
OPEN: dict[str, Any] = {"tool_overrides": {"rows": {"enabled": False}}}
KEPT = {name: value for name, value in ROW.items() if name != "salary"}


def test_a_value_passes_as_it_is() -> None:
    rows = [ROW] * 3
    shaper = Shaper(OPEN)
    assert shaper.shape(rows, tool="rows").value is rows
    assert shaper.shape("a\n\n\n\nb", tool="rows").text == "a\n\n\n\nb"
    assert shaper.shape(rows, tool="others").value != rows


def test_secrets_and_private_fields_do_not_pass() -> None:
    shaper = Shaper(CONFIG)
    assert shaper.shape([ROW], tool="rows").value == [KEPT]
    assert shaper.shape({"note": TOKEN}, tool="rows").value == {"note": "[redacted:github-token]"}
    assert shaper.shape(iter([ROW]), tool="rows").value == [KEPT]


def test_an_iterator_that_a_decorated_function_returns_stays_one_without_its_secrets() -> None:
    @shape(config=OPEN, tool="rows")
    def rows() -> Any:
        return iter([{"id": 1, "note": TOKEN}, {"id": 2}])

    found = rows()
    assert next(found) == {"id": 1, "note": "[redacted:github-token]"}
    assert list(found) == [{"id": 2}]


@pytest.mark.parametrize("variable", [{"SHAPING_DEBUG": "1"}, {"SHAPING_PROFILE": "standard"}])
def test_a_profile_that_is_chosen_changes_nothing(variable: dict[str, str]) -> None:
    rows = [ROW]
    with using(profile="debug", max_items=1):
        assert Shaper(OPEN, environ=variable).shape(rows, tool="rows").value is rows


def test_a_tool_may_be_enabled_where_all_others_are_not() -> None:
    shaper = Shaper({"global": {"enabled": False}, "tool_overrides": {"search": {"enabled": True}}})
    assert shaper.shape(ROW, tool="rows").value is ROW
    assert shaper.shape(ROW, tool="search").value["data"].get("tags") is None


@dataclass
class Row:
    id: int
    note: str | None = None


def test_a_decorated_function_returns_and_raises_what_it_did_before() -> None:
    @shape(config=OPEN, tool="rows")
    def rows(fault: str | None = None) -> Row:
        if fault is not None:
            raise KeyError(fault)
        return Row(1)

    assert rows() == Row(1)
    with pytest.raises(KeyError, match="which"):
        rows("which")
    with pytest.raises(Exception, match="redacted:github-token"):
        rows(TOKEN)


RESULT = {
    "content": [{"type": "text", "text": json.dumps(KEPT, indent=4)}],
    "structuredContent": {"rows": [KEPT, KEPT]},
    "_meta": {"own": 1},
}
FAILED = {"content": [{"type": "text", "text": "Error: ENOENT\n\n\nat line 3"}], "isError": True}


@pytest.mark.parametrize("result", [RESULT, FAILED])
@pytest.mark.parametrize("client", ["claude-code", "cursor", None])
def test_an_mcp_result_passes_as_it_is(result: dict[str, Any], client: str | None) -> None:
    assert Shaper(CONFIG).shape_result(result, tool="rows", client=client) == result


@pytest.mark.anyio
async def test_a_server_under_the_middleware_answers_as_without() -> None:
    def made(*middleware: Any) -> FastMCP[Any]:
        server: FastMCP[Any] = FastMCP("s", middleware=[*middleware])

        @server.tool
        def rows() -> dict[str, list[dict[str, Any]]]:
            """List rows."""
            return {"rows": [{**KEPT, "key": "x"}]}

        return server

    async def seen(server: FastMCP[Any]) -> tuple[Any, Any, Any]:
        async with Client(server) as client:
            listed = next(tool for tool in await client.list_tools() if tool.name == "rows")
            done = await client.call_tool_mcp("rows", {})
            return listed.model_dump(exclude={"meta"}), done.content, done.structured_content

    assert await seen(made(ShapingMiddleware(OPEN))) == await seen(made())


@pytest.mark.anyio
async def test_a_proxied_server_answers_as_without(tmp_path: Path) -> None:
    (tmp_path / "off.json").write_text(json.dumps(CONFIG))
    direct = [sys.executable, str(ECHO)]
    proxied = [sys.executable, "-m", "shaping", "proxy", "--config", str(tmp_path / "off.json"), "--", *direct]

    async def seen(command: list[str], result: dict[str, Any]) -> dict[str, Any]:
        async with Client(StdioTransport(command[0], command[1:], keep_alive=False)) as client:
            done = await client.call_tool_mcp("mirror", {"result": result})
            wire: dict[str, Any] = done.model_dump(by_alias=True, exclude_none=True)
            return wire

    assert await seen(proxied, RESULT) == await seen(direct, RESULT)
    private = {"content": [{"type": "text", "text": json.dumps(ROW)}]}
    text = (await seen(proxied, private))["content"][0]["text"]
    assert json.loads(text) == KEPT


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    (tmp_path / "off.json").write_text(json.dumps({"tool_overrides": {"*": {"enabled": False, "max_items": 1}}}))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        whole = [sys.executable, "-m", "shaping", words[0], "--config", "off.json", *words[1:]]
        return subprocess.run(whole, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def test_a_command_prints_what_it_prints_and_exits_as_it_exits(command: Any) -> None:
    script = f"import sys; print('a\\n\\n\\n\\na\\na\\x1b[1mb\\n{TOKEN}'); print('no', file=sys.stderr); sys.exit(3)"
    done = command("run", "--", sys.executable, "-c", script)
    assert (done.stdout, done.stderr, done.returncode) == (
        "a\n\n\n\na\na\x1b[1mb\n[redacted:github-token]\n",
        "no\n",
        3,
    )


def test_a_document_is_printed_as_it_is(command: Any, tmp_path: Path) -> None:
    text = json.dumps(ROW, indent=8)
    (tmp_path / "row.json").write_text(text)
    assert command("shape", "row.json", "--tool", "rows").stdout == f"{text}\n"


def test_it_is_explained(command: Any) -> None:
    explained = command("explain", "--tool", "rows").stdout.splitlines()
    assert ["enabled", "tool", "override", "*", "(off.json:1)", "false"] in [line.split() for line in explained]
