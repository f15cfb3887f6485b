"""Recordings: what stands on disk after calls through the proxy, a command, Python and several processes."""

from __future__ import annotations

import json
import multiprocessing
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport

from shaping import Recorder, Shaper, ShapingMiddleware
from shaping.learning.record import recordings
from shaping.tokens import exact

SERVER = Path(__file__).parents[1] / "servers" / "records_server.py"
SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" * 2


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in recordings(folder) for line in file.read_text().splitlines()]


@pytest.mark.anyio
async def test_the_proxy_records_each_call_in_a_file_of_its_server_tool_and_day(tmp_path: Path) -> None:
    command = ["-m", "shaping", "proxy", "--record", str(tmp_path / "traffic"), "--", sys.executable, str(SERVER)]
    async with Client(StdioTransport(sys.executable, command, keep_alive=False)) as client:
        await client.list_tools()
        raw = await client.call_tool("records", {"count": 40})
        await client.call_tool("fail", {}, raise_on_error=False)
    calls, defined = {}, {}
    for line in lines(tmp_path / "traffic"):
        if "tools" in line:
            defined[line["server"]] = [tool["name"] for tool in line["tools"]]
        else:
            calls[line["tool"]] = line
    assert defined == {"records": ["records", "data", "fail"]}
    assert sorted(calls) == ["fail", "records"]
    recorded = calls["records"]
    assert recorded["server"] == "records"
    assert recorded["arguments"] == {"count": 40}
    assert len(json.loads(recorded["result"]["content"][0]["text"])) == 40
    assert recorded["tokens_before"] > recorded["tokens_after"] > 0
    assert len(raw.content[0].text) < len(recorded["result"]["content"][0]["text"])
    assert calls["fail"]["result"]["isError"] is True
    names = {file.relative_to(tmp_path / "traffic").parts[0] for file in recordings(tmp_path / "traffic")}
    assert names == {"records"}
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in recordings(tmp_path / "traffic"))


@pytest.mark.anyio
async def test_a_middleware_records_without_secrets_and_private_fields_even_where_redaction_is_off(
    tmp_path: Path,
) -> None:
    server: FastMCP[Any] = FastMCP("accounts")

    @server.tool
    def account(token: str) -> dict[str, Any]:
        return {"name": "Ada", "key": SECRET, "password_hash": "x" * 40}

    config = {"global": {"redact": "off"}, "tool_overrides": {"account": {"private": ["password_hash"]}}}
    recorder = Recorder(tmp_path)
    server.add_middleware(ShapingMiddleware(config, recorder=recorder))
    async with Client(server) as client:
        await client.call_tool("account", {"token": SECRET})
    recorder.close()
    written = "".join(file.read_text() for file in recordings(tmp_path))
    assert "Ada" in written
    assert SECRET not in written
    assert "x" * 40 not in written


def test_a_command_is_recorded_with_its_arguments_and_its_exact_output(tmp_path: Path) -> None:
    script = "print('\\n'.join(f'line {n} of the output' for n in range(50)))"
    command = [sys.executable, "-m", "shaping", "run", "--record", str(tmp_path), "--", sys.executable, "-c", script]
    subprocess.run(command, check=True, capture_output=True)
    (recorded,) = lines(tmp_path)
    assert recorded["form"] == "text"
    assert recorded["arguments"] == {"argv": [sys.executable, "-c", script]}
    assert recorded["result"].splitlines()[49] == "line 49 of the output"


def test_a_shaper_records_the_value_as_it_was_when_the_call_was_made(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    value = {"items": [{"id": 1, "note": None}]}
    Shaper({}, recorder=recorder).shape(value, tool="search")
    value["items"].clear()
    recorder.close()
    (recorded,) = lines(tmp_path)
    assert recorded["tool"] == "search"
    assert recorded["result"] == {"items": [{"id": 1, "note": None}]}


def test_arguments_are_left_out_where_they_are_not_wanted(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, arguments=False)
    recorder.record(Shaper({}).plan("t"), {"content": []}, arguments={"q": "private words"})
    recorder.close()
    (recorded,) = lines(tmp_path)
    assert recorded["arguments"] is None


def _write(folder: Path, mark: str) -> None:
    recorder = Recorder(folder)
    plan = Shaper({}).plan("big")
    for number in range(40):
        recorder.record(plan, {"mark": f"{mark}-{number}", "text": "lorem ipsum " * 5_000}, form="value")
    recorder.close(30)


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(tmp_path, mark)) for mark in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    marks = {line["result"]["mark"] for line in lines(tmp_path)}
    assert marks == {f"{mark}-{number}" for mark in "abc" for number in range(40)}


def test_the_folder_holds_no_more_than_its_bound_and_loses_the_oldest_first(tmp_path: Path) -> None:
    old = tmp_path / "s" / "t.2026-01-01.jsonl"
    old.parent.mkdir()
    old.write_text("{}\n" * 20_000)
    (tmp_path / "notes.jsonl").write_text("mine\n" * 50_000)
    recorder = Recorder(tmp_path, max_bytes=100_000)
    plan = Shaper({}).plan("t")
    for number in range(30):
        recorder.record(plan, {"number": number, "text": "x y z " * 1_000}, form="value")
    recorder.flush()
    recorder.close()
    assert not old.exists()
    assert (tmp_path / "notes.jsonl").exists(), "a file that no recorder wrote is not ours to delete"
    assert sum(file.stat().st_size for file in recordings(tmp_path)) <= 110_000


@pytest.mark.parametrize("name", ["../../escape", "a/b", "git log", "", "..", "."])
def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    recorder = Recorder(tmp_path / "traffic")
    recorder.record(Shaper({}).plan(name or "x"), {"content": []}, server=name)
    recorder.close()
    (file,) = recordings(tmp_path / "traffic")
    assert file.resolve().is_relative_to((tmp_path / "traffic").resolve())
    assert [path.name for path in tmp_path.iterdir()] == ["traffic"]


@pytest.mark.parametrize(("rows", "sampled"), [(20, False), (4_000, True)])
def test_a_line_says_by_how_much_its_tokens_may_be_wrong_where_they_are_not_exact(
    tmp_path: Path, rows: int, *, sampled: bool
) -> None:
    text = "\n".join(f"{n * 7919 % 9973:x} was moved to shelf {n}" for n in range(rows))
    recorder = Recorder(tmp_path)
    recorder.record(Shaper({}).plan("moves"), text, form="text", before=lambda: text, after=lambda: text[:200])
    recorder.close()
    [line] = lines(tmp_path)
    assert ("tokens_error" in line) is sampled
    assert abs(line["tokens_before"] - exact(text)) <= line.get("tokens_error", 0)
