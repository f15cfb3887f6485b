"""What whole calls cost: CPU time, and its ratio to `orjson.dumps` of the same value in the same run.

    python -m benchmarks.bench_calls [--quick] [--profile JOB] [--write] [sections]

Sections: jobs, inputs, small, corpus, texts, scaling, peers; all of them where none is named. `--quick` stops at 1 MB
and leaves the peers out. `--profile standard` prints where the time of a job goes, step by step. `--write` puts the
tables into RESULTS.md. The proxy has a benchmark of its own, `bench_proxy.py`.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import os
import pstats
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
from pydantic import BaseModel, ConfigDict

from benchmarks import corpus, texts
from benchmarks.results import markdown_table, write_section
from benchmarks.samples import issues, wide_table
from shaping import Shaper, shape

if TYPE_CHECKING:
    from collections.abc import Callable

Rows = list[tuple[str, ...]]
Table = tuple[tuple[str, ...], Rows]

KEPT: Final = ["items[].number", "items[].title", "items[].user.login", "items[].state"]
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
# Where the time of a call goes: functions by the end of their file's path.
STEPS: Final = (
    ("read the result", "mcp/reading.py", "read_result"),
    ("parse a text", "parsers/__init__.py", "parse"),
    ("open", "cleaning/open.py", "open_plain"),
    ("select", "cleaning/open.py", "select_fields"),
    ("select, then open", "cleaning/open.py", "select_then_open"),
    ("prune", "cleaning/prune.py", "prune"),
    ("quieten", "cleaning/prune.py", "quieten"),
    ("redact", "cleaning/redact.py", "redact_value"),
    ("fit the budget", "present/__init__.py", "_fit"),
    ("wrap", "present/wrap.py", "wrap"),
    ("write", "present/wrap.py", "write"),
    ("encode", "encoders/__init__.py", "encode"),
    ("count tokens", "tokens/bpe.py", "exact"),
    ("members left out", "present/original.py", "absent_line"),
)


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
    for count in (1, 3, 30, 300) if quick else (1, 3, 30, 300, 3_000, 35_000):
        for tool in JOBS:
            if count > 3_000 and tool not in {"include", "minimal"}:
                continue
            found = _apart("issues", tool, count)
            rows.append((JOBS[tool], _size(found["bytes"]), _time(found["cpu"]), *_growth(found)))
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


def profile(tool: str, payload: str | None) -> None:
    """Print where the time of a job goes: by step, and by function."""
    ours = shaper()
    if payload is None:
        value = issues(30)
        call: Callable[[], Any] = lambda: ours.shape(value, tool=tool).text  # noqa: E731 (one of two)
    else:
        found = next(one for one in corpus.payloads() if one.name.startswith(payload))
        call = lambda: ours.shape_result(found.result, tool=tool, channels="text")  # noqa: E731 (one of two)
    call()
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(20):
        call()
    profiler.disable()
    told = pstats.Stats(profiler)
    stats: dict[tuple[str, int, str], Any] = told.stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in stats.values())
    for label, file, function in STEPS:
        spent = [
            (calls, whole)
            for (path, _, name), (calls, _, _, whole, _) in stats.items()
            if (name == function and path.endswith(file))
        ]
        if spent:
            print(
                f"{label:20} {sum(calls for calls, _ in spent) / 20:7.1f} calls {sum(t for _, t in spent) / total:6.1%}"
            )
    told.sort_stats("tottime").print_stats(25)


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
        write_section("Calls", "\n\n".join(body), recipe={"time": "CPU time of the process, the best of many calls"})


if __name__ == "__main__":
    os.environ.setdefault("SHAPING_CONFIG_HOME", tempfile.mkdtemp())
    main()
