"""Replicas of the proxy behind HAProxy with Redis, for real on loopback: the files of docs/gateway.md, and faults.

    python -m benchmarks.bench_replicas [--calls 20000] [--at-once 200] [--minutes 0] [--rate 0] [--write]

Needs the programs `haproxy` and `redis-server`. Every call has a number, and its answer is right where it holds that
number. One replica is killed with SIGKILL after 40% of the calls and comes back after 60%; Redis is restarted after
75%, and another replica with SIGTERM after 85%. Then a ref that one replica made is expanded by another. With
`--minutes` a mixed load follows, and the memory of each replica is noted every few seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.results import markdown_table, write_section

PAGE: Final = Path(__file__).parents[1] / "docs" / "gateway.md"
SERVER: Final = Path(__file__).resolve()
HOST: Final = "gateway.example.com"  # the one of the page
REPLICAS: Final = 3
FAULTS: Final = {"kill": 0.4, "back": 0.6, "redis": 0.75, "restart": 0.85}  # after which part of the calls
META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
REF: Final = re.compile(r"ref=(r_[A-Za-z0-9_-]+)")
SAMPLE_SECONDS: Final = 5.0


def serve() -> None:
    """Serve a tool that lists records, of which rules leave something out, over pipes and without packages."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        params = message.get("params") or {}
        result: dict[str, Any] = {"resultType": "complete"}
        if message["method"] == "tools/list":
            result["tools"] = [{"name": "records", "inputSchema": {"type": "object"}}]
        elif message["method"] == "tools/call":
            result["content"] = [{"type": "text", "text": json.dumps(_records(**params["arguments"]))}]
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
        sys.stdout.flush()


def _records(n: int, count: int) -> dict[str, Any]:
    rows = [
        {
            "id": 1000 * n + row,
            "title": f"Widget {row} of call {n}",
            "url": f"https://api.example.test/widgets/{n}/{row}",
            "events_url": f"https://api.example.test/widgets/{n}/{row}/events",
            "state": "open" if row % 3 else "closed",
            "assignee": None,
        }
        for row in range(count)
    ]
    return {"call": n, "items": rows}


