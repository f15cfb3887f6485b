from __future__ import annotations

import re

import pytest
from fastmcp import Client

from shaping.cli.app import build
from shaping.cli.demo import issues, make_server


def test_the_demo_shows_one_call_direct_and_under_each_profile(capfd: pytest.CaptureFixture[str]) -> None:
    build()(standalone_mode=False, args=["demo"])
    shown = capfd.readouterr().out
    found = re.findall(r"the (\S+, \S+) +([\d,]+) tokens", shown)
    costs = {name: int(cost.replace(",", "")) for name, cost in found}
    assert [*costs] == ["server, direct", "proxy, minimal", "proxy, standard", "proxy, debug"]
    assert costs["proxy, minimal"] < costs["proxy, standard"] < costs["server, direct"]
    assert "\n  (left out: " in shown
    assert "asks for items[0].user.url and gets https://forge.example/api/v3/users/grace" in shown
    closed = sum(issue["state"] == "closed" for issue in issues())
    assert f'"state":"closed","n":{closed}' in shown
    assert [line.split("  ")[1] for line in shown.splitlines()[-2:]] == [
        "shaping tools -- COMMAND",
        "shaping wrap --client claude-code",
    ]


@pytest.mark.anyio
async def test_the_demos_server_serves_them(anyio_backend_name: str) -> None:
    async with Client(make_server()) as client:
        result = await client.call_tool("list_issues", {"count": 2})
    assert result.structured_content == {"total_count": 2, "incomplete_results": False, "items": issues(2)}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_the_demos_issues_are_the_same_every_time() -> None:
    assert issues(3) == issues(3)
    assert [issue["number"] for issue in issues(3)] == [4201, 4202, 4203]
