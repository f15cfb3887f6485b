"""What whole calls cost: CPU time, and its ratio to `orjson.dumps` of the same value in the same run.

    python -m benchmarks.bench_calls [--quick] [--profile JOB] [--write] [sections]

Sections: jobs, inputs, small, middleware, steps, corpus, texts, scaling, peers; all of them where none is named.
`--quick` stops at 1 MB and leaves the peers out. `--profile standard` prints where the time of a job goes, by step and
by function. `--write` puts the tables into RESULTS.md, and `scaling` draws docs/scaling.svg. The proxy has a benchmark
of its own, `bench_proxy.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import json
import math
import os
import pstats
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jmespath
import orjson
from pydantic import BaseModel, ConfigDict

from benchmarks import corpus, texts
from benchmarks.results import markdown_table, write_section
from benchmarks.samples import issues, wide_table
from shaping import Shaper, shape
from shaping.budget.fit import fit_value
from shaping.cleaning import drop_empties, open_plain, quieten, redact_value, select_fields
from shaping.encoders import encode
from shaping.mcp.parts import read_result
from shaping.parsers import parse
from shaping.present import wrap, write
from shaping.present.original import members_missing
from shaping.tokens.counters import BpeCounter

if TYPE_CHECKING:
    from collections.abc import Callable

Rows = list[tuple[str, ...]]
Table = tuple[tuple[str, ...], Rows]

KEPT: Final = ["items[].number", "items[].title", "items[].user.login", "items[].state"]
QUERY: Final = "{items: items[].{number: number, title: title, user: {login: user.login}, state: state}}"
EXCLUDED: Final = ["**.url", "**.*_url"]
CONFIG: Final = {
    "tool_overrides": {
        "include": {"include_only": KEPT},
        "minimal": {"profile": "minimal"},
        "standard": {"profile": "standard"},
        "excludes": {"profile": "standard", "exclude_fields": EXCLUDED},
    }
}
JOBS: Final = {
    "include": "include 10% of the fields",
    "minimal": "minimal",
    "standard": "standard",
    "excludes": "standard with `**` excludes",
}
# Issues of about 2.9 KB, and what a job may cost there in multiples of `orjson.dumps`.
SIZES: Final = {"86 KB": 30, "870 KB": 300, "8.8 MB": 3_000}
BARS: Final = {
    ("include", "86 KB"): 1.5,
    ("include", "8.8 MB"): 3,
    ("minimal", "86 KB"): 45,
    ("minimal", "8.8 MB"): 35,
    ("standard", "86 KB"): 60,
    ("excludes", "86 KB"): 70,
    ("excludes", "8.8 MB"): 70,
}
CORPUS_BARS: Final = {"minimal": 2.1, "standard": 2.8}
SMALL_BAR: Final = 15  # microseconds of a decorated call
TEXT_BAR: Final = 30  # megabytes a second
TEXTS: Final = ("log", "access log", "traceback", "diff", "html", "markdown", "python")
SMALL: Final = {"id": 7, "name": "widget", "price": 12.5, "in_stock": True, "note": None}
# Where the time of a call goes.
STEPS: Final[dict[str, Callable[..., Any]]] = {
    "read the result": read_result,
    "parse a text": parse,
    "open": open_plain,
    "select": select_fields,
    "drop empties": drop_empties,
    "quieten": quieten,
    "redact": redact_value,
    "fit the budget": fit_value,
    "wrap": wrap,
    "write": write,
    "encode": encode,
    "count tokens": BpeCounter.exact,
    "what was left out": members_missing,
}


class User(BaseModel):
    """Who opened an issue."""

    model_config = ConfigDict(extra="allow")
    login: str


class Issue(BaseModel):
    """An issue as a tool that uses pydantic returns it."""

    model_config = ConfigDict(extra="allow")
    number: int
    title: str
    user: User


def cpu(call: Callable[[], Any], seconds: float = 0.5) -> float:
    """Return the CPU time of one call in microseconds, the best of many, because other work shares the machine."""
    call()
    gc.collect()
    repeat, best, end = 1, float("inf"), time.process_time() + seconds
    while time.process_time() < end or best == float("inf"):
        started = time.process_time()
        for _ in range(repeat):
            call()
        took = time.process_time() - started
        if took < 0.002:  # the clock is coarse beside calls this short
            repeat *= 2
            continue
        best = min(best, took / repeat)
    return best * 1e6


def shaper() -> Shaper:
    return Shaper(CONFIG, watch=False)


def run_jobs(*, quick: bool) -> Table:
    """Time each job on GitHub-like issues of each size."""
    ours = shaper()
    rows: Rows = []
    for size, count in SIZES.items():
        if quick and count > 300:
            continue
        value = issues(count)
        base = cpu(partial(orjson.dumps, value))
        for tool, job in JOBS.items():
            took = cpu(lambda: ours.shape(value, tool=tool).text, 1.0)  # noqa: B023 (called at once)
            rows.append((job, size, _time(took), f"{took / base:.1f}", _bar(BARS.get((tool, size)))))
        chosen = cpu(lambda: orjson.dumps(_by_hand(value)))  # noqa: B023 (called at once)
        rows.append(("include 10% by a comprehension", size, _time(chosen), f"{chosen / base:.1f}", ""))
        query = jmespath.compile(QUERY)
        asked = cpu(lambda: orjson.dumps(query.search(value)))  # noqa: B023 (called at once)
        rows.append(("include 10% by jmespath", size, _time(asked), f"{asked / base:.1f}", ""))
    return ("job", "value", "CPU", "x orjson.dumps", "bar"), rows


def _by_hand(value: dict[str, Any]) -> dict[str, Any]:
    return {
        "items": [
            {
                "number": one["number"],
                "title": one["title"],
                "user": {"login": one["user"]["login"]},
                "state": one["state"],
            }
            for one in value["items"]
        ]
    }


def run_inputs(*, quick: bool) -> Table:
    """Time the same issues as they come in: data, JSON text, an MCP result, models."""
    ours, value = shaper(), issues(30)
    rows: Rows = []
    text, models = orjson.dumps(value).decode(), [Issue(**one) for one in value["items"]]
    result = {"content": [{"type": "text", "text": text}], "structuredContent": value}
    calls: dict[str, Callable[[str], Any]] = {
        "Python data": lambda tool: ours.shape(value, tool=tool).text,
        "JSON text": lambda tool: ours.shape(text, tool=tool).text,
        "MCP result": lambda tool: ours.shape_result(result, tool=tool, channels="text"),
        "pydantic models": lambda tool: ours.shape({"items": models}, tool=tool).text,
    }
    base = cpu(lambda: orjson.dumps(value))
    for name, call in calls.items():
        for tool in ("minimal", "standard") if not quick else ("minimal",):
            took = cpu(partial(call, tool))
            rows.append((name, tool, _time(took), f"{took / base:.1f}"))
    return ("86 KB as", "profile", "CPU", "x orjson.dumps"), rows


def run_small(*, quick: bool) -> Table:
    """Time a decorated call that returns five members."""

    def bare() -> dict[str, Any]:
        return SMALL

    decorated = shape(shaper=Shaper({}, watch=False))(bare)
    text = shape(shaper=Shaper({}, watch=False), form="text")(bare)
    seconds = 0.3 if quick else 1.0
    added = {"data": cpu(decorated, seconds) - cpu(bare), "text": cpu(text, seconds) - cpu(bare)}
    rows: Rows = [(f"five members, {form}", f"{took:.1f} us", _bar(SMALL_BAR)) for form, took in added.items()]
    return ("decorated call", "CPU added", "bar (us)"), rows


def run_middleware(*, quick: bool) -> Table:
    """Time calls of a FastMCP server's tool by a client in the same process, without and with the middleware."""
    return asyncio.run(_middleware(quick=quick))