@dataclass
class Gateway:
    """The processes of one gateway, in a folder of their own."""

    folder: Path
    ports: dict[str, int] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _command: str = ""  # of a replica, as the page shows it

    def start(self) -> None:
        """Start Redis, the replicas and the balancer."""
        names = ("redis", "balancer", *(f"replica{number}" for number in range(1, REPLICAS + 1)))
        self.ports = {name: _free_port() for name in names}
        config, balancer, self._command = _files()
        config["store"]["url"] = f"redis://127.0.0.1:{self.ports['redis']}/0"
        (self.folder / "response_config.json").write_text(json.dumps(config))
        for name, port in (("9000", "balancer"), ("9001", "replica1"), ("9002", "replica2"), ("9003", "replica3")):
            balancer = balancer.replace(f"127.0.0.1:{name}", f"127.0.0.1:{self.ports[port]}")
        (self.folder / "haproxy.cfg").write_text(balancer)
        self.start_redis()
        for number in range(1, REPLICAS + 1):
            self.start_replica(f"replica{number}")
        self._run("balancer", ["haproxy", "-db", "-f", str(self.folder / "haproxy.cfg")])
        for name in names:
            _wait_for(self.ports[name])

    def start_redis(self) -> None:
        """Start a Redis that keeps nothing on disk."""
        port = str(self.ports["redis"])
        self._run(
            "redis", ["redis-server", "--port", port, "--save", "", "--appendonly", "no", "--dir", str(self.folder)]
        )

    def start_replica(self, name: str) -> None:
        """Start one replica by the command of the page, at an address of this machine."""
        shown = ("shaping", "0.0.0.0:9001", "python server.py")
        own = (f"{sys.executable} -m shaping", f"127.0.0.1:{self.ports[name]}", f"{sys.executable} {SERVER} --serve")
        command = self._command
        for before, after in zip(shown, own, strict=True):
            command = command.replace(before, after, 1)
        self._run(name, shlex.split(command))

    def end(self, name: str, how: signal.Signals = signal.SIGTERM) -> None:
        """End one process by a signal."""
        self.running[name].send_signal(how)
        self.running[name].wait(30)

    def close(self) -> None:
        """End all of them."""
        for process in self.running.values():
            if process.poll() is None:
                process.terminate()
        for process in self.running.values():
            process.wait(30)

    def memory(self) -> dict[str, float]:
        """Return the megabytes that each replica takes."""
        found = {}
        for name in self.running:
            if name.startswith("replica") and self.running[name].poll() is None:
                status = Path(f"/proc/{self.running[name].pid}/status").read_text()
                found[name] = float(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024
        return found

    def _run(self, name: str, command: list[str]) -> None:
        log = (self.folder / f"{name}.log").open("ab")
        environ = os.environ | {"XDG_CACHE_HOME": str(self.folder), "SHAPING_LEDGER": "off"}
        self.running[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, env=environ)


def _files() -> tuple[dict[str, Any], str, str]:
    """Return the config, the balancer's file and a replica's command as the page shows them."""
    page = PAGE.read_text(encoding="utf-8")
    config = re.findall(r"^```json response_config.json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
    texts = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    balancer = next(one for one in texts if "backend" in one)
    return json.loads(config), balancer, next(one for one in texts if "proxy --http" in one)


class Connection:
    """One connection of a client, kept open: a whole HTTP client would take more of the machine than a replica."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool as a client of the newest protocol does, and return the text of the answer."""
        params = {"name": tool, "arguments": arguments, "_meta": META}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        try:
            async with asyncio.timeout(120):
                found = json.loads(await self._post(body))
        except BaseException:
            self.close()
            raise
        return str(found["result"]["content"][0]["text"])

    async def _post(self, body: bytes) -> bytes:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=2**24)
        reader, writer = self._streams
        head = f"POST /mcp HTTP/1.1\r\nhost: {HOST}\r\ncontent-type: application/json\r\n"
        accept = "accept: application/json, text/event-stream"
        writer.write(f"{head}{accept}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        answered = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"content-length: (\d+)", answered)
        if length is None:  # a stream of events, because the answer took long
            return (await reader.readuntil(b"\r\n0\r\n\r\n")).partition(b"data: ")[2].partition(b"\r\n")[0]
        content = await reader.readexactly(int(length[1]))
        if b"connection: close" in answered:
            self.close()
        return content

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@dataclass
class Load:
    """Calls through a gateway, and what came of them."""

    port: int
    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    async def call(self, connection: Connection, n: int, count: int) -> None:
        """Call the tool and look at its answer."""
        began = time.perf_counter()
        try:
            answer = await connection.ask("records", {"n": n, "count": count})
        except (OSError, EOFError, KeyError, ValueError, TimeoutError) as problem:
            self.outcomes[f"lost ({type(problem).__name__})"] += 1
            return
        self.seconds.append(time.perf_counter() - began)
        right = re.search(rf"\bcall\W+{n}\b", answer) is not None
        self.outcomes["right" if right else "wrong"] += 1


async def run_calls(gateway: Gateway, load: Load, calls: int, at_once: int) -> None:
    """Make the calls, so many at once, and do the faults on the way."""
    numbers = iter(range(1, calls + 1))
    faults = {int(calls * part): which for which, part in FAULTS.items()}

    async def work() -> None:
        connection = Connection(load.port)
        for n in numbers:
            if n in faults:
                await asyncio.to_thread(do_fault, gateway, faults[n])
            await load.call(connection, n, 20)
        connection.close()

    await asyncio.gather(*(work() for _ in range(at_once)))


def do_fault(gateway: Gateway, which: str) -> None:
    """Kill a replica, bring it back, restart Redis, or another replica in order."""
    if which == "kill":
        gateway.end("replica1", signal.SIGKILL)
    elif which == "back":
        gateway.start_replica("replica1")
    elif which == "redis":
        gateway.end("redis")
        gateway.start_redis()
    else:
        gateway.end("replica2")
        gateway.start_replica("replica2")


async def run_refs(gateway: Gateway) -> dict[str, bool]:
    """Expand on one replica what another left out, also after Redis was restarted, which costs refs alone."""
    one, other = Connection(gateway.ports["replica1"]), Connection(gateway.ports["replica2"])

    async def made(n: int) -> str:
        found = REF.search(await one.ask("records", {"n": n, "count": 400}))
        return found[1] if found else ""

    async def expands(ref: str) -> bool:
        return "api.example.test" in await other.ask("shaping_expand", {"ref": ref, "path": "items[0].url"})

    async def made_and_expanded(n: int) -> str:
        # A store that was away is asked again after a while.
        for _ in range(60):
            if (ref := await made(n)) and await expands(ref):
                return ref
            await asyncio.sleep(1)
        return ""

    first = await made_and_expanded(1)
    await asyncio.to_thread(do_fault, gateway, "redis")
    _wait_for(gateway.ports["redis"])
    return {
        "expanded by another replica": bool(first),
        "gone after Redis restarted without its data": not await expands(first),
        "a new ref is expanded after that": bool(await made_and_expanded(2)),
    }


async def run_soak(
    gateway: Gateway, load: Load, minutes: float, at_once: int, rate: float
) -> list[tuple[float, dict[str, float]]]:
    """Make calls of mixed sizes for so long, and note the memory of the replicas."""
    began, samples = time.monotonic(), [(0.0, gateway.memory())]
    numbers = iter(range(1_000_000, 100_000_000))

    async def work() -> None:
        connection = Connection(load.port)
        while time.monotonic() - began < 60 * minutes:
            n = next(numbers)
            await load.call(connection, n, (1, 20, 20, 20, 100, 800)[n % 6])
            await asyncio.sleep(at_once / rate if rate else 0)
        connection.close()

    async def watch() -> None:
        while time.monotonic() - began < 60 * minutes:
            await asyncio.sleep(SAMPLE_SECONDS)
            samples.append((time.monotonic() - began, gateway.memory()))

    await asyncio.gather(watch(), *(work() for _ in range(at_once)))
    return samples


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"nobody listens at {port}")


def _percentiles(seconds: list[float]) -> str:
    if not seconds:
        return "no answer"
    ordered = sorted(seconds)
    at = {name: ordered[min(int(part * len(ordered)), len(ordered) - 1)] for name, part in (("50", 0.5), ("99", 0.99))}
    return ", ".join(f"{value * 1000:,.0f} ms at {name}%" for name, value in at.items())


async def measure(gateway: Gateway, calls: int, at_once: int, minutes: float, rate: float) -> list[tuple[str, ...]]:
    """Run everything, and return the rows of the table."""
    load = Load(gateway.ports["balancer"])
    for number in range(1, REPLICAS + 1):  # shaping is loaded with the first answer
        await Connection(gateway.ports[f"replica{number}"]).ask("records", {"n": 0, "count": 20})
    began = time.perf_counter()
    await run_calls(gateway, load, calls, at_once)
    took = time.perf_counter() - began
    rows: list[tuple[str, ...]]
    rows = [(f"{outcome} answers of {calls:,}", f"{count:,}") for outcome, count in load.outcomes.most_common()]
    rows += [("calls a second", f"{calls / took:,.0f}"), ("time of a call", _percentiles(load.seconds))]
    for name in ("replica1", "replica2"):
        _wait_for(gateway.ports[name])
    rows += [(f"a ref: {what}", "yes" if holds else "no") for what, holds in (await run_refs(gateway)).items()]
    rows += [(f"memory of {name}", f"{megabytes:.0f} MB") for name, megabytes in gateway.memory().items()]
    if minutes:
        load.outcomes.clear()
        rows += soak_rows(await run_soak(gateway, load, minutes, at_once, rate), load.outcomes, minutes)
    return rows


def soak_rows(
    samples: list[tuple[float, dict[str, float]]], outcomes: Counter[str], minutes: float
) -> list[tuple[str, ...]]:
    """Tell of the memory at the start, after the first minutes and at the end."""
    warm = min(300.0, 30 * minutes)
    after = next((taken for at, taken in samples if at >= warm), samples[-1][1])
    rows: list[tuple[str, ...]] = [
        (f"mixed load of {minutes:g} minutes: {what}", f"{n:,}") for what, n in outcomes.items()
    ]
    return rows + [
        (
            f"memory of {name} at the start, after {warm / 60:g} minutes, at the end",
            f"{samples[0][1].get(name, 0):.0f}, {after[name]:.0f}, {samples[-1][1][name]:.0f} MB",
        )
        for name in after
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Run replicas behind HAProxy with Redis, and take parts away.")
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=0.0, help="of mixed load afterwards (30 for the bar)")
    parser.add_argument("--rate", type=float, default=0.0, help="calls a second of that load (default: all it takes)")
    parser.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve()
        return 0
    missing = [program for program in ("haproxy", "redis-server") if shutil.which(program) is None]
    if missing:
        sys.exit(f"not installed: {', '.join(missing)}")
    gateway = Gateway(Path(tempfile.mkdtemp(prefix="shaping-replicas-")))
    try:
        gateway.start()
        rows = asyncio.run(measure(gateway, asked.calls, asked.at_once, asked.minutes, asked.rate))
    finally:
        gateway.close()
    table = markdown_table(("", ""), rows)
    print(table)
    if asked.write:
        soak = f"{asked.minutes:g} minutes of mixed load" if asked.minutes else "no long load"
        write_section(
            "Replicas", table, recipe={"duration": f"{asked.calls:,} calls at {asked.at_once} at once; {soak}"}
        )
    lost = [row for row in rows if row[0].startswith(("lost", "wrong")) or row[1] == "no"]
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
