from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from benchmarks.bench_counting import memory
print(memory(megabytes=5))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to see what a process holds")
def test_novel_text_leaves_no_memory_behind() -> None:
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, check=True, capture_output=True, text=True)
    assert float(run.stdout) < 30
