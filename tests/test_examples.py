"""Every example does what its first line says."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError

from shaping.clients.config_files import CLIENTS

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def run(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=cwd)


def shaping(*words: str, cwd: Path = ROOT) -> str:
    done = run("-m", "shaping", *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def call(script: str, arguments: dict[str, str]) -> str:
    async with Client(StdioTransport(sys.executable, [str(EXAMPLES / script)])) as client:
        return str((await client.call_tool("list_users", arguments)).content[0].text)


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    assert [path.name for path in EXAMPLES.iterdir() if f"({path.name}" not in listed] == ["README.md"]


def test_a_decorated_function_shows_what_was_left_out() -> None:
    printed = run("examples/decorated.py").stdout
    assert "salary'" not in printed
    assert "2 x [].avatar_url: fields" in printed
    assert "2 x [].salary: private" in printed


@pytest.mark.parametrize("script", ["fastmcp_server.py", "sdk_server.py"])
def test_a_server_answers_shaped(script: str) -> None:
    text = asyncio.run(call(script, {"team": "core"}))
    assert "30,user 30" in text
    assert "img.example.com" not in text


def test_a_servers_failure_is_coded() -> None:
    with pytest.raises(ToolError, match="NOT_FOUND"):
        asyncio.run(call("fastmcp_server.py", {"team": "none"}))


def test_a_command_answers_with_an_envelope() -> None:
    listed = run("examples/typer_app.py", "list", "--output", "json", "--fields", "name")
    assert json.loads(listed.stdout)["data"] == [{"name": "ada"}, {"name": "bob"}]
    assert run("examples/typer_app.py", "show", "9").returncode == 5


def test_a_code_of_ones_own_is_interpreted() -> None:
    assert "an agent should: retry" in run("examples/plugin_codes.py").stdout


def test_a_profile_of_ones_own_decides() -> None:
    place = EXAMPLES / "custom_profile"
    assert "is good" in shaping("check", str(place / "response_config.json"))
    assert "profiles/night.json:4" in shaping("explain", "--tool", "x", cwd=place)


def test_an_http_api_is_listed_with_its_cost() -> None:
    assert "listPets" in shaping("serve", "--openapi", "examples/openapi/pets.json", "--list")


@pytest.mark.parametrize("file", ["mcpServers.json", "vscode.json", "codex.toml", "opencode.json", "zed.json"])
def test_a_clients_file_has_the_proxy_in_front_of_its_server(file: str, tmp_path: Path) -> None:
    text = (EXAMPLES / "clients" / file).read_text()
    (tmp_path / file).write_text(text)
    assert "shaping" in text
    shaping("unwrap", file, cwd=tmp_path)
    assert "shaping" not in (tmp_path / file).read_text()


def test_every_client_has_its_example() -> None:
    listed = (EXAMPLES / "clients" / "README.md").read_text()
    assert [name for name in CLIENTS if f"`{name}`" not in listed] == []
    assert [path.name for path in (EXAMPLES / "clients").iterdir() if f"({path.name}" not in listed] == ["README.md"]


def test_a_contract_is_kept_by_its_config_and_broken_by_another(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "contracts", tmp_path / "contracts")
    assert run(str(tmp_path / "contracts" / "make_traffic.py")).returncode == 0
    config, traffic = tmp_path / "contracts" / "response_config.json", tmp_path / "contracts" / "traffic"
    assert "2 answers compared, 0 contracts not kept" in shaping("check", str(config), "--traffic", str(traffic))
    config.write_text(config.read_text().replace("**.node_id", "**.login"))
    broken = run("-m", "shaping", "check", str(config), "--traffic", str(traffic))
    assert (broken.returncode, "'Who opened it?'" in broken.stderr) == (1, True)
