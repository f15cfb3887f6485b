"""The answer that every framework's test shapes."""

from __future__ import annotations

import re
from typing import Any


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
