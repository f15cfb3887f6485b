"""Transcripts that the real clients wrote, of one script: list records, then ask for two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shaping import Shaper
from shaping.learning.traffic import SHELL, Usage, used_values
from shaping.learning.transcripts import FORMATS, find_transcripts, read_claude, replay

if TYPE_CHECKING:
    from pathlib import Path

    from shaping.learning.traffic import Transcript

CLIENTS = ["Claude Code", "Codex", "Gemini CLI", "opencode"]
LINK = "https://api.example.com/records/4"


def transcript_of(home: Path, client: str) -> Transcript:
    read = [found for path in find_transcripts(home)[client] for found in FORMATS[client][0](path)]
    return next(found for found in read if any(call.tool == "rows" for call in found.calls))


@pytest.mark.parametrize("client", CLIENTS)
def test_each_clients_calls_are_read_with_server_arguments_and_the_text_that_its_model_read(
    home: Path, client: str
) -> None:
    calls = [call for call in transcript_of(home, client).calls if call.server == "lab"]
    assert [(call.tool, call.arguments) for call in calls] == [
        ("rows", {}),
        ("record", {"about": "record-00003"}),
        ("record", {"about": LINK}),
    ]
    data = calls[0].data()[0]
    records = data if isinstance(data, list) else data["result"]  # as it was shown
    assert [record["id"] for record in records] == list(range(6))
    assert [call.time for call in calls] == sorted(call.time for call in calls)


@pytest.mark.parametrize("client", CLIENTS)
def test_values_that_the_agent_used_later_are_found_and_those_that_shaping_drops_are_counted(
    home: Path, client: str
) -> None:
    found = transcript_of(home, client)
    usage = Usage()
    usage.add_transcript(found)
    first = next(call for call in found.calls if call.tool == "rows")
    assert used_values(first, usage.used(first)) == {"record-00003", LINK}
    rows = replay(Shaper({}), found.calls, usage)[("lab", "rows")]
    assert (rows.calls, rows.used, rows.missing) == (1, 2, {LINK: 1})
    assert 0 < rows.after < rows.before
    kept = replay(Shaper({"tool_overrides": {"rows": {"prune": {"links": False}}}}), found.calls, usage)
    assert kept[("lab", "rows")].missing == {}


def test_what_the_user_had_said_before_was_not_learned_from_the_tool(home: Path) -> None:
    found = transcript_of(home, "Claude Code")
    usage = Usage()
    usage.add_transcript(found)
    first = next(call for call in found.calls if call.tool == "rows")
    usage.first[first.session]["record-00003"] = first.time - 1
    assert used_values(first, usage.used(first)) == {LINK}


def test_commands_of_a_clients_shell_are_read_under_the_program_that_they_run(home: Path) -> None:
    read = [found for path in find_transcripts(home)["Claude Code"] for found in read_claude(path)]
    shell = [call for found in read for call in found.calls if call.server == SHELL]
    assert shell
    assert all(call.form == "text" and isinstance(call.result, str) for call in shell)


def test_a_torn_line_costs_only_itself(home: Path) -> None:
    path = next(path for path in find_transcripts(home)["Claude Code"] if path.name == "session.jsonl")
    whole = len(next(iter(read_claude(path))).calls)
    path.write_text(path.read_text() + '{"type": "assistant", "message": {"content": [{"type": "tool_use", "id"\n')
    assert len(next(iter(read_claude(path))).calls) == whole
