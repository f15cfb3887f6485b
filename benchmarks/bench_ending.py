"""How long a proxy takes to end with its server, when its client leaves or a signal comes; the bar is two seconds.

    python benchmarks/bench_ending.py

The server is the worst there is: it hears no SIGTERM and stays when its input is closed. Best and worst of five each,
in seconds, from the closing of the pipe or the signal until neither process is left. Needs /proc, and a quiet machine.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

STUBBORN = [str(Path(__file__).parents[1] / "tests" / "servers" / "tiny_server.py"), "--stubborn"]
PROXY = [sys.executable, "-c", "from shaping.cli.app import main; main()", "proxy", "--", sys.executable, *STUBBORN]
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
WAYS = {"the client leaves": None, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
TIMES = 5


def main() -> None:
    """Print each way with its best and its worst time."""
    for name, number in WAYS.items():
        took = [ending(number) for _ in range(TIMES)]
        print(f"{name:20}{min(took):8.2f} s{max(took):8.2f} s")


def ending(number: signal.Signals | None) -> float:
    pipe = subprocess.PIPE
    with subprocess.Popen(PROXY, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as proxy:
        asked(proxy, "initialize", CLIENT)
        called = asked(proxy, "tools/call", {"name": "pid", "arguments": {}})
        server = json.loads(called["content"][0]["text"])["pid"]
        start = time.perf_counter()
        if number is None and proxy.stdin is not None:
            proxy.stdin.close()
        elif number is not None:
            proxy.send_signal(number)
        while proxy.poll() is None or lives(server):
            time.sleep(0.005)
        return time.perf_counter() - start


def asked(proxy: subprocess.Popen[str], method: str, params: dict[str, Any]) -> Any:
    if proxy.stdin is None or proxy.stdout is None:
        raise RuntimeError("the proxy was started without its pipes")
    proxy.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
    proxy.stdin.flush()
    while "id" not in (answer := json.loads(proxy.stdout.readline())):
        pass  # news that nobody asked for
    return answer["result"]


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    main()
