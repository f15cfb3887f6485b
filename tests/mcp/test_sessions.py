from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mcp.server.connection import Connection, NotifyOnlyOutbound

from shaping import using
from shaping.mcp import sessions as module
from shaping.mcp.mcp_shaper import MCPShaper
from shaping.mcp.sessions import Sessions, ToolRequest
from shaping.shaper import Shaper


def request(name: str = "claude-code", **options: Any) -> Any:
    """A request of the newer protocol, whose connection lives no longer than itself."""
    info = {"name": name, "version": "2.1.0"}
    connection = Connection.from_envelope("2026-07-28", info, {}, **options)
    return SimpleNamespace(_connection=connection, client_params=connection.client_params)


def test_a_client_without_a_session_is_known_by_its_name_while_it_keeps_calling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded_config, sessions = Shaper({}).loaded_config, Sessions()
    first = sessions.of(request(), loaded_config)
    assert sessions.of(request(), loaded_config) is first
    assert sessions.of(request("other"), loaded_config) is not first
    assert (first.client.reads, first.owner) == ("structured", None)
    monkeypatch.setattr(module, "_IDLE_SECONDS", -1.0)
    assert sessions.of(request(), loaded_config) is not first


def test_a_pipe_is_one_session_however_many_connections_are_made_on_it() -> None:
    loaded_config, sessions, pipe = Shaper({}).loaded_config, Sessions(), NotifyOnlyOutbound(SimpleNamespace())
    first = sessions.of(request(outbound=pipe), loaded_config)
    assert sessions.of(request(outbound=pipe), loaded_config) is first
    assert first.owner


def test_only_so_many_clients_without_sessions_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_NAMED", 2)
    loaded_config, sessions = Shaper({}).loaded_config, Sessions()
    for name in ("a", "b", "c"):
        sessions.of(request(name), loaded_config)
    assert len(sessions._named) == 2


def test_a_request_without_a_connection_belongs_to_nobody_in_particular() -> None:
    assert Sessions().of(SimpleNamespace(), Shaper({}).loaded_config).client_info is None


def test_a_block_in_the_program_outranks_the_config() -> None:
    adapter = MCPShaper(Shaper({}))
    with using(profile="debug", max_items=3):
        plan, warnings = adapter._plan(adapter.shaper.loaded_config, ToolRequest("t", ""))
    assert (plan.profile, plan.max_items, warnings) == ("debug", 3, ())


@pytest.mark.parametrize(
    ("control", "fields"),
    [({"fields": "a, b"}, ("a", "b")), ({"fields": ["a"]}, ("a",)), ({"fields": 3}, ("3",)), ("wrong", None)],
)
def test_an_agents_wishes_are_read_in_any_form(control: Any, fields: tuple[str, ...] | None) -> None:
    adapter = MCPShaper(Shaper({"agent_controls": True}))
    session = adapter.sessions.of(SimpleNamespace(), adapter.shaper.loaded_config)
    params, wishes = adapter.take_call(session, {"arguments": {"q": 1, "_shape": control}}, "")
    assert params == {"arguments": {"q": 1}}
    assert (wishes.overrides.fields if wishes.overrides else None) == fields


@pytest.mark.parametrize("tool", ["hidden", "shaping_expand"])
def test_a_call_that_was_taken_for_ours_is_answered_whatever_changes_meanwhile(tool: str) -> None:
    environ: dict[str, str] = {}
    adapter = MCPShaper(Shaper({"tools": {"hidden": {"drop": True}}}, environ=environ))
    session = adapter.sessions.of(SimpleNamespace(), adapter.shaper.loaded_config)
    _, called = adapter.take_call(session, {"name": tool, "arguments": {"ref": "r_x"}}, "")
    assert adapter.is_own(session, called)
    environ["SHAPING"] = "off"
    answer = adapter.own_answer(session, called)
    assert answer["isError"] is True
    assert answer["content"][0]["text"]
