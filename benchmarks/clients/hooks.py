"""Run clients whose own tools we hook, with the hook and without: `python -m benchmarks.clients.hooks [CLIENT...]`.

The scripted model calls the client's shell and search tools; what it was shown is counted in its own last request. The
programs that the shell runs print recorded results of real tools, or are real ones. Everything happens as in `run.py`.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.clients.clients import CLIENTS, LAB
from benchmarks.clients.model import APIS, ScriptedModel, texts
from benchmarks.clients.run import PORT
from benchmarks.results import markdown_table, write_section
from shaping.clients.hooks import file_of, socket_directory
from shaping.tokens import exact

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).parents[2]
PAYLOADS: Final = ROOT / "benchmarks" / "payloads"
SHAPING: Final = Path(sys.executable).with_name("shaping")
PROGRAMS: Final = {  # what stands in for programs that need a cluster, an account or a database
    "kubectl": "p07_kubectl_get_pods.json.gz",
    "aws": "p06_aws_ec2_describe_instances.json.gz",
    "sqlite3": "p13_sqlite_read_query.json.gz",
    "pip": "p19_pip_list.json",
}
LINES: Final = (
    "kubectl get pods -o json",
    "aws ec2 describe-instances",
    "sqlite3 -json shop.db 'select * from orders'",
    "pip list --format json",
    "git log --stat",
    "cat data.json",
    "kubectl get pods -o json | head -c 4000",
    "ls -la /usr/bin | head -200",
    "git log --oneline",
    "seq 1 20000",
)
SECONDS: Final = 60.0
HOOKED: Final = {
    "claude": "claude-code",
    "cline": "cline",
    "copilot": "copilot-cli",
    "kilo": "kilo",
    "opencode": "opencode",
}


class ThinkingModel(ScriptedModel):
    """A scripted model whose first answer takes seconds, as models' do; by then the resident process has started."""

    awaited: Path | None = None  # the resident process's socket, where a session starts one

    def finish_request(self, *request: Any) -> None:
        """Answer one request."""
        deadline = time.monotonic() + SECONDS
        while self.count == 0 and self.awaited and not self.awaited.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        super().finish_request(*request)


def results(folder: Path) -> list[str]:
    """Return what the model was shown of each call, as its fullest request has it."""
    best: list[Any] = []
    for path in sorted(folder.glob("[0-9]*-*.json")):
        note = path.stem.partition("-")[2]
        api = next((APIS[key] for key in APIS if note.endswith(key.strip("/:").replace("/", "-"))), None)
        if api is not None:
            best = max(best, api.results(json.loads(path.read_text())), key=len)
    values = [value.get("content") if isinstance(value, dict) else value for _, value in best]
    return ["\n".join(texts(value)) for value in values]


def steps(client: str) -> list[list[Any]]:
    """Return the calls of the script, as this client's tools are named."""
    if client == "claude":
        return [
            *([["Bash", {"command": line, "description": "run"}] for line in LINES]),
            ["Grep", {"pattern": "id", "output_mode": "content", "path": "rows.txt"}],
            ["Read", {"file_path": str(LAB / "homes" / f"{client}-hooks" / "work" / "data.json")}],
        ]
    if client == "cline":
        return [
            *([["run_commands", {"commands": [line]}] for line in LINES]),
            ["search_codebase", {"queries": ["in a row"]}],
        ]
    return [["bash", {"command": line, "description": "run"}] for line in LINES] + [["grep", {"pattern": "in a row"}]]


def prepare(client: str, home: Path, work: Path) -> tuple[list[str], dict[str, str]]:
    """Fill the working directory, and return how the client is started."""
    (work / "bin").mkdir()
    for program, payload in PROGRAMS.items():
        raw = (PAYLOADS / payload).read_bytes()
        told = json.loads(gzip.decompress(raw) if payload.endswith(".gz") else raw)
        (work / "bin" / f".{program}").write_text("".join(block.get("text", "") for block in told["content"]))
        (work / "bin" / program).write_text(f'#!/bin/sh\nexec /bin/cat "$(dirname "$0")/.{program}"\n')
        (work / "bin" / program).chmod(0o755)
    (work / "data.json").write_text(json.dumps([{"id": n, "url": f"https://example.com/{n}"} for n in range(60)]))
    (work / "rows.txt").write_text("".join(f"id {n} in a row\n" for n in range(100)))
    dated = "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z"
    commit = f"git add -A . && {dated} git -c user.name=A -c user.email=a@example.invalid commit -qm"
    for n in range(12):
        (work / f"file{n}.txt").write_text(f"{n}\n")
        subprocess.run(["sh", "-c", f"{commit} 'Change {n}'"], cwd=work, check=True)
    argv, env = CLIENTS[client].prepare(home, work, f"http://127.0.0.1:{PORT}", [sys.executable, "-c", ""])
    if client == "claude":
        argv[argv.index("--allowedTools") + 1] = "Bash Grep Read"
        argv = [word for word in argv if word != "--strict-mcp-config"]
        at = argv.index("--mcp-config")
        argv = [*argv[:at], *argv[at + 2 :]]
    elif client in {"opencode", "kilo"}:
        config = home / f".config/{client}/{client}.json"
        settings = json.loads(config.read_text())
        config.write_text(json.dumps({**settings, "mcp": {}}))
    else:
        for config in (home / ".copilot/mcp-config.json", home / ".cline/data/settings/cline_mcp_settings.json"):
            config.unlink(missing_ok=True)
    return argv, env


