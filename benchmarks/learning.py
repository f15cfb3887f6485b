"""What `shaping suggest` saves on traffic that it has not seen, and what reading much traffic costs.

python -m benchmarks.learning corpora      both corpora, split by records
python -m benchmarks.learning servers      two runs of real servers with different data
python -m benchmarks.learning services     the same with servers of well-known services, before stand-ins of these
python -m benchmarks.learning large        1 GB of recordings
python -m benchmarks.learning recording    what `--record` costs a call
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

import orjson

from benchmarks import corpus, learning_servers, learning_services
from benchmarks.bench_proxy import OURS, SERVER, LineClient
from benchmarks.results import markdown_table, write_section
from shaping import Shaper
from shaping.learning.record import recordings
from shaping.learning.statistics import TrafficStatistics, read_traffic
from shaping.learning.suggest import suggest
from shaping.learning.traffic import ToolCall, Usage, missing, read_file, scalars, traffic_files
from shaping.learning.transcripts import replay
from shaping.paths import parse
from shaping.paths.selection import matches
from shaping.tokens import exact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.corpus import Payload
    from shaping.learning.transcripts import ToolReplay

_FILTER: Final = re.compile(r"\[\?\([^]]*\)\]|\[\*\]|\[-?\d+\]")
_QUOTED: Final = re.compile(r"\['((?:[^'\\]|\\.)*)'\]")
_PAUSE: Final = 0.3  # seconds after which a recorder writes what waits
_CHUNKS: Final = 4  # calls that the records of the first half are dealt out to


@dataclass(frozen=True, slots=True)
class Split:
    """A payload in two halves of its records, and the fields that its questions ask for."""

    payload: Payload
    first: list[ToolCall]
    second: ToolCall
    asked: tuple[str, ...]


def split(payload: Payload) -> Split | None:
    """Split the longest list of a payload; None where it has no list of records."""
    parts = ToolCall(payload.tool, payload.result).data()
    lists = [(len(items), path) for data in parts for path, items in _lists(data)]
    indented = any("\n  " in block.get("text", "") for block in payload.result["content"])
    if not lists or max(lists)[0] < 4:
        return None
    longest, at = max(lists)
    half = longest // 2
    step = -(-half // _CHUNKS)
    firsts = [_cut(parts, at, slice(begin, min(begin + step, half))) for begin in range(0, half, step)]
    first = [_call(payload.tool, data, number, indented=indented) for number, data in enumerate(firsts)]
    second = _call(payload.tool, _cut(parts, at, slice(half, None)), 99, indented=indented)
    return Split(payload, first, second, tuple(path for _, path in asked_fields(payload)))


def asked_fields(payload: Payload) -> Iterator[tuple[str, str]]:
    """Return the questions of a payload that have a path, and the fields that they ask for."""
    for question in payload.questions:
        if question["decode"] in {"text", "result"}:
            continue
        for path in question.get("paths", ()):
            steps = _QUOTED.sub(r'."\1"', _FILTER.sub("[]", path)).removeprefix("$").removeprefix(".")
            if steps:
                yield question["question"], steps


def chunks(payload: Payload, size: int = _CHUNKS) -> list[ToolCall]:
    """Deal the records of a payload out to calls; one call where it has no list of records."""
    parts = ToolCall(payload.tool, payload.result).data()
    lists = [(len(items), path) for data in parts for path, items in _lists(data)]
    if not lists or max(lists)[0] < size:
        return [_call(payload.tool, parts, number, indented=False) for number in range(3)]
    longest, at = max(lists)
    step = -(-longest // size)
    cut = (_cut(parts, at, slice(begin, begin + step)) for begin in range(0, longest, step))
    return [_call(payload.tool, data, number, indented=False) for number, data in enumerate(cut)]


def _lists(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], list[Any]]]:
    if isinstance(value, list):
        if value and all(isinstance(item, dict) for item in value):
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _lists(item, (*path, key))


def _cut(parts: list[Any], at: tuple[Any, ...], span: slice) -> list[Any]:
    out = []
    for data in parts:
        copy = orjson.loads(orjson.dumps(data))
        if not at:
            copy = copy[span] if isinstance(copy, list) else copy
        else:
            here = copy
            for key in at[:-1]:
                here = here.get(key, {}) if isinstance(here, dict) else {}
            if isinstance(here, dict) and isinstance(here.get(at[-1]), list):
                here[at[-1]] = here[at[-1]][span]
        out.append(copy)
    return out


def _call(tool: str, parts: list[Any], number: int, *, indented: bool) -> ToolCall:
    option = orjson.OPT_INDENT_2 if indented else 0
    texts = [data if isinstance(data, str) else orjson.dumps(data, option=option).decode() for data in parts]
    return ToolCall(tool, {"content": [{"type": "text", "text": text} for text in texts]}, time=float(number))


def corpora(target: float) -> str:
    """Suggest on the first halves, told of the questions' fields; judge on the second halves."""
    rows, whole = [], []
    for folder in (corpus.PAYLOADS, corpus.MORE):
        for payload in corpus.payloads(folder):
            found = split(payload)
            if found is None:
                whole.append(payload.name)
                continue
            rows.append(_judged(found, target))
    head = ("payload", "as sent", "minimal", "with the suggestion", "saved", "fields asked for", "kept")
    before, plain, after, asked, kept = (sum(column) for column in zip(*(row[1:] for row in rows), strict=True))
    lines = [(name, f"{b:,}", f"{p:,}", f"{a:,}", f"{1 - a / b:.1%}", str(q), str(k)) for name, b, p, a, q, k in rows]
    lines.append(
        ("**all**", f"{before:,}", f"{plain:,}", f"{after:,}", f"{1 - after / before:.1%}", str(asked), str(kept))
    )
    note = f"Not split, because they have no list of records: {', '.join(whole)}."
    return f"{markdown_table(head, lines)}\n\n{note}"


