"""How far off the sampled counter is, how long it takes, and what it keeps in memory.

    python benchmarks/bench_counting.py           # writes its section of RESULTS.md
    python benchmarks/bench_counting.py --fit     # prints the weights of shaping/tokens/sampling.py
    python benchmarks/bench_counting.py --unseen /usr    # checks files of kinds that no choice was made by

Half of the kinds of text are for fitting weights; the other half and files of this machine are for checking, and the
sampler's settings were chosen with an eye on them. Only `--unseen` has kinds that nothing was chosen by.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import statistics
import subprocess
import sys
import sysconfig
import time
from collections import defaultdict
from functools import partial
from math import exp, log
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from benchmarks import corpus, texts
from benchmarks.results import markdown_table, write_section
from shaping.tokens.counters import BpeCounter
from shaping.tokens.encoding import NAMES
from shaping.tokens.sampling import byte_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

ACCURACY = ("tokenizer", "mean error", "p95", "max", "outside its stated bound", "texts")
CHECKED_ON = """\
Sampled against exact counts, on kinds of text that no weight was fitted on. The sampler's settings and seed were chosen
with an eye on these, so see the unseen kinds too."""
ROOM = "What the first text of each kind takes is room to work in, and not in this number."
SIZES = (16_400, 20_000, 50_000, 120_000, 300_000, 800_000, 1_900_000)
# Real files, by what they are; those that a machine lacks are left out.
SITE = Path(sysconfig.get_paths()["purelib"])
STDLIB = Path(sysconfig.get_paths()["stdlib"])
# Kinds of file that the sampler was tried on while it was made.
SEEN = {".py", ".pyi", ".js", ".css", ".h", ".md", ".rst", ".json", ".xml", ".html", ".cmake", ".pm", ".csv", ".log"}
FITTED_FILES = ("stdlib", "headers", "json", "licences")
FILES = {
    "stdlib": (STDLIB, "*.py"),
    "stubs": (SITE, "**/*.pyi"),
    "metadata": (SITE, "*/METADATA"),
    "records": (SITE, "*/RECORD"),
    "json": (SITE, "**/*.json"),
    "headers": (Path("/usr/include"), "*.h"),
    "locales": (Path("/usr/share/i18n/locales"), "*"),
    "licences": (Path("/usr/share/common-licenses"), "*"),
    "tool results": (corpus.PAYLOADS, "*.json"),
    "openapi": (corpus.CORPUS / "openapi", "**/*.json"),
}


def generated(kinds: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Make a text of each kind in a few sizes."""
    for number, kind in enumerate(kinds):
        for offset in range(0, 12, 2):
            size = SIZES[(number + offset) % len(SIZES)]
            yield kind, texts.make(kind, number, size)


