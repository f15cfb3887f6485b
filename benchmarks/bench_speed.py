"""How much time shaping adds: a decorated call, the compiled plan, the import; as ratios of one run.

.venv/bin/python benchmarks/bench_speed.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import orjson

from shaping import Shaper, shape
from shaping.paths import compile_fields

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = {"id": 7, "name": "widget", "price": 12.5, "in_stock": True, "note": None}
KEEP = ["items[].number", "items[].title", "items[].user.login", "items[].state"]


def issues(count: int) -> dict[str, Any]:
    """Make GitHub-like issues, about 3.5 KB each."""
    return {"items": [_issue(number) for number in range(count)]}


def _issue(number: int) -> dict[str, Any]:
    api = f"https://api.example.test/repos/acme/widgets/issues/{number}"
    user = {
        "login": f"user{number % 7}",
        "id": 1000 + number % 7,
        **{
            f"{kind}_url": f"{api}/{kind}"
            for kind in ("avatar", "html", "followers", "gists", "starred", "repos", "events")
        },
        "type": "User",
        "site_admin": False,
    }
    return {
        "url": api,
        **{f"{kind}_url": f"{api}/{kind}" for kind in ("repository", "labels", "comments", "events", "html")},
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
        "body": "Steps to reproduce: pull the handle. Expected: it turns. " * 20,
        "reactions": dict.fromkeys(("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"), 0),
    }


def median_us(call: Callable[[], Any], rounds: int = 2000) -> float:
    """Time a call; the median of many rounds, in microseconds."""
    times = []
    for _ in range(rounds):
        started = perf_counter_ns()
        call()
        times.append(perf_counter_ns() - started)
    return statistics.median(times) / 1000


def bench_decorated_call() -> None:
    def bare() -> dict[str, Any]:
        return SMALL

    shaped = shape(shaper=Shaper({}))(bare)
    for _ in range(200):
        shaped()
    base, full, dumps = median_us(bare, 5000), median_us(shaped, 5000), median_us(lambda: orjson.dumps(SMALL), 5000)
    print(f"decorated call, five keys     {full - base:8.2f} us added   (bar 20; orjson.dumps of it {dumps:.2f} us)")


def bench_plan() -> None:
    value = issues(30)
    size = len(orjson.dumps(value))
    plan = compile_fields(KEEP)
    base = median_us(lambda: orjson.dumps(value), 500)
    ours = median_us(lambda: orjson.dumps(plan.apply(value)), 500)
    kept = len(orjson.dumps(plan.apply(value)))
    print(
        f"plan and encoding, {size // 1000} KB     {ours / base:8.2f} x orjson.dumps "
        f"(bar 1.00; keeps {100 * kept // size}% of the bytes)"
    )


def bench_shape() -> None:
    value = issues(30)
    base = median_us(lambda: orjson.dumps(value), 300)
    config = {"tool_overrides": {"list": {"include_only": KEEP}}}
    for label, shaper, tool in (("a field list", Shaper(config), "list"), ("no config", Shaper({}), "any")):
        ours = median_us(lambda: shaper.shape(value, tool=tool).text, 100)  # noqa: B023 (called at once)
        print(f"Shaper.shape(...).text, {label:12s}{ours / base:8.2f} x orjson.dumps")


def bench_import() -> None:
    ratio = statistics.median(_import_time("shaping") / _import_time("pydantic, pydantic.main") for _ in range(7))
    print(f"import shaping                {ratio:8.2f} x import pydantic (bar 1.40)")


def _import_time(names: str) -> float:
    code = f"from time import perf_counter_ns as t; s = t(); import {names}; print(t() - s)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # no config is found here
    print(f"Python {sys.version.split()[0]}, orjson {orjson.__version__}; medians of one run on this machine")
    bench_decorated_call()
    bench_plan()
    bench_shape()
    bench_import()