def _judged(found: Split, target: float) -> tuple[str, int, int, int, int, int]:
    tool = found.payload.tool
    answers = [{"question": path, "path": path} for path in found.asked]
    config = {"tool_overrides": {tool: {"answers": answers}}} if answers else {}
    traffic = TrafficStatistics()
    for call in found.first:
        traffic.add(call, Usage())
    (suggested,) = suggest(traffic, config=config, target=target)
    shaper = Shaper({"tool_overrides": {suggested.tool: suggested.override}}, watch=False)
    text = found.second.text_after(shaper)
    plain = found.second.text_after(Shaper({}, watch=False))
    kept = sum(not missing(_values(found.second, path), text) for path in found.asked)
    return found.payload.name, exact(found.second.text_before()), exact(plain), exact(text), len(found.asked), kept


def _values(call: ToolCall, path: str) -> set[str]:
    """Return the values of a field in a call; nulls and empties are told by their names."""
    steps = parse(path).steps
    found = [leaf for data in call.data() for one in matches(data, steps) for _, leaf in scalars(one)]
    return {str(leaf) for leaf in found if leaf not in (None, "", True, False)}


def judged_servers(target: float | None, folder: Path, which: Literal["", "services-"]) -> str:
    """Suggest on a first run of real servers, judge on a second one with other data."""
    record = learning_services.record if which else learning_servers.record
    recorded = [folder / f"{which}traffic{run}" for run in (1, 2)]
    first, second = (path if path.exists() else record(run, folder) for run, path in enumerate(recorded, 1))
    suggested = suggest(read_traffic(first), target=target)
    overrides = {one.tool: one.override for one in suggested if one.rules}
    usage = Usage()
    calls = [one for path in traffic_files(second) for one in read_file(path) if isinstance(one, ToolCall)]
    for call in calls:
        usage.add_call(call)
    plain = replay(Shaper({}, watch=False), calls, usage)
    ruled = replay(Shaper({"tool_overrides": overrides}, watch=False), calls, usage)
    names = sorted({server for server, _ in plain})
    lines = [(name, *_sums([(plain[key], ruled[key]) for key in plain if key[0] == name])) for name in names]
    lines.append(("**all**", *_sums([(plain[key], ruled[key]) for key in plain])))
    head = ("server", "calls", "as sent", "minimal", "with the suggestion", "saved", "values used later", "missing")
    rules = json.dumps(overrides, indent=2)
    return f"{markdown_table(head, lines)}\n\nThe rules, made from the first run:\n\n```json\n{rules}\n```"


def _sums(rows: list[tuple[ToolReplay, ToolReplay]]) -> tuple[str, ...]:
    before, plain, after = (sum(each) for each in zip(*((a.before, a.after, b.after) for a, b in rows), strict=True))
    used, gone = sum(b.used for _, b in rows), sum(sum(b.missing.values()) for _, b in rows)
    calls = sum(b.calls for _, b in rows)
    return f"{calls}", f"{before:,}", f"{plain:,}", f"{after:,}", f"{1 - after / before:.1%}", f"{used}", f"{gone}"