async def _middleware(*, quick: bool) -> Table:
    from fastmcp import Client, FastMCP  # noqa: PLC0415 (takes a second, which other sections need not wait for)

    from shaping.mcp.fastmcp import ShapingMiddleware  # noqa: PLC0415 (needs fastmcp)

    async def timed(value: Any, middleware: ShapingMiddleware | None) -> float:
        server = FastMCP("bench", middleware=[] if middleware is None else [middleware])
        server.tool(lambda: value, name="answer", output_schema=None)
        async with Client(server) as client:
            await client.call_tool("answer")
            best, end = float("inf"), time.process_time() + (0.2 if quick else 1.0)
            while time.process_time() < end:
                started = time.process_time()
                await client.call_tool("answer")
                best = min(best, time.process_time() - started)
        return best * 1e6

    rows: Rows = []
    for name, value in {"five members": SMALL, "86 KB": issues(30)}.items():
        bare = await timed(value, None)
        for profile in ("minimal", "standard"):
            took = await timed(value, ShapingMiddleware({"global": {"profile": profile}}))
            rows.append((name, profile, _time(bare), _time(took), f"{took / bare:.2f}"))
    return ("FastMCP tool returns", "profile", "CPU without", "CPU with the middleware", "ratio"), rows


def run_corpus(*, quick: bool) -> Table:
    """Time `shape_result` of each recorded result."""
    ours = shaper()
    rows: Rows = []
    sums = dict.fromkeys(("json.dumps", "minimal", "standard"), 0.0)
    payloads = corpus.payloads()
    for payload in payloads:
        took = {"json.dumps": cpu(partial(json.dumps, payload.result), 0.05)}
        for tool in CORPUS_BARS:
            call = partial(ours.shape_result, payload.result, tool=tool, channels="text")
            took[tool] = cpu(call, 0.1 if quick else 0.4)
        sums = {name: sums[name] + took[name] for name in sums}
        rows.append((payload.name, *(_time(took[name]) for name in sums)))
    means = {name: total / len(payloads) for name, total in sums.items()}
    rows.append(("**mean**", *(_time(means[name]) for name in sums)))
    rows.append(("bar", "", *(f"{bar} ms" for bar in CORPUS_BARS.values())))
    return ("recorded result", *sums), rows


