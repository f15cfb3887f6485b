"""Time redaction per 100 KB of JSON, clean and with secrets, and count what it misses and what it takes wrongly.

python benchmarks/bench_redaction.py                     (the corpus is read from ../shared/corpus where it exists)
python benchmarks/bench_redaction.py --sources DIRECTORY (marks on the lines of source files, each printed)
"""

from __future__ import annotations

import argparse
import base64
import random
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import orjson

from benchmarks.corpus import PAYLOADS
from shaping.redaction import redact

ROOT = Path(__file__).parents[1]
BAR_MS = 2.0
FALSE_BAR = 0.3


SOURCES = (".py", ".js", ".ts", ".mjs", ".cjs", ".md", ".txt", ".json")
LONGEST = 400_000  # characters of a file; larger ones are data


def sources(directory: Path) -> int:
    """Count and print what is marked in source files, which have few secrets or none."""
    lines = marks = 0
    for file in sorted(directory.rglob("*")):
        if file.suffix in SOURCES and file.is_file() and file.stat().st_size < LONGEST:
            written = file.read_text(errors="replace").splitlines()
            lines += len(written)
            clean, _ = redact(written)
            for before, after in zip(written, clean, strict=True):
                if before != after:
                    marks += 1
                    print(f"{file.name}: {after.strip()[:150]}")
    share = 1e4 * marks / max(lines, 1)
    print(f"{lines:,} lines, {marks} marked: {share:.2f} per 10,000 (bar {FALSE_BAR})")
    return 0 if share <= FALSE_BAR else 1


def main() -> int:
    """Measure the sources that are named, else the payloads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=Path)
    options = parser.parse_args()
    return payloads_measured() if options.sources is None else sources(options.sources)


def payloads_measured() -> int:
    """Time redaction on payloads, and count what it misses and takes wrongly."""
    plant = runpy.run_path(str(ROOT / "tests" / "redaction" / "conftest.py"))["plant"]
    payloads = _payloads()
    print(f"{'payload':34} {'KB':>7} {'dumps':>8} {'clean':>8} {'planted':>8}   ms per 100 KB (bar {BAR_MS})")
    missed = false = values = 0
    for number, (name, payload) in enumerate(payloads.items()):
        planted = plant(number)
        notes = [{"id": n, "text": one.text} for n, one in enumerate(planted)]
        clean, _ = redact({"result": payload, "notes": notes})
        text = orjson.dumps(clean).decode()
        missed += sum(one.shows_in(text) for one in planted)
        false += sum(hit.count for hit in redact(payload)[1])
        values += _leaves(payload)
        _row(name, payload, notes[number % len(notes)])
    print(f"secrets planted: {len(payloads) * len(plant(0))}, shown: {missed}")
    print(f"clean values: {values}, false positives: {false} (bar 1 in 10,000)")
    return 0


def _row(name: str, payload: Any, note: Any) -> None:
    """Time a payload clean, and with one secret in it."""
    size = len(orjson.dumps(payload))
    dirty = {"result": payload, "note": note}
    times = [_best(lambda: orjson.dumps(payload)), _best(lambda: redact(payload)), _best(lambda: redact(dirty))]
    per = [1e3 * seconds * 1e5 / size for seconds in times]
    print(f"{name:34} {size / 1e3:7.1f} {per[0]:8.3f} {per[1]:8.3f} {per[2]:8.3f}")


def _payloads() -> dict[str, Any]:
    """Read the corpus, each result with its JSON texts opened too, and make what engines find hard: base64 and hex."""
    dice = random.Random(1)  # noqa: S311  the same in every run
    made = {
        "made up: issues": [{"id": n, "title": f"Issue {n}", "body": "text " * 60} for n in range(300)],
        "made up: base64": base64.b64encode(dice.randbytes(75_000)).decode(),
        "made up: hex": dice.randbytes(50_000).hex(),
    }
    if not PAYLOADS.exists():
        print("no ../shared/corpus here: made-up payloads alone")
        return made
    read = {file.stem: orjson.loads(file.read_bytes()) for file in sorted(PAYLOADS.glob("p*.json"))}
    opened = {
        f"{name} opened": [_opened(block.get("text", "")) for block in one["content"]] for name, one in read.items()
    }
    return made | read | opened


def _opened(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def _leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_leaves, value.values()))
    return sum(map(_leaves, value)) if isinstance(value, list) else 1


def _best(call: Any, rounds: int = 7) -> float:
    best = float("inf")
    for _ in range(rounds):
        # The processor's time: a machine that does other things at once slows the call, not the work.
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


if __name__ == "__main__":
    sys.exit(main())
