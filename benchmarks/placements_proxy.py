"""Private fields through a real proxy, as a client, its user and whoever reads the files afterwards would see them.

Each placement goes through `shaping proxy` in a process of its own, in front of a real server; what left is every line
that came back, what an expansion, a search and a query gave, the log, and at the end all files that were written:
overflow files, recorded traffic, the ledger, and what `shaping last` and `shaping report` make of them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks.placements import CONFIG, TOOL, leaks, place

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[1]
SHAPING = [sys.executable, "-m", "shaping"]
SERVER = [sys.executable, str(ROOT / "tests" / "servers" / "mirror_server.py"), TOOL]
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"max_tokens": 60, "max_items": 2, "max_string": 40, "overflow": "file"},
    {"profile": "standard", "channels": "both"},
    {"profile": "debug", "max_tokens": 200},
)
_REF = re.compile(r"\br_[a-z0-9]{20,}\b")


class Proxy:
    """A client of a proxy over its pipes; it keeps every line that it gets."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.folder, self.lines, self._number = folder, "", 0
        (folder / "work" / ".git").mkdir(parents=True)
        config = folder / "config.json"
        config.write_text(json.dumps({**CONFIG, "global": settings}))
        home = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CACHE", "DATA", "CONFIG", "STATE")}
        self.environ = {**os.environ, **home, "HOME": str(folder), "PYTHONPATH": str(ROOT)}
        command = [*SHAPING, "proxy", "--config", str(config), "--record", str(folder / "record"), "--", *SERVER]
        with (folder / "log").open("wb") as log:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=log, env=self.environ, cwd=folder / "work"
            )
        self.ask(
            "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "claude-code"}}
        )
        self.ask("tools/list", {})

    def ask(self, method: str, params: Mapping[str, Any]) -> str:
        """Send a request, and return the lines up to its answer."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        pipes = self.process
        if pipes.stdin is None or pipes.stdout is None:
            raise RuntimeError("the proxy has no pipes")
        pipes.stdin.write(json.dumps(message).encode() + b"\n")
        pipes.stdin.flush()
        got = ""
        while line := pipes.stdout.readline():
            got += line.decode()
            if json.loads(line).get("id") == self._number:
                return got
        raise RuntimeError(f"the proxy ended: {(self.folder / 'log').read_text()[-2000:]}")

    def close(self) -> dict[str, str]:
        """End the proxy, and return the files that it left behind."""
        self.process.communicate(timeout=60)
        for words in (["last", "200", "--full"], ["last", "50", "--html", "last.html"], ["stats"], ["report"]):
            self._run(words)
        files = (file for file in self.folder.rglob("*") if file.is_file() and file.name != "config.json")
        return {file.relative_to(self.folder).as_posix(): file.read_bytes().decode(errors="replace") for file in files}

    def _run(self, words: list[str]) -> None:
        done = subprocess.run([*SHAPING, *words], env=self.environ, cwd=self.folder, capture_output=True, check=False)
        (self.folder / f"printed-{words[0]}").write_bytes(done.stdout + done.stderr)


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"result": value}


def leave(proxy: Proxy, dice: Random) -> tuple[str, str]:
    """Send one placement through a proxy; return how it was sent, and all that came back."""
    one = place(dice)
    text, data, uri = _block(one.text), one.json, "file:///a"
    results: dict[str, dict[str, Any]] = {
        "a text": {"content": [text]},
        "two texts": {"content": [_block("Found:"), text]},
        "structured content": {"content": [], "structuredContent": _object(data)},
        "both channels": {"content": [text], "structuredContent": _object(data)},
        "an error": {"content": [text], "isError": True},
        "a failed structure": {"content": [text], "structuredContent": _object(data), "isError": True},
        "a resource": {"content": [{"type": "resource", "resource": {"uri": uri, "text": one.text}}]},
        "_meta": {"content": [_block("x")], "_meta": {"more": data}},
        "a member of the server's own": {"content": [_block("x")], "more": data},
    }
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        **{name: ("tools/call", {"name": TOOL, "arguments": {"result": result}}) for name, result in results.items()},
        "an error of the protocol": (
            "tools/call",
            {"name": TOOL, "arguments": {"error": {"code": -32000, "message": one.text, "data": data}}},
        ),
        "a log": (
            "tools/call",
            {"name": TOOL, "arguments": {"before": [_log(data)], "result": {"content": [_block("x")]}}},
        ),
        "a resource that is read": ("resources/read", _raw({"contents": [{"uri": uri, "text": one.text}]})),
        "a prompt": ("prompts/get", _raw({"messages": [{"role": "user", "content": text}]})),
    }
    name = dice.choice(sorted(calls))
    got = proxy.ask(*calls[name])
    for ref in dict.fromkeys(_REF.findall(got)):
        asked = dice.choice(({"search": "LeAk"}, {"sql": "SELECT * FROM items"}, {"path": ""}, {"sql": "schema"}))
        got += proxy.ask("tools/call", {"name": "shaping_expand", "arguments": {"ref": ref, **asked}})
    return f"{name}, {' in '.join(one.forms)}", got


def _log(data: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": data}}


def _raw(result: dict[str, Any]) -> dict[str, Any]:
    raw = json.dumps({"jsonrpc": "2.0", "id": "ID", "result": result}).replace('"id": "ID"', '"id": ID')
    return {"name": "p", "uri": "file:///a", "arguments": {"raw": raw}}


def place_through_proxy(count: int, seed: int) -> int:
    """Let private fields try to leave a proxy, and return how many did; files count as one."""
    left = 0
    for number, settings in enumerate(SETTINGS):
        with TemporaryDirectory() as folder:
            proxy = Proxy(Path(folder), settings)
            for each in range(count // len(SETTINGS)):
                dice = Random(f"{seed}.{number}.{each}")  # noqa: S311  the same in every run
                how, got = leave(proxy, dice)
                if leaks(got):
                    left += 1
                    print(f"  left a proxy with {settings}: {how}")
            shown = [name for name, text in proxy.close().items() if leaks(text)]
            left += len(shown)
            print(*(f"  left in {name} of a proxy with {settings}" for name in shown), sep="\n", end="\n" * bool(shown))
    print(f"private fields that left a proxy, or stand in its files: {left} of {count:,} placements")
    return left
