"""What the proxy costs: a 20 KB result direct, through FastMCP's own pass-through proxy, and through ours.

    python benchmarks/bench_proxy.py [--calls 200] [--json] [--write]

All three are measured in one run, in turns, so that the load of the machine falls on each alike; what counts are the
ratios of the medians. The second part makes 200 calls at once over HTTP and looks at every answer. The third starts
each way anew and takes the time until its tools are listed and its first call is answered. The fourth does the same
without a client library, line by line: what the proxy adds to `initialize`, to the first answer and to a tiny call, and
the memory it takes after 100 calls. `--write` puts the figures into RESULTS.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from contextlib import AsyncExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

from benchmarks.results import compiled_modules, markdown_table, write_section
from shaping.cli.demo import issues

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = str(Path(__file__).resolve())
SERVER = [sys.executable, HERE, "--serve"]
PASS_THROUGH = [sys.executable, HERE, "--pass-through"]
OURS = [sys.executable, "-m", "shaping", "proxy"]
CONCURRENT = 200
BAR = 0.75
LINE_BARS = {
    "initialize (ms added)": 50,
    "first answer (ms added)": 300,
    "tiny call (ms added)": 0.3,
    "memory after 100 calls (MB)": 90,
}
BATCH = 10
STARTS = 5


def serve() -> None:
    """Serve a tool whose result is about 20 KB of JSON."""
    server: FastMCP[Any] = FastMCP("bench")
    page = issues(8)

    @server.tool
    def list_issues(n: int) -> dict[str, Any]:
        return {"n": n, "items": page}

    server.run(show_banner=False, log_level="CRITICAL")


def pass_through() -> None:
    """Serve the same through FastMCP's own proxy."""
    backend = StdioTransport(SERVER[0], SERVER[1:], env=dict(os.environ))
    create_proxy(backend).run(show_banner=False, log_level="CRITICAL")


def client(command: list[str]) -> Client[Any]:
    transport = StdioTransport(command[0], command[1:], env=dict(os.environ), keep_alive=False)
    return Client(transport)


def ways() -> dict[str, list[str]]:
    """Name the commands that are compared."""
    return {"direct": SERVER, "pass-through": PASS_THROUGH, "shaping": [*OURS, "--", *SERVER]}


async def starts() -> dict[str, tuple[float, float]]:
    """Start each way several times, in turns; give the median seconds to its tools and to its first answer."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways()}
    for _ in range(STARTS):
        for name, command in ways().items():
            began = time.perf_counter()
            async with client(command) as one:
                await one.list_tools()
                listed = time.perf_counter()
                await one.call_tool_mcp("list_issues", {"n": 0})
                times[name].append((listed - began, time.perf_counter() - began))
    return {name: (statistics.median(a), statistics.median(b)) for name, (a, b) in _columns(times).items()}


class LineClient:
    """A client that writes and reads lines, so that nothing but the server is measured."""

    def __init__(self, command: list[str]) -> None:
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._numbers = count(1)

    def ask(self, method: str, **params: Any) -> float:
        """Send a request, wait for its answer, and return the seconds that it took."""
        began, number = time.perf_counter(), next(self._numbers)
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while json.loads(self._process.stdout.readline()).get("id") != number:  # type: ignore[union-attr]  # a pipe
            pass
        return time.perf_counter() - began

    def greet(self) -> float:
        """Shake hands, and return the seconds since the process was started."""
        info = {"name": "bench", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return time.perf_counter() - self.began

    def megabytes(self) -> float:
        """Return the memory that the process takes."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return float(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024

    def cpu(self) -> float:
        """Return the CPU seconds of the process's first thread, which answers."""
        process = self._process.pid
        return int(Path(f"/proc/{process}/task/{process}/schedstat").read_text().split()[0]) / 1e9

    def close(self) -> None:
        """End the process by closing its input."""
        self._process.stdin.close()  # type: ignore[union-attr]  # a pipe
        self._process.wait(60)

    def _write(self, message: dict[str, Any]) -> None:
        self._process.stdin.write(json.dumps(message).encode() + b"\n")  # type: ignore[union-attr]  # a pipe
        self._process.stdin.flush()  # type: ignore[union-attr]  # a pipe


def line_by_line() -> dict[str, float]:
    """Return what the proxy adds to the server alone, in milliseconds at the median, and its memory."""
    found: dict[str, dict[str, list[float]]] = {"direct": {}, "shaping": {}}
    megabytes = 0.0
    for _ in range(STARTS):
        for name, known in found.items():
            client = LineClient(ways()[name])
            taken = {"initialize": [client.greet()]}
            client.ask("tools/call", name="list_issues", arguments={"n": 0})
            taken["first answer"] = [time.perf_counter() - client.began]
            taken["tiny call"] = [client.ask("ping") for _ in range(100)]
            if name == "shaping":
                for n in range(100):
                    client.ask("tools/call", name="list_issues", arguments={"n": n})
                megabytes = max(megabytes, client.megabytes())
            client.close()
            for what, seconds in taken.items():
                known.setdefault(what, []).extend(seconds)
    added = {
        what: 1000 * (statistics.median(found["shaping"][what]) - statistics.median(seconds))
        for what, seconds in found["direct"].items()
    }
    return {**{f"{what} (ms added)": value for what, value in added.items()}, "memory after 100 calls (MB)": megabytes}


def _columns(times: dict[str, list[tuple[float, float]]]) -> dict[str, tuple[list[float], list[float]]]:
    return {name: ([first for first, _ in rows], [last for _, last in rows]) for name, rows in times.items()}