def large(folder: Path, size: int) -> str:
    """Read recordings of a size made of the corpora's payloads, and return time and memory of all processes."""
    traffic = folder / "large"
    _fill(traffic, size)
    command = [
        sys.executable,
        "-m",
        "shaping",
        "suggest",
        str(traffic),
        "--workers",
        "2",
        "-o",
        str(folder / "large.json"),
    ]
    started = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    most = 0
    while child.poll() is None:
        most = max(most, _memory(child.pid))
        time.sleep(0.5)
    seconds = time.monotonic() - started
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = spent.ru_utime + spent.ru_stime
    said = [line for line in child.stderr or () if "tokens saved" in line]
    stored = sum(path.stat().st_size for path in recordings(traffic)) / 1e6
    load = os.getloadavg()[0]
    lines = [
        ("recordings", f"{stored:,.0f} MB"),
        ("calls", f"{sum(1 for path in recordings(traffic) for _ in path.open('rb')):,}"),
        ("CPU seconds of all processes", f"{cpu:.0f}"),
        ("seconds by the clock", f"{seconds:.0f}"),
        ("memory of all processes together, at most", f"{most / 1e6:.0f} MB"),
        ("load of the machine meanwhile", f"{load:.1f} on {os.cpu_count()} cores"),
        ("what it says", "".join(said).strip()),
    ]
    return markdown_table(("", ""), lines)


def _fill(traffic: Path, size: int) -> None:
    """Write recordings: every payload of the corpora again and again, as calls of many sessions."""
    if sum(path.stat().st_size for path in recordings(traffic)) >= size:
        return
    shutil.rmtree(traffic, ignore_errors=True)
    found = [payload for folder in (corpus.PAYLOADS, corpus.MORE) for payload in corpus.payloads(folder)]
    written, number = 0, 0
    while written < size:
        for payload in found:
            number += 1
            data = {
                "time": 1_790_000_000.0 + number, "session": f"s{number // 40}", "server": payload.tool[:1],
                "tool": payload.tool, "client": "", "form": "mcp", "tokens_before": None, "tokens_after": None,
                "arguments": {"query": f"word{number}", "page": number % 7}, "result": payload.result,
            }  # fmt: skip
            line = orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE)
            path = traffic / payload.tool[:1] / f"{quote(payload.tool, safe='')}.2026-09-{number % 28 + 1:02d}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                written += file.write(line)


def recording(folder: Path, calls: int = 400) -> str:
    """Call a tool through a proxy that records and through one that does not, in turns and with pauses."""
    ways = {"without": [*OURS, "--", *SERVER], "with": [*OURS, "--record", str(folder / "recorded"), "--", *SERVER]}
    clients = {name: LineClient(command) for name, command in ways.items()}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for client in clients.values():
        client.greet()
        for n in range(20):
            client.ask("tools/call", name="list_issues", arguments={"n": n})
    before = {name: client.cpu() for name, client in clients.items()}
    for n in range(calls):
        for name, client in clients.items():
            taken[name].append(client.ask("tools/call", name="list_issues", arguments={"n": n}))
            time.sleep(_PAUSE if n % 10 == 0 else 0)
    spent = {name: client.cpu() - before[name] for name, client in clients.items()}
    lines = [
        (
            f"{name} --record",
            f"{1000 * median(taken[name]):.2f} ms",
            f"{median(taken[name]) / median(taken['without']):.3f}",
            f"{1000 * spent[name] / calls:.2f} ms",
        )
        for name in ways
    ]
    for client in clients.values():
        client.close()
    return markdown_table(("a call of 22 KB", "median", "ratio", "CPU of the thread that answers, a call"), lines)


def _memory(pid: int) -> int:
    """Return the memory of a process and all that it started: what is its own, without what it shares."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
            if int(status.parent.name) == pid or int(fields[1]) == pid:
                rollup = (status.parent / "smaps_rollup").read_text()
                total += 1024 * int(rollup.partition("\nPss:")[2].split()[0])
        except (OSError, ValueError, IndexError):
            continue
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["corpora", "servers", "services", "large", "recording"])
    parser.add_argument("--target", type=float, default=0.85)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "shaping-learning")
    parser.add_argument("--size", type=int, default=1_000_000_000, help="bytes of recordings for `large`")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    name, made = {
        "corpora": ("Suggestions, corpora split by records", partial(corpora, asked.target)),
        "servers": ("Suggestions, two runs of real servers", partial(judged_servers, asked.target, asked.folder, "")),
        "services": (
            "Suggestions, two runs of servers of well-known services",
            partial(judged_servers, asked.target, asked.folder, "services-"),
        ),
        "recording": ("What recording costs a call", partial(recording, asked.folder)),
        "large": ("Reading much traffic", partial(large, asked.folder, asked.size)),
    }[asked.what]
    body = made()
    print(body)
    write_section(name, body, recipe={"tokenizer": "o200k_base", "target": f"{asked.target:.0%}"})


if __name__ == "__main__":
    main()
