"""Time redaction per 100 KB of JSON, clean and with secrets, and count what it misses and what it takes wrongly.

python benchmarks/bench_redaction.py      (the corpus is read from ../shared/corpus where it exists)
"""

from __future__ import annotations

import runpy
import time
from pathlib import Path
from typing import Any

import orjson

from shaping.redaction import redact

ROOT = Path(__file__).parents[1]
CORPUS = ROOT.parent / "shared" / "corpus" / "payloads"
BAR_MS = 2.0


def main() -> None:
    plant = runpy.run_path(str(ROOT / "tests" / "redaction" / "conftest.py"))["plant"]
    payloads = _payloads()
    redact({"warm": "Bearer abcdefgh12345678abcd"})
    print(f"{'payload':34} {'KB':>7} {'dumps':>8} {'clean':>8} {'planted':>8}   ms per 100 KB (bar {BAR_MS})")
    missed = hits = values = 0
    for number, (name, payload) in enumerate(payloads.items()):
        planted = plant(number)
        dirty = {"result": payload, "notes": [{"id": n, "text": one.text} for n, one in enumerate(planted)]}
        clean, found = redact(dirty)
        text = orjson.dumps(clean).decode()
        missed += sum(one.shows_in(text) for one in planted)
        hits += len(redact(payload)[1])
        values += _leaves(payload)
        size = len(orjson.dumps(payload))
        times = [_best(lambda: orjson.dumps(payload)), _best(lambda: redact(payload)), _best(lambda: redact(dirty))]  # noqa: B023  run at once
        per = [1e3 * seconds * 1e5 / size for seconds in times]
        print(f"{name:34} {size / 1e3:7.1f} {per[0]:8.3f} {per[1]:8.3f} {per[2]:8.3f}   {len(found)} hits planted")
    print(f"secrets planted: {len(payloads) * len(plant(0))}, shown: {missed}")
    print(f"clean values: {values}, false positives: {hits} (bar 1 in 10,000)")


def _payloads() -> dict[str, Any]:
    if CORPUS.exists():
        return {file.stem: orjson.loads(file.read_bytes()) for file in sorted(CORPUS.glob("p*.json"))}
    print("no ../shared/corpus here: one made-up payload instead")
    return {
        "made up": [
            {"id": n, "title": f"Issue {n}", "body": "text " * 60, "url": f"https://x.io/{n}"} for n in range(300)
        ]
    }


def _leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_leaves, value.values()))
    return sum(map(_leaves, value)) if isinstance(value, list) else 1


def _best(call: Any, rounds: int = 7) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


if __name__ == "__main__":
    main()
