"""Run real agent clients against a scripted model and our server: `python -m benchmarks.clients.run CLIENT...`.

`--mode direct|proxy|wrap` and `--script small|text|data|lines|code` choose less than the first two modes and the first
three scripts. Everything happens in namespaces without a network but loopback, with an empty environment, a HOME of its
own and dummy keys. What the model was shown lies in $LAB/runs/CLIENT/MODE/SCRIPT, what went over MCP in mcp.jsonl
beside it; `python -m benchmarks.clients.table` writes the table. Clients are installed by install.sh, outside the
repository.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

from benchmarks.clients.clients import CLIENTS, LAB
from benchmarks.clients.model import ScriptedModel

HERE: Final = Path(__file__).resolve().parent
PORT: Final = 8971
MODES: Final = ("direct", "proxy")
# Those whose own list of servers `shaping wrap --client` rewrites, by its names for them.
WRAPPED: Final = {"cline": "cline", "codex": "codex", "copilot": "copilot-cli", "gemini": "gemini", "kilo": "kilo"} | {
    name: name for name in ("kimi", "opencode", "qwen")
}
# Some clients give up after errors in a row, so these stand apart from each other.
SMALL: Final = (
    "split_schema split_plain error_text data_only text_only error_data json_string blocks error_data_only image link "
    "embedded array_text rows"
)
RECORDS: Final = "https://api.example.com/records"
SCRIPTS: Final[dict[str, list[list[Any]]]] = {
    "small": [[tool, {}] for tool in SMALL.split(" ")],
    "text": [["big_text", {}]],
    "data": [["big_data", {}]],
    "lines": [["short_lines", {}]],
    "code": [],
    "used": [["rows", {}], *(["record", {"about": about}] for about in ("record-00003", f"{RECORDS}/4"))],
}
# What a model could ask for next, by the ref that it saw.
EXPAND: Final[dict[str, list[list[Any]]]] = {
    "small": [["shaping_expand", {"ref": "$ref", "path": "[].url"}]],
    "text": [["shaping_expand", {"ref": "$ref", "max_tokens": 500}]],
    "data": [["shaping_expand", {"ref": "$ref", "sql": "SELECT count(*) AS n FROM items"}]],
}


def server_command(mode: str, folder: Path) -> list[str]:
    """Return the command of the MCP server, behind the proxy where asked, with a tee before it."""
    server = [sys.executable, str(HERE / "server.py")]
    if mode == "proxy":
        server = [str(Path(sys.executable).with_name("shaping")), "proxy", "--", *server]
    return [sys.executable, str(HERE / "tee.py"), str(folder / "mcp.jsonl"), *server]


def run(name: str, mode: str, script: str) -> None:
    """Run one client once and print how it ended."""
    client = CLIENTS[name]
    folder, home = LAB / "runs" / name / mode / script, LAB / "homes" / name
    work = home / "work"
    for place in (folder, work):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    steps = [*client.first, *(client.code if script == "code" else SCRIPTS[script])]
    steps = [step for step in steps if step[0] not in client.skip]
    if mode != "direct":
        steps += EXPAND.get(script, [])
    (folder / "steps.txt").write_text("\n".join(tool for tool, _ in steps))
    model = ScriptedModel(PORT, folder, steps, client.indirect, client.extra)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    argv, env = client.prepare(home, work, f"http://127.0.0.1:{PORT}", server_command(mode, folder))
    path = f"{LAB}/node/node_modules/.bin:/usr/bin:/bin"
    env = {
        "PATH": path,
        "HOME": str(home),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(HERE.parents[1]),
        **env,
    }
    if mode == "wrap":
        shaping = Path(sys.executable).with_name("shaping")
        done = subprocess.run(
            [shaping, "wrap", "--client", WRAPPED[name]], cwd=work, env=env, capture_output=True, text=True, check=False
        )
        print(done.stderr, end="", flush=True)
    with (folder / "out.txt").open("wb") as out:
        child = subprocess.Popen(
            argv, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
        try:
            ended = str(child.wait(timeout=client.seconds))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # the group is this client's own
            ended = "timeout"
    model.shutdown()
    model.server_close()
    print(name, mode, script, "exit", ended, "requests", model.count, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Run real agent clients against a scripted model and our server.")
    parser.add_argument("client", nargs="+", choices=sorted(CLIENTS))
    parser.add_argument("--mode", choices=(*MODES, "wrap"))
    parser.add_argument("--script", choices=SCRIPTS)
    asked = parser.parse_args()
    if "LAB_INSIDE" not in os.environ:
        os.environ["LAB_INSIDE"] = "1"
        # No network, and no process of a client's outlives us.
        alone = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        os.execvp("unshare", [*alone, "--", sys.executable, "-m", "benchmarks.clients.run", *sys.argv[1:]])  # noqa: S606 (no shell is wanted)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for name in asked.client:
        for mode in [asked.mode] if asked.mode else MODES:
            for script in [asked.script] if asked.script else ("small", "text", "data"):
                run(name, mode, script)


if __name__ == "__main__":
    main()
