"""What a proxy holds on to: memory, handles and children after many calls and after many clients.

    python benchmarks/bench_resources.py [--calls 2000] [--clients 200] [--json]

One proxy over HTTP, in front of a server without packages. After a tenth of the work, when every cache is warm, its
resident memory, open descriptors and children are noted; they are noted again at the end. A leak grows with the work,
so what counts is the growth between the two: the bars are 4 KiB of memory a call, 40 KiB a client, and no descriptor
and no child at all. Clients of the newest protocol have no sessions and never say goodbye; those of one name share a
child, which stays.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types
from fastmcp import Client

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

SERVERS = Path(__file__).parents[1] / "tests" / "servers"
OLDER, NEWEST = "tiny_server.py", "modern_server.py"
PROXY = [sys.executable, "-c", "from shaping.cli.app import main; main()", "proxy"]
KIB_A_CALL = 4.0
KIB_A_CLIENT = 40.0


@contextmanager
def proxied(server: str) -> Iterator[tuple[int, str]]:
    """Give the process id and the address of a proxy in front of a small server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*PROXY, "--http", f"127.0.0.1:{port}", "--", sys.executable, str(SERVERS / server)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        while not _listens(port):
            time.sleep(0.05)
        yield process.pid, f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


def held(pid: int) -> dict[str, int]:
    """Say what a process holds."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {
        "kib": int(resident.split()[1]),
        "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
        "children": len(children),
    }


async def grown(pid: int, times: int, work: Callable[[int], Awaitable[None]]) -> dict[str, float]:
    """Do the work so often, and say by how much the process has grown since a tenth of it was done."""
    warm = times // 10
    for n in range(warm):
        await work(n)
    before = await _settled(pid)
    for n in range(warm, times):
        await work(n)
    after = await _settled(pid)
    more = {name: after[name] - before[name] for name in after}
    return {"times": times, **{f"{name} at the end": after[name] for name in after}, **more}


async def calls(times: int) -> dict[str, float]:
    """Call one tool again and again on one connection."""
    with proxied(OLDER) as (pid, url):
        async with Client(url, mode="legacy") as client:

            async def work(_: int) -> None:
                await client.call_tool("pid", {})

            return await grown(pid, times, work)


async def clients(times: int, mode: Any, server: str) -> dict[str, float]:
    """Connect, call and leave again and again."""
    with proxied(server) as (pid, url):

        async def work(n: int) -> None:
            name = "client" if server == NEWEST else f"client {n}"
            info = mcp_types.Implementation(name=name, version="1")
            async with Client(url, mode=mode, client_info=info) as client:
                tools = await client.list_tools()
                await client.call_tool("plain" if server == NEWEST else tools[0].name, {})

        return await grown(pid, times, work)


async def _settled(pid: int) -> dict[str, int]:
    """Look again until what is going away has gone."""
    gc.collect()
    seen = held(pid)
    for _ in range(40):
        await asyncio.sleep(0.25)
        again = held(pid)
        if again["descriptors"] == seen["descriptors"] and again["children"] == seen["children"]:
            return again
        seen = again
    return seen


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def problems(found: dict[str, dict[str, float]]) -> list[str]:
    """List what grew over its bar."""
    said = []
    for name, one in found.items():
        bar = (KIB_A_CALL if name == "calls" else KIB_A_CLIENT) * one["times"]
        if one["kib"] > bar:
            said.append(f"{name}: {one['kib']:.0f} KiB more; at most {bar:.0f}")
        said += [f"{name}: {one[kind]:.0f} {kind} more" for kind in ("descriptors", "children") if one[kind] > 0]
    return said


def main() -> int:
    """Measure, print, and fail where something is held on to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {
        "calls": asyncio.run(calls(options.calls)),
        "clients that shake hands": asyncio.run(clients(options.clients, "legacy", OLDER)),
        "clients sent back to the handshake": asyncio.run(clients(options.clients, "auto", OLDER)),
        "clients of the newest protocol": asyncio.run(clients(options.clients, "auto", NEWEST)),
    }
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for name, one in found.items():
            print(
                f"{name}: {one['times']} times, {one['kib']:+.0f} KiB to {one['kib at the end']}, "
                f"{one['descriptors']:+.0f} descriptors to {one['descriptors at the end']}, "
                f"{one['children']:+.0f} children to {one['children at the end']}"
            )
    said = problems(found)
    for problem in said:
        print(problem, file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
