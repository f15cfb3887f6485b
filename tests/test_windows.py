"""Nothing that only POSIX has is needed on import, nor by what works on Windows; what does not work there says so.

There is no Windows here: what it lacks is taken away from Python before this package is imported. That its paths and
line ends are handled right is not shown by this.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

# The standard library and other packages choose by platform when they are imported, so they come first.
LIKE_WINDOWS = """
import asyncio, os, signal, sys, tempfile, subprocess
import fastmcp, mcp.server.mcpserver, pydantic, typer.testing, watchfiles, httpx, starlette.applications
for name in ("fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "readline", "syslog"):
    sys.modules[name] = None
for name in (
    "fork", "forkpty", "killpg", "setsid", "getpgid", "setpgid", "getuid", "geteuid", "getgid", "register_at_fork",
    "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "fchmod", "fchown", "chown", "fchdir", "mkfifo", "set_blocking", "wait3",
    "posix_spawn", "sched_getaffinity", "getloadavg", "uname", "pread", "pwrite", "sysconf",
):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT", "SIGPIPE", "SIGALRM"):
    if hasattr(signal, name):
        delattr(signal, name)
"""


def run(program: str, tmp_path: Path, *words: str) -> Any:
    """Run a program in an interpreter that lacks what Windows lacks, and return what it printed as JSON."""
    command = [sys.executable, "-c", LIKE_WINDOWS + program, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


COMMANDS = """
import json
from typer.testing import CliRunner
from shaping.cli.app import build
ended = [CliRunner().invoke(build(), words) for words in json.loads(sys.argv[1])]
print(json.dumps([[one.exit_code, one.output] for one in ended]))
"""


def test_every_module_imports(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    files = [path.relative_to(root) for path in (root / "shaping").rglob("*.py")]
    modules = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
    # The frameworks have environments of their own, and a script that clients start is no module.
    skipped = ("shaping.integrations.", "shaping.clients.hooks.relay", "shaping.pytest", "shaping.__main__")
    wanted = sorted(name for name in modules if not name.startswith(skipped) or name.endswith(".asgi"))
    program = "import importlib, json\nfor name in sys.argv[1:]: importlib.import_module(name)\nprint(json.dumps(1))"

    assert run(program, tmp_path, *wanted) == 1


def test_a_decorated_function_and_a_server_answer_shaped(tmp_path: Path) -> None:
    program = """
import json
from fastmcp import Client, FastMCP
from shaping import Shaper, ShapingMiddleware, shape
rows = [{"id": n, "name": f"n{n}", "none": None, "avatar_url": f"https://example.com/{n}.png"} for n in range(30)]
server = FastMCP("rows")
server.add_middleware(ShapingMiddleware())
server.tool(name="rows")(lambda: rows)
async def ask():
    async with Client(server) as client:
        return (await client.call_tool("rows", {})).content[0].text
print(json.dumps([shape(form="text", shaper=Shaper({}, expandable=True))(lambda: rows)(), asyncio.run(ask())]))
"""
    decorated, served = run(program, tmp_path)

    assert "29,n29" in decorated
    assert "29,n29" in served


def test_commands_that_work_there_work(tmp_path: Path) -> None:
    rows = [{"id": n, "name": f"n{n}", "none": None} for n in range(30)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"rows": {"command": "python", "args": ["server.py"]}}}')
    commands = {
        ("shape", "rows.json"): "29,n29",
        ("check",): "",
        ("bench", "rows.json"): "minimal",
        ("tokens", "rows.json"): "rows.json",
        ("query", "rows.json", "SELECT count(*) AS n FROM items"): "30",
        ("profiles",): "minimal",
        ("wrap", ".mcp.json", "--program", "shaping"): "wrapped: rows",
        ("unwrap", ".mcp.json"): "unwrapped: rows",
    }

    ended = run(COMMANDS, tmp_path, json.dumps(list(commands)))

    for (words, shown), (code, output) in zip(commands.items(), ended, strict=True):
        assert (words, code) == (words, 0), output
        assert shown in output


def test_commands_that_do_not_work_there_say_so_in_one_sentence(tmp_path: Path) -> None:
    commands = {
        ("proxy", "--", "python", "server.py"): "shaping proxy works on Linux and macOS only, not on Windows\n",
        ("hook", "install", "claude-code"): "shaping hook works on Linux and macOS only, not on Windows\n",
        ("demo",): "shaping demo works on Linux and macOS only, not on Windows\n",
        ("run", "--", "git", "log"): "commands run on Linux and macOS only",
    }

    ended = run(COMMANDS, tmp_path, json.dumps(list(commands)))

    for said, (code, output) in zip(commands.values(), ended, strict=True):
        assert code in {1, 125}
        assert said in output
        assert "Traceback" not in output