def run_texts(*, quick: bool) -> Table:
    """Time texts: what comes out is the same text or the data in it."""
    ours = shaper()
    rows: Rows = []
    for name in TEXTS:
        text = texts.make(name, 1, 200_000 if quick else 1_000_000)
        result = {"content": [{"type": "text", "text": text}]}
        for tool in ("minimal", "standard"):
            took = cpu(partial(ours.shape_result, result, tool=tool, channels="text"), 0.3)
            rows.append((name, tool, _time(took), f"{len(text) / took:.1f}", _bar(TEXT_BAR)))
    return ("text", "profile", "CPU", "MB/s", "at least"), rows


def run_scaling(*, quick: bool) -> Table:
    """Time and memory from 1 KB to 100 MB, each in a process of its own."""
    rows: Rows = []
    lines: dict[str, list[tuple[float, float]]] = {**{job: [] for job in JOBS.values()}, "orjson.dumps": []}
    for count in (1, 3, 30, 300) if quick else (1, 3, 30, 300, 3_000, 35_000):
        for tool in JOBS:
            if count > 3_000 and tool not in {"include", "minimal"}:
                continue
            found = _apart("issues", tool, count)
            lines[JOBS[tool]].append((found["bytes"], found["cpu"]))
            if tool == "include":
                lines["orjson.dumps"].append((found["bytes"], found["base"]))
            rows.append((JOBS[tool], _size(found["bytes"]), _time(found["cpu"]), *_growth(found)))
    if not quick:
        CHART.write_text(draw_chart(lines), encoding="utf-8")
    wide = _apart("wide", "minimal", 500 if quick else 5_000)
    rows.append(("minimal, wide table", _size(wide["bytes"]), _time(wide["cpu"]), *_growth(wide)))
    return ("job", "value", "CPU", "x orjson.dumps", "peak memory x value", "peak"), rows


def _growth(found: dict[str, float]) -> tuple[str, ...]:
    small = found["value_kib"] < 2_000
    return (
        f"{found['cpu'] / found['base']:.1f}",
        "" if small else f"{found['peak_kib'] / found['value_kib']:.2f}",
        f"{found['all_kib'] / 1024:,.0f} MB",
    )


