"""Values that benchmarks of speed share, made up here: GitHub-like issues and wide tables."""

from __future__ import annotations

from typing import Any

_USER_LINKS = ("avatar", "html", "followers", "gists", "starred", "repos", "events")
_LINKS = ("repository", "labels", "comments", "events", "html")
_REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def issues(count: int) -> dict[str, Any]:
    """Make GitHub-like issues of about 2.9 KB each."""
    return {"items": [_issue(number) for number in range(count)]}


def _issue(number: int) -> dict[str, Any]:
    api = f"https://api.example.test/repos/acme/widgets/issues/{number}"
    user = {
        "login": f"user{number % 7}",
        "id": 1000 + number % 7,
        **{f"{kind}_url": f"{api}/{kind}" for kind in _USER_LINKS},
        "type": "User",
        "site_admin": False,
    }
    return {
        "url": api,
        **{f"{kind}_url": f"{api}/{kind}" for kind in _LINKS},
        "id": 5_000_000 + number,
        "number": number,
        "title": f"Widget {number} does not turn when the handle is pulled",
        "user": user,
        "labels": [{"id": 9, "name": "bug", "color": "d73a4a", "description": "Something is not working"}],
        "state": "open",
        "assignee": None,
        "milestone": None,
        "comments": number % 5,
        "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-02-03T04:05:06Z",
        "body": f"{number}: " + "Steps to reproduce: pull the handle. Expected: it turns. " * 20,
        "reactions": dict.fromkeys(_REACTIONS, 0),
    }


def wide_table(count: int) -> list[dict[str, int]]:
    """Make a square table: so many records of so many members."""
    names = [f"c{column}" for column in range(count)]
    return [dict(zip(names, range(row, row + count), strict=True)) for row in range(count)]
