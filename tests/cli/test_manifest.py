from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from shaping.cli.app import build
from shaping.cli.tools import our_manifest

RUNNER = CliRunner()


def manifest(*words: str) -> Any:
    return RUNNER.invoke(build(), ["manifest", *words])


def test_every_command_is_listed_with_its_flags_and_its_output() -> None:
    found = json.loads(manifest().stdout)
    assert found == our_manifest()
    commands = {command["name"]: command for command in found["commands"]}
    assert {"check", "expand", "explain", "init", "manifest", "profiles", "run", "shape", "wrap"} <= commands.keys()
    flags = {flag["name"] for flag in commands["run"]["flags"]}
    assert {
        "--tool", "--config", "--profile", "--dialect", "--max-tokens", "--timeout", "--etag", "--cursor", "--fields",
        "--stream", "--json",
    } <= flags  # fmt: skip
    assert commands["check"]["output"]["properties"]["files"] == {"type": "array", "items": {"type": "string"}}
    # Only the proxy has nothing to say to a program unless it fails.
    assert [name for name, command in commands.items() if command["output"] == {"type": "null"}] == ["proxy"]
    assert [name for name in commands if "--json" not in str(commands[name]["flags"])] == []
    assert found["exit_codes"]["125"] == "run: wrong options, or a fault of shaping"


def test_the_same_manifest_again_is_not_modified() -> None:
    told = json.loads(manifest("--json").stdout)
    assert told["data"]["etag"] == told["meta"]["etag"]
    again = json.loads(manifest("--json", "--etag", told["meta"]["etag"]).stdout)
    assert (again["ok"], again["data"], again["meta"]["not_modified"]) == (True, None, True)
    assert manifest("--etag", told["meta"]["etag"]).stdout == ""