def run(client: str, mode: str) -> dict[str, Any]:
    """Run one client once, and return what its model was shown and what the resident process says."""
    folder, home = LAB / "runs" / client / f"hook-{mode}" / "shell", LAB / "homes" / f"{client}-hooks"
    work = home / "work"
    for place in (folder, home):
        shutil.rmtree(place, ignore_errors=True)
    for place in (folder, work):
        place.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    script = steps(client)
    model = ThinkingModel(PORT, folder, script, {}, {})
    threading.Thread(target=model.serve_forever, daemon=True).start()
    argv, env = prepare(client, home, work)
    path = f"{work}/bin:{LAB}/node/node_modules/.bin:{SHAPING.parent}:/usr/bin:/bin"
    env = {"PATH": path, "HOME": str(home), "TERM": "dumb", "LANG": "C.UTF-8", **env}
    file = file_of(HOOKED[client], {"HOME": str(home)})
    before = file.read_bytes() if file.exists() else None
    hook = _shaping(env)
    if mode == "hooked":
        hook("hook", "install", HOOKED[client])
        model.awaited = socket_directory({"XDG_CACHE_HOME": f"{home}/.cache"}) / "socket"
    with (folder / "out.txt").open("wb") as out:
        child = subprocess.Popen(
            argv, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
        try:
            ended = str(child.wait(timeout=CLIENTS[client].seconds))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # the group is this client's own
            ended = "timeout"
    model.shutdown()
    model.server_close()
    told: dict[str, Any] = {"shown": results(folder), "ended": ended, "requests": model.count}
    if mode == "hooked":
        time.sleep(2.5)  # the resident process looks into the transcript once a second
        told["running"] = json.loads(hook("hook", "status", "--json"))["data"]["running"]
        told["ledger"] = json.loads(hook("stats", "--json"))["data"]
        with closing(sqlite3.connect(told["ledger"]["ledger"])) as ledger:
            told["dearer"] = ledger.execute("SELECT count(*) FROM calls WHERE after > before").fetchone()[0]
        hook("hook", "uninstall", HOOKED[client])
        told["restored"] = (file.read_bytes() if file.exists() else None) == before
    print(client, mode, "exit", ended, "requests", model.count, told.get("running"), flush=True)
    return told


def _shaping(env: dict[str, str]) -> Callable[..., str]:
    def call(*words: str) -> str:
        done = subprocess.run([SHAPING, *words], env=env, capture_output=True, text=True, check=True)
        return done.stdout

    return call


def row(client: str) -> tuple[str, ...]:
    """Compare the two runs of a client."""
    plain, hooked = run(client, "direct"), run(client, "hooked")
    before, after = ([exact(text) for text in told["shown"]] for told in (plain, hooked))
    for (_, given), one, other in zip(steps(client), before, after, strict=True):
        print(f"  {one:6,} {other:6,}  {json.dumps(given)[:90]}")
    running = hooked["running"] or {}
    saved = hooked["ledger"]["total"]["saved"]
    return (
        client,
        str(len(before)),
        f"{sum(before):,}",
        f"{sum(after):,}",
        f"{sum(before) - sum(after):,}",
        f"{saved:,}",
        str(running.get("shaped", "")),
        str(running.get("rejected", "")),
        str(hooked["dearer"]),
        "yes" if hooked["restored"] else "no",
    )


def main() -> None:
    if "LAB_INSIDE" not in os.environ:
        os.environ["LAB_INSIDE"] = "1"
        alone = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        os.execvp("unshare", [*alone, "--", sys.executable, "-m", "benchmarks.clients.hooks", *sys.argv[1:]])  # noqa: S606 (no shell is wanted)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    chosen = sys.argv[1:] or list(HOOKED)
    rows = [row(client) for client in chosen]
    head = ("client", "calls", "tokens without", "tokens with", "saved", "saved by the ledger")
    table = markdown_table((*head, "shaped", "rejected", "dearer", "restored"), rows)
    print(table)
    if set(chosen) == set(HOOKED):
        recipe = {"what": "tokens of tool results in the scripted model's last request, with the hook and without"}
        write_section("Hooked clients", table, recipe=recipe)


if __name__ == "__main__":
    main()
