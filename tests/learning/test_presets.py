"""Presets for well-known servers: off unless asked for, found by the server's name, and they keep their contracts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks import corpus
from shaping import Shaper
from shaping.cli.app import build
from shaping.learning.traffic import ToolCall, read_file, traffic_files
from shaping.learning.traffic_check import check_call
from shaping.settings.loading import load
from shaping.settings.sources import server_presets
from shaping.tokens import exact

RECORDED = Path(__file__).parent / "recorded" / "presets.2026-11-17.jsonl.gz"
PRESETS = {Path(document.file).stem: document for document in server_presets()}


def test_each_preset_is_a_config_that_loads() -> None:
    asked = "github gitlab playwright atlassian slack notion grafana sentry kubernetes postgres"
    assert {*asked.split()} <= PRESETS.keys()
    for document in PRESETS.values():
        config = {key: value for key, value in document.data.items() if key != "servers"}
        load(config)
        assert document.data["servers"]
        for rules in document.choices("tool_overrides").values():
            assert rules["answers"], "a preset without contracts could take anything"


def recorded(name: str) -> list[ToolCall]:
    """The calls of a preset's tools: of a second run of its server, and those that the corpora have."""
    tools = PRESETS[name].choices("tool_overrides")
    read = (one for path in traffic_files(RECORDED) for one in read_file(path))
    calls = [call for call in read if isinstance(call, ToolCall) and call.server == name]
    found = {call.tool for call in calls}
    folders = (corpus.PAYLOADS, corpus.MORE) if corpus.PAYLOADS.exists() else ()
    payloads = (payload for folder in folders for payload in corpus.payloads(folder))
    more = [one for one in payloads if one.tool in tools and one.tool not in found]
    return [*calls, *(ToolCall(one.tool, one.result, server=name) for one in more)]


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_keeps_its_contracts_on_other_data_than_it_was_made_from_and_costs_no_more(name: str) -> None:
    calls = recorded(name)
    if not calls and name in {"azure-devops", "pagerduty", "trello"}:
        pytest.skip("it was made from the corpora, which are not beside this checkout")
    tools = PRESETS[name].choices("tool_overrides")
    assert calls
    answers = {tool: {"answers": rules["answers"]} for tool, rules in tools.items()}
    for call in calls:
        ruled, plain = (
            check_call(Shaper({"presets": on, "tool_overrides": answers}, watch=False), call) for on in (True, False)
        )
        assert ruled.asked
        # What the profile itself leaves out of an answer is not the preset's doing; it may only take less.
        assert {key[:2] for key in ruled.failures} <= {key[:2] for key in plain.failures}
        if "prune" not in tools[call.tool]:  # one that keeps a link that a question asks for costs its tokens
            read = [exact(call.text_after(Shaper({"presets": on}, watch=False))) for on in (True, False)]
            assert read[0] <= read[1]


# The profile itself writes a snapshot's row in one line, which leaves little to the preset.
@pytest.mark.parametrize(
    ("name", "least"), [("github", 0.2), ("slack", 0.3), ("notion", 0.25), ("kubernetes", 0.5), ("playwright", 0.05)]
)
def test_a_preset_saves_on_top_of_the_profile(name: str, least: float) -> None:
    after, before = (
        sum(exact(call.text_after(Shaper({"presets": on}, watch=False))) for call in recorded(name))
        for on in (True, False)
    )
    assert after <= (1 - least) * before


def test_presets_apply_only_where_the_config_says_so_and_to_servers_of_that_name() -> None:
    def excluded(config: dict[str, Any], tool: str) -> tuple[str, ...]:
        fields = load(config).plan(tool, surface="mcp").fields
        return () if fields is None else fields.exclude

    assert "jobs[].url" in excluded({"presets": True}, "github-mcp-server/list_workflow_jobs")
    assert "jobs[].url" in excluded({"presets": True}, "github/github_list_workflow_jobs"), "a proxy renamed it"
    assert excluded({"presets": True}, "tracker/list_workflow_jobs") == ()
    assert excluded({}, "github-mcp-server/list_workflow_jobs") == ()
    own = {"presets": True, "tool_overrides": {"list_workflow_jobs": {"exclude_fields": ["body"]}}}
    assert excluded(own, "github/list_workflow_jobs") == ("body",), "a config outranks a preset"


def test_profiles_lists_the_presets_with_their_servers() -> None:
    shown = CliRunner().invoke(build(), ["profiles"]).stdout
    assert "preset github  for servers named github*: list_workflow_jobs, list_issues" in shown
    listed = json.loads(CliRunner().invoke(build(), ["profiles", "--json"]).stdout)
    assert {"minimal", "standard", "debug"} <= {one["name"] for one in listed["data"]}
