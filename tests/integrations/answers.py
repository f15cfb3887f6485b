"""The answer that every framework's test shapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

# What every framework's tests prove, and the test that proves it; `WITHOUT` says what a framework has not.
BARS = {
    "schema": "test_a_tools_parameters_are_unchanged",
    "text as over MCP": "test_the_model_reads_what_it_would_read_over_mcp",
    "sync and async": "test_an_asynchronous_call_reads_the_same",
    "error status": "test_a_failure_has_the_frameworks_own_status",
    "failure under `@shape`": "test_a_failure_under_the_decorator_is_told_in_the_frameworks_way",
    "control flow, objects": "test_control_flow_and_result_objects_pass",
    "pictures": "test_pictures_stay_pictures",
    "expand, SQL, search": "test_what_was_left_out_can_be_asked_for",
    "ledger": "test_a_call_is_entered_in_the_ledger",
}


def issues() -> list[dict[str, Any]]:
    """A list as an issue tracker's API gives it: many links, one record's author in every record."""
    return [
        {
            "url": f"https://api.example.com/repos/acme/widgets/issues/{number}",
            "comments_url": f"https://api.example.com/repos/acme/widgets/issues/{number}/comments",
            "html_url": f"https://example.com/acme/widgets/issues/{number}",
            "id": 9000 + number,
            "node_id": f"I_kwDOABCDEF{number:06}",
            "number": number,
            "title": f"Widget {number} turns the wrong way",
            "state": "open" if number % 3 else "closed",
            "user": {"login": "ada", "id": 7, "url": "https://api.example.com/users/ada", "type": "User"},
            "assignee": None,
            "labels": [],
        }
        for number in range(1, 31)
    ]


def ref_in(text: str) -> str:
    """Find the ref in a shaped text's note."""
    found = re.search(r"ref[= ](r_\w+)", text)
    assert found, text[-300:]
    return found.group(1)


def ask_in_every_way(ask: Callable[..., Any], text: str) -> None:
    """Ask a framework's expand tool for a path, in SQL and by a search."""
    ref = ref_in(text)
    assert "issues/1" in str(ask(ref=ref, path="[0].url"))
    assert "20" in str(ask(ref=ref, sql="SELECT count(*) AS n FROM items WHERE state = 'open'"))
    assert "issues/7" in str(ask(ref=ref, search="issues/7/comments"))