def _apart(kind: str, tool: str, count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.bench_calls", "--one", kind, tool, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure_one(kind: str, tool: str, count: int) -> dict[str, float]:
    """Shape one value in this process, and report its time and its memory."""
    ours = shaper()
    warm = ours.shape(issues(30), tool=tool)
    warm.text, warm.tokens.after  # noqa: B018 (what the first call loads is not the value's)
    before = _resident("VmRSS")
    value = issues(count) if kind == "issues" else wide_table(count)
    loaded = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    started = time.process_time()
    ours.shape(value, tool=tool).text  # noqa: B018 (a property that works)
    took = (time.process_time() - started) * 1e6
    peak = _resident("VmHWM")
    if took < 2_000_000:
        took = cpu(lambda: ours.shape(value, tool=tool).text)
    base = cpu(lambda: orjson.dumps(value), 0.2)
    size = len(orjson.dumps(value))
    return {
        "bytes": size,
        "cpu": took,
        "base": base,
        "value_kib": loaded - before,
        "peak_kib": peak - before,
        "all_kib": peak,
    }


def _resident(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    return float(next(line for line in status.splitlines() if line.startswith(f"{name}:")).split()[1])


def run_peers(*, quick: bool) -> Table:
    """Time others on the texts of the corpus, where their environments are installed (see `benchmarks.peers`)."""
    from benchmarks import peers  # noqa: PLC0415 (it needs the corpus's own library)

    head = ("recorded result", "shaping minimal")
    if quick:
        return head, []
    ours, payloads = shaper(), corpus.payloads()
    found: dict[str, dict[str, float]] = {"shaping minimal": {}}
    for payload in payloads:
        only = {"content": [{"type": "text", "text": text} for text in peers.texts_of(payload.result)]}
        took = cpu(partial(ours.shape_result, only, tool="minimal", channels="text"), 0.2)
        found["shaping minimal"][payload.file] = took / 1000
    absent = []
    for peer, (directory, _) in peers.PACKAGES.items():
        if (peers.ENVS / directory / "bin" / "python").exists():
            answers = peers.run(peer, payloads, {payload.file: 2_000 for payload in payloads})
            found[peer] = {file: answer["ms"] for file, answer in answers.items()}
        else:
            absent.append(peer)
    rows = [(payload.name, *(f"{took[payload.file]:.2f} ms" for took in found.values())) for payload in payloads]
    rows.append(("**sum**", *(f"{sum(took.values()):.1f} ms" for took in found.values())))
    if absent:
        rows.append((f"not installed: {', '.join(absent)}", *("" for _ in found)))
    return ("recorded result", *found), rows


def run_steps(*, quick: bool) -> Table:
    """Profile each job on 86 KB: the part of the time that each step takes, those inside another one in both."""
    found = {tool: _steps(_profiled(tool, None, 5 if quick else 40)) for tool in JOBS}
    rows = [(label, *(f"{found[tool].get(label, 0):.0%}" for tool in JOBS)) for label in STEPS]
    return ("step", *JOBS.values()), [row for row in rows if any(cell != "0%" for cell in row[1:])]


def _profiled(tool: str, payload: str | None, times: int) -> pstats.Stats:
    ours = shaper()
    if payload is None:
        value = issues(30)
        call: Callable[[], Any] = lambda: ours.shape(value, tool=tool).text  # noqa: E731 (one of two)
    else:
        found = next(one for one in corpus.payloads() if one.name.startswith(payload))
        call = lambda: ours.shape_result(found.result, tool=tool, channels="text")  # noqa: E731 (one of two)
    call()
    profiler = cProfile.Profile(time.process_time)
    profiler.enable()
    for _ in range(times):
        call()
    profiler.disable()
    return pstats.Stats(profiler)


def _steps(told: pstats.Stats) -> dict[str, float]:
    stats: dict[tuple[str, int, str], Any] = told.stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in stats.values())
    codes = {label: function.__code__ for label, function in STEPS.items()}
    places = {label: (code.co_filename, code.co_firstlineno, code.co_name) for label, code in codes.items()}
    return {label: stats[place][3] / total for label, place in places.items() if place in stats}


def profile(tool: str, payload: str | None) -> None:
    """Print where the time of a job goes: by step, and by function."""
    told = _profiled(tool, payload, 20)
    for label, part in _steps(told).items():
        print(f"{label:20} {part:6.1%}")
    told.sort_stats("tottime").print_stats(25)


# A chart of `run_scaling`: both axes are logarithmic, so that what grows as its input does is a straight line.
CHART: Final = Path(__file__).parents[1] / "docs" / "scaling.svg"
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 400, 70, 50
_COLOURS: Final = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#7f7f7f")


def draw_chart(lines: dict[str, list[tuple[float, float]]]) -> str:
    """Draw lines of bytes and microseconds as SVG."""
    x_range, y_range = (3, 8.2), (0, 8)  # powers of ten: 1 KB to 150 MB, 1 us to 100 s

    def place(size: float, took: float) -> str:
        x = _LEFT + (math.log10(size) - x_range[0]) / (x_range[1] - x_range[0]) * (_WIDTH - _LEFT - 20)
        y = (_HEIGHT - _BOTTOM) * (1 - (math.log10(took) - y_range[0]) / (y_range[1] - y_range[0]))
        return f"{x:.0f},{y:.0f}"

    parts = [f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>']
    for power, label in enumerate(("1 KB", "10 KB", "100 KB", "1 MB", "10 MB", "100 MB"), 3):
        x = place(10**power, 1).split(",")[0]
        parts.append(f'<path d="M{x},0V{_HEIGHT - _BOTTOM}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{label}</text>')
    for power, label in (
        (1, "10 us"),
        (2, "100 us"),
        (3, "1 ms"),
        (4, "10 ms"),
        (5, "100 ms"),
        (6, "1 s"),
        (7, "10 s"),
    ):
        y = place(1000, 10**power).split(",")[1]
        parts.append(f'<path d="M{_LEFT},{y}H{_WIDTH - 20}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{int(y) + 4}" text-anchor="end">{label}</text>')
    for number, (name, points) in enumerate(lines.items()):
        colour = _COLOURS[number]
        path = " ".join(place(*point) for point in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{_LEFT + 12}" y="{20 + 16 * number}" fill="{colour}">{name}</text>')
    body = "\n".join(parts)
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n{body}\n</svg>\n'


def _time(microseconds: float) -> str:
    return f"{microseconds:.1f} us" if microseconds < 1000 else f"{microseconds / 1000:,.2f} ms"


def _size(count: float) -> str:
    return f"{count / 1000:.0f} KB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def _bar(bar: float | None) -> str:
    return "" if bar is None else f"{bar:g}"


SECTIONS: Final[dict[str, Callable[..., Table]]] = {
    "jobs": run_jobs,
    "inputs": run_inputs,
    "small": run_small,
    "middleware": run_middleware,
    "steps": run_steps,
    "corpus": run_corpus,
    "texts": run_texts,
    "scaling": run_scaling,
    "peers": run_peers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what whole calls cost.")
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    parser.add_argument("--profile", metavar="JOB", choices=[*JOBS])
    parser.add_argument("--payload", help="profile a recorded result of the corpus by the beginning of its name")
    parser.add_argument("--one", nargs=3, metavar=("KIND", "JOB", "COUNT"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        kind, tool, count = asked.one
        print(json.dumps(measure_one(kind, tool, int(count))))
        return
    if asked.profile:
        profile(asked.profile, asked.payload)
        return
    body = []
    for name in asked.sections or SECTIONS:
        found = markdown_table(*SECTIONS[name](quick=asked.quick))
        print(f"\n{found}", flush=True)
        body.append(found)
    if asked.write:
        body.append("![CPU time by size of the value](../docs/scaling.svg)")
        write_section("Calls", "\n\n".join(body), recipe={"time": "CPU time of the process, the best of many calls"})


if __name__ == "__main__":
    os.environ.setdefault("SHAPING_CONFIG_HOME", tempfile.mkdtemp())
    main()
