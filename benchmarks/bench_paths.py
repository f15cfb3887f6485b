"""What filtering by paths costs, as a multiple of `orjson.dumps` of the unfiltered value in the same run.

    python benchmarks/bench_paths.py

The payload is made here: 30 issues as GitHub's REST API writes them, about 100 KB, from a fixed seed, and read back by
`orjson.loads`, as a tool would have got it. Best of many rounds, all cases in turn in each round, so that a busy
machine slows them alike. "keep" is the share of the leaves that stays. Ratios depend on the payload's texture: long
strings make the baseline cheap, many small objects make it dear.
"""

from __future__ import annotations

import platform
import random
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from shaping.paths import compile_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from shaping.paths import FieldPlan

API = "https://api.github.com"
WORDS = ["parser", "fails", "when", "config", "holds", "tabs", "reader", "was", "started", "before", "reload", "log"]
USER_LINKS = (
    ("followers", ""),
    ("following", "{/other_user}"),
    ("gists", "{/gist_id}"),
    ("starred", "{/owner}{/repo}"),
    ("subscriptions", ""),
    ("organizations", ""),
    ("repos", ""),
    ("events", "{/privacy}"),
    ("received_events", ""),
)


def user(chance: random.Random) -> dict[str, Any]:
    login = f"dev-{chance.randrange(900)}"
    home = f"{API}/users/{login}"
    links = {f"{name}_url": f"{home}/{name}{tail}" for name, tail in USER_LINKS}
    return {
        "login": login,
        "id": chance.randrange(10**8),
        "node_id": f"MDQ6VXNlcj{chance.randrange(10**8)}",
        "avatar_url": f"https://avatars.githubusercontent.com/u/{chance.randrange(10**8)}?v=4",
        "gravatar_id": "",
        "url": home,
        "html_url": f"https://github.com/{login}",
        **links,
        "type": "User",
        "user_view_type": "public",
        "site_admin": False,
    }


def label(chance: random.Random, repo: str) -> dict[str, Any]:
    name = chance.choice(["bug", "docs", "good first issue", "windows", "needs: triage"])
    return {
        "id": chance.randrange(10**10),
        "node_id": f"LA_kwDO{chance.randrange(10**10)}",
        "url": f"{repo}/labels/{name}",
        "name": name,
        "color": f"{chance.randrange(16**6):06x}",
        "default": name == "bug",
        "description": None if name == "docs" else f"About {name}",
    }


def body(chance: random.Random) -> str:
    lines = [" ".join(chance.choices(WORDS, k=chance.randint(4, 12))) for _ in range(chance.randint(3, 9))]
    return "### Steps\r\n\r\n" + "\r\n".join(f'- "{line}" \u2192 `{line[:8]}`' for line in lines)


def issue(chance: random.Random, number: int) -> dict[str, Any]:
    repo = f"{API}/repos/acme/rocket"
    here = f"{repo}/issues/{number}"
    votes = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    return {
        "url": here,
        "repository_url": repo,
        "labels_url": f"{here}/labels{{/name}}",
        "comments_url": f"{here}/comments",
        "events_url": f"{here}/events",
        "html_url": f"https://github.com/acme/rocket/issues/{number}",
        "id": chance.randrange(10**10),
        "node_id": f"I_kwDO{chance.randrange(10**10)}",
        "number": number,
        "title": " ".join(chance.choices(WORDS, k=7)),
        "user": user(chance),
        "labels": [label(chance, repo) for _ in range(chance.randint(0, 2))],
        "state": "open",
        "locked": False,
        "assignee": None if chance.random() < 0.5 else user(chance),
        "assignees": [user(chance) for _ in range(chance.randint(0, 1))],
        "milestone": None,
        "comments": chance.randrange(20),
        "created_at": "2026-10-01T08:15:00Z",
        "updated_at": "2026-11-02T17:40:12Z",
        "closed_at": None,
        "author_association": "CONTRIBUTOR",
        "active_lock_reason": None,
        "body": body(chance),
        "reactions": {"url": f"{here}/reactions", "total_count": 0, **dict.fromkeys(votes, 0)},
        "timeline_url": f"{here}/timeline",
        "performed_via_github_app": None,
        "state_reason": None,
    }


def payload() -> list[dict[str, Any]]:
    chance = random.Random(20261116)  # noqa: S311 - the same payload every time
    made: list[dict[str, Any]] = orjson.loads(orjson.dumps([issue(chance, 4000 - at) for at in range(30)]))
    return made


PLANS: dict[str, FieldPlan] = {
    "include, keep 10%": compile_fields(
        ["number", "title", "state", "comments", "created_at", "user.login", "labels[].name"]
    ),
    "include, keep 50%": compile_fields(["*", "user", "labels"], ["assignee", "assignees", "reactions", "user.*_url"]),
    "exclude, keep 90%": compile_fields(exclude=["reactions", "node_id", "user.node_id", "labels[].node_id"]),
    "exclude **.url": compile_fields(exclude=["**.url"]),
    "exclude **.*_url": compile_fields(exclude=["**.*_url"]),
    "include **.login": compile_fields(["**.login"]),
    "rename two, keep all": compile_fields(rename={"user.login": "author", "html_url": "link"}),
}
FIVE = {"id": 7, "name": "x", "tags": ["a"], "owner": {"login": "ann", "id": 1}, "ok": True}


def leaves(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(leaves, value.values() if isinstance(value, dict) else value))
    return 1


def best(cases: list[Callable[[], Any]], rounds: int = 60, calls: int = 20) -> list[float]:
    """Give the best time of each case in microseconds, all cases taking turns."""
    found = [float("inf")] * len(cases)
    for _ in range(rounds):
        for at, case in enumerate(cases):
            start = time.perf_counter()
            for _ in range(calls):
                case()
            found[at] = min(found[at], (time.perf_counter() - start) / calls * 1e6)
    return found


def write(plan: FieldPlan, value: Any) -> bytes:
    return orjson.dumps(plan.apply(value))


def main() -> None:
    value = payload()
    size, count = len(orjson.dumps(value)), leaves(value)
    print(f"Python {platform.python_version()}, orjson {orjson.__version__}, {size} bytes, {count} leaves")
    base, *times = best([partial(orjson.dumps, value), *(partial(write, plan, value) for plan in PLANS.values())])
    print(f"orjson.dumps of all of it: {base:.0f} us\n\n{'plan':24}{'keep':>6}{'apply + dumps':>16}{'ratio':>8}")
    for (name, plan), took in zip(PLANS.items(), times, strict=True):
        print(f"{name:24}{leaves(plan.apply(value)) / count:6.0%}{took:13.0f} us{took / base:8.2f}")
    five = compile_fields(["id", "name", "owner.login"])
    small, record, compiling = best(
        [
            lambda: five.apply(FIVE),
            lambda: PLANS["include, keep 10%"].left_out(value),
            lambda: compile_fields(["number", "title", "user.login", "labels[].name"], ["**.url"]),
        ]
    )
    print(f"\nfive-key dict, apply: {small:.2f} us\nleft_out of the 10% plan: {record:.0f} us")
    print(f"compile: {compiling:.0f} us")
    start = time.perf_counter()
    fresh = compile_fields(["number", "title", "state", "comments", "created_at", "user.login", "labels[].name"])
    for _ in range(3):
        fresh.apply(value)
    print(f"compile and learn the rows of the payload: {(time.perf_counter() - start) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
