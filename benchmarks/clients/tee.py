"""Stand between an MCP client and a server on pipes and write down every message: tee.py LOG COMMAND..."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO


def copy(source: IO[bytes], sink: IO[bytes], way: str, log: IO[str], lock: threading.Lock) -> None:
    """Pass lines on, and write each down."""
    for line in iter(source.readline, b""):
        with lock:
            try:
                message = json.loads(line)
            except ValueError:
                message = line.decode(errors="replace")
            log.write(json.dumps({"at": round(time.time(), 3), "way": way, "message": message}) + "\n")
            log.flush()
        sink.write(line)
        sink.flush()
    sink.close()


def main() -> None:
    path, command = sys.argv[1], sys.argv[2:]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lock = threading.Lock()
    if child.stdin is None or child.stdout is None:
        raise RuntimeError("the server has no pipes")
    with Path(path).open("a") as log:
        up = threading.Thread(target=copy, args=(sys.stdin.buffer, child.stdin, "client", log, lock), daemon=True)
        up.start()
        copy(child.stdout, sys.stdout.buffer, "server", log, lock)
        sys.exit(child.wait())


if __name__ == "__main__":
    main()