def from_files(kinds: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Join real files to texts of a few sizes."""
    for kind in kinds:
        folder, pattern = FILES[kind]
        found = sorted(path for path in folder.glob(pattern) if path.is_file())
        Random(kind).shuffle(found)  # noqa: S311 - nobody's secret
        whole = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in found[:400])
        for size in SIZES[::2]:
            if len(whole) >= size:
                start = Random(f"{kind}{size}").randrange(len(whole) - size + 1)  # noqa: S311 - the same
                yield kind, whole[start : start + size]


def accuracy(name: str, samples: Callable[[], Iterator[tuple[str, str]]]) -> tuple[str, ...]:
    """Compare sampled with exact counts."""
    counter = BpeCounter(name)
    errors: dict[str, list[float]] = defaultdict(list)
    outside = 0
    for kind, text in samples():
        exact, sampled = counter.exact(text), counter.count(text)
        errors[kind].append(abs(100 * (sampled - exact) / exact))
        outside += errors[kind][-1] > sampled.error_bound
    every = sorted(error for kind in errors.values() for error in kind)
    worst = max(errors, key=lambda kind: max(errors[kind]))
    print(name, len(every), {kind: round(max(found), 2) for kind, found in errors.items() if max(found) > 2})
    p95 = every[int(0.95 * (len(every) - 1))]
    mean = statistics.mean(every)
    return (
        f"{mean:.2f}%",
        f"{p95:.2f}%",
        f"{every[-1]:.2f}% ({worst})",
        f"{100 * outside / len(every):.1f}%",
        str(len(every)),
    )


def unseen(folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Join files of kinds not seen before to texts of random sizes, six of each kind by suffix."""
    kinds: dict[str, list[Path]] = defaultdict(list)
    for folder in folders:
        for path in Path(folder).rglob("*.*"):
            if path.suffix not in SEEN and path.is_file() and not path.is_symlink():
                kinds[path.suffix].append(path)
    for kind in sorted(kinds):
        rng = Random(kind)  # noqa: S311 - nobody's secret
        for _ in range(6):
            size = int(exp(rng.uniform(log(16_400), log(2_000_000))))
            chosen = rng.sample(sorted(kinds[kind]), min(200, len(kinds[kind])))
            text = "\n".join(filter(None, map(_text_in, chosen)))[:size]
            if len(text) > 8_100:
                yield kind, text


def _text_in(path: Path) -> str:
    """Read a file that is text, and nothing of one that is not."""
    try:
        return path.read_bytes()[:500_000].decode()
    except (OSError, UnicodeDecodeError):
        return ""


def check() -> Iterator[tuple[str, str]]:
    yield from generated(texts.CHECKED)
    yield from from_files(kind for kind in FILES if kind not in FITTED_FILES)


def best(call: Callable[[], object], times: int = 15) -> float:
    """Return the fastest of some runs, in milliseconds."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return 1000 * min(spent)


def speed() -> list[tuple[str, ...]]:
    """Time counting beside json.dumps, in one run, for JSON of a few sizes."""
    rows = []
    for size in (50_000, 200_000, 800_000, 2_000_000):
        rng = Random(size)  # noqa: S311 - nobody's secret
        data = [texts.issue(rng) for _ in range(size // 573)]
        text = json.dumps(data)
        dumps = best(partial(json.dumps, data))
        counter = BpeCounter("o200k_base")
        counter.count(text)
        times = {call.__name__: best(partial(call, text)) for call in (counter.count, counter.exact)}
        beside = [f"{spent:.2f} ms ({spent / dumps:.1f} times)" for spent in times.values()]
        rows.append((f"{len(text) // 1000} KB", f"{dumps:.2f} ms", *beside))
    return rows


def memory(megabytes: int = 200) -> float:
    """Count so much text that was never seen before, and return what the process has grown by, in MB."""
    counter = BpeCounter("o200k_base")
    # The first text of each kind takes the room that counting needs to work in, which is not growth.
    _count_each_kind(counter, 0)
    before, seen, seed = _resident(), 0, 1
    while seen < megabytes * 1_000_000:
        seen += _count_each_kind(counter, seed)
        seed += 1
    return _resident() - before


def _count_each_kind(counter: BpeCounter, seed: int) -> int:
    seen = 0
    for kind in texts.KINDS:
        text = texts.make(kind, 10_000 + seed, 100_000)
        counter.exact(text)
        counter.count(text)
        seen += len(text)
    gc.collect()
    return seen


def memory_alone() -> str:
    """Measure memory in a process of its own: this one has grown already."""
    program = "from benchmarks.bench_counting import memory; print(memory())"
    root = Path(__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", program], cwd=root, check=True, capture_output=True, text=True)
    return f"{float(run.stdout):+.1f} MB"


def _resident() -> float:
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def fit() -> None:
    """Print the weights that fit the kinds for fitting best, by least squares."""
    import numpy as np  # noqa: PLC0415 - for fitting only

    counter = BpeCounter("o200k_base")
    # What is opaque has tokens as long as their neighbours allow: it teaches only where neighbours are known.
    for name, kinds, pairs in (("_WEIGHTS", texts.FITTED, 0), ("_ALONE, _TOGETHER", texts.FITTED + texts.OPAQUE, 5)):
        samples = [*generated(kinds), *from_files(FITTED_FILES)]
        pieces = [text[at : at + 96] for _, text in samples for at in range(0, len(text), len(text) // 60)]
        found = [byte_classes(text) for text in pieces]
        patterns = [bytes((index,)) for index in range(8)] + [bytes((index, index)) for index in range(pairs)]
        counts = np.array([[classes.count(pattern) for pattern in patterns] for classes in found])
        solved = np.linalg.lstsq(counts, np.array([counter.exact(text) for text in pieces]), rcond=None)[0]
        print(name, [round(float(weight), 3) for weight in solved])


def report() -> str:
    rows = [(name, *accuracy(name, check)) for name in NAMES]
    parts = (
        CHECKED_ON,
        markdown_table(ACCURACY, rows),
        "Time of one count beside the standard library's `json.dumps` of the same data in the same run:",
        markdown_table(("JSON", "json.dumps", "by samples", "exact"), speed()),
        f"Memory after 200 MB of novel texts of 100 KB, each counted both ways, in a new process: {memory_alone()}.",
        ROOM,
    )
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="print the weights")
    parser.add_argument("--unseen", nargs="+", metavar="FOLDER", help="check files of kinds that no choice was made by")
    options = parser.parse_args()
    if options.fit:
        fit()
    elif options.unseen:
        rows = [(name, *accuracy(name, partial(unseen, options.unseen))) for name in NAMES]
        recipe = {"texts": "files of this machine, of kinds (by suffix) that no weight and no setting was chosen by"}
        write_section("Counting, unseen kinds", markdown_table(ACCURACY, rows), recipe=recipe)
    else:
        recipe = {"texts": "`benchmarks/texts.py` (the half for checking) and files of this machine, 8 KB to 2 MB"}
        write_section("Counting", report(), recipe=recipe)


if __name__ == "__main__":
    main()
