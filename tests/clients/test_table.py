from __future__ import annotations

from typing import Any

import pytest

from shaping.clients import KnownClient, find_client, known_clients
from shaping.tokens.sampling import LENGTHS


@pytest.mark.parametrize(
    ("client", "channel"),
    [
        ("claude-code", "structured"),
        ("claude-code@2.1.280", "structured"),
        ({"name": "claude-code", "version": "2.0.20"}, "content"),
        ({"name": "codex-mcp-client", "version": "0.154.0"}, "structured"),
        ({"name": "Visual Studio Code", "version": "1.120.0"}, "structured"),
        ({"name": "codex-mcp-client", "version": "0.23.0"}, "content"),
        ({"name": "opencode", "version": "1.0.0"}, "content"),
        ({"name": "opencode", "version": "1.17.5"}, "structured"),
        ({"name": "opencode", "version": "1.17.12"}, "content"),
        ({"name": "claude-ai", "version": "0.1.0"}, "content"),
        ({"name": "claude-ai (via mcp-remote 0.1.37)", "version": "0.1.0"}, "content"),
        ({"name": "claude-code (via mcp-remote 0.1.37)", "version": "2.1.0"}, "structured"),
        ({"name": "gemini-cli-mcp-client-files", "version": "0.0.1"}, "content"),
        ({"name": "@n8n/n8n-nodes-langchain.mcpClientTool", "version": "1.2"}, "structured"),
        ("@librechat/api-client", "content"),
        ("@librechat/api-client@1.2.3", "content"),
        ({"name": "cursor-vscode", "version": "1.0.0"}, None),
        ({"name": "github-copilot-developer", "version": "1.0.57-3"}, "both"),
        ({"name": "mcp", "version": "0.1.0"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_a_client_is_known_by_its_name_and_version(client: Any, channel: str | None) -> None:
    assert find_client(client).reads == channel


def test_a_name_is_known_in_any_case() -> None:
    assert find_client("Claude-Code").reads == "structured"


@pytest.mark.parametrize(
    ("version", "is_new"),
    [
        ("2.0.21", True),
        ("2.0.21-beta.1", True),
        ("2.1", True),
        ("2.0.20+build.9", False),
        ("2", False),
        ("", True),
    ],
)
def test_a_version_bound_divides_a_clients_past_from_its_present(version: str, is_new: bool) -> None:
    new, old = KnownClient(names=("agent",), since="2.0.21"), KnownClient(names=("Agent",), before="2.0.21")
    assert (new.is_of("agent", version), old.is_of("agent", version)) == (is_new, not is_new)


def test_every_entry_says_where_it_is_known_from() -> None:
    assert [entry.client for entry in known_clients() if not entry.source or not entry.names] == []


def test_no_two_entries_tell_different_things_of_the_same_client() -> None:
    told: dict[tuple[str, str, str], set[str | None]] = {}
    for entry in known_clients():
        for name in entry.names:
            told.setdefault((name.casefold(), entry.since, entry.before), set()).add(entry.reads)
    assert {key: reads for key, reads in told.items() if len(reads) > 1} == {}


@pytest.mark.parametrize(
    ("client", "text", "shown"),
    [
        (KnownClient(), "x" * 100, "x" * 100),
        (KnownClient(limit={"chars": 10}), "0123456789", "0123456789"),
        (KnownClient(limit={"chars": 10}), "0123456789abc", "0123456789"),
        (KnownClient(limit={"bytes": 5}), "ääää", "ää"),
        (KnownClient(limit={"lines": 2}), "a\nb\nc", "a\nb"),
        (KnownClient(limit={"bytes": 5}, whole_lines=True), "a\nbb\nc", "a\nbb"),
        (KnownClient(limit={"bytes": 6}, whole_lines=True), "a\nbb\ncccc", "a\nbb"),
        (KnownClient(limit={"bytes": 5}, whole_lines=True), "one long line", ""),
        (KnownClient(limit={"chars": 10}, shown_over_limit=3), "0123456789abc", "012"),
        (KnownClient(limit={"chars": 10}, shown_over_limit=0), "0123456789abc", ""),
    ],
)
def test_a_client_shows_of_a_large_result_what_its_limit_leaves(client: KnownClient, text: str, shown: str) -> None:
    assert client.shown_within_limit({"content": [{"type": "text", "text": text}]}) == shown


def test_every_limit_is_in_a_unit_that_is_kept_to() -> None:
    limits = [limit for entry in known_clients() for limit in (entry.limit, entry.tool_meta_limit)]
    assert {unit for limit in limits for unit in limit} <= {*LENGTHS, "tokens"}


@pytest.mark.parametrize(("text", "fits"), [("7 " * 9, True), ("7 " * 60, False), ("word" * 9, True)])
def test_a_limit_in_tokens_is_kept_to_as_those_in_characters_are(text: str, fits: bool) -> None:
    client = KnownClient(limit={"tokens": 40}, shown_over_limit=3)
    result = {"content": [{"type": "text", "text": text}]}
    assert (client.excess(result) <= 1) is fits
    assert client.shown_within_limit(result) == (text if fits else text[:3])
