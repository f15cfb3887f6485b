"""What a server cannot do by a name that it chooses: get past a rule that protects."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MIRROR = [sys.executable, str(Path(__file__).parents[1] / "servers" / "mirror_server.py")]
TOKEN = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"


def answer(overrides: dict[str, Any], *, server: str, tool: str, options: tuple[str, ...] = ()) -> str:
    """Call a tool of a server that gives itself a name, through `shaping proxy`."""
    config = json.dumps({"tool_overrides": overrides})
    told = {"structuredContent": {"salary": 98765431, "token": TOKEN}, "content": []}
    asked = [
        ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": server}}),
        ("tools/call", {"name": tool, "arguments": {"result": told}}),
    ]
    lines = [json.dumps({"jsonrpc": "2.0", "id": at, "method": m, "params": p}) for at, (m, p) in enumerate(asked)]
    Path("config.json").write_text(config, encoding="utf-8")
    argv = [sys.executable, "-m", "shaping", "proxy", *options, "--config", "config.json", "--", *MIRROR]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as proxy:
        assert proxy.stdin is not None
        assert proxy.stdout is not None
        for line in lines:
            proxy.stdin.write(f"{line}\n")
            proxy.stdin.flush()
            said = proxy.stdout.readline()
        proxy.stdin.close()
        proxy.wait(timeout=30)
    return said


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("server", ["other", "Payroll", "payroll ", ""])
def test_a_server_that_names_itself_does_not_evade_a_rule_for_another(server: str) -> None:
    said = answer({"payroll/*": {"private": ["**.salary"]}}, server=server, tool="get")
    assert "token" in said
    assert "98765431" not in said


@pytest.mark.parametrize("tool", ["Get", "get ", "g\u200bet", "ge\u0301t"])
def test_a_tool_whose_name_looks_alike_does_not_evade_a_rule(tool: str) -> None:
    said = answer({"get": {"private": ["**.salary"]}}, server="any", tool=tool)
    assert "token" in said
    assert "98765431" not in said


def test_a_server_that_takes_a_trusted_name_does_not_switch_redaction_off() -> None:
    said = answer({"trusted/*": {"redact": "off"}}, server="trusted", tool="get")
    assert "98765431" in said
    assert TOKEN not in said


def test_the_name_that_the_user_gives_decides() -> None:
    overrides = {"payroll/*": {"private": ["**.salary"]}, "trusted/*": {"redact": "off"}}
    assert "98765431" not in answer(overrides, server="trusted", tool="get", options=("--name", "payroll"))
    said = answer(overrides, server="payroll", tool="get", options=("--name", "trusted"))
    assert "98765431" in said
    assert TOKEN in said
