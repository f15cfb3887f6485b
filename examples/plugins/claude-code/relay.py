"""The program that a client runs for each tool result: it asks the resident process and prints the answer.

It is started for every call, so it imports only what costs nothing, and nothing of this package. Without a resident
process, and for what it cannot read, it prints nothing and exits with 0: the client then shows the tool's own result. A
result that the resident process has and does not answer for is withheld: nobody has looked for secrets in it.
"""

from __future__ import annotations

import _socket  # the public module imports selectors and enum, which is 9 ms more for every call
import os
import sys
import time

CONNECT_FAILED = (FileNotFoundError, ConnectionRefusedError, NotADirectoryError)
_RESIDENT = "shaping.clients.hooks.resident"
SECONDS = 4.0  # after which the result is withheld; the client itself would then show it as it is
_WITHHELD = "[withheld: shaping gave no answer, so secrets could not be taken out; try it again, or ask for less]"
_UNSHAPED = ("off", "observe", "0", "false", "no")  # values of SHAPING by which results stay as they are


def main() -> None:
    """Run as `python -I -S relay.py CLIENT DIRECTORY [PROGRAM]`.

    The directory holds the resident process's socket; `-` is the user's own. The program is what starts that process
    where this interpreter has not this package, as in a plugin.
    """
    client, directory, *program = sys.argv[1:]
    directory = _own_directory() if directory == "-" else directory
    given = _read()
    try:
        os.write(1, ask(client, directory, given))
    except CONNECT_FAILED:
        # Nobody waits for a process to start: this result stays as it is, the next one is shaped.
        _start([*program, "hook", "serve"] if program else [sys.executable, "-m", _RESIDENT, directory])
    except (
        TimeoutError,
        BlockingIOError,
        ConnectionError,
    ):  # it is too busy, ended in the middle, or refuses that much
        if os.environ.get("SHAPING", "").strip().lower() not in _UNSHAPED:
            os.write(1, _withheld(client, given))


def _read() -> bytes:
    parts = []
    while part := os.read(0, 1 << 16):
        parts.append(part)
    return b"".join(parts)


def ask(client: str, directory: str, given: bytes) -> bytes:
    """Give a result to the resident process of a directory, and return its answer."""
    # The path of a socket may have 108 bytes; the name alone always fits.
    os.chdir(directory)
    deadline = time.monotonic() + SECONDS
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(SECONDS)
    connection.connect("socket")
    ours = [f"{name}={value}" for name, value in os.environ.items() if name.startswith("SHAPING") and "\n" not in value]
    connection.sendall("\n".join([f"{client} {len(given)}", *ours, "", ""]).encode() + given)
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
        connection.settimeout(max(0.001, deadline - time.monotonic()))
    answer = b"".join(parts)
    if not answer.endswith(b"\n"):
        raise ConnectionError
    return answer[:-1]


def _withheld(client: str, given: bytes) -> bytes:
    """Return what replaces a result that nobody has looked at, in the client's own form."""
    import json  # noqa: PLC0415 (only where a result is withheld)

    payload = json.loads(given)
    if client == "copilot-cli":
        return json.dumps({"modifiedResult": {**payload["toolResult"], "textResultForLlm": _WITHHELD}}).encode()
    if payload["hook_event_name"] != "PostToolUse":
        return b""
    # Numbers, flags and the kind of a search stay, because the client wants each member of the type that it has.
    new = {
        name: type(value)() if isinstance(value, str | list | dict) and name != "mode" else value
        for name, value in payload["tool_response"].items()
    }
    if told := next((name for name in ("stdout", "content", "result", "filenames") if name in new), ""):
        new[told] = [_WITHHELD] if told == "filenames" else _WITHHELD
    answer = {"hookEventName": "PostToolUse", "updatedToolOutput": new}
    return json.dumps({"hookSpecificOutput": answer}).encode()


def _own_directory() -> str:
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/shaping/hook")  # noqa: PTH111 (pathlib takes time to import)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 (the same holds here)
    return f"{cache}/shaping/hook"


def _start(command: list[str]) -> None:
    """Start the resident process in a session of its own, without the client's pipes."""
    if os.fork():
        return
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    os.chdir("/")
    os.execvp(command[0], command)  # noqa: S606 (no shell is wanted)


if __name__ == "__main__":
    try:
        main()
    finally:
        os._exit(0)
