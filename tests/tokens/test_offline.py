from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import texts

if TYPE_CHECKING:
    from collections.abc import Callable

    import tiktoken

SCRIPT = Path(__file__).with_name("offline.py")


def test_without_network_or_cache_2000_texts_of_58_kinds_cost_what_tiktoken_says(
    tmp_path: Path, reference: Callable[[str], tiktoken.Encoding]
) -> None:
    environ = {**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(SCRIPT.parents[2])}
    found = json.loads(subprocess.run([sys.executable, SCRIPT], env=environ, check=True, capture_output=True).stdout)
    expected = []
    for kind, seed in found["made"]:
        text = texts.make(kind, seed, 250)
        counts = {name: len(reference(name).encode_ordinary(text)) for name in ("o200k_base", "cl100k_base")}
        expected.append({**counts, "method": "exact"})
    assert (found["counts"], found["network"]) == (expected, False)
    assert (len(expected), len(texts.KINDS)) == (2_000, 58)
    assert not (tmp_path / "cache").exists()