async def latencies(calls: int) -> dict[str, list[float]]:
    """Call each way in turn and collect the seconds of each call."""
    times: dict[str, list[float]] = {name: [] for name in ways()}
    async with AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(client(command)) for name, command in ways().items()}
        for name, one in clients.items():
            for n in range(5):
                await one.call_tool_mcp("list_issues", {"n": n})
            print(f"{name}: {one.protocol_version}", file=sys.stderr)
        turns = list(clients.items())
        for _ in range(calls // BATCH):
            # A server still tidies up after its answer, which falls on whoever is called next: the order goes round,
            # and each way has a batch of calls to itself, of which the first only wakes it up.
            turns = [*turns[1:], turns[0]]
            for name, one in turns:
                times[name] += (await batch(one))[1:]
    return times


async def batch(one: Client[Any]) -> list[float]:
    """Make calls one after the other and give the seconds of each."""
    times: list[float] = []
    for n in range(BATCH + 1):
        started = time.perf_counter()
        await one.call_tool_mcp("list_issues", {"n": n})
        times.append(time.perf_counter() - started)
    return times


@contextmanager
def served() -> Iterator[str]:
    """Serve our proxy over HTTP for as long as the block runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([*OURS, "--http", str(port), "--", *SERVER], stderr=subprocess.DEVNULL)
    try:
        for _ in range(400):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


async def concurrent(url: str) -> int:
    """Make many calls at once and count the answers that are right."""
    async with Client(url, timeout=120) as one:
        results = await asyncio.gather(*(one.call_tool_mcp("list_issues", {"n": n}) for n in range(CONCURRENT)))
    # The proxy sends a client that it does not know text alone; each answer carries the number of its call.
    return sum(re.search(rf"\bn\W+{n}\b", result.content[0].text) is not None for n, result in enumerate(results))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what the proxy costs.")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--pass-through", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve or asked.pass_through:
        (serve if asked.serve else pass_through)()
        return 0
    with compiled_modules():
        report = measure(asked.calls)
    print(json.dumps(report, indent=2) if asked.json else _told(report))
    if asked.write:
        _write(report)
    met = all(value <= LINE_BARS[name] for name, value in report["line_by_line"].items())
    right = report["concurrent"]["right"] == CONCURRENT
    return 0 if met and right and report["shaping_to_pass_through"] <= BAR else 1


def measure(calls: int) -> dict[str, Any]:
    """Measure everything; calls come first, and with them the modules of each way are compiled before any start."""
    medians = {name: statistics.median(times) * 1000 for name, times in asyncio.run(latencies(calls)).items()}
    with served() as url:
        right = asyncio.run(concurrent(url))
    ratio = medians["shaping"] / medians["pass-through"]
    return {
        "payload_bytes": len(json.dumps({"n": 0, "items": issues(8)}, separators=(",", ":"))),
        "median_ms": {name: round(value, 2) for name, value in medians.items()},
        "shaping_to_pass_through": round(ratio, 3),
        "shaping_to_direct": round(medians["shaping"] / medians["direct"], 3),
        "concurrent": {"calls": CONCURRENT, "right": right},
        "line_by_line": {name: round(value, 2) for name, value in line_by_line().items()},
        "start_ms": {name: [round(one * 1000) for one in both] for name, both in asyncio.run(starts()).items()},
    }


def _told(report: dict[str, Any]) -> str:
    medians = report["median_ms"]
    lines = [f"a result of {report['payload_bytes']:,} bytes, median of a call:"]
    lines += [f"  {name:<14}{value:>8.2f} ms" for name, value in medians.items()]
    lines.append(f"shaping / pass-through: {report['shaping_to_pass_through']:.3f} (bar {BAR})")
    lines.append(f"shaping / direct:       {report['shaping_to_direct']:.3f}")
    calls = report["concurrent"]
    lines.append(f"{calls['calls']} calls at once over HTTP: {calls['right']} right answers")
    lines += [f"{name}: {value:,.2f} (bar {LINE_BARS[name]})" for name, value in report["line_by_line"].items()]
    lines.append("from the start, until tools are listed and until the first call is answered:")
    lines += [f"  {name:<14}{listed:>8,} ms{called:>8,} ms" for name, (listed, called) in report["start_ms"].items()]
    return "\n".join(lines)


def _write(report: dict[str, Any]) -> None:
    passed = report["median_ms"]["pass-through"]
    medians: dict[str, float] = report["median_ms"]
    rows: list[tuple[str, ...]] = [
        (name, f"{value:.2f} ms", f"{value / passed:.3f}") for name, value in medians.items()
    ]
    calls = report["concurrent"]
    body = markdown_table(("way", "median of a call", "to pass-through"), rows)
    body += f"\n\n{calls['calls']} calls at once over HTTP: {calls['right']} right answers.\n\n"
    begun = [(name, *(f"{one:,} ms" for one in both)) for name, both in report["start_ms"].items()]
    body += markdown_table(("way", "start to list of tools", "start to first answer"), begun)
    raw = [(name, f"{value:,.2f}", f"{LINE_BARS[name]}") for name, value in report["line_by_line"].items()]
    body += "\n\nLine by line, without a client library:\n\n" + markdown_table(("", "measured", "bar"), raw)
    payload = f"a result of {report['payload_bytes']:,} bytes in both channels, over stdio"
    write_section("Proxy", body, recipe={"bar": f"shaping at most {BAR} of pass-through", "payload": payload})


if __name__ == "__main__":
    raise SystemExit(main())
