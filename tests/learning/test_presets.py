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
from shaping.learning.contracts import check_call
from shaping.learning.replay import text_after
from shaping.learning.traffic import ToolCall
from shaping.settings import load
from shaping.settings.sources import server_presets
from shaping.tokens import exact

PRESETS = {Path(document.file).stem: document for document in server_presets()}


def test_each_preset_is_a_config_that_loads() -> None:
    assert {"github", "gitlab"} <= PRESETS.keys()
    for document in PRESETS.values():
        config = {key: value for key, value in document.data.items() if key != "servers"}
        load(config)
        assert document.data["servers"]
        for rules in document.choices("tool_overrides").values():
            assert rules["answers"], "a preset without contracts could take anything"


@pytest.mark.skipif(not corpus.PAYLOADS.exists(), reason="there are no corpora beside this checkout")
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_keeps_its_contracts_on_the_recording_it_was_made_from(name: str) -> None:
    tools = PRESETS[name].choices("tool_overrides")
    answers = {tool: {"answers": rules["answers"]} for tool, rules in tools.items()}
    payloads = [
        one for folder in (corpus.PAYLOADS, corpus.MORE) for one in corpus.payloads(folder) if one.tool in tools
    ]
    assert payloads
    for payload in payloads:
        call = ToolCall(payload.tool, payload.result, server=name)
        ruled, plain = (
            check_call(Shaper({"presets": on, "tool_overrides": answers}, watch=False), call) for on in (True, False)
        )
        assert ruled.asked
        # What the profile itself leaves out of an answer is not the preset's doing; it may only take less.
        assert {key[:2] for key in ruled.failures} <= {key[:2] for key in plain.failures}


def test_presets_apply_only_where_the_config_says_so_and_to_servers_of_that_name() -> None:
    def excluded(config: dict[str, Any], tool: str) -> tuple[str, ...]:
        fields = load(config).plan(tool, surface="mcp").fields
        return () if fields is None else fields.exclude

    assert "events_url" in excluded({"presets": True}, "github-mcp-server/list_issues")
    assert excluded({"presets": True}, "tracker/list_issues") == ()
    assert excluded({}, "github-mcp-server/list_issues") == ()
    own = {"presets": True, "tool_overrides": {"list_issues": {"exclude_fields": ["body"]}}}
    assert excluded(own, "github/list_issues") == ("body",), "a config outranks a preset"


def test_profiles_lists_the_presets_with_their_servers() -> None:
    shown = CliRunner().invoke(build(), ["profiles"]).stdout
    assert "preset github  for servers named github*: list_issues" in shown
    listed = json.loads(CliRunner().invoke(build(), ["profiles", "--json"]).stdout)
    assert {"minimal", "standard", "debug"} <= {one["name"] for one in listed["data"]}


@pytest.mark.skipif(not corpus.PAYLOADS.exists(), reason="there are no corpora beside this checkout")
def test_a_preset_never_costs_more_than_no_preset() -> None:
    for name, document in PRESETS.items():
        for folder in (corpus.PAYLOADS, corpus.MORE):
            for payload in corpus.payloads(folder):
                rules = document.choices("tool_overrides").get(payload.tool)
                if rules is None or "prune" in rules:  # one that keeps a link that a question asks for costs its tokens
                    continue
                call = ToolCall(payload.tool, payload.result, server=name)
                plain = exact(text_after(Shaper({}, watch=False), call))
                assert exact(text_after(Shaper({"presets": True}, watch=False), call)) <= plain
