"""Four processes of eight threads on one sqlite store: no error, and no ref lost within its lifetime.

python benchmarks/bench_store.py [SECONDS, 30 unless said]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from shaping.store.sqlite import SqliteStore

PROCESSES, THREADS = 4, 8


def main() -> None:
    if len(sys.argv) == 4:
        sys.exit(process(*sys.argv[1:]))
    seconds = sys.argv[1] if len(sys.argv) > 1 else "30"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "store.sqlite"
        command = [sys.executable, __file__, str(file)]
        workers = [subprocess.Popen([*command, str(n), seconds]) for n in range(PROCESSES)]
        failed = sum(worker.wait() != 0 for worker in workers)
        print(
            f"{PROCESSES} processes x {THREADS} threads x {seconds} s: {failed} processes with an error or a lost ref"
        )
        print(f"the file is {file.stat().st_size / 1e6:.1f} MB")
    sys.exit(failed)


def process(file: str, name: str, seconds: str) -> int:
    store = SqliteStore(file, max_bytes=1 << 30)
    trouble: list[str] = []
    counts: list[int] = []
    threads = [
        threading.Thread(target=work, args=(store, f"{name}.{number}", float(seconds), trouble, counts))
        for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"process {name}: {sum(counts)} refs written and read back, {len(trouble)} troubles {trouble[:3]}")
    return bool(trouble)


def work(store: SqliteStore, name: str, seconds: float, trouble: list[str], counts: list[int]) -> None:
    end = time.monotonic() + seconds
    mine: dict[str, bytes] = {}
    try:
        while time.monotonic() < end:
            ref, payload = f"{name}.{len(mine)}", os.urandom(40) * 25
            store.put(ref, payload, meta={}, ttl=3600)
            mine[ref] = payload
        trouble += [
            f"lost {ref}"
            for ref, payload in mine.items()
            if (found := store.get(ref)) is None or found.payload != payload
        ]
    except Exception as fault:  # noqa: BLE001  any error is what this looks for
        trouble.append(repr(fault))
    counts.append(len(mine))


if __name__ == "__main__":
    main()
