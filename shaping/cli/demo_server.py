"""A small MCP server to try shaping on: issues as a forge's API gives them, made up and the same every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastmcp import FastMCP

_TITLES = (
    "Crash when the config file is empty",
    "Document the retry policy",
    "Slow start on Windows",
    "Support proxies that need a password",
    "Wrong exit code after a timeout",
    "Progress bar flickers in tmux",
    "Memory grows with every reconnect",
    "Release notes miss the breaking change",
)
_BODY = "Steps to reproduce:\n\n1. Start with the default settings.\n2. {}.\n\nExpected: no error. Seen with {}."
_PEOPLE = ("ada", "grace", "linus", "margaret", "dennis")
_LABELS = (("bug", "d73a4a"), ("documentation", "0075ca"), ("performance", "fbca04"), ("good first issue", "7057ff"))
_API = "https://forge.example/api/v3"
_REPO = f"{_API}/repos/acme/rocket"


def issues(count: int = 12) -> list[dict[str, Any]]:
    """List made-up issues, as wordy as real ones."""
    return [_issue(n) for n in range(1, count + 1)]


def _issue(n: int) -> dict[str, Any]:
    number = 4200 + n
    link = f"{_REPO}/issues/{number}"
    closed = n % 3 == 0
    return {
        "url": link,
        "repository_url": _REPO,
        "labels_url": f"{link}/labels{{/name}}",
        "comments_url": f"{link}/comments",
        "events_url": f"{link}/events",
        "html_url": f"https://forge.example/acme/rocket/issues/{number}",
        "id": 1_500_000_000 + n * 7919,
        "node_id": f"I_kwDOABCDEF5{n:08x}",
        "number": number,
        "title": _TITLES[n % len(_TITLES)],
        "user": _person(n),
        "labels": [_label(n), _label(n + 1)] if n % 2 else [],
        "state": "closed" if closed else "open",
        "locked": False,
        "assignee": _person(n + 2) if n % 4 == 0 else None,
        "assignees": [_person(n + 2)] if n % 4 == 0 else [],
        "milestone": None,
        "comments": n % 6,
        "created_at": f"2026-0{1 + n % 9}-1{n % 10}T08:00:00Z",
        "updated_at": f"2026-10-0{1 + n % 9}T09:30:00Z",
        "closed_at": f"2026-10-0{1 + n % 9}T09:30:00Z" if closed else None,
        "author_association": "CONTRIBUTOR" if n % 2 else "NONE",
        "active_lock_reason": None,
        "body": _BODY.format(_TITLES[n % len(_TITLES)].lower(), f"2.{n}.0"),
        "reactions": {"url": f"{link}/reactions", "total_count": 0, "+1": 0, "-1": 0, "laugh": 0, "heart": 0},
        "timeline_url": f"{link}/timeline",
        "performed_via_github_app": None,
        "state_reason": "completed" if closed else None,
    }


def _person(n: int) -> dict[str, Any]:
    login = _PEOPLE[n % len(_PEOPLE)]
    link = f"{_API}/users/{login}"
    return {
        "login": login,
        "id": 1000 + n % len(_PEOPLE),
        "node_id": f"MDQ6VXNlcj{n % len(_PEOPLE):06d}",
        "avatar_url": f"https://avatars.forge.example/u/{1000 + n % len(_PEOPLE)}?v=4",
        "gravatar_id": "",
        "url": link,
        "html_url": f"https://forge.example/{login}",
        "followers_url": f"{link}/followers",
        "following_url": f"{link}/following{{/other_user}}",
        "gists_url": f"{link}/gists{{/gist_id}}",
        "starred_url": f"{link}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{link}/subscriptions",
        "organizations_url": f"{link}/orgs",
        "repos_url": f"{link}/repos",
        "events_url": f"{link}/events{{/privacy}}",
        "received_events_url": f"{link}/received_events",
        "type": "User",
        "site_admin": False,
    }


def _label(n: int) -> dict[str, Any]:
    name, color = _LABELS[n % len(_LABELS)]
    return {
        "id": 300 + n % len(_LABELS),
        "node_id": f"LA_kwDOABCDEF{n % len(_LABELS)}",
        "url": f"{_REPO}/labels/{name}",
        "name": name,
        "color": color,
        "default": True,
        "description": None,
    }


def make_server() -> FastMCP[Any]:
    """Make a server with one tool."""
    from fastmcp import FastMCP  # noqa: PLC0415 (an extra)

    server: FastMCP[Any] = FastMCP("forge")

    @server.tool
    def list_issues(count: int = 12) -> dict[str, Any]:
        """List the repository's issues, newest first."""
        return {"total_count": count, "incomplete_results": False, "items": issues(count)}

    return server


if __name__ == "__main__":
    make_server().run(show_banner=False, log_level="CRITICAL")
